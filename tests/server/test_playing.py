"""Renditions of sound and film that no browser plays: to hear and to see, never the thing."""

from __future__ import annotations

import io
import math
import re
import struct
import wave
from fractions import Fraction
from typing import Any

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, problem, resource, text

from perdure.ids import parse
from perdure.model.commands import Withdraw

av = pytest.importorskip("av")
np = pytest.importorskip("numpy")

RATE = 8000
WAVES = [int(12_000 * math.sin(n / 5)) for n in range(RATE * 2)]
AU = struct.pack(">4s5I", b".snd", 24, len(WAVES) * 2, 3, RATE, 1) + struct.pack(
    f">{len(WAVES)}h", *WAVES
)
RANGE = "Range: bytes=44-143"


def make_aiff() -> bytes:
    """AIFF 1.3: 16-bit samples; the rate is an extended float, here 8000."""
    rate = struct.pack(">HQ", 16383 + 12, 8000 << 51)
    common = b"COMM" + struct.pack(">IhIh", 18, 1, len(WAVES), 16) + rate
    data = struct.pack(f">II{len(WAVES)}h", 0, 0, *WAVES)
    sound = b"SSND" + struct.pack(">I", len(data)) + data
    return b"FORM" + struct.pack(">I", 4 + len(common) + len(sound)) + b"AIFF" + common + sound


def make_film(codec: str, form: str, width: int = 352, height: int = 240) -> bytes:
    """Three seconds of a square that moves over gray."""
    written = io.BytesIO()
    with av.open(written, "w", format=form) as container:
        stream: Any = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(75):
            picture = np.full((height, width, 3), 90, np.uint8)
            picture[40:80, number : number + 40] = 220
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode(None))
    return written.getvalue()


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    return {
        "au": site.mint(text(AU, "basic", "audio/basic")),
        "aiff": site.mint(text(make_aiff(), "audio+x-aiff", "audio/x-aiff")),
        "mpeg": site.mint(text(make_film("mpeg1video", "mpeg"), "mpeg", "video/mpeg")),
        "ffv1": site.mint(text(make_film("ffv1", "matroska"), "matroska", "video/matroska")),
        "letter": site.mint(text(b"silent")),
    }


def read_samples(body: bytes) -> list[int]:
    assert body[:4] == b"RIFF"
    assert struct.unpack_from("<HHI", body, 20) == (1, 1, RATE)
    return list(struct.unpack(f"<{(len(body) - 44) // 2}h", body[44:]))


def list_frames(body: bytes) -> list[Any]:
    with av.open(io.BytesIO(body)) as container:
        assert container.streams.video[0].codec_context.name == "vp8"
        assert container.format.name == "matroska,webm"
        return [(frame.time, frame.width, frame.height) for frame in container.decode(video=0)]


