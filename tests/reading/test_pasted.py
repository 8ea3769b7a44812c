"""Identifiers as people paste them."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest, MalformedIdentifier, UnknownScheme
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.ids.named_parts import split_part
from perdure.reading.pasted import find_within, read_address, read_pasted

OURS = "https://pid.example.org/names"
TEXT = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"


def list_bases() -> tuple[str, ...]:
    return (OURS,)


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        (f" <{TEXT}>.", TEXT),
        (f"http://any.example:8080/{TEXT}", TEXT),
        (f"http://any.example/urn:{TEXT}", TEXT),
        (f"<http://any.example/{TEXT}?landing>", TEXT),
        ("http://any.example/pdi%3A%2F%2Fa.us%2F1997%2F09%2F01%2F1", "pdi://a.us/1997/09/01/1"),
        (f"http://any.example/{TEXT}%23char=37,51", f"{TEXT}#char=37,51"),
        (f"http://any.example/{TEXT}?part=char=37,51", f"{TEXT}#char=37,51"),
        (f"http://any.example/{TEXT}?utm_source=mail", TEXT),
        ("http://any.example/pdi://oma.eop.gov.us/1997/", "pdi://oma.eop.gov.us/1997/"),
        ("http://any.example/ark:/12345/x6?info", "ark:12345/x6"),
        (f"{OURS}/hdl:1839/a%23b", "hdl:1839/a#b"),
        ("https://nbn-resolving.org/urn:nbn:de:101:1-1", "urn:nbn:de:101:1-1"),
        ("https://doi.org/10.1000/ab?noredirect#page=3", "doi:10.1000/ab#page=3"),
        ("https://doi.org/10.1000/ab#", "doi:10.1000/ab"),
    ],
)
def test_the_identifier_within_is_read(pasted: str, meant: str) -> None:
    assert read_pasted(pasted, parse, list_bases) == parse(meant)


def test_a_part_of_a_name_without_parts_stays_beside_it() -> None:
    name = read_pasted(f"{OURS}/ark:12345/x6?part=page=2", split_part, list_bases)
    assert (str(name.identifier), name.part) == ("ark:12345/x6", "page=2")


def test_the_part_of_an_address_is_written_as_it_was_given() -> None:
    """Every visible ASCII character stays; what a terminal does not show is escaped."""
    found = find_within(f"{OURS}/ark:12345/x6?part=%21a%7E%22%20%7F%C3%A9", list_bases)
    assert found == 'ark:12345/x6#!a~"%20%7F%C3%A9'
    assert split_part(found).part == '!a~" \x7f\u00e9'


def test_a_set_is_read_from_its_address() -> None:
    assert str(read_pasted(f"{OURS}/hdl:1839/", read_set, list_bases)) == "hdl:1839/*"


@pytest.mark.parametrize("text", ["<nothing>", "http://any.example/hdl:1839/a", "", "<>"])
def test_what_has_no_identifier_within_is_refused(text: str) -> None:
    with pytest.raises((UnknownScheme, MalformedIdentifier)):
        read_pasted(text, parse, list_bases)


def test_a_part_behind_a_public_address_is_no_whole() -> None:
    """read door: "the name of a part is never taken for the name of the whole" """
    name = read_pasted("https://n2t.net/ark:/12345/x6#a%20b", split_part, list_bases)
    assert (str(name.identifier), name.part) == ("ark:12345/x6", "a b")


@pytest.mark.parametrize("path", ["ab%C3", "%C3%A9%FF", "a%2", "a%zz"])
def test_an_address_with_broken_escapes_names_nothing(path: str) -> None:
    """Not another handle, with U+FFFD for what could not be decoded."""
    with pytest.raises(MalformedIdentifier):
        read_pasted(f"https://doi.org/10.1000/{path}?x", parse, list_bases)


def test_a_text_that_can_be_read_needs_no_address_of_ours() -> None:
    def fail() -> tuple[str, ...]:
        raise AssertionError

    assert read_pasted(TEXT, parse, fail) == parse(TEXT)
    assert find_within(f"<{TEXT}>", fail) == TEXT


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_address(f"http://any.example/{TEXT}?nonsense", ())
