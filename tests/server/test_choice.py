"""The capture that replay, Memento, page lists and extraction take (ruling capture-choice)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

OWN = "archive.example.org"
REPLAY = "http://replay.test"
SECOND = "20200101000000"
EMPTY = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
PAGE = b'<title>2022</title><img src="http://site.example/logo.png">'
FONTS = "http://br.example/css?family=A|B[]"


def moved(warc: Warc, uri: str, date: str, target: str, status: str = "301 Moved") -> None:
    warc.response(uri, date, b"", ("Location", target), status=status)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("choice")
    warc = Warc(place / "m.warc.gz")
    for host, other in (
        ("http://loop.example/", "https://loop.example/"),
        ("http://w.example/", "http://www.w.example/"),
    ):
        moved(warc, host, "2020-01-01T00:00:00Z", other)
        warc.response(other, "2020-01-01T00:00:01Z", b"the page")
    moved(warc, "http://only.example/", "2020-01-01T00:00:00Z", "https://only.example/")
    moved(warc, "http://self.example/", "2020-01-01T00:00:00Z", "http://self.example/", "302 Found")
    for year, scheme in ((2012, "http"), (2022, "https")):
        date = f"{year}-06-01T00:00:00Z"
        page = PAGE if year == 2022 else b"<title>2012</title>"
        warc.response(f"{scheme}://site.example/", date, page)
        logo = f"logo {year}".encode()
        warc.response(f"{scheme}://site.example/logo.png", date, logo, media_type="image/png")
    warc.response(FONTS, "2020-01-01T00:00:00Z", b"fonts", media_type="text/css")
    warc.revisit(
        "http://purl.example/dc",
        "2020-01-01T00:00:00Z",
        EMPTY,
        "http://purl.example/dc",
        "2013-01-01T00:00:00Z",
        ("Location", "http://dublincore.example/"),
        status="302 Found",
    )
    warc.response("http://dublincore.example/", "2020-01-01T00:00:05Z", b"the core")
    whole = warc.finish()
    for name, lost in (("aa-copy1.warc.gz", 700), ("zz-copy2.warc.gz", 0)):
        copy = Warc(place / name)
        noise = bytes(range(256)) * 4  # which gzip cannot make small enough to survive the cut
        copy.response("http://twice.example/", "2020-01-01T00:00:00Z", noise, media_type="a/b")
        path = copy.finish()
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - min(lost, len(data) // 3)])
    with deployed(place / "registry", content_origin=REPLAY, archive_id=OWN) as running:
        for path in (place / "aa-copy1.warc.gz", place / "zz-copy2.warc.gz", whole):
            running.registry.archive.add_file(path)
        yield running


def ask(site: Deployment, path: str, *fields: str, host: str = "replay.test") -> Answer:
    lines = "".join(f"{one}\r\n" for one in (f"Host: {host}", "Connection: close", *fields))
    return site.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())[-1]


def follow(site: Deployment, path: str) -> tuple[str, Answer]:
    """The last address and answer of a browser, which gives up after 20 redirects."""
    for _ in range(20):
        found = ask(site, path)
        if "location" not in found.headers:
            return path, found
        path = found.headers["location"].removeprefix(REPLAY)
    raise AssertionError(f"too many redirects, at {path}")


@pytest.mark.parametrize("host", ["http://loop.example/", "http://w.example/"])
def test_a_redirect_to_another_spelling_leads_to_the_page(site: Deployment, host: str) -> None:
    _, found = follow(site, f"/replay/{SECOND}/{host}")
    assert (found.status, found.body) == (200, b"the page")


def test_the_list_of_a_redirected_page_leads_to_the_page(site: Deployment) -> None:
    found = json.loads(site.get(f"/pwid:{OWN}:2020-01-01T00.00.00Z:page:http://loop.example/").body)
    assert [one["capture"]["uri"] for one in found["resources"]] == ["https://loop.example/"]


def test_a_capture_that_redirects_to_what_was_asked_is_never_taken(site: Deployment) -> None:
    _, found = follow(site, f"/replay/{SECOND}/http://only.example/")
    assert found.status == 404


def test_a_redirect_to_itself_ends_there(site: Deployment) -> None:
    _, found = follow(site, f"/replay/{SECOND}/http://self.example/")
    assert found.status == 200
    raw = ask(site, f"/replay/{SECOND}id_/http://self.example/")
    assert "location" not in raw.headers


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ((), "2022"),
        (("Accept-Datetime: Sun, 01 Feb 2026 12:00:00 GMT",), "2022"),
        (("Accept-Datetime: Wed, 01 Jun 2022 00:00:01 GMT",), "2022"),
        (("Accept-Datetime: Fri, 01 Jun 2012 00:00:01 GMT",), "2012"),
    ],
)
def test_the_time_gate_takes_the_nearest_of_all_spellings(
    site: Deployment, fields: tuple[str, ...], year: str
) -> None:
    """RFC 7089 section 4.5.3: the server selects the memento by the time alone."""
    found = ask(site, "/timegate/http://site.example/", *fields, host="127.0.0.1")
    assert found.status == 302
    assert f"/replay/{year}0601000000/" in found.headers["location"]


def test_an_embedded_resource_is_that_of_the_page_time(site: Deployment) -> None:
    _, found = follow(site, "/replay/20220601000000/http://site.example/logo.png")
    assert found.body == b"logo 2022"
    listed = json.loads(
        site.get(f"/pwid:{OWN}:2022-06-01T00.00.00Z:page:https://site.example/").body
    )
    (logo,) = listed["resources"]
    assert logo["capture"]["date"] == "2022-06-01T00:00:00Z"
    assert logo["verdict"] == "same second, other URI"


def test_nearest_tells_both_differences(site: Deployment) -> None:
    path = f"/pwid:{OWN}:2022-06-01T00.00.09Z:part:http://site.example/logo.png?nearest"
    found = site.get(path)
    assert found.body == b"logo 2022"
    assert found.headers["perdure-verdict"] == "nearest;delta=-9;other-uri"


def test_an_intact_copy_is_taken_before_a_damaged_one(site: Deployment) -> None:
    whole = bytes(range(256)) * 4
    assert ask(site, f"/replay/{SECOND}id_/http://twice.example/").body == whole
    assert ask(site, f"/replay/{SECOND}/http://twice.example/").body == whole
    pwid = f"/pwid:{OWN}:2020-01-01T00.00.00Z:part:http://twice.example/"
    assert site.get(pwid).body == whole


@pytest.mark.parametrize("query", ["A|B[]", "A%7CB%5B%5D", "A%7cB[]"])
def test_escaped_and_unescaped_spellings_find_each_other(site: Deployment, query: str) -> None:
    """RFC 3986 appendix A: no URI can contain them, so that clients escape them."""
    path = f"http://br.example/css?family={query}"
    found = ask(site, f"/replay/{SECOND}id_/{path}")
    assert (found.status, found.body) == (200, b"fonts")
    found = site.get(f"/pwid:{OWN}:2020-01-01T00.00.00Z:part:{path}")
    assert (found.status, found.body) == (200, b"fonts")


def test_a_revisit_of_a_redirect_needs_no_original(site: Deployment) -> None:
    raw = ask(site, f"/replay/{SECOND}id_/http://purl.example/dc")
    assert raw.status == 302
    assert raw.headers["location"] == f"/replay/{SECOND}id_/http://dublincore.example/"
    _, found = follow(site, f"/replay/{SECOND}/http://purl.example/dc")
    assert (found.status, found.body) == (200, b"the core")


def test_lists_of_captures_are_not_changed(site: Deployment) -> None:
    lines = site.get("/cdx?url=http://loop.example/&output=json").body.decode().splitlines()
    assert [json.loads(one)["status"] for one in lines] == ["301", "200"]
