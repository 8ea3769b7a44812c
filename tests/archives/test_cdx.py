"""Queries of the CDX server API, against a search of everything and against pywb's own words."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.held_in_memory import SortedCaptures, capture

from perdure.archives.index import cdx, cdxj, filters, ranges, revisits
from perdure.archives.port import Capture
from perdure.errors import InvalidRequest, OverBudget
from perdure.ids.urlkey import make_url_key
from perdure.model.matches import MATCHES

HELD = [
    capture("http://www.dr.dk/", "2016-01-22T11:20:29Z", digest="sha1:A", length=5, offset=7),
    capture("https://dr.dk/", "2016-01-22T11:20:30Z", digest="sha1:A", kind="revisit", status=304),
    capture("http://www.dr.dk/", "2017-01-01T00:00:00Z", digest="sha1:B", status=404),
    capture("http://dr.dk/nyheder/", "2016-02-01T00:00:00Z", digest="sha1:C"),
    capture("http://dr.dk/nyheder/a b", "2016-02-01T00:00:01Z", media_type="image/png"),
    capture("http://tv.dr.dk/", "2016-03-01T00:00:00Z", status=None, media_type=""),
    capture("http://dr.dkx/", "2016-03-01T00:00:00Z"),
    capture("http://dr-x.dk/", "2016-03-01T00:00:00Z"),
]


def ask(question: str, held: list[Capture] = HELD) -> list[str]:
    query = cdx.parse_query(question)
    write = cdx.choose_writer(query)
    return [write(one).decode() for one in cdx.select_captures(SortedCaptures(held), query)]


def uris(question: str, held: list[Capture] = HELD) -> list[str]:
    query = cdx.parse_query(question)
    return [one.uri for one in cdx.select_captures(SortedCaptures(held), query)]


def test_a_line_is_what_cdxj_indexer_writes() -> None:
    """`cdxj-indexer` 1.5: `dk,dr)/ 20160122112029 {"url": …, "mime": …, "status": …, …}`."""
    (line,) = ask("url=http://www.dr.dk/&limit=1")
    key, time, body = line.rstrip("\n").split(" ", 2)
    assert (key, time) == ("dk,dr)/", "20160122112029")
    assert list(json.loads(body).items()) == [
        ("url", "http://www.dr.dk/"),
        ("mime", "text/html"),
        ("status", "200"),
        ("digest", "sha1:A"),
        ("length", "5"),
        ("offset", "7"),
        ("filename", "a.warc.gz"),
    ]


def test_the_other_forms() -> None:
    (line,) = ask("url=dr.dk&limit=1&output=json")
    assert list(json.loads(line))[:3] == ["urlkey", "timestamp", "url"]
    (line,) = ask("url=dr.dk&limit=1&output=json&fl=original,statuscode,length")
    assert json.loads(line) == {
        "original": "http://www.dr.dk/",
        "statuscode": "200",
        "length": "5",
    }
    (line,) = ask("url=dr.dk&limit=1&output=text")
    assert (
        line == "dk,dr)/ 20160122112029 http://www.dr.dk/ text/html 200 sha1:A - - 5 7 a.warc.gz\n"
    )
    (line,) = ask("url=tv.dr.dk&output=text&fields=mime,status,timestamp")
    assert line == "- - 20160301000000\n"
    (line,) = ask("url=http://dr.dk/nyheder/a%20b&output=text&fl=url,mime")
    assert line == "http://dr.dk/nyheder/a%20b image/png\n"
    assert '"mime":"warc/revisit"' in ask("url=dr.dk")[1]


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("url=http://www.dr.dk/", 3),
        ("url=http://dr.dk/nyheder/&matchType=prefix", 1),
        ("url=http://dr.dk/nyheder*", 2),
        ("url=dr.dk&matchType=host", 5),
        ("url=dr.dk&matchType=domain", 6),
        ("url=*.dr.dk", 6),
        ("url=dk&matchType=domain", 7),
        ("url=nobody.dk", 0),
        ("url=dr.dk&from=2017", 1),
        ("url=dr.dk&to=201601", 2),
        ("url=*.dr.dk&from=201602&to=20160201", 2),
        ("url=dr.dk&filter=status:404", 1),
        ("url=dr.dk&filter=!status:404", 2),
        ("url=dr.dk&filter==statuscode:404", 1),
        ("url=dr.dk&filter=!=status:404", 2),
        ("url=dr.dk&filter=~status:[23]..", 2),
        ("url=dr.dk&filter=~url:https?://dr.*", 1),
        ("url=*.dr.dk&filter=mime:image&filter=status:200", 1),
        ("url=dr.dk&collapse=digest", 2),
        ("url=dr.dk&collapse=timestamp:4", 2),
        ("url=dr.dk&limit=2", 2),
    ],
)
def test_what_is_selected(question: str, number: int) -> None:
    assert len(ask(question)) == number


def test_in_which_order() -> None:
    times = [re.split(" ", line)[1] for line in ask("url=dr.dk&sort=reverse")]
    assert times == ["20170101000000", "20160122112030", "20160122112029"]
    near = [line.split(" ")[1] for line in ask("url=dr.dk&closest=20160122112031")]
    assert near == ["20160122112030", "20160122112029", "20170101000000"]
    assert ask("url=dr.dk&closest=20160122112031&limit=1")[0].split(" ")[1] == "20160122112030"


@pytest.mark.parametrize(
    "question",
    [
        "",
        "url=",
        "url=a&matchType=fuzzy",
        "url=a&from=1",
        "url=a&from=20161301",
        "url=a&to=20160231",
        "url=a&limit=0",
        "url=a&limit=-1",
        "url=a&limit=x",
        "url=a&output=xml",
        "url=a&fl=nothing",
        "url=a&filter=status",
        "url=a&filter=nothing:1",
        "url=*.a&closest=2016",
        "url=a&resumeKey=x",
        "url=a&page=-1",
        "url=a&pageSize=1000",
        "url=a&" + "x=1&" * 100,
        "url=a" + "".join(f"&filter=status:{number}" for number in range(9)),
    ],
)
def test_what_cannot_be_is_refused(question: str) -> None:
    with pytest.raises(InvalidRequest):
        cdx.parse_query(question)


EVIL = ["(a+)+$", "(a|a)*b", "(.*)*", "a{1,99}{1,99}", "(?=x)a", "(a)\\1", "a?" * 30 + "a" * 30]


@pytest.mark.parametrize("pattern", [*EVIL, "(a|a)" * 30, ".*a.*a.*a", "[", "(", "a**", "x" * 600])
def test_expressions_with_many_ways_to_match_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequest):
        filters.parse_filter(f"~url:{pattern}")


def test_the_worst_that_is_taken_ends_soon() -> None:
    """Hours, if nothing bounded it: the test would not end."""
    for pattern in (".*.*b", "[^b]+a?[^c]+b", "(a|a)(a|a).*.*b"):
        holds = filters.parse_filter(f"~url:{pattern}").holds
        holds("a" * 100_000)


@given(
    st.sampled_from(["text/.*", r"[23]..", r".*\.(gif|png)", "a?b+c", r"\d{3}", "^x$"]), st.text()
)
def test_an_expression_that_is_taken_means_what_python_says(pattern: str, value: str) -> None:
    expected = re.fullmatch(pattern, value[:2048], re.DOTALL | re.ASCII) is not None
    assert filters.parse_filter(f"~url:{pattern}").holds(value) == expected


urls = st.builds(
    lambda host, path: f"http://{host}/{path}",
    st.sampled_from(["a.dk", "www.a.dk", "b.a.dk", "a-b.dk", "a.com", "ab.dk"]),
    st.sampled_from(["", "a", "a/", "a/b", "a?x=1", "A/b?y", "ab"]),
)
dates = st.integers(2000, 2003).map(lambda year: f"{year}-06-01T00:00:00Z")


@given(st.lists(st.builds(capture, urls, dates), max_size=30), urls, st.sampled_from(MATCHES))
def test_a_stretch_is_what_its_kind_says(held: list[Capture], url: str, kind: str) -> None:
    """Against the definition of each kind on host names and keys."""
    key = capture(url, "2000").key
    host = key.partition(")")[0]
    prefix = key + ("/" if url.endswith("/") and not key.endswith("/") else "")
    meant: Callable[[Capture], bool] = {
        "exact": lambda one: one.key == key,
        "prefix": lambda one: one.key.startswith(prefix),
        "host": lambda one: one.key.startswith(f"{host})"),
        "domain": lambda one: one.key.startswith((f"{host})", f"{host},")),
    }[kind]
    captures = SortedCaptures(held)
    found = list(ranges.walk_range(captures, ranges.make_range(url, kind), batch=2))
    assert found == [one for one in captures.all if meant(one)]
    back = list(ranges.walk_range(captures, ranges.make_range(url, kind), backwards=True, batch=2))
    assert back == found[::-1]


@given(
    st.lists(st.builds(capture, urls, dates), min_size=1, max_size=30),
    st.integers(1, 5),
    st.booleans(),
)
def test_resuming_meets_every_capture_once(held: list[Capture], limit: int, reverse: bool) -> None:
    captures = SortedCaptures(held)
    base = f"url=dk&matchType=domain&limit={limit}" + ("&sort=reverse" if reverse else "")
    whole = list(
        cdx.select_captures(captures, cdx.parse_query(base.replace(f"limit={limit}", "x=1")))
    )
    seen: list[Capture] = []
    key: list[str] = []
    while True:
        query = cdx.parse_query(base + (f"&resumeKey={key[-1]}" if key else ""))
        some = list(cdx.report_resume_key(cdx.select_captures(captures, query), query, key.append))
        if not some:
            break
        seen += some
    assert seen == whole


methods = st.sampled_from(["", "", "POST", "PUT", "OPTIONS"])
bodies = st.sampled_from(["", "q=1", "Q=2&a=b c"])
exchanges = st.builds(
    lambda url, date, method, body: capture(url, date, method=method, request_body=body),
    urls, dates, methods, bodies,
)  # fmt: skip


@given(
    st.lists(exchanges, min_size=1, max_size=30, unique_by=lambda one: (one.uri, one.date)),
    urls,
    st.sampled_from(["prefix", "host", "domain"]),
    st.integers(1, 5),
    st.booleans(),
)
def test_captures_of_many_urls_are_listed_in_the_order_of_a_cdxj_file(
    held: list[Capture], url: str, kind: str, limit: int, reverse: bool
) -> None:
    """CDXJ 1.0: "sorted … lexicographically", so that indexes can be searched and merged."""
    order = "&sort=reverse" if reverse else ""
    lines = [one.encode() for one in ask(f"url={url}&matchType={kind}{order}", held)]
    low, high = ranges.make_range(url, kind)
    file = sorted(cdxj.format_exchanged_line(one) for one in held)
    meant = [line for line in file if low.encode() <= line < high.encode()]
    places = [line[: line.index(b" {")] for line in lines]
    assert places == [line[: line.index(b" {")] for line in (meant[::-1] if reverse else meant)]

    again, key = [], ""
    while True:  # the same with resume keys
        query = cdx.parse_query(f"url={url}&matchType={kind}{order}&limit={limit}{key}")
        keys: list[str] = []
        some = cdx.select_captures(SortedCaptures(held), query)
        write = cdx.choose_writer(query)
        given_now = [write(one) for one in cdx.report_resume_key(some, query, keys.append)]
        if not given_now:
            break
        again += given_now
        key = f"&resumeKey={keys[-1]}"
    assert again == lines


@pytest.mark.parametrize(
    ("question", "url", "limit"),
    [
        ("?__wb_method=POST&q=1&limit=3", "?__wb_method=POST&q=1", 3),
        ("?z=1&__wb_method=POST&q=1&page=0", "?z=1&__wb_method=POST&q=1", None),
        ("?__wb_method=POST&limit=9&x&limit=3", "?__wb_method=POST&limit=9&x", 3),
        ("%3F__wb_method%3DPOST%26q%3D1&x=1", "?__wb_method=POST&q=1", None),
        ("%3Fz=1&__wb_method=POST", "?z=1", None),
        ("?z=1&q=2&limit=3", "?z=1", 3),
    ],
)
def test_a_request_that_a_client_did_not_escape_is_read_as_meant(
    question: str, url: str, limit: int | None
) -> None:
    for before in ("", "output=json&"):
        query = cdx.parse_query(f"{before}url=http://a.dk/{question}")
        key = "dk,a)/?z=1" if "z=1" in url else "dk,a)/"
        assert (query.stretch.low, query.limit) == (f"{key} ", limit)
        request_key = make_url_key(f"http://a.dk/{url}") if "__wb_method" in url else ""
        assert query.request_key == request_key


def test_pages_partition_a_query() -> None:
    held = [
        capture("http://a.dk/", f"2016-01-22T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z")
        for at in range(7000)
    ]
    captures = SortedCaptures(held)
    assert cdx.count_pages(captures, cdx.parse_query("url=a.dk&pageSize=1")) == (3, 1, 3)
    pages = [
        list(cdx.select_captures(captures, cdx.parse_query(f"url=a.dk&pageSize=1&page={page}")))
        for page in range(4)
    ]
    assert [len(page) for page in pages] == [3000, 3000, 1000, 0]
    assert [one for page in pages for one in page] == captures.all


def test_a_query_looks_at_so_many_captures_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdx, "MOST_READ", 100)
    held = [capture("http://a.dk/", f"2016-01-22T11:20:{at % 60:02}Z") for at in range(101)]
    with pytest.raises(OverBudget):
        ask("url=a.dk&filter=status:999", held)
    assert ask("url=a.dk&limit=1", held)


moments = st.integers(0, 50).map(lambda at: f"2000-01-01T00:00:{at:02}Z")


kinds = st.sampled_from(["response", "request"])
of_a = st.builds(capture, st.just("http://a.dk/"), moments, kind=kinds)


@given(st.lists(of_a, max_size=9), moments)
def test_the_closest_is_the_first_of_all_by_distance(held: list[Capture], wanted: str) -> None:
    """With `limit=1` two steps in the index are enough."""
    time = re.sub("[^0-9]", "", wanted)
    captures = SortedCaptures(held)
    one = list(cdx.select_captures(captures, cdx.parse_query(f"url=a.dk&closest={time}&limit=1")))
    everything = list(cdx.select_captures(captures, cdx.parse_query(f"url=a.dk&closest={time}")))
    assert [found.time for found in one] == [found.time for found in everything[:1]]
    distances = [abs(int(found.time) - int(time)) for found in everything]
    assert distances == sorted(distances)
    assert len(everything) == sum(one.kind != "request" for one in held)


def test_requests_are_listed_only_where_a_filter_names_kinds() -> None:
    held = [capture("http://a.dk/", "2000", kind=kind) for kind in ("request", "response")]
    assert len(ask("url=a.dk", held)) == 1
    assert len(ask("url=a.dk&filter==kind:request", held)) == 1
    assert len(ask("url=a.dk&filter=kind:re", held)) == 2


# revisits
# --------

_PYWB = """
import json, sys
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.cdxops import process_cdx
from pywb.warcserver.index.query import CDXQuery
lines = (CDXObject(line.rstrip("\\n").encode()) for line in sys.stdin)
query = CDXQuery({"url": "http://www.dr.dk/", "resolveRevisits": "true"})
for one in process_cdx(lines, query):
    print(json.dumps(dict(one)))
