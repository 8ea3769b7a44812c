"""Making PWIDs and writing them in every dialect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.archives.pwid.making import make_pwid, write_pwid
from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.ids.pwid import Pwid, parse_pwid
from perdure.ids.pwid_dialects import DIALECTS
from perdure.testing import pwid as pwid_texts

DR = parse_pwid("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk")


@pytest.mark.parametrize(
    "at",
    ["2016-01-22T11:20:29Z", "2016-01-22T11.20.29Z", "20160122112029", " 2016-01-22t112029z"],
)
def test_a_time_may_be_written_in_many_ways(at: str) -> None:
    assert make_pwid("archive.org", at, "Page", "http://www.dr.dk") == DR


def test_what_was_made_is_valid() -> None:
    assert make_pwid("archive.org", "20160122112029", "page", "http://www.dr.dk").is_valid(
        "draft-04"
    )


@pytest.mark.parametrize(
    ("item", "written"),
    [("http://a/b c", "http://a/b%20c"), ("http://a/ü", "http://a/%C3%BC"),
     ("http://a/?x=1&y#z%20", "http://a/?x=1&y#z%20"),
     ('http://a/?q="b"&<c>', "http://a/?q=%22b%22&%3Cc%3E"),
     ("http://a/p|q{r}^`\\", "http://a/p%7Cq%7Br%7D%5E%60%5C"),
     ("http://a/?x[]=[1]", "http://a/?x%5B%5D=%5B1%5D"),
     ("http://u@[2001:db8::1]:80/[x]", "http://u@[2001:db8::1]:80/%5Bx%5D")],
)  # fmt: skip
def test_only_what_no_uri_can_have_is_escaped(item: str, written: str) -> None:
    pwid = make_pwid("a.org", "20160122112029", "part", item)
    assert pwid.item == written
    assert pwid.is_valid("draft-04")


@pytest.mark.parametrize(
    ("archive", "at", "coverage", "item"),
    [("", "2016", "page", "http://a/"), ("a:b", "2016", "page", "http://a/"),
     ("a", "2016-02-30", "page", "http://a/"), ("a", "2016", "pages", "http://a/"),
     ("a", "2016", "page", ""), ("a", "99999999999999", "page", "http://a/")],
)  # fmt: skip
def test_what_cannot_be_is_an_error(archive: str, at: str, coverage: str, item: str) -> None:
    with pytest.raises(MalformedIdentifier):
        make_pwid(archive, at, coverage, item)


# the examples of the drafts themselves
@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("draft-00", "pwid:archive.org:2016-01-22T11.20.29Z_page:http://www.dr.dk"),
        ("draft-04", "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"),
        ("urn-03", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"),
        ("urn-09", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"),
        ("urn", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"),
    ],
)
def test_the_dialects(dialect: str, text: str) -> None:
    assert write_pwid(DR, dialect) == text


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("pwid:a.org:2016:page:http://a/", "draft-04"),
        ("pwid:a.org:2016-01-22T11.20.29Z:site:http://a/", "urn-09"),
        ("pwid:a.org:2016-01-22T11.20.29Z:subsite:http://a/", "draft-00"),
        ("pwid:a.org:2016-01-22T11.20.29Z:page:some-id", "urn-09"),
    ],
)
def test_what_a_dialect_cannot_say_is_refused_and_others_are_named(text: str, dialect: str) -> None:
    with pytest.raises(InvalidRequest, match="use one of "):
        write_pwid(parse_pwid(text), dialect)


@given(pwid=pwid_texts.values(), dialect=st.sampled_from(DIALECTS))
def test_what_is_written_satisfies_its_grammar_and_means_the_same(pwid: Pwid, dialect: str) -> None:
    try:
        text = write_pwid(pwid, dialect)
    except InvalidRequest:
        return
    assert parse_pwid(text).is_valid(dialect)
    assert parse_pwid(text) == pwid
