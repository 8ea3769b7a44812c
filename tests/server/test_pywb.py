"""pywb 2.10 in front of our archive: it looks up with `/cdx`, and plays the bytes that we give."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.exchanges import Exchange, write_exchanges
from tests.archives.warcs import Warc
from tests.server.deployment import Deployment, deployed

WAYBACK = Path(__file__).parents[2] / ".peers" / "bin" / "wayback"
DR = "http://www.dr.dk/"
API = "http://api.example/activate"
DATE = "2020-01-02T03:04:05Z"
FORM = "application/x-www-form-urlencoded"
EXCHANGES = (
    Exchange("POST", API, DATE, b"json", "application/json", b'{"id": 1, "z": {"a": true}}'),
    Exchange("POST", API, DATE, b"other json", "application/json", b'{"id": 2}'),
    Exchange("POST", f"{API}?z=1", DATE, b"form", FORM, b"q=a+b&x=%C3%A9"),
    Exchange("POST", f"{API}?z=1", DATE, b"like a parameter", FORM, b"limit=1&x=2"),
    Exchange("POST", API, DATE, b"binary", "image/png", b"\x89PNG+/="),
    Exchange("POST", API, DATE, b"nothing", "text/plain", b""),
    Exchange("PUT", API, DATE, b"put", "text/plain", b"hello"),
    Exchange("GET", API, DATE, b"got"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("pywb")
    warc = Warc(place / "a.warc.gz")
    for year in (2015, 2016):
        page = b"<title>%d</title><a href=/x?a=1&b=2>x</a>" % year
        warc.response(DR, f"{year}-01-22T11:20:29Z", page)
    warc.response(f"{DR}x?a=1&b=2", "2016-01-22T11:20:30Z", b"with a query")
    (place / "posted").mkdir()
    posted = write_exchanges(place / "posted" / "posted.warc.gz", *EXCHANGES)
    with deployed(place / "registry") as running:
        running.registry.archive.add_file(warc.finish())
        running.registry.archive.add_file(posted)
        yield running


@pytest.fixture(scope="module")
def pywb(site: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """pywb with a collection that is ours, from afar."""
    if not WAYBACK.exists():
        pytest.skip("pywb is not installed (make unit)")
    place = tmp_path_factory.mktemp("wayback")
    files = site.root.parent / "posted"
    (place / "config.yaml").write_text(
        f"""
collections:
  ours: cdx+{site.base}/cdx /replay
  posted:
    index:
      type: cdx
      api_url: '{site.base}/cdx?url={{alt_url}}&closest={{closest}}&sort=closest'
      replay_url: '{site.base}/replay/{{timestamp}}id_/{{url}}'
    archive_paths: {files}/
"""
    )
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [WAYBACK, "-b", "127.0.0.1", "-p", str(port)],
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            assert process.poll() is None
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/ours"
    finally:
        process.terminate()
        process.wait(20)


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        body: bytes = answer.read()
        return body


def test_pywb_lists_our_captures(pywb: str) -> None:
    lines = read(f"{pywb}/cdx?url={DR}&output=json").decode().splitlines()
    assert [json.loads(one)["timestamp"] for one in lines] == ["20150122112029", "20160122112029"]


def test_pywb_plays_our_captures(pywb: str) -> None:
    raw = read(f"{pywb}/20160122112029id_/{DR}")
    assert raw == b"<title>2016</title><a href=/x?a=1&b=2>x</a>"
    assert read(f"{pywb}/20160122112030id_/{DR}x?a=1&b=2") == b"with a query"
    shown = read(f"{pywb}/20150601000000mp_/{DR}")
    assert b"<title>2015</title>" in shown


@pytest.mark.parametrize("sent", EXCHANGES, ids=lambda one: one.answer.decode())
def test_pywb_plays_the_answer_to_a_post_request(pywb: str, sent: Exchange) -> None:
    """pywb's template `{alt_url}` has method and body, and is inserted without escapes."""
    request = urllib.request.Request(
        f"{pywb.removesuffix('ours')}posted/20200102030405id_/{sent.uri}",
        data=sent.sent if sent.method != "GET" else None,
        method=sent.method,
        headers={"Content-Type": sent.sent_type},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.read() == sent.answer
