"""Replay on an origin of its own: each row of what is known to go wrong, as a test.

The server has one port and two names: `127.0.0.1` resolves, `localhost` replays.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

from perdure.errors import BadSettings
from perdure.settings import Settings

REPLAY = "http://replay.test"
AT = "20160122112029"
ONCE = b"the same bytes, once"
DR = "http://www.dr.dk/"
PAGE = b"""<!doctype html><link rel=stylesheet href=/s.css integrity=sha256-x>
<script>parent.steal()</script><img src="a.png"><a href="http://live.example/x">x</a>
<base target=_top><meta http-equiv=refresh content="0;url=http://live.example/">
<form action="http://live.example/post"><svg onload="alert(1)">
<a xlink:href="javascript:alert(2)">"""
EVIL = (
    ("Set-Cookie", "session=stolen; Domain=example.org"),
    ("Refresh", "0; url=http://live.example/"),
    ("Link", "<http://live.example/x.js>; rel=preload; as=script"),
    ("Content-Security-Policy", "default-src *"),
    ("Access-Control-Allow-Credentials", "true"),
    ("Service-Worker-Allowed", "/"),
    ("Clear-Site-Data", '"*"'),
    ("Strict-Transport-Security", "max-age=99999999"),
    ("Public-Key-Pins", "x"),
    ("Content-Disposition", "inline"),
    ("X-Frame-Options", "ALLOWALL"),
    ("Content-Language", "da"),
    ("Bad name\u0001", "x"),
    ("X-Latin", "\u00e6\u00f8\u00e5"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("replay")
    warc = Warc(place / "a.warc.gz")
    date = "2016-01-22T11:20:29Z"
    warc.response(DR, date, PAGE, *EVIL)
    warc.response(DR, "2017-01-22T11:20:29Z", b"later")
    warc.response(
        "http://www.dr.dk/s.css",
        "2016-01-22T11:20:31Z",
        b"p{background:url(http://live.example/i.gif)}",
        media_type="text/css",
    )
    warc.response(
        "http://www.dr.dk/a.svg", date, b"<svg onload='alert(1)'>", media_type="image/svg+xml"
    )
    warc.response("http://www.dr.dk/a.png", date, b"\x89PNG", media_type="image/png")
    warc.response(
        "http://www.dr.dk/moved",
        date,
        b"",
        ("Location", "http://live.example/there"),
        status="301 Moved",
    )
    warc.response(
        "http://www.dr.dk/nowhere",
        date,
        b"",
        ("Location", "javascript:alert(1)"),
        status="302 Found",
    )
    warc.response(
        "http://www.dr.dk/mixed",
        date,
        b"--x\r\nContent-Type: text/html\r\n\r\n<a href=http://live.example/>\r\n--x--",
        media_type="multipart/x-mixed-replace; boundary=x",
    )
    warc.response("http://www.dr.dk/odd", date, b"odd", status="999 Odd")
    warc.response("http://www.dr.dk/a b#c%25", date, b"crooked")
    warc.response(
        "http://www.dr.dk/utf16", date, "<a href='http://live.example/'>".encode("utf-16")
    )
    warc.response("http://www.dr.dk/large", date, b"<a href=/x>" + b" " * (9 << 20))
    warc.response("http://www.dr.dk/first", date, ONCE)
    warc.revisit(
        "http://www.dr.dk/again",
        "2016-01-22T11:20:40Z",
        "sha1:" + base64.b32encode(hashlib.sha1(ONCE).digest()).decode(),
        "http://www.dr.dk/first",
        date,
    )
    warc.revisit(
        "http://www.dr.dk/lost",
        date,
        "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "http://www.dr.dk/missing",
        date,
    )
    path = warc.finish()
    with deployed(place / "registry", content_origin=REPLAY) as running:
        running.registry.archive.add_file(path)
        yield running


def replay(site: Deployment, target: str) -> Answer:
    """From the replay origin."""
    lines = f"GET {target} HTTP/1.1\r\nHost: replay.test\r\nConnection: close\r\n\r\n"
    return site.send(lines.encode("latin-1"))[-1]


def policy(answer: Answer) -> dict[str, list[str]]:
    directives = (one.split() for one in answer.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in directives}


# archived script in the resolver's origin
# ----------------------------------------


def test_the_resolver_shows_no_archived_page(site: Deployment) -> None:
    answer = site.get(f"/replay/{AT}/{DR}")
    assert answer.status == 302
    assert answer.headers["location"] == f"{REPLAY}/replay/{AT}/{DR}"


@pytest.mark.parametrize("name", ["", "a.svg", "s.css"])
def test_bytes_that_could_run_are_saved_and_not_shown(site: Deployment, name: str) -> None:
    at = "20160122112031" if name == "s.css" else AT
    answer = site.get(f"/replay/{at}id_/{DR}{name}")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == "attachment"
    assert "sandbox" in policy(answer)
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_bytes_come_as_they_were_archived(site: Deployment) -> None:
    assert site.get(f"/replay/{AT}id_/{DR}").body == PAGE
    image = site.get(f"/replay/{AT}id_/{DR}a.png")
    assert (image.body, image.headers["content-type"]) == (b"\x89PNG", "image/png")
    assert "content-disposition" not in image.headers


def test_the_replay_origin_has_nothing_but_replay(site: Deployment) -> None:
    site.bind("ark:/99999/fk4x", "https://elsewhere.example/")
    for target in ("/ark:/99999/fk4x", "/api/handles/99999/fk4x", "/cdx?url=dr.dk"):
        for _ in range(2):  # what is remembered is not given either
            assert site.get(target).status != 405
            assert replay(site, target).status == 404
    for target in (
        "/",
        "/healthz",
        "/metrics",
        "/cdx?url=dr.dk",
        "/timemap/link/" + DR,
        "/problems/gone",
    ):
        assert replay(site, target).status == 404
    put = site.send(
        b"PUT /pdi://oma.eop.gov.us/ HTTP/1.1\r\nHost: replay.test\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
    )[-1]
    assert put.status == 405
    assert put.headers["allow"] == "GET, HEAD"


# the sandbox, cookies and header fields
# --------------------------------------


def test_a_page_is_shown_in_a_sandbox_that_is_none_of_the_illusory_ones(site: Deployment) -> None:
    answer = replay(site, f"/replay/{AT}/{DR}")
    assert answer.status == 200
    assert policy(answer)["sandbox"] == []  # neither allow-scripts nor allow-same-origin
    assert policy(answer)["script-src"] == ["'none'"]
    assert policy(answer)["connect-src"] == ["'none'"]
    assert policy(answer)["base-uri"] == ["'none'"]


def test_of_the_archived_header_a_short_list_is_kept(site: Deployment) -> None:
    for answer in (replay(site, f"/replay/{AT}/{DR}"), site.get(f"/replay/{AT}id_/{DR}")):
        for name, _ in EVIL[:11]:
            if name.lower() in ("link", "content-security-policy", "content-disposition"):
                continue  # there is one of ours
            assert name.lower() not in answer.headers, name
        assert answer.headers["x-archive-orig-set-cookie"].startswith("session=stolen")
        assert answer.headers["x-archive-orig-refresh"] == "0; url=http://live.example/"
        assert "live.example" not in answer.headers["link"]
        assert "*" not in answer.headers["content-security-policy"]
        assert answer.headers["content-language"] == "da"
        assert answer.headers["content-type"] == "text/html"
        assert not any("bad name" in name for name in answer.headers)
        assert all(value.isascii() and value.isprintable() for value in answer.headers.values())


# the live Web
# ------------


def test_every_address_stays_in_the_archive(site: Deployment) -> None:
    page = replay(site, f"/replay/{AT}/{DR}").body.decode()
    assert f'href="/replay/{AT}/http://live.example/x"' in page
    assert f'href="/replay/{AT}/{DR}s.css"' in page
    assert f'src="/replay/{AT}/{DR}a.png"' in page
    assert f"0;url=/replay/{AT}/http://live.example/" in page
    assert "integrity" not in page
    assert "javascript:" not in page
    assert re.search(r"=\s*[\"']?https?://", page) is None
    css = replay(site, f"/replay/20160122112031/{DR}s.css").body.decode()
    assert css == 'p{background:url("/replay/20160122112031/http://live.example/i.gif")}'


def test_what_is_not_rewritten_reaches_nothing(site: Deployment) -> None:
    """UTF-16 and what is too large stay as they are: the policy holds for them, too."""
    for name in ("utf16", "large"):
        answer = replay(site, f"/replay/{AT}/{DR}{name}")
        assert answer.status == 200
        sources = {one for values in policy(answer).values() for one in values}
        assert sources <= {REPLAY, "'none'", "'unsafe-inline'", "data:"}
        assert policy(answer)["default-src"] == [REPLAY]
    assert len(replay(site, f"/replay/{AT}/{DR}large").body) == (9 << 20) + 11


def test_nothing_is_fetched_from_anywhere(site: Deployment) -> None:
    """A server that would hear of it."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.5)

        def listen() -> None:
            with contextlib.suppress(TimeoutError):
                heard.append(listener.accept()[0].recv(100))

        thread = threading.Thread(target=listen)
        thread.start()
        live = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for target in (f"/replay/{AT}/{live}", f"/replay/{AT}id_/{live}"):
            assert replay(site, target).status == 404
            assert site.get(target).status in (302, 404)
        assert site.get(f"/timegate/{live}").status == 404
        assert site.get(f"/cdx?url={live}").status == 404
        thread.join()
    assert heard == []


