from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.errors.importing import SchemeUnordered
from perdure.ids import parse
from perdure.ids.name_set import choose_names, find_authority, find_set, make_set, read_set
from perdure.ids.named_parts import split_part


@pytest.mark.parametrize(
    ("text", "canonical", "members", "others"),
    [
        ("hdl:1839/*", "hdl:1839/*", ("hdl:1839/A", "hdl:1839/é"), ("hdl:18390/A", "doi:10.1/x")),
        ("hdl:1839/", "hdl:1839/*", ("hdl:1839/A",), ("hdl:1839.1/A",)),
        ("hdl:1839/Ab*", "hdl:1839/Ab*", ("hdl:1839/aBc",), ("hdl:1839/a",)),
        ("https://doi.org/10.5072/X*", "doi:10.5072/x*", ("doi:10.5072/xy",), ("doi:10.5072/y",)),
        ("ark:/99999/fk-4*", "ark:99999/fk4*", ("ark:99999/fk4x/c1",), ("ark:99999/fk5",)),
        ("ark:12345/", "ark:12345/*", ("ark:12345/x",), ("ark:123456/x",)),
        ("ark:12345/x.*", "ark:12345/x.*", ("ark:12345/x.v1",), ("ark:12345/x/c",)),
        ("urn:ISBN:", "urn:isbn:*", ("urn:isbn:978",), ("urn:issn:1",)),
        ("urn:isbn:97*", "urn:isbn:97*", ("urn:isbn:978#x",), ("urn:isbn:98",)),
        (
            "urn:iana:42117::Rep*",
            "URN:IANA:42117::Rep*",
            ("URN:IANA:42117::report:::",),
            ("URN:IANA:42117::x:::", "URN:IANA:421170::report:::"),
        ),
        ("URN:IANA::", "URN:IANA::*", ("URN:IANA::x:::",), ("URN:IANA:1::x:::",)),
        (
            "pwid:Archive.org:2016-01*",
            "pwid:archive.org:2016-01*",
            (
                "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://a",
                "pwid:archive.org:2016-01:page:http://a",
            ),
            ("pwid:archive.org:2016-02-22:page:http://a",),
        ),
        (
            "pwid:archive.org:",
            "pwid:archive.org:*",
            ("pwid:archive.org:2016:page:http://a",),
            ("pwid:archive.orgy:2016:page:http://a",),
        ),
        (
            "pdi://OMA.eop.gov.us/1997/9/",
            "pdi://oma.eop.gov.us/1997/09/",
            ("pdi://oma.eop.gov.us/1997/09/01/1.text.1",),
            ("pdi://oma.eop.gov.us/1997/10/01/1",),
        ),
        (
            "pdi://oma.eop.gov.us/1997/*/01/*.text.*",
            "pdi://oma.eop.gov.us/1997/*/01/*.text.*",
            ("pdi://oma.eop.gov.us/1997/09/01/1.text.1",),
            ("pdi://oma.eop.gov.us/1997/09/01/1.html.1",),
        ),
        ("hdl:1839/A", "hdl:1839/A", ("hdl:1839/a",), ("hdl:1839/ab",)),
    ],
)
def test_a_set_and_its_members(
    text: str, canonical: str, members: tuple[str, ...], others: tuple[str, ...]
) -> None:
    found = read_set(text)
    assert str(found) == canonical
    for one in map(parse, members):
        assert found.contains(one)
        assert found.low <= one.key < found.end
        assert found.covers_resource(one)
    for one in map(parse, others):
        assert not found.contains(one)


@given(testing.texts())
def test_the_names_of_an_authority_begin_alike(text: str) -> None:
    """Whatever a name is, the set of its authority contains it."""
    name = parse(text)
    authority = find_authority(name)
    assert authority.contains(name.whole)
    assert authority.low <= name.key < authority.end
    again = read_set(str(authority))
    assert (again.low, again.end, again.name) == (authority.low, authority.end, None)


@given(testing.texts(), st.integers(1, 40))
def test_a_name_is_in_the_set_of_each_of_its_beginnings(text: str, kept: int) -> None:
    name = parse(text)
    beginning = str(name)[: -kept or None]
    if name.kind == "pdi" or "%" in beginning[-2:]:
        return
    try:
        names = read_set(f"{beginning}*")
    except (MalformedIdentifier, UnknownScheme, SchemeUnordered):
        return
    if names.is_single or str(names) != f"{beginning}*":
        return  # the text that was cut off decides how the beginning is read
    assert names.contains(name)


