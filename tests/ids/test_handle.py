"""Handles and DOIs, against RFC 3651, ISO 26324 and what their proxies do."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids.handle import SCHEME, Handle, _read_any_spelling, parse_handle
from perdure.testing import handle as handles

VECTORS = Path(__file__).parents[2] / "vectors"


@pytest.mark.parametrize(
    "case",
    json.loads((VECTORS / "handle.json").read_text())["cases"],
    ids=lambda case: ascii(case["text"]),
)
def test_vectors(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(MalformedIdentifier):
            parse_handle(case["text"])
        return
    handle = parse_handle(case["text"])
    assert str(handle) == case["canonical"]
    for name, value in case.get("fields", {}).items():
        assert getattr(handle, name) == value


@given(handles.values())
def test_every_way_to_write_it_is_the_same_handle(handle: Handle) -> None:
    name = f"{handle.prefix}/{handle.suffix}"
    for prefix in SCHEME.prefixes:
        if prefix in {"doi:", "info:doi/"} and not handle.is_doi:
            continue
        text = prefix + (name if prefix in {"hdl:", "doi:"} else quote(name))
        assert parse_handle(text) == handle
        assert parse_handle(text).key == handle.key


@given(handles.values())
def test_the_case_of_ascii_letters_does_not_matter(handle: Handle) -> None:
    """RFC 3651 section 3 lets a service ignore it, and ISO 26324 and the software of the Handle
    System do. Other letters are what they are."""
    swapped = "".join(c.swapcase() if c in string.ascii_letters else c for c in str(handle))
    assert parse_handle(swapped) == handle


@given(handles.values())
def test_a_key_is_ascii_and_gives_its_identifier(handle: Handle) -> None:
    assert handle.key.isascii()
    assert handle.key.isprintable()
    assert Handle.from_key(handle.key) == handle


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_different_handles_have_different_keys(one: str, other: str) -> None:
    keys = set()
    for suffix in {one, other}:
        try:
            keys.add(parse_handle(f"hdl:1/{suffix}").key)
        except MalformedIdentifier:
            return
    folding = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
    assert len(keys) == len({one.translate(folding), other.translate(folding)})


@given(st.sampled_from(SCHEME.prefixes), st.characters(categories=["Cc", "Zs", "Zl", "Zp"]))
def test_what_cannot_be_seen_is_refused_raw_and_escaped(prefix: str, unseen: str) -> None:
    """Ruling pdi-limits: "with control characters or spaces, is an error"."""
    for suffix in (f"a{unseen}b", f"a{quote(unseen)}b", f"{unseen}", f"a{unseen}"):
        if prefix in {"hdl:", "doi:"} and unseen not in suffix:
            continue  # there an escape is part of the name
        with pytest.raises(MalformedIdentifier):
            parse_handle(f"{prefix}10.1000/{suffix}")


@given(
    st.sampled_from(("doi:", "hdl:", "DOI:", "info:doi/", "https://doi.org/")),
    st.lists(st.sampled_from(("10.", "10", "1839", "A", ".", "/", "%41", "x" * 8185, "é", " "))),
)
def test_the_usual_spelling_is_read_as_all_others(label: str, bits: list[str]) -> None:
    """The Handle, its spelling, or the error are those of the general reader."""

    def read(reader: Callable[[str], Handle]) -> tuple[str, ...]:
        try:
            found = reader(label + "".join(bits))
        except MalformedIdentifier as error:
            return "error", str(error)
        return found.prefix, found.suffix, found.written

    assert read(parse_handle) == read(_read_any_spelling)