"""
_PEERS = Path(__file__).parents[2] / ".peers" / "bin" / "python"
DR = "http://www.dr.dk/"
REVISITED = [
    capture(DR, "2016-01-01T00:00:00Z", digest="A", length=5, offset=7, file="1.warc.gz"),
    capture(DR, "2016-01-02T00:00:00Z", digest="A", kind="revisit", status=304, offset=12),
    capture(DR, "2016-01-03T00:00:00Z", digest="B", length=6, offset=90, media_type="image/png"),
    capture(DR, "2016-01-04T00:00:00Z", digest="B", kind="revisit", status=304, offset=13),
    capture(DR, "2016-01-05T00:00:00Z", digest="C", kind="revisit", status=200, offset=14),
]


def test_revisits_are_resolved_as_pywb_resolves_them() -> None:
    lines = "".join(ask(f"url={DR}", REVISITED))
    done = subprocess.run(
        [_PEERS, "-W", "ignore", "-c", _PYWB],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    ours = [
        json.loads(line) for line in ask(f"url={DR}&resolveRevisits=true&output=json", REVISITED)
    ]
    assert [one["orig.offset"] for one in ours] == ["-", "7", "-", "90", "-"]
    assert ours == theirs


def test_a_revisit_of_another_url_is_resolved_too() -> None:
    """What `WARC-Refers-To-Target-URI` and `-Date` say, which an index of pywb does not have."""
    held = [
        capture("http://a.dk/", "2016-01-01T00:00:00Z", digest="A", length=5, offset=7),
        capture(
            DR,
            "2016-01-02T00:00:00Z",
            kind="revisit",
            digest="A",
            refers_to_uri="http://a.dk/",
            refers_to_date="2016-01-01T00:00:00Z",
        ),
    ]
    (line,) = ask(
        f"url={DR}&resolveRevisits=true&fl=mime,orig.length,orig.offset&output=text", held
    )
    assert line == "text/html 5 7\n"
    (line,) = ask(f"url={DR}&fl=mime,orig.length&output=text", held)
    assert line == "warc/revisit -\n"
    text = ask(f"url={DR}&resolveRevisits=true&output=text", held)[0].split()
    assert len(text) == 14
    assert text[-3:] == ["5", "7", "a.warc.gz"]


def test_searching_for_originals_is_bounded() -> None:
    held = [
        capture(DR, f"20{number:02}-01-01T00:00:00Z", kind="revisit", digest=f"sha1:{number}")
        for number in range(50)
    ]
    same = [
        capture(DR, f"2016-01-01T00:{number:02}:00Z", kind="revisit", digest="sha1:A")
        for number in range(50)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(revisits, "MOST_SEARCHES", 10)
        with pytest.raises(OverBudget, match="10 revisits"):
            ask(f"url={DR}&resolveRevisits=true", held)
        assert len(ask(f"url={DR}&resolveRevisits=true&limit=10", held)) == 10
        assert len(ask(f"url={DR}&resolveRevisits=true", same)) == 50
