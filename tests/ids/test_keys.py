"""The names that messages show for records, as far as the keys tell them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids import Identifier, parse
from perdure.ids.keys import spell_key
from perdure.testing import ark, handle, pdi, pwid, urn, urn1993

NAMES: st.SearchStrategy[Identifier] = st.one_of(
    pdi.generic_resources(),
    ark.values(),
    handle.values(),
    urn.values(),
    urn1993.values(),
    pwid.values(),
)


@given(NAMES)
def test_a_key_spells_a_name_that_has_it(name: Identifier) -> None:
    assert parse(spell_key(name.key)).key == name.key


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("pdi://a.example.us/2026/11/21/10.text.1", "pdi://a.example.us/2026/11/21/10"),
        ("pdi://a.example.us/2026/11/21/memo", "pdi://a.example.us/2026/11/21/memo"),
        ("URN:IANA:42117::memo:::", "URN:IANA:42117::memo:::"),
        ("https://doi.org/10.1000/Foo", "doi:10.1000/foo"),
        ("ark:/99999/a-b", "ark:99999/ab"),
    ],
)
def test_a_name_is_spelled_as_people_write_it(text: str, spelled: str) -> None:
    assert spell_key(parse(text).key) == spelled


@pytest.mark.parametrize("key", ["", "x", "urn1993:::", "hdl:", "a b/20261121/a1", "é"])
def test_a_damaged_key_is_shown_as_it_is(key: str) -> None:
    assert spell_key(key) == key


def test_bytes_that_are_not_utf_8_are_shown_as_escapes() -> None:
    assert spell_key("a.example.us/20261121/a\udcff") == "a.example.us/20261121/a\\udcff"
