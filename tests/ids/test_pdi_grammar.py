"""The reading of PDIs: against the ABNF, in linear time, with errors that point to the place."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import ClassVar

import pytest
from abnf.grammars.misc import load_grammar_rules
from abnf.parser import ParseError, Rule
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedIdentifier
from perdure.ids import grammar, pdi
from perdure.ids.grammar import LONGEST
from perdure.ids.pdi import Pdi, parse_pdi
from perdure.ids.pdi_plain import read_plain_key
from perdure.testing import pdi as pdis

# the draft's ABNF
# ----------------


@load_grammar_rules()
class Draft(Rule):
    """Section 1.2 of the draft, amended as the rulings say that are named behind a line."""

    grammar: ClassVar[list[str] | str] = [
        'urn = [ "urn:" ] ( pdi / interval )',  # pdi-prefix
        'pdi = "pdi" ":" nss',
        "nss = resource-identifier [ citation-specifier / fragment-specifier ]",
        'resource-identifier = "//" document-series "/" iso-date "/" specifier',
        'interval = "pdi" ":" "//" document-series "/" [ year "/" [ month "/" [ day "/" ] ] ]',
        'document-series = component *( "." component ) "." iso-country',
        "iso-country = 2*ALPHA",  # pdi-series
        "component = 1*alpha-hyphen-digits",
        'iso-date = year "/" month "/" day',
        "year = 4*DIGIT / wildcard",
        "month = 1*2DIGIT / wildcard",  # pdi-date
        "day = 1*2DIGIT / wildcard",  # pdi-date
        'specifier = unique-id [ "." format [ "." version ] ]',
        "unique-id = 1*unique-id-chars / wildcard",  # pdi-uid
        'unique-id-chars = ALPHA / DIGIT / other / "%" HEXDIG HEXDIG',
        "format = media-type-token / wildcard",
        'media-type-token = 1*token-char [ "+" 1*token-char ]',  # pdi-format
        'token-char = ALPHA / DIGIT / "-" / "_" / "%" HEXDIG HEXDIG',  # pdi-format
        "version = 1*DIGIT / wildcard",
        'wildcard = "*"',
        'citation-specifier = "@" position "=" [ "urn:" ] pdi',
        'fragment-specifier = "#" [ fragment-scheme "=" ] position *( "," position )',
        "fragment-scheme = 1*alpha-hyphen-digits",
        'position = position-specifier / "(" position-specifier *( "," position-specifier ) ")"',
        "position-specifier = 1*position-char",  # pdi-position
        'position-char = ALPHA / DIGIT / free / "%" HEXDIG HEXDIG / "." / "/" / "*" / "?" / "+"',
        'alpha-hyphen-digits = ALPHA / DIGIT / "-"',
        'other = "(" / ")" / free',
        'free = "-" / ":" / ";" / "$" / "_" / "!" / "\'"',
    ]


# What the ABNF says nothing about: the calendar, zero, how long numbers are and which of two is the
# greater, what each fragment scheme has for positions, how deep citations nest.
BEYOND_THE_ABNF = (
    "pdi-date",
    "pdi-version",
    "part-range",
    "section 3.4",
    "pdi-crop",
    "pdi-fragment-default",
    "pdi-citation",
)


def accepted_by_the_abnf(text: str) -> bool:
    try:
        Draft("urn").parse_all(text)
    except ParseError:
        return False
    return True


def mistake(text: str) -> MalformedIdentifier | None:
    try:
        parse_pdi(text)
    except MalformedIdentifier as error:
        return error
    return None


def agrees_with_the_abnf(text: str) -> None:
    error = mistake(text)
    if error is None:
        assert accepted_by_the_abnf(text)
    elif accepted_by_the_abnf(text):
        assert any(rule in error.rule for rule in BEYOND_THE_ABNF), error


@settings(max_examples=50)
@given(pdis.texts(depth=1))
def test_well_formed_texts_are_so_by_the_abnf(text: str) -> None:
    assert mistake(text) is None
    assert accepted_by_the_abnf(text)


@settings(max_examples=150)
@given(testing.spoil_texts(pdis.texts(depth=1)))
def test_spoiled_texts_are_judged_as_the_abnf_does(text: str) -> None:
    agrees_with_the_abnf(text)


@settings(max_examples=150)
@given(
    st.one_of(
        st.from_regex(r"pdi://[a.-]{1,4}\.us/2026/1{1,3}/20/1\Z"),
        st.from_regex(r"pdi://a\.us/2026/11/20/[a1*%4(.]{1,5}\Z"),
        st.from_regex(r"pdi://a\.us/2026/11/20/1\.[t1*+%2b.]{1,5}\Z"),
        st.from_regex(r"pdi://a\.us/2026/11/20/1\.text\.1#[x=1,2()%4*]{1,8}\Z"),
        st.from_regex(r"pdi://a\.us/2026/11/20/1@[1,(=]{1,3}=pdi://a\.us/2026/[1/]{1,7}\Z"),
        st.from_regex(r"(urn:)?pdi:/{1,3}a\.us/(2026?/(1\*?/)?(\*/)?(1/)?)?\Z"),
    )
)
def test_near_misses_are_judged_as_the_abnf_does(text: str) -> None:
    agrees_with_the_abnf(text)


# the two ways of reading
# -----------------------


def exists(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("spelling", ["{:04}/{:02}/{:02}", "{:04}/{}/{}", "{:05}/{:02}/{:02}"])
@pytest.mark.parametrize("year", [1, 1900, 1997, 2000, 2024, 9999])
def test_the_calendar(year: int, spelling: str) -> None:
    """Ruling pdi-date: "The date must exist in the Gregorian calendar"."""
    for month in range(14):
        for day in range(33):
            error = mistake(f"pdi://a.us/{spelling.format(year, month, day)}/1")
            assert (error is None) == exists(year, month, day)


def fields(pdi: Pdi) -> list[object]:
    """All but the text as it was received."""
    cited = pdi.citation and (pdi.citation.origin, fields(pdi.citation.cited))
    return [
        *(pdi.text, pdi.series, pdi.date, pdi.uid, pdi.format, pdi.version, pdi.fragment),
        cited,
    ]


@given(pdis.values())
def test_the_short_way_is_the_long_way(pdi: Pdi) -> None:
    """As a URN a text does not match the pattern of plain resources."""
    assert grammar.PLAIN_RESOURCE.match(pdi.urn) is None
    assert fields(parse_pdi(pdi.urn)) == fields(parse_pdi(str(pdi))) == fields(pdi)


@pytest.mark.parametrize("series", ["a.us", "a.b.c.us", "a.b.c.d.e.us", "x-1.us", "-.us"])
@pytest.mark.parametrize("day", ["01/01", "01/31", "02/28", "04/30", "09/19", "10/31", "12/29"])
def test_what_is_plain(series: str, day: str) -> None:
    """Series that end in a two-letter code, and days of every year."""
    for rest, groups in (
        ("1", ("1", None, None)),
        ("1.text", ("1", "text", None)),
        ("a-b.x+y.12", ("a-b", "x+y", "12")),
        (f"1.text.{'9' * 18}", ("1", "text", "9" * 18)),
    ):
        for part in ("", "#1", "@1=pdi://a.us/1997/01/01/1"):
            found = grammar.PLAIN_RESOURCE.match(f"pdi://{series}/1997/{day}/{rest}{part}")
            assert found is not None
            assert found.groups() == (series, f"1997/{day}", *groups)
            assert found.end() == len(f"pdi://{series}/1997/{day}/{rest}")


@pytest.mark.parametrize(
    "text",
    [
        "us/1997/01/01/1",
        ".a.us/1997/01/01/1",
        "a.usa/1997/01/01/1",
        "a.u1/1997/01/01/1",
        "A.us/1997/01/01/1",
        f"{'a' * 256}.us/1997/01/01/1",
        "a.us/0997/01/01/1",
        "a.us/1997/1/01/1",
        "a.us/1997/00/01/1",
        "a.us/1997/13/01/1",
        "a.us/1997/01/00/1",
        "a.us/1997/01/32/1",
        "a.us/1996/02/29/1",
        "a.us/1997/02/30/1",
        "a.us/1997/02/31/1",
        "a.us/1997/04/31/1",
        "a.us/1997/11/31/1",
        "a.us/1997/01/*/1",
        "a.us/1997/01/01/%41",
        "a.us/1997/01/01/1.TEXT",
        "a.us/1997/01/01/1.text.0",
        "a.us/1997/01/01/1.text.01",
        f"a.us/1997/01/01/1.text.{'9' * 19}",
        f"a.us/1997/01/01/{'1' * 256}",
        f"a.us/1997/01/01/1.{'a' * 256}",
    ],
)
def test_what_is_not_plain(text: str) -> None:
    found = grammar.PLAIN_RESOURCE.match(f"pdi://{text}")
    assert found is None or found.end() < len(f"pdi://{text}")


@pytest.mark.parametrize("beginning", ["", "urn:"])
@pytest.mark.parametrize("end", ["", ".text.1", "#1,2", "@1=pdi://a.us/1997/01/01/1"])
@pytest.mark.parametrize("series", ["a..us", "a...b.us", "a.b..us"])
def test_an_empty_component_is_refused(beginning: str, series: str, end: str) -> None:
    """document-series = component *["." component] "." iso-country, section 1.2.1."""
    text = f"{beginning}pdi://{series}/1997/01/01/1"
    assert read_plain_key(f"{text}{end}") is None
    with pytest.raises(MalformedIdentifier):
        parse_pdi(text + end)
    with pytest.raises(MalformedIdentifier):
        parse_pdi(f"pdi://a.us/1997/01/01/1@1={text}")


# where an error points
# ---------------------

_N = "9" * 18  # the greatest number, for an end that is not before its start
_CITED = "pdi://a.us/1997/1/1/1"
_COMPLETIONS = (
    *("", "1", "01", "a", "us", "a.us/", ".us/", "us/", "s/", "/", "//a.us/", "/a.us/"),
    *(
        "2026/",
        "026/",
        "26/",
        "6/",
        "1/",
        "0001/",
        "001/",
        "1/01/",
        "/1/",
        "/1/1",
        "1/1/1",
        "/1/1/1",
    ),
    *("*", "*/", "/1", "1/1", "1%41", "41", "1a", "=1", ",1", "1)", ")", "x=1", "1=1"),
    *(f"{begin}=1,{_N}" for begin in ("char", "", "har", "=1")),
    *(f"sec,1,{_N}", f"crop=sec,1,{_N}"),
    *(
        digits + rest
        for digits in ("", "9", "99", "9" * 4, "9" * 8, "9" * 12, "9" * 16)
        for rest in (
            "",
            ")",
            f",{_N})",
            f",{_N}",
            f",{_N}),({_N},{_N})",
            f"),({_N},{_N})",
            f",({_N},{_N})",
        )
    ),
    *(f"({_N},{_N})", f"{_N},{_N})", f"{_N})", f"1,{_N}", f"(1,1),({_N},{_N})"),
    *(f"1,1),({_N},{_N})", f"{_N},{_N}),({_N},{_N})"),
    *(begin + "=" + _CITED for begin in ("", "1", ")", "1)", "41", "41)")),
    *(_CITED[at:] for at in (0, 5, 6, 7, 10, 11)),
)


def completions(beginning: str) -> list[str]:
    """Texts that go on from `beginning`, one of which is well-formed if any text is."""
    rests = list(_COMPLETIONS)
    begun = max(beginning.rfind("="), 0)
    for prefix in ("pdi://", "urn:pdi://"):
        for so_far in (beginning, beginning[begun + 1 :]):
            if prefix.startswith(so_far.lower()):
                rests += [prefix[len(so_far) :] + "a.us/1997/1/1/1"]
    return [beginning + rest for rest in rests]


@given(testing.spoil_texts(pdis.texts(depth=1)))
@example("pdi://a.us/1997/1/1/1@x=pdi://b.us/*%/1/1/1")  # only a whole PDI can be a parameter
def test_an_error_points_to_the_first_character_that_cannot_stand_there(text: str) -> None:
    error = mistake(text)
    if error is None or error.rule == "ruling pdi-limits":
        return
    beginning = text[: error.at]
    well_formed = [whole for whole in completions(beginning) if mistake(whole) is None]
    assert well_formed, (beginning, str(error))


# Where the whole of a component is at fault, an error points to its beginning; and to where a
# position is none that the implied scheme has, though it might have become a scheme's name.
_ABOUT_A_COMPONENT = (
    *("pdi-date", "pdi-version", "pdi-fragment-default", "pdi-crop", "part-range", "section 3.4"),
)


@pytest.mark.parametrize(
    ("part", "place", "rule"),
    [
        ("crop=sec,3,3,y", 13, "section 3.4"),  # an interval of no length is in order
        ("crop=sec,3,2,y", 11, "part-range"),
    ],
)
def test_an_error_behind_an_interval_points_to_it_only_if_it_ends_too_early(
    part: str, place: int, rule: str
) -> None:
    error = mistake(f"{_CITED}#{part}")
    assert error is not None
    assert (error.at - len(f"{_CITED}#"), rule in error.rule) == (place, True)


@given(testing.spoil_texts(pdis.texts(depth=1)))
def test_no_character_can_stand_where_an_error_points(text: str) -> None:
    error = mistake(text)
    if error is None or error.at == len(text):
        return
    if not any(rule in error.rule for rule in _ABOUT_A_COMPONENT):
        assert all(mistake(whole) for whole in completions(text[: error.at + 1]))


# time
# ----


def _many(begin: str, middle: str, end: str) -> Callable[[int], str]:
    return lambda length: begin + middle * (length // len(middle)) + end


_BEGIN = "pdi://a.us/2026/11/20/"
PATHOLOGICAL = {
    "series": _many("pdi://", "a.", ""),
    "series-without-country": _many("pdi://", "a.", "1/"),
    "series-of-dots": _many("pdi://a", ".", ".us/"),
    "year": _many("pdi://a.us/", "9", ""),
    "uid": _many(_BEGIN, "a", "."),
    "uid-escapes": _many(_BEGIN, "%41", "%"),
    "uid-mixed": _many(_BEGIN, "a%2e", "/"),
    "uid-uri": _many(_BEGIN + "http:%2f%2fa%2f", "%2e%2e%2f", ""),
    "format": _many(_BEGIN + "1.", "a%2b", "+"),
    "version-zeros": _many(_BEGIN + "1.text.", "0", ""),
    "version": _many(_BEGIN + "1.text.", "9", ""),
    "positions": _many(_BEGIN + "1.text.1#", "1,", ""),
    "lists": _many(_BEGIN + "1.text.1#x=", "(1,1),", "("),
    "parentheses": _many(_BEGIN + "1.text.1#", "(", ""),
    "name": _many(_BEGIN + "1.html.1#name=", "%41", ",%4"),
    "scheme": _many(_BEGIN + "1.text.1#", "a-", "=1"),
    "citations": _many("", _BEGIN + "1@1=", ""),
    "origin": _many(_BEGIN + "1@(", "1,", "1"),
}


def read(text: str) -> str | None:
    try:
        return parse_pdi(text).key
    except MalformedIdentifier:
        return None


@pytest.mark.growth
@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_time_is_linear_in_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its limit, too: time that grows with the square of the length would be hours."""
    for module in (grammar, pdi):
        monkeypatch.setattr(module, "LONGEST", 1 << 30)
    read(PATHOLOGICAL[name](1_000_000))


def test_a_text_beyond_the_limit_is_not_read() -> None:
    error = mistake(_BEGIN + "a" * 10_000_000)
    assert error is not None
    assert error.at == LONGEST
