"""Identifiers as handles: what is spelled is read again, and no client is given a colon."""

from __future__ import annotations

import pytest
from hypothesis import given

from perdure import testing
from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.policy.handles import names


@given(testing.values("handle", "pdi"))
def test_what_is_spelled_is_read_again(identifier: Identifier) -> None:
    assert isinstance(identifier, Handle | Pdi)
    whole = identifier.whole
    assert names.read_handle(names.spell_handle(whole)) == whole
    if isinstance(whole, Pdi):
        assert ":" not in names.spell_handle(whole)  # pyhandle takes what is before it for a scheme


@pytest.mark.parametrize("text", ["", "x", "/x", "x/", "pdi/", "pdi/x", "21.T14999/ x"])
def test_what_is_no_handle(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        names.read_handle(text)


def test_a_prefix_is_at_home_where_its_handles_are() -> None:
    assert names.find_home_prefix(names.read_handle("0.NA/21.T14999")) == names.find_home_prefix(
        names.read_handle("21.T14999/x")
    )
    assert names.make_prefix_handle("21.T14999") == names.read_handle("0.NA/21.T14999")