def test_a_pattern_is_the_set_that_it_is_written_like() -> None:
    pattern = find_set(parse("pdi://a.us/1997/01/01/*.text.1"))
    assert str(pattern) == "pdi://a.us/1997/01/01/*.text.1"
    assert find_set(parse("pdi://a.us/1997/01/01/1.text.1")) is None


def test_a_beginning_is_a_set_where_a_name_is_expected_and_one_name_is_none() -> None:
    assert str(split_part("hdl:1839/").names) == "hdl:1839/*"
    assert split_part("hdl:1839/a").names is None
    with pytest.raises(MalformedIdentifier):
        split_part("hdl:1839")


def test_a_registered_name_may_be_written_like_a_set() -> None:
    """RFC 3651 section 3: a local name is any characters, `*` too."""
    name = parse("hdl:1839/*")
    names = find_set(name)
    assert names is not None
    assert names.name == name
    assert find_set(parse("hdl:1839/A")) is None
    assert find_set(parse("urn:isbn:x?=a*")) is None  # a component, not the name
    assert make_set(name).is_single
    assert not read_set("hdl:1839/*").is_single


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("hdl:*", MalformedIdentifier),
        ("hdl:1839", MalformedIdentifier),
        ("ark:*", MalformedIdentifier),
        ("ark:12345/x%4*", MalformedIdentifier),
        ("pdi://oma.eop.gov.us/1997/02/30/*", MalformedIdentifier),
        ("nothing:x*", UnknownScheme),
        ("urn:isbn:x?=a*", SchemeUnordered),
    ],
)
def test_a_text_that_is_no_set(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_set(text)


def test_the_intervals_of_a_set() -> None:
    year = read_set("pdi://oma.eop.gov.us/1997/")
    assert year.is_interval
    assert year.is_divided
    assert not year.has_representations
    texts = read_set("pdi://oma.eop.gov.us/1997/*/01/*.text.*")
    assert texts.has_representations
    assert not texts.is_interval
    assert texts.next_key(parse("pdi://oma.eop.gov.us/1997/09/02/1")) == "oma.eop.gov.us/19971001"
    assert texts.covers_resource(parse("pdi://oma.eop.gov.us/1997/09/01/1"))
    assert read_set("hdl:1839/*").next_key(parse("hdl:1839/a")) is None


@pytest.mark.parametrize("date", ["", "1997/", "1997/09/", "1997/*/"])
def test_an_asterisk_after_an_interval_of_pdis_names_all_of_it(date: str) -> None:
    interval = f"pdi://oma.eop.gov.us/{date}"
    assert read_set(f"{interval}*") == read_set(interval)
    with pytest.raises(MalformedIdentifier):
        parse(f"{interval}*")


def test_an_asterisk_after_a_day_is_a_pattern_of_pdis() -> None:
    assert str(read_set("pdi://oma.eop.gov.us/1997/09/01/*")) == "pdi://oma.eop.gov.us/1997/09/01/*"


@pytest.mark.parametrize("text", ["pdi://oma.eop.gov.us/1997/02/30/*", "pdi://oma/*", "pdi:/*"])
def test_an_asterisk_after_no_interval_is_malformed(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        read_set(text)


def test_names_that_were_listed_one_by_one() -> None:
    day = "pdi://oma.eop.gov.us/1997/09/01"
    listed = [parse(one) for one in ("hdl:1839/b", f"{day}/2.text.1", f"{day}/10", "hdl:1839/B")]
    names = choose_names(listed, "@names.txt")
    assert str(names) == "@names.txt"
    assert not (names.is_single)
    assert not (names.is_interval)
    assert not (names.is_divided)
    assert not names.has_representations
    assert names.contains(parse("hdl:1839/b"))
    assert names.contains(parse(f"{day}/2.text.1"))
    assert not names.contains(parse(f"{day}/2.html.1"))
    assert not names.contains(parse(f"{day}/3"))
    assert names.covers_resource(parse(f"{day}/2"))
    assert not names.covers_resource(parse(f"{day}/3"))
    keys = sorted({one.key for one in listed})
    assert [names.low, names.end] == [keys[0], f"{keys[-1]}\0"]
    assert names.next_key(parse(f"{day}/2")) == parse(f"{day}/10").key
    last = max(listed, key=lambda one: one.key)
    assert str(names.next_key(last)) > names.end
