"""The registry of archives: every entry's example both ways, and what an operator adds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from perdure.archives.pwid.known import Archive, Archives, load_archives, load_packaged
from perdure.archives.pwid.playback import Pattern
from perdure.errors import BadSettings
from perdure.ids.pwid import Pwid, parse_pwid
from perdure.settings import Settings
from perdure.testing import pwid as pwid_texts

KNOWN = load_archives(Settings())
TODAY = "2026-11-21"
BY_ID = {one.id: one for one in load_packaged()}
WITHOUT_EXAMPLE = {"warp.da.ndl.go.jp", "webharvest.gov", "commoncrawl.org"}
DR = parse_pwid("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk")

OWN = """
[[archive]]
id = "archive.example"
aliases = ["old.example"]
access = "open"
[[archive.patterns]]
url = "https://archive.example/{time}/{uri}"
raw = "https://archive.example/{time}id_/{uri}"

[[archive]]
id = "archive.org"
patterns = [{ url = "https://mirror.example/web/{time}/{uri}" }]

[[archive]]
id = "gone.example"
moved_to = "archive.example"
"""


@pytest.mark.parametrize("archive", load_packaged(), ids=list(BY_ID))
def test_every_archive_has_an_example_that_holds_both_ways(archive: Archive) -> None:
    if archive.id in WITHOUT_EXAMPLE:
        assert archive.example is None
        return
    assert archive.example is not None
    pwid = parse_pwid(archive.example.pwid)
    assert pwid.is_valid("draft-04")
    assert pwid.archive == archive.id
    if archive.find_pattern_on(TODAY):
        assert KNOWN.make_playback_url(pwid) == archive.example.url
        assert KNOWN.make_raw_url(pwid) == (archive.example.raw or None)
    elif archive.local:
        assert KNOWN.make_playback_url(pwid) is None
        assert KNOWN.make_local_url(pwid) == archive.example.url
    else:
        assert KNOWN.make_playback_url(pwid) is None
    assert KNOWN.read_playback_url(archive.example.url)[0].pwid == pwid
    if archive.example.raw:
        found = KNOWN.read_playback_url(archive.example.raw)[0].pwid
        assert (found.item, found.time, found.coverage) == (pwid.item, pwid.time, "part")


def test_there_are_all_that_the_reference_lists() -> None:
    assert len(KNOWN) == 37


def test_no_name_is_that_of_two() -> None:
    names = [name for one in load_packaged() for name in one.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["archive.org", "Web.Archive.ORG", "~archive.org"])
def test_an_archive_is_found_by_any_of_its_names(name: str) -> None:
    assert KNOWN.find_archive(name) is BY_ID["archive.org"]


def test_every_older_form_is_read() -> None:
    for archive in load_packaged():
        for pattern in archive.patterns:
            url = pattern.url.replace("{time}", "20160122112029").replace("{uri}", "http://a/?b#c")
            found = KNOWN.read_playback_url(url.replace("{collection}", "some"))
            assert archive.id in [one.archive.id for one in found]
            assert {one.pwid.item for one in found} == {"http://a/?b#c"}


def test_a_collection_is_a_slot() -> None:
    pwid = parse_pwid("pwid:archive-it.org:2016-01-22T11.20.29Z:page:http://www.dr.dk")
    url = "https://wayback.archive-it.org/4399/20160122112029/http://www.dr.dk"
    assert KNOWN.make_playback_url(pwid, collection="4399") == url
    (found,) = KNOWN.read_playback_url(url)
    assert (found.pwid, found.collection) == (pwid, "4399")
    harvest = parse_pwid("pwid:webharvest.gov:2016-01-22T11.20.29Z:page:http://a/")
    assert KNOWN.make_playback_url(harvest) is None
    assert KNOWN.make_playback_url(harvest, collection="congress112th") == (
        "https://www.webharvest.gov/congress112th/20160122112029/http://a/"
    )


def test_the_nearest_fit_comes_first() -> None:
    found = KNOWN.read_playback_url("https://wayback.archive-it.org/11112/20160122112029/http://a/")
    assert [one.archive.id for one in found] == ["webarchive.proni.gov.uk", "archive-it.org"]


@pytest.mark.parametrize(
    ("mark", "coverage"),
    [("", "page"), ("id_", "part"), ("im_", "part"), ("js_", "part"), ("if_", "page"),
     ("mp_", "page")],
)  # fmt: skip
def test_the_mark_behind_the_time_says_what_is_wanted(mark: str, coverage: str) -> None:
    url = f"https://web.archive.org/web/20160122112029{mark}/http://a/b?c=d&e#f"
    (found,) = KNOWN.read_playback_url(url)
    assert found.pwid == parse_pwid(
        f"pwid:archive.org:2016-01-22T11.20.29Z:{coverage}:http://a/b?c=d&e#f"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("www.dr.dk/a", "http://www.dr.dk/a"),
        ("http:/www.dr.dk/a", "http://www.dr.dk/a"),
        ("dr.dk:8080/a", "http://dr.dk:8080/a"),
        ("ftp://dr.dk/a", "ftp://dr.dk/a"),
        ("urn:isbn:1", "urn:isbn:1"),
    ],
)
def test_an_address_without_a_scheme_is_read_as_archives_do(written: str, meant: str) -> None:
    (found,) = KNOWN.read_playback_url(f"https://web.archive.org/web/20160122112029/{written}")
    assert found.pwid.item == meant


@pytest.mark.parametrize(
    "url",
    [
        "https://web.archive.org/web/2016/http://a/",  # names no capture
        "https://web.archive.org/web/*/http://a/",
        "https://web.archive.org/web/20160230112029/http://a/",
        "https://web.archive.org/web/20160122112029/",
        "https://web.archive.org.evil.example/web/20160122112029/http://a/",
        "https://evil.example/https://web.archive.org/web/20160122112029/http://a/",
        "ftp://web.archive.org/web/20160122112029/http://a/",
        "https://web.archive.org/web/20160122112029/http://a/\r\nb",
        "",
    ],
)
def test_what_plays_nothing_back(url: str) -> None:
    assert KNOWN.read_playback_url(url) == ()


@pytest.mark.parametrize("time", ["2016", "2016-01", "2016-01-22", "2016-01-22T11.20Z"])
def test_a_time_that_names_no_single_capture_has_no_address(time: str) -> None:
    assert KNOWN.make_playback_url(parse_pwid(f"pwid:archive.org:{time}:page:http://a/")) is None


def test_endpoints() -> None:
    pwid = parse_pwid("pwid:archive.org:2016-01-22T11.20.29Z:page:http://a/?b&c#d")
    assert KNOWN.make_timegate_url(pwid) == "https://web.archive.org/web/http://a/?b&c#d"
    assert (
        KNOWN.make_timemap_url(pwid) == "https://web.archive.org/web/timemap/link/http://a/?b&c#d"
    )
    assert KNOWN.make_cdx_url(pwid) == (
        "https://web.archive.org/cdx/search/cdx?url=http%3A%2F%2Fa%2F%3Fb%26c%23d"
    )
    onb = parse_pwid("pwid:webarchiv.onb.ac.at:2013-12-03T17.03.03Z:page:http://m.onb.ac.at/?a=b&c")
    assert KNOWN.make_resolver_url(onb) == (
        "https://webarchiv.onb.ac.at/resolve.jsp?pwid="
        "urn:pwid:webarchiv.onb.ac.at:2013-12-03T17:03:03Z:page:http:%2F%2Fm.onb.ac.at%2F%253Fa%3Db%26c"
    )
    assert KNOWN.make_resolver_url(pwid) is None
    assert KNOWN.make_timegate_url(parse_pwid("pwid:archive.org:2016:page:some-id")) is None


def test_the_standard_form_needs_to_be_allowed() -> None:
    """Draft-04 section 5: "https://<archive-id>/pwid?time=<archival-time>&coverage=<coverage-spec>
    &item=<archived-item>"; the item is escaped, since it may have an `&`."""
    pwid = parse_pwid("pwid:unknown.example:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a&b#c%20d%")
    believing = load_archives(Settings(unknown_archives="standard-form"))
    assert KNOWN.make_playback_url(pwid) is None
    assert believing.make_playback_url(pwid) == (
        "https://unknown.example/pwid?time=2016-01-22T11:20:29Z&coverage=page"
        "&item=http%3A%2F%2Fwww.dr.dk%2F%3Fa%26b%23c%2520d%25"
    )
    assert believing.make_raw_url(pwid) is None
    closed = parse_pwid("pwid:netarkivet.dk:2016-01-22T11.20.29Z:page:http://www.dr.dk")
    assert believing.make_playback_url(closed) is None
    for host in ("localhost", "127.0.0.1", "10.1", "x_y.example", "a%2F.example", "-a.example"):
        nowhere = parse_pwid(f"pwid:{host}:2016-01-22T11.20.29Z:page:http://a/")
        assert believing.make_playback_url(nowhere) is None


