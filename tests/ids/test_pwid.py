"""PWIDs, against every published draft and what is found in the wild."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from abnf.grammars import rfc3339, rfc3986
from abnf.grammars.misc import load_grammar_rules
from abnf.parser import ParseError, Rule
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.ids import LONGEST
from perdure.ids.pwid import Pwid, parse_pwid
from perdure.ids.pwid_dialects import DIALECTS
from perdure.testing import pwid as pwids

VECTORS = Path(__file__).parents[2] / "vectors"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    return found


@pytest.mark.parametrize(
    "case",
    [*cases("pwid-time"), *cases("pwid-coverage"), *cases("pwid-form")],
    ids=lambda case: ascii(case["text"]),
)
def test_vectors(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(MalformedIdentifier):
            parse_pwid(case["text"])
        return
    pwid = parse_pwid(case["text"])
    assert str(pwid) == case["canonical"]
    for name, value in case.get("fields", {}).items():
        assert getattr(pwid, name) == value


@pytest.mark.parametrize("case", cases("pwid-dialects"), ids=lambda case: case["text"])
def test_dialects(case: dict[str, Any]) -> None:
    assert parse_pwid(case["text"]).dialects == set(case["dialects"])


@pytest.mark.parametrize("case", cases("pwid-in-the-wild"), ids=lambda case: case["pwid"])
def test_in_the_wild(case: dict[str, Any]) -> None:
    if not case["readable"]:
        with pytest.raises(MalformedIdentifier):
            parse_pwid(case["pwid"])
        return
    pwid = parse_pwid(case["pwid"])
    assert pwid.is_valid("draft-04") == case["draft04"]
    assert pwid.is_valid("urn-03") == case["urn03"]
    assert pwid.is_valid("urn-09") == case["urn09"]


@load_grammar_rules(
    [("unreserved", rfc3986.Rule("unreserved")), ("URI", rfc3986.Rule("URI"))]
    + [
        (name, rfc3339.Rule(name))
        for name in ("full-date", "time-hour", "time-minute", "time-second")
    ]
)
class Draft04(Rule):
    """Section 3 of draft-pwid-uri-specification-04, with `1*unreserved` for `+( unreserved )`."""

    grammar: ClassVar[list[str] | str] = [
        'pwid-uri = "pwid" ":" pwid-spec',
        'pwid-spec = archive-id ":" archival-time ":" coverage-spec ":" archived-item',
        "archive-id = 1*unreserved",
        'archival-time = full-date "T" full-pwid-time',
        'full-pwid-time = time-hour ["."] time-minute ["."] time-second "Z"',
        'coverage-spec = "part" / "page" / "subsite" / "site" / other-coverage',
        'other-coverage = "collection" / "recording" / "snapshot" / "other"',
        "archived-item = URI / archived-item-id",
        "archived-item-id = 1*unreserved",
    ]


@load_grammar_rules([(name, rfc3986.Rule(name)) for name in ("scheme", "unreserved", "sub-delims")])
class Urn09(Rule):
    """Draft-pwid-urn-specification-09, with RFC 1034 section 3.5, and `URI` of RFC 3986 without its
    "[", "]", "?" and "#" and with five percent-escapes."""

    grammar: ClassVar[list[str] | str] = [
        'pwid-urn = "urn:" pwid-NID ":" pwid-NSS',
        'pwid-NID = "pwid"',
        'pwid-NSS = archive-domain ":" archival-time ":" precision-spec ":" archived-uri',
        'archive-domain = label *("." label)',
        "label = ALPHA [ *ldh let-dig ]",
        'ldh = let-dig / "-"',
        "let-dig = ALPHA / DIGIT",
        'archival-time = utc-date ["T" utc-time] "Z"',
        'utc-date = 4DIGIT "-" 2DIGIT "-" 2DIGIT',
        'utc-time = 2DIGIT ":" 2DIGIT [":" 2DIGIT [secfrac]]',
        'secfrac = "." 1*9DIGIT',
        'precision-spec = "part" / "page"',
        'archived-uri = scheme ":" ( "//" authority *( "/" *pchar ) / path )',
        'authority = [ *( plain / ":" ) "@" ] *plain [ ":" *DIGIT ]',
        'path = [ "/" ] [ 1*pchar *( "/" *pchar ) ]',
        'pchar = plain / ":" / "@"',
        "plain = unreserved / escaped / sub-delims",
        'escaped = "%5B" / "%5D" / "%3F" / "%23" / "%25"',
    ]


def accepted(rule: Rule, text: str) -> bool:
    try:
        rule.parse_all(text)
    except ParseError:
        return False
    return True


@given(pwids.texts())
def test_draft_04_is_what_its_abnf_says(text: str) -> None:
    assert parse_pwid(text).is_valid("draft-04") == accepted(Draft04("pwid-uri"), text)


@given(pwids.values())
def test_every_pwid_with_a_second_and_a_strict_item_is_written_in_draft_04(pwid: Pwid) -> None:
    """Ruling pwid-dialect: "it can be written in either dialect (`str()` = draft-04 …)"."""
    can = pwid.precision == "second" and pwid.coverage is not None and "%" not in pwid.archive
    item = accepted(Draft04("archived-item"), pwid.item)
    assert parse_pwid(str(pwid)).is_valid("draft-04") == (can and item)


@given(pwids.values())
def test_urn_09_is_what_its_abnf_says(pwid: Pwid) -> None:
    is_uri = accepted(rfc3986.Rule("URI"), pwid.item)
    for text in (pwid.urn, pwid.written):
        expected = accepted(Urn09("pwid-urn"), text) and is_uri
        assert parse_pwid(text).is_valid("urn-09") == expected


@given(pwids.values())
def test_both_dialects_give_the_same_pwid(pwid: Pwid) -> None:
    """Ruling pwid-dialect: "it can be written in either dialect"; nothing may change an item."""
    assert parse_pwid(str(pwid)) == pwid
    assert parse_pwid(pwid.urn) == pwid
    assert parse_pwid(str(pwid)).item == parse_pwid(pwid.urn).item == pwid.item


@given(pwids.values())
def test_the_registered_form_keeps_to_the_syntax_of_urns(pwid: Pwid) -> None:
    """Draft urn-09: "occurrences of "[", "]", "?", "#" and "%" are %-encoded in order not to clash
    with URN reserved characters"."""
    assert not set("[]?#") & set(pwid.urn)


