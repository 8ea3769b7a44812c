"""What belongs to a page and to a site, in archive files that warcio wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.archives.held_in_memory import SortedCaptures, capture
from tests.archives.warcs import Warc

from perdure.archives.capture.pages import list_members, list_resources, read_payload
from perdure.archives.library import Library
from perdure.archives.pwid.verdict import interpret_pwid, judge_evidence, look_up_evidence
from perdure.ids.pwid import parse_pwid
from perdure.settings import Settings

PAGE = b"""<!doctype html><link rel=stylesheet href=/s.css><img src="a.png"><img src="gone.png">
<script src="http://cdn.example/x.js"></script><iframe src="/frame.html"></iframe>
<a href="/elsewhere">no resource</a><img src="data:image/gif;base64,R0lGOD"><img src=a.png#again>"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response("http://www.dr.dk/", "2016-01-22T11:20:29Z", PAGE)
    warc.response(
        "http://www.dr.dk/s.css",
        "2016-01-22T11:20:30Z",
        b"@import 'b.css'; p{background:url(i.gif)}",
        media_type="text/css",
    )
    warc.response(
        "http://www.dr.dk/b.css",
        "2016-01-22T11:20:29Z",
        b"q{src:url(f.woff)}",
        media_type="text/css",
    )
    warc.response("http://www.dr.dk/a.png", "2016-01-22T11:20:29Z", b"png", media_type="image/png")
    warc.response(
        "https://cdn.example/x.js", "2016-01-22T11:20:29Z", b"js", media_type="text/javascript"
    )
    warc.response(
        "http://www.dr.dk/frame.html", "2015-01-22T11:20:29Z", b"<img src=i.gif><iframe src=/>"
    )
    warc.response("http://www.dr.dk/old", "2016-01-22T11:20:29Z", b"the same bytes")
    warc.finish()
    (tmp_path / "registry").mkdir()
    library = Library(tmp_path / "registry", Settings())
    library.add_file(tmp_path / "a.warc.gz")
    yield library
    library.close()


def test_a_page_is_listed_with_a_verdict_for_each_resource(library: Library) -> None:
    wanted = interpret_pwid(parse_pwid("pwid:a.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"))
    page = judge_evidence(wanted, look_up_evidence(library.captures, wanted)).capture
    assert page is not None
    found = list_resources(library.captures, library.files, page)
    assert found.complete
    assert found.unread == ()
    assert [(one.uri, one.role, one.judgement.sentence) for one in found.resources] == [
        ("http://www.dr.dk/s.css", "style", "nearest +00:00:01"),
        ("http://www.dr.dk/a.png", "resource", "exact"),
        ("http://www.dr.dk/gone.png", "resource", "absent"),
        ("http://cdn.example/x.js", "resource", "same second, other URI"),
        ("http://www.dr.dk/frame.html", "frame", "nearest -365 d 00:00:00"),
        ("http://www.dr.dk/b.css", "style", "exact"),
        ("http://www.dr.dk/i.gif", "resource", "absent"),
        ("http://www.dr.dk/f.woff", "resource", "absent"),
    ]
    assert read_payload(library.captures, library.files, page) == (PAGE, None)


def test_a_redirect_names_the_page_where_it_leads(tmp_path: Path) -> None:
    """build-a-corpus.md: "and where its redirects lead" """
    warc = Warc(tmp_path / "a.warc.gz")
    at = "2016-01-22T11:20:29Z"
    for uri, target in (
        ("http://a.example/", "https://a.example/"),
        ("https://a.example/i.png", "/j.png"),
        ("https://a.example/j.png", "/i.png"),  # in a circle
    ):
        warc.response(uri, at, b"", ("Location", target), status="301 Moved", media_type="x/y")
    warc.response("https://a.example/", "2016-01-22T11:20:30Z", b"<img src=i.png><iframe src=f>")
    warc.response("https://a.example/f", at, b"<img src=gone>")
    warc.finish()
    (tmp_path / "registry").mkdir()
    with closing(Library(tmp_path / "registry", Settings())) as library:
        library.add_file(tmp_path / "a.warc.gz")
        wanted = interpret_pwid(parse_pwid("pwid:a.org:2016-01-22T11.20.29Z:page:http://a.example"))
        page = judge_evidence(wanted, look_up_evidence(library.captures, wanted)).capture
        assert page is not None
        found = list_resources(library.captures, library.files, page)
    assert [(one.uri, one.role, one.within) for one in found.resources] == [
        ("https://a.example/", "redirect", "http://a.example/"),
        ("https://a.example/i.png", "resource", "https://a.example/"),
        ("https://a.example/f", "frame", "https://a.example/"),
        ("https://a.example/j.png", "redirect", "https://a.example/i.png"),
        ("https://a.example/gone", "resource", "https://a.example/f"),
    ]
    assert found.complete


def site(pwid: str) -> list[tuple[str, str, int]]:
    captures = SortedCaptures(
        [
            *(capture("http://www.dr.dk/", f"20{year}-01-01T00:00:00Z") for year in range(10, 20)),
            capture("http://www.dr.dk/nyheder/a", "2016-01-22T11:20:29Z"),
            capture("http://www.dr.dk/nyheder/b?x=1", "2016-01-22T11:20:28Z"),
            capture("http://www.dr.dk/nyhed", "2016-01-22T11:20:28Z"),
            capture("http://www.dr.dk/note", "2016-01-22T11:20:28Z", kind="metadata"),
            capture("http://tv.dr.dk/", "2016-01-22T11:20:28Z"),
        ]
    )
    wanted = interpret_pwid(parse_pwid(pwid))
    found: list[tuple[str, str, int]] = []
    after: str | None = ""
    while after is not None:
        some, after = list_members(captures, wanted, after=after, limit=2)
        found += [(one.capture.uri, one.verdict.value, one.delta) for one in some]
    return found


def test_a_subsite_is_what_lies_in_its_folder() -> None:
    assert site("pwid:a.org:2016-01-22T11.20.29Z:subsite:http://www.dr.dk/nyheder/index.html") == [
        ("http://www.dr.dk/nyheder/a", "exact", 0),
        ("http://www.dr.dk/nyheder/b?x=1", "nearest", -1),
    ]


def test_a_site_is_its_host_and_each_url_comes_once() -> None:
    found = site("pwid:a.org:2016-01-22T11.20.29Z:site:http://www.dr.dk/")
    assert [uri for uri, _, _ in found] == [
        "http://www.dr.dk/",
        "http://www.dr.dk/nyhed",
        "http://www.dr.dk/nyheder/a",
        "http://www.dr.dk/nyheder/b?x=1",
    ]
    assert found[0][1:] == ("nearest", -(21 * 86400 + 11 * 3600 + 20 * 60 + 29))