def test_pages_within_a_multipart_body_are_not_shown(site: Deployment) -> None:
    answer = replay(site, f"/replay/{AT}/{DR}mixed")
    assert answer.headers["content-type"] == "application/octet-stream"


def test_an_archived_redirect_stays_in_the_archive(site: Deployment) -> None:
    shown = replay(site, f"/replay/{AT}/{DR}moved")
    assert shown.status == 301
    assert shown.headers["location"] == f"/replay/{AT}/http://live.example/there"
    raw = site.get(f"/replay/{AT}id_/{DR}moved")
    assert (raw.status, raw.headers["location"]) == (
        301,
        f"/replay/{AT}id_/http://live.example/there",
    )
    for answer in (
        replay(site, f"/replay/{AT}/{DR}nowhere"),
        site.get(f"/replay/{AT}id_/{DR}nowhere"),
    ):
        assert answer.status == 200
        assert "location" not in answer.headers


@pytest.mark.parametrize(
    ("time", "detail"),
    [
        (
            f"{AT}id_~sha1:XX",
            "digest 'sha1:XX' refused: it must be an algorithm, a colon and 16 to 128",
        ),
        (f"{AT}id_~sha1", "digest 'sha1' refused: it must be an algorithm, a colon and 16 to 128"),
        (f"{AT}id_~", "digest ''"),
        (f"{AT}~sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", "modifier '~sha1:B2LTWW"),
        (f"{AT}mp_", "modifier 'mp_' refused: after the time, 'id_' asks for the bytes"),
        ("201", "time '201' refused: it must be a time of 4 to 14 digits"),
        (f"{AT}0id_", f"time '{AT}0id_' refused: it must be a time of 4 to 14 digits"),
        ("today", "time 'today' refused: it must be a time of 4 to 14 digits"),
    ],
)
def test_a_malformed_replay_path_is_refused_with_the_part_to_repair(
    site: Deployment, time: str, detail: str
) -> None:
    """ruling: http-errors, "malformed → 400"."""
    for answer in (site.get(f"/replay/{time}/{DR}"), replay(site, f"/replay/{time}/{DR}")):
        problem = json.loads(answer.body)
        assert (answer.status, problem["code"]) == (400, "invalid-request")
        assert detail in problem["detail"]
        assert "an identifier needs a colon" not in problem["detail"]