@given(pwids.texts().filter(lambda text: text[:4].lower() == "pwid"))
def test_the_item_of_the_uri_form_is_kept_verbatim(text: str) -> None:
    """Ruling pwid-form: "the archived item is everything after the coverage and its colon, fragment
    and query included, kept verbatim"."""
    assert text.endswith(parse_pwid(text).item)


@pytest.mark.parametrize(
    ("time", "instant"),
    [
        ("2016", dt.datetime(2016, 1, 1, tzinfo=dt.UTC)),
        ("2016-02", dt.datetime(2016, 2, 1, tzinfo=dt.UTC)),
        ("2016-02-29", dt.datetime(2016, 2, 29, tzinfo=dt.UTC)),
        ("2016-02-29T23.59Z", dt.datetime(2016, 2, 29, 23, 59, tzinfo=dt.UTC)),
        ("2016-02-29T235958Z", dt.datetime(2016, 2, 29, 23, 59, 58, tzinfo=dt.UTC)),
        ("2016-02-29T23.59.58.5Z", dt.datetime(2016, 2, 29, 23, 59, 58, 500000, dt.UTC)),
        ("2016-02-29T23.59.58.000000999Z", dt.datetime(2016, 2, 29, 23, 59, 58, 0, dt.UTC)),
        ("9999-12-31T23.59.60Z", dt.datetime.max.replace(tzinfo=dt.UTC)),
        ("2016-12-31T23.59.60.5Z", dt.datetime(2016, 12, 31, 23, 59, 59, 999999, dt.UTC)),
        ("0001-01-01T00.00.00Z", dt.datetime.min.replace(tzinfo=dt.UTC)),
    ],
)
def test_the_instant_is_where_the_time_begins(time: str, instant: dt.datetime) -> None:
    assert parse_pwid(f"pwid:a.org:{time}:page:http://a/").instant == instant


@given(pwids.values())
def test_every_time_has_an_instant(pwid: Pwid) -> None:
    assert f"{pwid.instant:%Y}" == pwid.time[:4]


@given(st.datetimes(), st.datetimes())
def test_an_archives_pwids_sort_by_time(one: dt.datetime, other: dt.datetime) -> None:
    first, second = (
        parse_pwid(f"pwid:a.org:{moment.isoformat(timespec='seconds')}Z:page:http://a/")
        for moment in (one, other)
    )
    assert (first < second) == (first.instant < second.instant)
    assert (first == second) == (first.instant == second.instant)


def test_the_archive_is_compared_without_regard_to_case_and_the_item_is_not() -> None:
    """Ruling pwid-equal."""
    assert parse_pwid("pwid:A.ORG:2016:page:http://a/") == parse_pwid(
        "pwid:a.org:2016:page:http://a/"
    )
    assert parse_pwid("pwid:a.org:2016:page:http://A/") != parse_pwid(
        "pwid:a.org:2016:page:http://a/"
    )
    assert parse_pwid("pwid:a.org:2016:page:http://a") != parse_pwid(
        "pwid:a.org:2016:page:http://a/"
    )


def test_there_are_no_other_dialects() -> None:
    pwid = parse_pwid("pwid:a.org:2016:page:http://a/")
    with pytest.raises(InvalidRequest, match="draft-04, urn-00"):
        pwid.is_valid("draft-05")
    assert len(DIALECTS) == 15


def test_the_canonical_form_has_a_limit_too() -> None:
    """Ruling pdi-limits: what is read must be readable again once it is written."""
    longest = "pwid:a.org:2016-01-01T010203Z:page:http://a/"
    longest += "a" * (LONGEST - len(longest) - 2)  # for two dots
    assert len(str(parse_pwid(longest))) == LONGEST
    with pytest.raises(MalformedIdentifier, match="ruling pdi-limits"):
        parse_pwid(longest + "a")


def test_a_refusal_is_good_english() -> None:
    with pytest.raises(MalformedIdentifier, match="expected an hour from 00 to 23"):
        parse_pwid("pwid:archive.org:2016-01-22T25.20.29Z:page:http://www.dr.dk")
    with pytest.raises(MalformedIdentifier, match="expected a month from 01 to 12"):
        parse_pwid("pwid:archive.org:2016-13-22T11.20.29Z:page:http://www.dr.dk")


@pytest.mark.parametrize("separator", [".", ":"])
def test_no_separator_stands_before_the_hour(separator: str) -> None:
    text = f"pwid:archive.org:2016-01-22T{separator}11:page:http://www.dr.dk/"
    with pytest.raises(MalformedIdentifier, match="expected an hour from 00 to 23") as refused:
        parse_pwid(text)
    assert refused.value.at == text.index("T") + 1
