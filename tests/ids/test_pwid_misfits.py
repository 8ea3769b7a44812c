"""Why a text does not have the grammar of a draft: the fields that are to blame."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids.pwid import parse_pwid
from perdure.ids.pwid_dialects import DIALECTS, DialectGrammar, list_misfits
from perdure.testing import pwid as pwid_texts


@pytest.mark.parametrize(
    ("text", "dialect", "fields"),
    [
        ("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk", "draft-04", ""),
        ("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk", "draft-00", "coverage"),
        ("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk", "urn-09", "opening time"),
        ("pwid:archive.org:2016-01-22_11.20.29Z:page:http://www.dr.dk", "draft-04", "time"),
        ("pwid:archive.org:2016-01-22_11.20.29Z_page:http://www.dr.dk", "draft-00", ""),
        ("pwid:archive.org:2016-01-22_11.20.29Z_page:http://www.dr.dk", "draft-01", "coverage"),
        ("pwid:archive.org:2016-01-22_11.20.29Z:http://www.dr.dk", "draft-00", ""),
        ("pwid:archive.org:2016:http://www.dr.dk", "draft-00", "time"),
        ("urn:pwid:a_b:2016-01-22T11:20:29Z:site:http://a/%20", "urn-09", "archive coverage item"),
        ("urn:pwid:archive.org:2016-10-20T22:26:35:page:https://www.doi.org/", "urn-09", "time"),
        ("urn:pwid:a.org:2016-01-22T11:20:29Z:page:http://a/%23b%23c", "urn-09", "item"),
        ("urn:pwid:a.org:2016-01-22T11:20:29Z:page:http://a/%23b%3Fc", "urn-09", ""),
        ("pwid:a%41:2016-01-22T11.20.29Z:page:http://a", "draft-04", "archive"),
    ],
)
def test_the_fields_that_are_to_blame(text: str, dialect: str, fields: str) -> None:
    found = list_misfits(dialect, text, parse_pwid(text).item)
    assert " ".join(one.field for one in found) == fields


@given(text=pwid_texts.texts(), dialect=st.sampled_from(DIALECTS))
def test_there_is_a_fault_just_where_the_grammar_is_not_satisfied(text: str, dialect: str) -> None:
    pwid = parse_pwid(text)
    found = list_misfits(dialect, text, pwid.item)
    assert bool(found) is not pwid.is_valid(dialect)
    assert {one.field for one in found} <= set(DialectGrammar._fields)


@pytest.mark.corpus
def test_the_pwids_found_in_the_wild() -> None:
    path = Path(__file__).parents[3] / "shared/vectors/pwid-in-the-wild.json"
    if not path.exists():
        pytest.skip("the vectors lie beside the project")
    for case in json.loads(path.read_text("utf-8"))["cases"]:
        try:
            pwid = parse_pwid(case["pwid"])
        except MalformedIdentifier:
            assert case["readable"] is False
            continue
        for mark, dialect in (("draft04", "draft-04"), ("urn03", "urn-03"), ("urn09", "urn-09")):
            assert bool(list_misfits(dialect, pwid.written, pwid.item)) is not case[mark]


PLAIN = "letters, digits and -._~"
EIGHT = "a colon and part, page, subsite, site, collection, recording, snapshot, other"
ESCAPED = f"a URI with [ ] ? # escaped, or {PLAIN}"
FIVE = "a URI in which only [ ] ? # % are escaped"
UTC = "2016-01-22Z or 2016-01-22T11:20:29Z"
DATED = "2016, 2016-01, 2016-01-22 or, with a time of day, 2016-01-22T11:20Z"
GLUED = "_page, _part, _coll, _snapshot, _rec or _other after the time, or nothing"
EXPECTED = {
    "draft-00": ("pwid", PLAIN, "2016-01-22_11.20.29Z", GLUED, f"a URI, or {PLAIN}"),
    "draft-03": ("pwid", PLAIN, "2016-01-22_11.20.29Z", EIGHT, f"a URI, or {PLAIN}"),
    "draft-04": ("pwid", PLAIN, "2016-01-22T11.20.29Z", EIGHT, f"a URI, or {PLAIN}"),
    "urn-03": ("urn:pwid", PLAIN, "2016-01-22T11:20:29Z", EIGHT, f"a URI, or {PLAIN}"),
    "urn-04": ("urn:pwid", PLAIN, f"{DATED}, in capitals", EIGHT, ESCAPED),
    "urn-05": ("urn:pwid", PLAIN, DATED, EIGHT, ESCAPED),
    "urn-08": ("urn:pwid", "a domain, or ~ and an id", UTC, "letters", f"{FIVE}, or ~ and an id"),
    "urn-09": ("urn:pwid", "a domain", UTC, "a colon and part or page", FIVE),
}


@pytest.mark.parametrize("dialect", EXPECTED)
def test_what_each_grammar_expects(dialect: str) -> None:
    """Every example of a time that is shown has the grammar that it is an example of."""
    told: dict[str, str] = {}
    for opening in ("pwid", "urn:pwid"):
        for coverage in (":page", "_page", ":rec"):
            text = f"{opening}:a!b:2016-1{coverage}:a b"
            told |= {one.field: one.expected for one in list_misfits(dialect, text, "a b")}
    opening, archive, time, coverage, item = EXPECTED[dialect]
    expected = {"opening": opening, "archive": archive, "time": time, "item": item}
    assert told == told | expected
    assert told.get("coverage", coverage) == coverage
    for example in re.findall(r"2016\S*[0-9Z]", time):
        behind = "_page" if dialect == "draft-00" else ":page"
        text = f"{opening}:a.org:{example}{behind}:http://a"
        assert list_misfits(dialect, text, "http://a") == (), text