# exactness
# ---------


def test_what_is_shown_is_always_a_capture_under_its_own_time_and_name(site: Deployment) -> None:
    answer = replay(site, f"/replay/{AT}/{DR}s.css")
    assert answer.status == 302
    assert answer.headers["location"] == f"/replay/20160122112031/{DR}s.css"
    assert answer.headers["perdure-verdict"] == "nearest;delta=2"
    answer = replay(site, "/replay/2017/https://dr.dk/")
    assert answer.headers["location"] == f"/replay/20170122112029/{DR}"
    shown = replay(site, f"/replay/{AT}/{DR}")
    assert shown.headers["perdure-verdict"] == "exact"
    assert shown.headers["memento-datetime"] == "Fri, 22 Jan 2016 11:20:29 GMT"


def test_bytes_are_exact_or_an_honest_no(site: Deployment) -> None:
    near = site.get(f"/replay/20160122112030id_/{DR}s.css")
    assert (near.status, near.headers["perdure-verdict"]) == (404, "absent")
    problem = json.loads(near.body)
    assert (problem["code"], problem["verdict"]) == ("not-captured", "absent")
    [offered] = problem["offered"]
    assert site.get(offered["raw"]).status == 200
    assert offered["raw"] in problem["detail"]
    nothing = json.loads(site.get(f"/replay/{AT}id_/http://nobody.example/").body)
    assert (nothing["code"], nothing["offered"]) == ("not-captured", [])
    other = site.get(f"/replay/{AT}id_/https://www.dr.dk/")
    assert (other.status, other.headers["perdure-verdict"]) == (404, "same-second-other-uri")