def test_a_part_of_aiff_has_its_samples(site: Deployment, names: dict[str, str]) -> None:
    """Ruling time-range: "samples n with `start ≤ n/rate < end`" """
    for part in ("msec=500,1000", "t=0.5,1"):
        answer = site.get(f"/{names['aiff']}?part={part}")
        assert answer.headers["content-type"] == "audio/wav"
        with wave.open(io.BytesIO(answer.body)) as found:
            assert (found.getnchannels(), found.getframerate()) == (1, RATE)
            samples = struct.unpack(f"<{RATE // 2}h", found.readframes(RATE))
        assert list(samples) == WAVES[RATE // 2 : RATE]


@pytest.mark.parametrize("name", ["au", "aiff"])
def test_sound_is_played_sample_by_sample(
    site: Deployment, names: dict[str, str], name: str
) -> None:
    answer = site.get(f"/{names[name]}?play")
    assert (answer.status, answer.headers["content-type"]) == (200, "audio/wav")
    assert read_samples(answer.body) == WAVES
    assert answer.headers["content-disposition"].endswith('.wav"')
    assert site.get(f"/{names[name]}?play", RANGE).body == answer.body[44:144]


@pytest.mark.parametrize("media_type", ["audio/wav", "audio/x-wav", "audio/mpeg"])
def test_the_document_is_tried_first_if_browsers_play_its_type(
    site: Deployment, names: dict[str, str], media_type: str
) -> None:
    name = site.mint(text(AU + media_type.encode(), "sound", media_type))
    page = site.get(f"/{name}?landing").body.decode()
    assert page.index(f'src="/{name}?bytes"') < page.index(f'src="/{name}?play"')
    other = site.get(f"/{names['au']}?landing").body.decode()
    assert "?bytes" not in other.partition("<audio")[2].partition("</audio")[0]


def test_a_part_of_a_sound_is_played(site: Deployment, names: dict[str, str]) -> None:
    answer = site.get(f"/{names['au']}%23msec=500,1250?play")
    assert read_samples(answer.body) == WAVES[RATE // 2 : RATE * 5 // 4]


@pytest.mark.parametrize("name", ["mpeg", "ffv1"])
def test_a_film_and_a_part_of_it_are_played(
    site: Deployment, names: dict[str, str], name: str
) -> None:
    answer = site.get(f"/{names[name]}?play")
    assert (answer.status, answer.headers["content-type"]) == (200, "video/webm")
    frames = list_frames(answer.body)
    assert len(frames) == 75
    assert {one[1:] for one in frames} == {(352, 240)}
    assert site.get(f"/{names[name]}?play").body == answer.body
    part = list_frames(site.get(f"/{names[name]}%23sec=1,2?play").body)
    assert len(part) == 25
    assert Fraction(part[-1][0]).limit_denominator(1000) < 1
    crop = list_frames(site.get(f"/{names[name]}%23crop=sec,0,1,(0,0),(100,60)?play").body)
    assert {one[1:] for one in crop} == {(100, 60)}


def test_it_is_never_taken_for_the_thing(site: Deployment, names: dict[str, str]) -> None:
    for target in (names["au"], f"{names['mpeg']}%23sec=0,1"):
        thing, played = site.get(f"/{target}"), site.get(f"/{target}?play")
        asked = site.get(f"/{target}?play", "Want-Repr-Digest: sha-512=10")
        for answer in (played, asked):
            assert "repr-digest" not in answer.headers
            assert "perdure-part" not in answer.headers
            assert "immutable" not in answer.headers["cache-control"]
            assert "cite-as" not in answer.headers["link"]
            assert f'<{site.base}/{target}>; rel="via"' in answer.headers["link"]
        assert played.headers["etag"] != thing.headers["etag"]
        again = site.get(f"/{target}?play", f"If-None-Match: {played.headers['etag']}")
        assert (again.status, again.body) == (304, b"")
        assert site.get(f"/{target}?play", f"If-None-Match: {thing.headers['etag']}").status == 200
        both = (f"If-None-Match: {played.headers['etag']}", 'If-Match: "another"')
        assert site.get(f"/{target}?play", *both).status == 412  # If-Match comes first (RFC 9110)
        both = (both[0], f"If-Match: {played.headers['etag']}")
        assert site.get(f"/{target}?play", *both).status == 304
        head = site.ask("HEAD", f"/{target}?play")
        assert head.headers["content-length"] == played.headers["content-length"]


def test_what_cannot_be_played(site: Deployment, names: dict[str, str]) -> None:
    problem(site.get(f"/{names['letter']}?play"), 501, "part-not-supported")
    problem(site.get(f"/{names['au']}%23sec=1,9?play"), 416, "part-out-of-range")
    site.bind("hdl:21.T14999/film", "https://a.example/film")
    problem(site.get("/hdl:21.T14999/film?play"), 501, "part-not-supported")
    problem(site.get("/hdl:21.T14999/none?play"), 404, "not-found")
    gone = site.mint(text(AU + bytes(2), "basic", "audio/basic"))
    assert site.get(f"/{gone}?play").status == 200
    site.do(Withdraw(identifier=parse(resource(gone)), reason="a court said so"))
    assert site.get(f"/{gone}?play").status == 410
    assert b"?play" not in site.get(f"/{gone}?landing").body


def test_a_large_film_becomes_small_enough(site: Deployment) -> None:
    film = make_film("mpeg1video", "mpeg", 1280, 720)
    name = site.mint(text(film, "mpeg", "video/mpeg"))
    assert {one[1:] for one in list_frames(site.get(f"/{name}?play").body)} == {(640, 360)}


def test_the_pages_play_it_in_a_browser(site: Deployment, names: dict[str, str]) -> None:
    """Chromium plays neither AU nor AIFF, MPEG-1 or FFV1, but what the page offers instead."""
    kinds = {"au": "audio", "aiff": "audio", "mpeg": "video", "ffv1": "video"}
    targets = {
        f"{names[one]}{part}": tag for one, tag in kinds.items() for part in ("", "%23sec=0,1")
    }
    for target, tag in targets.items():
        page = site.get(f"/{target}?landing").body.decode()
        assert f"<{tag} controls" in page, target
        assert ("For listening: a conversion" if tag == "audio" else "For viewing: a") in page
        assert re.search("This is not the (part|document) itself", page)
    assert b"<audio" not in site.get(f"/{names['letter']}?landing").body

    async def play_all(browser: Browser) -> dict[str, float]:
        found = {}
        for target, tag in targets.items():
            await browser.open(f"{site.base}/{target}?landing")
            found[target] = await browser.evaluate(
                "new Promise((done, fail) => { const it = document.querySelector('" + tag + "');"
                "it.addEventListener('loadeddata', () => done(it.readyState));"
                "[...it.children].at(-1).addEventListener('error', () => done(-1));"
                "it.preload = 'auto'; it.load(); })"
            )
        return found

    found = run_browser(play_all)
    assert all(state >= 2 for state in found.values()), found  # HAVE_CURRENT_DATA
