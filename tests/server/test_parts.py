"""Parts over HTTP: four ways to ask, one answer, and never the whole document."""

from __future__ import annotations

import base64
import contextlib
import email.parser
import hashlib
import io
import json
import subprocess
import wave
from typing import Any
from urllib.parse import quote

import http_sf
import imageio_ffmpeg
import pytest
from PIL import Image
from tests.server.conftest import Answer
from tests.server.deployment import (
    AUTHORITY,
    SERIES,
    SHOULDER,
    Deployment,
    problem,
    resource,
    text,
)

from perdure.ids import parse
from perdure.model.commands import Commit, Mint, Register
from perdure.model.records import Location

LETTER = b"To whom it may concern:\r\n\r\nThe quick brown fox.\r\n"
PAGE = b'<html><body><a name="first">One</a><p>Two</p><a name="last">Three</a></body></html>\n'
HANDLE = "hdl:1839/00-0000-0000-0000-0000-4"
URN = "urn:example:letter"


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(LETTER))


@pytest.fixture(scope="module")
def page(site: Deployment) -> str:
    return site.mint(text(PAGE, "html", "text/html"))


def without_date(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    return answer.status, {**answer.headers, "date": ""}, answer.body


def assert_one_answer(site: Deployment, targets: tuple[str, ...]) -> None:
    answers = [without_date(site.get(target)) for target in targets]
    assert answers[0][0] == 200
    assert answers[0][2] == b"whom it"
    assert all(answer == answers[0] for answer in answers)


def test_four_transports_give_the_same_answer(site: Deployment, letter: str) -> None:
    """# ruling: fragment-transport"""
    targets = (
        f"/{letter}#char=3,10",
        f"{letter}#char=3,10",
        f"/{letter}%23char=3,10",
        f"/{letter}?part=char%3D3%2C10",
        f"/{letter}?part=3,10",
        f"/{letter}?p%61rt=3,10",
        f"/urn:{letter}%233,10",
        f"/uri-res/N2R?{letter}%23char=3,10",
        f"/uri-res/I2R?{letter}#char=3,10",
    )
    assert_one_answer(site, targets)


@pytest.mark.parametrize("authority", [SHOULDER, AUTHORITY])
def test_four_transports_where_names_have_no_hash(site: Deployment, authority: str) -> None:
    """# ruling: fragment-transport"""
    receipt = site.registry.door.execute_command(
        Mint(authority=authority, contents=(text(LETTER),))
    )
    name = receipt.identifier
    targets = (
        f"/{name}?part=char%3D3,10",
        f"/{name}#char=3,10",
        f"/{name}%23char=3,10",
        f"/uri-res/N2R?{name}#char=3,10",
        f"/uri-res/N2R?{name}%23char=3,10",
    )
    assert_one_answer(site, targets)
    assert site.get(f"/{name}#nonsense=1").status == 400
    unknown = "ark:99999/fk4nobody" if authority == SHOULDER else "URN:IANA:42117::nobody:::"
    assert site.get(f"/{unknown}#char=3,10").status == 400  # for it may be meant for a name


def test_hyphens_mean_nothing_in_an_ark_and_much_in_a_part(site: Deployment) -> None:
    """All that `row=2-3` has an ARK has, too  # ruling: fragment-transport"""
    table = b"a,b\r\n1,2\r\n3,4\r\n" + b"5,6\r\n" * 30
    command = Mint(authority=SHOULDER, contents=(text(table, "csv", "text/csv"),))
    name = site.registry.door.execute_command(command).identifier
    written = f"{name[:-1]}-{name[-1]}"
    for target in (
        f"/{name}?part=row=2-3",
        f"/{name}#row=2-3",
        f"/{written}%23row=2-3",
        f"/uri-res/N2R?{written}%23row=2-3",
    ):
        answer = site.get(target)
        assert (answer.status, answer.body) == (200, b"1,2\r\n3,4\r\n")
        assert "row=2-3" in answer.headers["link"]


def test_what_an_answer_says(site: Deployment, letter: str) -> None:
    answer = site.get(f"/{letter}%23003,10")
    fields = answer.headers
    assert fields["content-location"] == f"{letter}%23char=3,10"
    links = fields["link"].split(", ")
    part = f"{site.base}/{letter}%23char=3,10"
    assert f'<{part}>; rel="canonical"' in links
    assert f'<{site.base}/{letter}>; rel="up"' in links
    digest = base64.b64encode(hashlib.sha512(b"whom it").digest()).decode()
    assert fields["repr-digest"] == f"sha-512=:{digest}:"
    assert fields["cache-control"] == "public, max-age=604800, immutable"
    assert fields["content-type"].startswith("text/plain")
    assert site.get(part.removeprefix(site.base)).body == b"whom it"
    item: Any = http_sf.parse(fields["perdure-part"].encode(), tltype="item")
    reading, parameters = item
    assert str(reading) == "pdi-char"
    first, last = map(int, parameters["slices"].split("-"))
    assert LETTER[first:last] == b"whom it"


def test_the_tag_never_changes(site: Deployment, letter: str) -> None:
    one = site.get(f"/{letter}%23char=3,10")
    again = site.get(f"/{letter}?part=char%3D03,010")
    other = site.get(f"/{letter}%23char=3,11")
    assert one.headers["etag"] == again.headers["etag"] != other.headers["etag"]
    seen = site.get(f"/{letter}%23char=3,10", f"If-None-Match: {one.headers['etag']}")
    assert (seen.status, seen.body) == (304, b"")
    failed = site.get(f"/{letter}%23char=3,10", 'If-Match: "x"')
    assert (failed.status, failed.headers["cache-control"]) == (412, "no-store")
    assert json.loads(failed.body)["code"] == "precondition-failed"


def test_ranges_within_a_part(site: Deployment, letter: str) -> None:
    """A range counts the bytes of the part: it is what the target names (RFC 9110 section 14)."""
    target = f"/{letter}%23char=3,10"
    middle = site.get(target, "Range: bytes=1-3")
    assert (middle.status, middle.body) == (206, b"hom")
    assert middle.headers["content-range"] == "bytes 1-3/7"
    assert site.get(target, "Range: bytes=-2").body == b"it"
    beyond = site.get(target, "Range: bytes=7-")
    assert (beyond.status, beyond.headers["cache-control"]) == (416, "no-store")
    assert beyond.headers["content-range"] == "bytes */7"
    assert json.loads(beyond.body)["code"] == "range-not-satisfiable"
    several = site.get(target, "Range: bytes=0-0, 2-")
    assert several.status == 206
    head = f"Content-Type: {several.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + several.body)
    assert message.get_content_type() == "multipart/byteranges"
    pieces = [one for one in message.walk() if not one.is_multipart()]
    found = [(one["content-range"], one.get_payload(decode=True)) for one in pieces]
    assert found == [("bytes 0-0/7", b"w"), ("bytes 2-6/7", b"om it")]
    assert site.get(target, "Range: bytes=0-6, 2-3").body == b"whom it"  # more than there is


def test_head(site: Deployment, letter: str) -> None:
    got, asked = (site.ask(method, f"/{letter}%23char=3,10") for method in ("GET", "HEAD"))
    assert asked.body == b""
    assert without_date(asked)[:2] == without_date(got)[:2]


def gradient(*, whole: bool = True) -> bytes:
    """A PNG, or half of one: its size can be told, and its last rows are missing."""
    file = io.BytesIO()
    Image.radial_gradient("L").save(file, "PNG")
    data = file.getvalue()
    return data if whole else data[: len(data) // 2]


def test_head_decodes_nothing(site: Deployment) -> None:
    pytest.importorskip("pyvips")
    whole, half = (
        site.mint(text(gradient(whole=one), "png", "image/png")) for one in (True, False)
    )
    part = "rect=(0,200),(20,256)"
    got, asked = (site.ask(method, f"/{whole}%23{part}") for method in ("GET", "HEAD"))
    told_later = {"date", "perdure-part", "repr-digest", "content-length", "accept-ranges"}
    assert {k: v for k, v in got.headers.items() if k not in told_later} == {
        k: v for k, v in asked.headers.items() if k not in told_later
    }
    assert site.get(f"/{half}%23{part}").status == 422
    assert site.ask("HEAD", f"/{half}%23{part}").status == 200
    assert site.ask("HEAD", f"/{half}%23rect=(0,0),(257,1)").status == 416
    assert site.ask("HEAD", f"/{half}%23{part}", "Want-Repr-Digest: sha-512=1").status == 422


def test_who_has_a_part_is_told_so_before_it_is_cut(site: Deployment) -> None:
    pytest.importorskip("pyvips")
    half = f"/{site.mint(text(gradient(whole=False), 'png', 'image/png'))}%23rect=(0,200),(20,256)"
    tag = site.ask("HEAD", half).headers["etag"]
    known = site.get(half, f"If-None-Match: {tag}")
    assert (known.status, known.headers["etag"], known.body) == (304, tag, b"")
    assert {"content-location", "cache-control", "vary", "date"} <= known.headers.keys()
    assert site.get(half, "If-None-Match: *").status == 422  # is there one? Only cutting tells
    assert site.get(half, f"If-None-Match: {tag}", 'If-Match: "x"').status != 304


@pytest.fixture(scope="module")
def film(site: Deployment, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twenty seconds of video without an edit list, so that parts of it are decoded."""
    pytest.importorskip("av")
    place = tmp_path_factory.mktemp("film") / "film.mpg"
    words = ("-f", "lavfi", "-i", "testsrc2=size=480x360:rate=25:duration=20", "-q:v", "5")
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", *words, str(place)]
    subprocess.run(command, check=True)
    return site.mint(text(place.read_bytes(), "mpeg", "video/mpeg"))


def test_readers_that_take_their_time_hold_up_no_other_parts(
    site: Deployment, letter: str, film: str
) -> None:
    """Two at a time are made of a kind; the others of that kind wait, and all else is cut."""
    pytest.importorskip("pyvips")
    picture = site.mint(text(gradient(), "png", "image/png"))
    with contextlib.ExitStack() as open_ones:
        readers = [open_ones.enter_context(site.connect()) for _ in range(8)]
        for reader in readers:
            reader.sendall(f"GET /{film}%23sec=0,19 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert readers[0].recv(12).startswith(b"HTTP/1.1 200")
        assert site.get(f"/{letter}%23char=3,10").status == 200
        assert site.get(f"/{picture}%23rect=(0,0),(3,3)").status == 200
    assert site.get(f"/{film}%23msec=0,200").status == 200


def test_what_is_made_while_it_is_sent_is_told_to_those_who_ask(
    site: Deployment, film: str
) -> None:
    """Issue C: "`Repr-Digest` of the part", "ranges within the part"."""
    target = f"/{film}%23sec=1,5"
    whole = site.get(target)
    data, length = whole.body, len(whole.body)
    assert {"content-length", "repr-digest"}.isdisjoint(whole.headers)
    assert site.get(target, "Range: bytes=0-").body == data
    assert site.get(target, "Range: bytes=0-0,5-6").body == data  # RFC 9110 section 14.2
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    for method in ("GET", "HEAD"):
        told = site.ask(method, target, "Want-Repr-Digest: sha-512=1")
        assert told.headers["repr-digest"] == f"sha-512=:{digest}:"
        assert told.headers["content-length"] == str(length)
        assert told.body == (data if method == "GET" else b"")
    for asked, first, last in (
        (f"{length // 2}-{length // 2 + 99}", length // 2, length // 2 + 99),
        ("-7", length - 7, length - 1),
        (f"0-{length + 9}", 0, length - 1),
    ):
        answer = site.get(target, f"Range: bytes={asked}")
        assert (answer.status, answer.body) == (206, data[first : last + 1])
        assert answer.headers["content-range"] == f"bytes {first}-{last}/{length}"
        assert answer.headers["content-length"] == str(last - first + 1)
    beyond = site.get(target, f"Range: bytes={length}-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{length}")
    stale = site.get(target, "Range: bytes=1-2", 'If-Range: "another"')
    assert (stale.status, stale.body) == (200, data)


def test_ranges_of_what_is_converted_while_it_is_sent(site: Deployment) -> None:
    """Its length is known, though it lies nowhere: lone line breaks become two characters."""
    lines = b"".join(b"line %09d\n" % number for number in range(150_000))
    name = site.mint(text(lines))
    data = lines.replace(b"\n", b"\r\n")
    target = f"/{name}%23char=0,{len(data)}"
    whole = site.get(target)
    assert (whole.body, whole.headers["content-length"]) == (data, str(len(data)))
    inside = site.get(target, "Range: bytes=1000000-1000015")
    assert (inside.status, inside.body) == (206, data[1_000_000:1_000_016])
    assert site.get(target, "Range: bytes=-3").body == data[-3:]
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    told = site.get(target, "Want-Repr-Digest: sha-256=1", "Range: bytes=0-0")
    assert (told.headers["repr-digest"], told.body) == (f"sha-256=:{digest}:", b"l")


@pytest.mark.parametrize(("length", "is_told"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_long_part_has_a_digest_on_request(
    site: Deployment, length: int, *, is_told: bool
) -> None:
    """To read more than a mebibyte would delay the first byte."""
    data = bytes(range(256)) * (1 << 13)
    target = f"/{site.mint(text(data, 'bin', 'application/octet-stream'))}%23byte=0,{length}"
    digest = base64.b64encode(hashlib.sha512(data[:length]).digest()).decode()
    field = f"sha-512=:{digest}:"
    assert site.get(target).headers.get("repr-digest") == (field if is_told else None)
    assert site.get(target, "Want-Repr-Digest: sha-512=1").headers["repr-digest"] == field


def test_which_digest_is_told(site: Deployment, letter: str) -> None:
    """RFC 9530 section 4: integers from 0, "not acceptable", to 10, "most preferred"."""
    target = f"/{letter}%23char=3,10"

    def told(wish: str) -> str | None:
        return site.get(target, f"Want-Repr-Digest: {wish}").headers.get("repr-digest")

    sha512, sha256 = (
        f"{name}=:{base64.b64encode(digest).decode()}:"
        for name, digest in (
            ("sha-512", hashlib.sha512(b"whom it").digest()),
            ("sha-256", hashlib.sha256(b"whom it").digest()),
        )
    )
    assert (
        told("sha-256=5") == told("sha-256=5, sha-512=4") == told("sha-512=0, sha-256=1") == sha256
    )
    assert told("sha-512=5") == told("sha-512=5, sha-256=4") == told("sha-256=0") == sha512
    assert told("md5=10") == told("unixsum=3, sha-512=1") == sha512  # a preference "may be ignored"
    assert told("sha-512=0") is told("sha-512=0, sha-256=0") is None


def test_files_are_called_what_they_are(site: Deployment, letter: str, film: str) -> None:
    pytest.importorskip("pyvips")
    pixels = io.BytesIO()
    Image.radial_gradient("L").save(pixels, "JPEG")
    photo = site.mint(text(pixels.getvalue(), "jpg", "image/jpeg"))

    def named(part: str) -> str:
        field = site.get(f"/{part}").headers["content-disposition"]
        return field.removesuffix('"').rpartition(".")[2]

    assert named(f"{photo}%23rect=(0,0),(3,3)") == "png"
    assert named(photo) == "jpg"
    assert named(f"{film}%23msec=0,200") == "mkv"
    assert named(f"{letter}%23char=3,10") == "txt"


def test_elements_are_slices_and_sandboxed(site: Deployment, page: str) -> None:
    answer = site.get(f"/{page}%23name=first,last")
    assert answer.body == PAGE[PAGE.index(b"<a") : PAGE.index(b"</body")]
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert site.get(f"/{page}%23elt=2,3").body == b'<a name="first">One</a>'


STATUS = [
    ("char=3,9999", 416, "part-out-of-range"),
    ("char=5,5", 416, "part-out-of-range"),
    ("char=9,5", 416, "malformed-identifier"),
    ("char=", 400, "malformed-identifier"),
    ("char=0,99999999999999999999", 400, "malformed-identifier"),
    ("char=0,999999999999999999", 416, "part-out-of-range"),
    ("rect=(0,0),(1,1)", 501, "part-not-supported"),
    ("verse=3,4", 501, "part-not-supported"),
    ("byte=0,999", 416, "part-out-of-range"),
]


@pytest.mark.parametrize(("part", "status", "code"), STATUS)
def test_what_cannot_be_given(
    site: Deployment, letter: str, part: str, status: int, code: str
) -> None:
    """ "A failed part request never answers with the whole document"  # ruling: part-range"""
    answer = site.get(f"/{letter}%23{part}")
    problem = json.loads(answer.body)
    assert (answer.status, problem["code"]) == (status, code)
    assert LETTER not in answer.body


def test_a_name_that_is_not_there(site: Deployment, page: str) -> None:
    assert site.get(f"/{page}%23name=first,missing").status == 404


def test_what_media_types_have_instead(site: Deployment, letter: str) -> None:
    """What is offered can be written where it is offered: a PDI has no `:~:text=`."""
    problem = json.loads(site.get(f"/{letter}%23rect=(0,0),(1,1)").body)
    assert problem["offered"] == ["byte=", "char=", "line=", "quote="]
    problem = json.loads(site.get(f"/{letter}%23verse=3,4").body)
    assert problem["offered"] == ["byte=", "char=", "line=", "quote="]


def test_a_part_of_no_version_in_particular(site: Deployment) -> None:
    """ "the only version where there is one; HTTP 300 listing the versioned candidates where there
    are several"  # ruling: part-version"""
    name = site.mint(text(b"first"))
    bare = f"{resource(name)}.text"
    only = site.get(f"/{bare}%23char=0,2")
    assert (only.status, only.body) == (200, b"fi")
    assert only.headers["content-location"] == f"{name}%23char=0,2"
    assert "immutable" not in only.headers["cache-control"]
    site.do(Commit(identifier=parse(bare), contents=(text(b"second"),)))
    several = site.get(f"/{bare}%23char=0,2", "Accept: text/uri-list")
    assert several.status == 300
    listed = several.body.decode().split("\r\n")[1:-1]
    assert listed == [f"{bare}.{version}#char=0,2" for version in (1, 2)]
    assert site.get(f"/{listed[1]}").body == b"se"


@pytest.mark.parametrize(
    ("part", "status", "code"),
    [
        ("page=3", 501, "part-not-supported"),
        ("rect=(0,0),(1,1)", 501, "part-not-supported"),
        ("char=0,99", 300, ""),  # which version is this long is not known before one is opened
    ],
)
def test_no_version_is_offered_for_a_part_that_none_can_have(
    site: Deployment, part: str, status: int, code: str
) -> None:
    """ "A failed part request": not a list of names that all fail  # ruling: part-version"""
    bare = resource(site.mint(text(b"first")))
    site.commit(bare, text(b"second"))
    answer = site.get(f"/{bare}.text%23{part}", "Accept: */*")
    assert answer.status == status
    if code:
        problem(answer, status, code)
        of_version = site.get(f"/{bare}.text.2%23{part}")
        assert (of_version.status, json.loads(of_version.body)["code"]) == (status, code)


def test_parts_of_other_identifiers_have_other_rules(site: Deployment) -> None:
    """On a PDI a line break counts two, elsewhere one  # ruling: part-meaning"""
    for name in (HANDLE, URN):
        site.do(Register(identifier=parse(name), contents=(text(b"ab\r\ncd"),)))
    pdi = site.mint(text(b"ab\r\ncd"))
    assert site.get(f"/{pdi}%23char=4,5").body == b"c"
    for name in (HANDLE, URN):
        answer = site.get(f"/{name}?part=char%3D3,4")
        assert (answer.status, answer.body) == (200, b"c")
        assert answer.headers["perdure-part"].startswith("rfc5147-char")
        assert answer.headers["content-location"] == f"{name}?part=char=3,4"
        clipped = site.get(f"/{name}?part={quote('line=1,99')}")
        assert clipped.body == b"cd"
        md5 = hashlib.md5(b"ab\r\ncd").hexdigest()
        checked = site.get(f"/{name}?part={quote(f'char=3,4;md5={md5}')}")
        assert checked.body == b"c"
        failed = site.get(f"/{name}?part={quote('char=3,4;length=7')}")
        assert (failed.status, json.loads(failed.body)["code"]) == (412, "part-check-failed")
    assert site.get(f"/{URN}#char=3,4").body == b"c"
    assert site.get(f"/{HANDLE}?part=char%3D").status == 400


def test_parts_of_what_lies_elsewhere_and_of_what_was_withdrawn(site: Deployment) -> None:
    moved = site.bind(f"pdi://{SERIES}/1997/09/01/1.text.1", "https://a.example/")
    assert site.get(f"/{moved}%23char=0,1").status == 501
    assert site.get(f"/pdi://{SERIES}/1997/09/01/2.text.1%23char=0,1").status == 404


def test_large_parts_are_streamed(site: Deployment) -> None:
    data = b"".join(b"line %09d\r\n" % number for number in range(100_000))
    name = site.mint(text(data))
    start, end = 16 * 7, 16 * 90_007
    answer = site.get(f"/{name}%23char={start},{end}")
    assert answer.status == 200
    assert answer.body == data[start:end]
    assert int(answer.headers["content-length"]) == end - start
    inside = site.get(f"/{name}%23char={start},{end}", "Range: bytes=16-31")
    assert inside.body == data[start + 16 : start + 32]


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "shift_jis"])
def test_large_parts_that_are_converted_are_streamed_whole(site: Deployment, charset: str) -> None:
    """Lone line breaks become two characters of canonical text  # ruling: text-positions"""
    lines = "".join(f"ライン {number:09d}\n" for number in range(200_000))
    token = charset.replace("_", "-")
    name = site.mint(text(lines.encode(charset), token, charset=token))
    canonical = lines.replace("\n", "\r\n")
    order = "utf-16-le" if charset == "utf-16" else charset
    for start, end in ((0, 1_500_000), (14, 1_500_001), (7, 2_000_000)):
        answer = site.get(f"/{name}%23char={start},{end}")
        assert answer.status == 200
        assert answer.body == canonical[start:end].encode(order)


def test_parts_as_web_annotations_have_them(site: Deployment, page: str) -> None:
    described = json.loads(site.get(f"/{page}%23elt=2,3?info", "Accept: application/json").body)
    assert described["selector"]["type"] == "FragmentSelector"
    assert described["selector"]["value"] == "elt=2,3"
    name = "urn:example:page"
    site.do(Register(identifier=parse(name), contents=(text(PAGE, "html", "text/html"),)))
    quoted = {"type": "TextQuoteSelector", "exact": "Two"}
    answer = site.get(f"/{name}?part={quote(json.dumps(quoted))}")
    assert answer.body == b"Two"
    ends = [{"type": "TextQuoteSelector", "exact": word} for word in ("One", "Three")]
    between = {"type": "RangeSelector", "startSelector": ends[0], "endSelector": ends[1]}
    answer = site.get(f"/{name}?part={quote(json.dumps(between))}")
    assert answer.body == b'One</a><p>Two</p><a name="last">'
    between = {"type": "RangeSelector", "startSelector": ends[1], "endSelector": ends[0]}
    assert site.get(f"/{name}?part={quote(json.dumps(between))}").status == 416


def test_parts_of_other_identifiers_as_web_annotations_have_them(site: Deployment) -> None:
    """Issue A: "each part as a Web Annotation selector on output"."""
    page = (text(PAGE, "html", "text/html"),)
    site.do(Register(identifier=parse("hdl:1839/page"), contents=page))
    ark = site.mint(*page, authority=SHOULDER)
    elsewhere = site.bind("ark:99999/fk4away", Location(uri="https://a.example/", format="pdf"))
    for name in ("hdl:1839/page", ark):
        for target in (f"/{name}?part=first&info", f"/{name}%23first?info"):
            told = json.loads(site.get(target, "Accept: application/json").body)
            assert told["selector"] == {
                "type": "FragmentSelector",
                "value": "first",
                "conformsTo": "http://tools.ietf.org/rfc/rfc3236",  # HTML, in section 4.2.1
            }
            assert told["identifier"] == name
            assert site.get(told["url"].removeprefix(site.base)).body == b'<a name="first">One</a>'
            assert b"<value>first<" in site.get(target, "Accept: application/xml").body
        quoted = quote(json.dumps({"type": "TextQuoteSelector", "exact": "Two"}))
        told = json.loads(site.get(f"/{name}?part={quoted}&info", "Accept: application/json").body)
        assert told["selector"] == {"type": "TextQuoteSelector", "exact": "Two"}
        assert site.get(f"/{name}?part=line%3D,&info").status == 400
        whole = json.loads(site.get(f"/{name}?info", "Accept: application/json").body)
        assert "selector" not in whole
    told = json.loads(site.get(f"/{elsewhere}%23page=3?info", "Accept: application/json").body)
    assert told["selector"]["conformsTo"] == "http://tools.ietf.org/rfc/rfc8118"


@pytest.mark.parametrize("question", ["?part=", "?part=&info", "?info&part="])
def test_an_empty_part_is_not_the_whole(site: Deployment, letter: str, question: str) -> None:
    held = site.mint(text(LETTER), authority=SHOULDER)
    elsewhere = site.bind("ark:99999/fk4empty", "https://a.example/")
    for name in (letter, held, elsewhere):
        assert site.get(f"/{name}{question}").status == 400


def test_time_as_annodex_asks_for_it(site: Deployment) -> None:
    """`?t=15.0/30.0` on what is no PDI."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(10)
        sound.writeframes(bytes(range(100)))
    held = text(file.getvalue(), "wav", "audio/wav")
    site.do(Register(identifier=parse("urn:example:sound"), contents=(held,)))
    answer = site.get("/urn:example:sound?t=1.5/3.0")
    assert answer.body[44:59] == bytes(range(15, 30))
    assert answer.headers["content-location"] == "urn:example:sound?part=t=1.5,3"