def test_crooked_addresses_have_a_place(site: Deployment) -> None:
    answer = site.get(f"/replay/{AT}id_/{DR}a%20b%23c%25")
    assert (answer.status, answer.body) == (200, b"crooked")


def test_revisits_have_the_payload_of_their_original(site: Deployment) -> None:
    answer = site.get(f"/replay/20160122112040id_/{DR}again")
    assert (answer.status, answer.body) == (200, ONCE)
    lost = site.get(f"/replay/{AT}id_/{DR}lost")
    problem = json.loads(lost.body)
    assert (lost.status, problem["code"]) == (404, "original-missing")
    assert (problem["identifier"], problem["date"]) == (f"{DR}lost", "2016-01-22T11:20:29Z")
    assert problem["original"].startswith(f"{DR}missing at 2016-01-22T11:20:29Z with sha1:AAAA")


def test_a_status_that_http_does_not_have_is_not_said_again(site: Deployment) -> None:
    answer = site.get(f"/replay/{AT}id_/{DR}odd")
    assert (answer.status, answer.body) == (200, b"odd")


def test_damaged_records_never_look_complete(site: Deployment, tmp_path: Path) -> None:
    warc = Warc(tmp_path / "cut.warc.gz")
    warc.response("http://cut.example/", "2016-01-22T11:20:29Z", bytes(range(256)) * 4096)
    whole = warc.finish()
    site.registry.archive.add_file(whole)
    assert site.get(f"/replay/{AT}id_/http://cut.example/").status == 200
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) // 2])
    with site.connect() as wire:
        wire.sendall(
            b"GET /replay/%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            % f"{AT}id_/http://cut.example/".encode()
        )
        received = b""
        while part := wire.recv(1 << 16):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    assert b" 500 " in head or (length and len(body) < int(length[1]))


def test_without_a_replay_origin_nothing_is_shown(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as plain:
        answer = plain.get(f"/replay/{AT}/{DR}")
        assert answer.status == 404
        assert b"no-replay" in answer.body


@pytest.mark.parametrize(
    "settings",
    [
        {"content_origin": "replay.test"},
        {"content_origin": "http://replay.test/"},
        {"content_origin": "http://Replay.test"},
        {"content_origin": "ftp://replay.test"},
        {"content_origin": "http://a\r\nb"},
        {"content_origin": "http://a.test", "base_url": "http://a.test"},
        {"content_origin": "http://a.test", "base_url": "http://a.test/pids"},
        {"closed_archives": "open"},
        {"archive_aliases": ("not an id",)},
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any]) -> None:
    """Above all: the replay origin is never the resolver's own."""
    with pytest.raises(BadSettings):
        Settings(**settings)
    assert Settings(content_origin="http://a.test", base_url="http://a.test:81").content_origin