def test_an_operator_adds_archives_and_corrects_them(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    own = load_archives(Settings(archives_file="own.toml"), tmp_path)
    assert len(own) == 39
    assert own.make_playback_url(DR) == "https://mirror.example/web/20160122112029/http://www.dr.dk"
    for host in ("archive.example", "old.example", "gone.example"):
        pwid = parse_pwid(f"pwid:{host}:2016-01-22T11.20.29Z:page:http://www.dr.dk")
        assert (
            own.make_playback_url(pwid) == "https://archive.example/20160122112029/http://www.dr.dk"
        )


def test_a_pattern_is_written_while_it_is_valid() -> None:
    """From `since` to `until`, both included and as exact as they are known; all are read."""
    old = Pattern(url="https://old.example/{time}/{uri}", until="2018-05")
    new = Pattern(url="https://new.example/{time}/{uri}", since="2018-06-01", until="?")
    last = Pattern(url="https://last.example/{time}/{uri}", since="2030")
    archive = Archive(id="a.example", patterns=(last, new, old))
    pwid = parse_pwid("pwid:a.example:2016-01-22T11.20.29Z:page:http://b/")
    for day, host in (
        ("2018-05-31", "old"),
        ("2018-06-01", None),
        ("2029-12-31", None),
        ("2030-01-01", "last"),
    ):
        found = Archives((archive,), today=partial(str, day))
        url = f"https://{host}.example/20160122112029/http://b/"
        assert found.make_playback_url(pwid) == (url if host else None)
        for one in ("old", "new", "last"):
            address = url.replace(str(host), one)
            assert [each.pwid for each in found.read_playback_url(address)] == [pwid]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "[[archive]]\nid = 'a'\npatterns = [{ url = 'https://a/{uri}{time}', until = 'May' }]",
            "dates like",
        ),
        ("[[archive]]\nname = 'a'", "id"),
        ("[[archive]]\nid = 'a'\nnotes = 'b'", "notes"),
        ("[[archive]]\nid = 'a'\naccess = 'b'", "access"),
        ("[[archive]]\nid = 'A'", "lower case"),
        ("[[archive]]\nid = 'a'\npatterns = [{ url = 'https://a/{time}' }]", "lacks {uri}"),
        ("[[archive]]\nid = 'a'\npatterns = [{ url = 'https://{uri}/{time}' }]", "not an http"),
        ("[[archive]]\nid = 'a'\npatterns = [{ url = 'file:///{uri}/{time}' }]", "not an http"),
        ("[[archive]]\nid = 'a'\npatterns = [{ url = 'https://a/{uri}{time}{x}' }]", "must be one"),
        ("[[archive]]\nid = 'a'\npatterns = [{ url = 'https://a/{uri}{time}{' }]", "must be one"),
        (
            "[[archive]]\nid = 'a'\npatterns = [{ url = 'https://a/{uri}{time}{uri}' }]",
            "same slot twice",
        ),
        ("[[archive]]\nid = 'a'\naliases = ['archive.org']", "both"),
        ("[[archives]]\nid = 'a'", "only table"),
        ("[[archive]", "Expected"),
    ],
)
def test_a_mistake_in_a_file_is_told(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(BadSettings, match=reason):
        load_archives(Settings(archives_file="own.toml"), tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        load_archives(Settings(archives_file="own.toml"), tmp_path)


@given(pwid=pwid_texts.values())
def test_no_identifier_leads_anywhere_but_to_its_archive(pwid: Pwid) -> None:
    """The host of an address is that of the registry's entry, and the item comes out again."""
    only = Archives(
        [
            Archive(
                id=pwid.archive.removeprefix("~"), patterns=(Pattern(url="https://a/{time}/{uri}"),)
            )
        ]
    )
    url = only.make_playback_url(pwid)
    if url is not None:
        assert url.startswith("https://a/")
        assert url.isascii()
        assert url.isprintable()
        assert pwid.item in url
