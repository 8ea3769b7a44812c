"""What a landing page shows of pictures, sounds, films, pages and tables, and parts pointed at."""

from __future__ import annotations

import asyncio
import csv
import email.message
import hashlib
import io
import json
import math
import random
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pikepdf
import pytest
from lxml import html
from PIL import Image, ImageChops, ImageOps, ImageStat
from tests.server.browser import Browser, run_browser
from tests.server.deployment import AUTHORITY, Deployment, problem, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

CORPUS = Path(__file__).parents[3] / "shared/corpus"
BROWSER = "Accept: text/html"
ORIENTATION = 274  # the tag of EXIF
WIDTH, HEIGHT = 40, 24

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus lies beside the project")


def read_corpus(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


def make_jpeg(orientation: int) -> bytes:
    """A JPEG of which no two rows or columns are alike."""
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    picture.putdata([(x * 6, y * 10, (x * y) % 256) for y in range(HEIGHT) for x in range(WIDTH)])
    data, exif = io.BytesIO(), picture.getexif()
    exif[ORIENTATION] = orientation
    picture.save(data, "jpeg", quality=95, subsampling=0, exif=exif)
    return data.getvalue()


def make_frames() -> bytes:
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "lime", "blue")]
    data = io.BytesIO()
    frames[0].save(data, "gif", save_all=True, append_images=frames[1:])
    return data.getvalue()


def make_table(rows: int = 250) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["name", "year"])
    writer.writerows((f'No. {n}, "x"', 1900 + n) for n in range(2, rows + 1))
    return written.getvalue().encode()


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    contents = {
        "gif": text(read_corpus("yosemite-valley-l.gif"), "gif", "image/gif"),
        "au": text(read_corpus("us-vp2.au"), "basic", "audio/basic"),
        "mpeg": text(read_corpus("us-radar.mpg"), "mpeg", "video/mpeg"),
        "pdf": text(read_corpus("wd-xml-link-970406.pdf"), "pdf", "application/pdf"),
        "csv": text(make_table(), "csv", "text/csv"),
        "frames": text(make_frames(), "gif", "image/gif"),
        "turned": text(make_jpeg(6), "jpeg", "image/jpeg"),
    }
    return {name: site.mint(content) for name, content in contents.items()}


def point(site: Deployment, name: str, place: str) -> dict[str, Any]:
    answer = site.get(f"/{name}?point={place}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    return found


def get_part(site: Deployment, found: dict[str, Any]) -> bytes:
    path = quote(found["url"].removeprefix(site.base), safe="/:%()=,?&;-")
    answer = site.get(path + ("&bytes" if "?" in path else "?bytes"))
    assert answer.status == 200, answer.body
    return answer.body


def read_page(site: Deployment, path: str) -> Any:
    answer = site.get(path, BROWSER)
    assert answer.status == 200, answer.body
    return html.document_fromstring(answer.body)


# pictures
# --------


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_rectangle_of_the_upright_picture_is_cut_from_the_stored_one(
    site: Deployment, orientation: int
) -> None:
    """Exif 2.32, tag 274; the upright picture is that of Pillow."""
    name = site.mint(text(make_jpeg(orientation), "jpeg", "image/jpeg"))
    stored = Image.open(io.BytesIO(make_jpeg(orientation)))
    upright = ImageOps.exif_transpose(stored)
    chance = random.Random(orientation)
    for _ in range(5):
        left, right = sorted(chance.sample(range(upright.width + 1), 2))
        top, bottom = sorted(chance.sample(range(upright.height + 1), 2))
        found = point(site, name, f"rect={left},{top},{right},{bottom}")
        assert found["place"] == [left, top, right, bottom]
        cut = Image.open(io.BytesIO(get_part(site, found)))
        cut.getexif()[ORIENTATION] = orientation  # a part has the orientation of its picture
        turned, expected = ImageOps.exif_transpose(cut), upright.crop((left, top, right, bottom))
        assert turned.size == expected.size
        assert ImageChops.difference(turned.convert("RGB"), expected).getbbox() is None


def test_the_page_of_a_part_marks_it_on_the_upright_picture(
    site: Deployment, names: dict[str, str]
) -> None:
    """ "6: The 0th row is the visual right-hand side of the image" (Exif 2.32, tag 274)"""
    page = read_page(site, f"/{names['turned']}%23rect=(0,0),({WIDTH},4)?landing")
    (mark,) = page.xpath("//*[@id='part']")
    assert [mark.get(one) for one in ("x", "y", "width", "height")] == [
        *(str(float(HEIGHT - 4)), "0.0", "4.0", str(float(WIDTH)))
    ]
    (image,) = page.xpath("//div[@class='picture']/img")
    assert (image.get("width"), image.get("height")) == (str(HEIGHT), str(WIDTH))


def test_a_picture_is_offered_in_the_sizes_of_iiif(site: Deployment, names: dict[str, str]) -> None:
    page = read_page(site, f"/{names['gif']}?landing")
    (offered,) = page.xpath("//div[@class='picture']/img/@srcset")
    for one in offered.split(", "):
        address, width = one.split(" ")
        answer = site.get(address)
        assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
        assert Image.open(io.BytesIO(answer.body)).width == int(width.removesuffix("w"))


def test_each_frame_is_shown_and_has_its_own_rectangles(
    site: Deployment, names: dict[str, str]
) -> None:
    name = names["frames"]
    page = read_page(site, f"/{name}?landing&at=1")
    (address,) = page.xpath("//div[@class='picture']/img/@src")
    shown = Image.open(io.BytesIO(site.get(address).body)).convert("RGB")
    assert ImageStat.Stat(shown).mean == pytest.approx([0, 255, 0], abs=20)  # a JPEG
    found = point(site, name, "rect=1,1,5,5,2")
    assert found["selector"] == "rect=(1,1),(5,5),2"
    cut = Image.open(io.BytesIO(get_part(site, found))).convert("RGB")
    assert cut.getpixel((0, 0)) == (0, 0, 255)
    marked = read_page(site, f"/{name}%23rect=(1,1),(5,5),2?landing")
    assert marked.xpath("//input[@name='at']/@value") == ["2"]


def test_other_schemes_get_media_fragments(site: Deployment) -> None:
    """ruling: part-meaning"""
    name = site.mint(text(make_jpeg(1), "jpeg", "image/jpeg"), authority=AUTHORITY)
    found = point(site, name, "rect=3,4,13,24")
    assert found["selector"] == "xywh=3,4,10,20"
    assert Image.open(io.BytesIO(get_part(site, found))).size == (10, 20)


def test_an_svg_is_only_an_image(site: Deployment) -> None:
    drawn = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="in"</script></svg>'
    name = site.mint(text(drawn, "svg%2bxml", "image/svg+xml"))
    page = read_page(site, f"/{name}?landing")
    assert page.xpath("//section/p/img/@src") == [f"/{name}?bytes"]
    problem(site.get(f"/{name}?point=rect=0,0,1,1"), 501, "part-not-supported")


def write_png(width: int, height: int) -> bytes:
    """A PNG that states a size and has no pixels (PNG, section 11.2.1)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b""))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixels + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "format", "media_type"),
    [
        (write_png(100_000, 100_000), "png", "image/png"),
        (b"no picture at all", "png", "image/png"),
        (b"%PDF-1.7 broken", "pdf", "application/pdf"),
        (b"", "pdf", "application/pdf"),
        (b"RIFF....", "wav", "audio/wav"),
        (b"\0\0\1\xba", "mpeg", "video/mpeg"),
        (b'name,"never closed', "csv", "text/csv"),
        (b"PK\3\4 broken", "zip", "application/zip"),
        (b"no archive", "x-tar", "application/x-tar"),
    ],
)
def test_a_document_that_cannot_be_shown_has_a_page_without_a_preview(
    site: Deployment, data: bytes, format: str, media_type: str
) -> None:
    name = site.mint(text(data, format, media_type))
    page = read_page(site, f"/{name}?landing")
    assert not page.xpath("//form[@data-script and not(@class='styles')]")


# sounds and films
# ----------------


def test_a_span_of_a_sound_has_its_samples(site: Deployment, names: dict[str, str]) -> None:
    """The AU of the corpus: a header of 24 octets or more, then 8 octets for each millisecond."""
    stored = read_corpus("us-vp2.au")
    start, rate = struct.unpack_from(">I", stored, 4)[0], struct.unpack_from(">I", stored, 16)[0]
    assert rate == 8000
    chance = random.Random(9)
    for _ in range(9):
        first, last = sorted(chance.sample(range(17_000), 2))
        found = point(site, names["au"], f"ms={first},{last}")
        assert found["place"] == [first, last]
        part = get_part(site, found)
        samples = stored[start + first * 8 : start + last * 8]
        assert part.endswith(samples)
        assert found["sha512"] == hashlib.sha512(part).hexdigest()


def test_a_waveform_shows_where_the_sound_is_loud(site: Deployment) -> None:
    loud = [0] * 8000 + [int(30_000 * math.sin(n / 3)) for n in range(8000)]
    data = struct.pack(">4s5I", b".snd", 24, len(loud) * 2, 3, 8000, 1)
    name = site.mint(text(data + struct.pack(f">{len(loud)}h", *loud), "basic", "audio/basic"))
    answer = site.get(f"/{name}?preview=peaks")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    picture: Any = html.fromstring(answer.body)
    (path,) = picture.xpath("//path/@d")
    bars = [tuple(map(float, one.split(" ")[1].split("V"))) for one in path.split("M")[1:]]
    heights = [bottom - top for top, bottom in bars]
    half = len(heights) // 2
    assert max(heights[: half - 1]) <= 2
    assert min(heights[half + 1 : -1]) > 50


def test_a_span_is_marked_on_the_waveform(site: Deployment, names: dict[str, str]) -> None:
    page = read_page(site, f"/{names['au']}%23msec=2000,6000?landing")
    (mark,) = page.xpath("//*[@id='part']")
    assert (mark.get("x"), mark.get("width")) == ("2000.0", "4000.0")


def test_a_film_has_a_contact_sheet(site: Deployment, names: dict[str, str]) -> None:
    answer = site.get(f"/{names['mpeg']}?preview=frames")
    sheet = Image.open(io.BytesIO(answer.body))
    assert (answer.headers["content-type"], sheet.size[0] % 6, sheet.size[1] % 4) == (
        *("image/jpeg", 0, 0),
    )
    assert len(sheet.getcolors(1 << 24) or ()) > 100  # frames, and no gray places
    found = point(site, names["mpeg"], "ms=100,300,10,20,50,60")
    assert found["selector"] == "crop=msec,100,300,(10,20),(50,60)"
    again = site.get(f"/{names['mpeg']}?preview=frames", f"If-None-Match: {answer.headers['etag']}")
    assert again.status == 304


# pages
# -----


def test_a_page_is_drawn_with_its_words_over_it(site: Deployment, names: dict[str, str]) -> None:
    """The size is that of the page, 612 x 792 units, at 108 dots per inch."""
    page = read_page(site, f"/{names['pdf']}?landing&at=3")
    assert page.xpath("//h2[@id='pages']")[0].text == "Page 3 of 14"
    (address,) = page.xpath("//div[@class='picture']/img/@src")
    assert Image.open(io.BytesIO(site.get(address).body)).size == (918, 1188)
    words = " ".join(page.xpath("//div[@class='panes']//*[name()='text']/text()"))
    alone = site.get(f"/{names['pdf']}%23page=3?text").body.decode()
    assert alone.split()[:20] == words.split()[:20]


def test_a_page_and_a_rectangle_of_it_can_be_named(site: Deployment, names: dict[str, str]) -> None:
    """ "viewrect: left, top, width, height" (RFC 8118); ruling: pdi-other-schemes"""
    assert point(site, names["pdf"], "page=3")["selector"] == "page=3"
    found = point(site, names["pdf"], "page=3,100,120,300,220")
    assert found["selector"] == "page=3%26viewrect%3d100,120,200,100"
    assert found["place"] == [100, 120, 300, 220]
    with pikepdf.open(io.BytesIO(get_part(site, found))) as alone:
        assert [float(one) for one in alone.pages[0].cropbox] == [100, 572, 300, 672]
    page = read_page(site, found["landing"].removeprefix(site.base))
    (mark,) = page.xpath("//*[@id='part']")
    assert [mark.get(one) for one in ("x", "y", "width", "height")] == [
        *("100.0", "120.0", "200.0", "100.0")
    ]
    shown = Image.open(io.BytesIO(site.get(found["source"].removeprefix(site.base)).body))
    assert shown.size == (300, 150)


# tables
# ------


def test_the_first_rows_of_a_table_are_shown(site: Deployment, names: dict[str, str]) -> None:
    page = read_page(site, f"/{names['csv']}?landing")
    rows = [
        [cell.text_content() for cell in row.xpath("./td")] for row in page.xpath("//tr[@data-row]")
    ]
    expected = list(csv.reader(io.StringIO(make_table().decode())))
    assert rows == expected[1:100]
    (later,) = page.xpath("//form[@class='rows']//a[text()='Later']/@href")
    following = read_page(site, later.partition("#")[0])
    assert following.xpath("//tr/@data-row")[0] == "101"


def test_chosen_rows_are_the_stored_rows(site: Deployment, names: dict[str, str]) -> None:
    lines = make_table().decode().splitlines(keepends=True)
    chance = random.Random(50)
    for _ in range(20):
        first, last = sorted(chance.sample(range(1, 251), 2))
        found = point(site, names["csv"], f"rows={first},{last}")
        assert get_part(site, found) == "".join(lines[first - 1 : last]).encode()
    page = read_page(site, f"/{names['csv']}%23row=20-25?landing")
    assert page.xpath("//tr[contains(@class, 'marked')]/@data-row") == list(map(str, range(20, 26)))


# contents
# --------


def make_zip() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("letters/<b>1.txt", "Dear Sir")
    return written.getvalue()


def make_tar() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        member = tarfile.TarInfo("letters/1.txt")
        member.size = 8
        archive.addfile(member, io.BytesIO(b"Dear Sir"))
    return written.getvalue()


def make_mail() -> bytes:
    mail = email.message.EmailMessage()
    mail["Subject"] = "Gr\u00fc\u00dfe"
    mail.set_content("Dear Sir")
    mail.add_attachment(b"GIF89a", maintype="image", subtype="gif", filename="dot.gif")
    return mail.as_bytes()


@pytest.mark.parametrize(
    ("data", "format", "media_type", "expected"),
    [
        (make_zip(), "zip", "application/zip", [["letters/<b>1.txt", "8"]]),
        (make_tar(), "x-tar", "application/x-tar", [["letters/1.txt", "8"]]),
        (
            make_mail(),
            "rfc822",
            "message/rfc822",
            [
                ["Gr\u00fc\u00dfe", "Subject", ""],
                ["", "text/plain", "9"],
                ["dot.gif", "image/gif", "6"],
            ],
        ),
    ],
)
def test_the_contents_of_a_document_are_listed(
    site: Deployment, data: bytes, format: str, media_type: str, expected: list[list[str]]
) -> None:
    page = read_page(site, f"/{site.mint(text(data, format, media_type))}?landing")
    rows = page.xpath("//section[@aria-labelledby='contents']//tbody/tr")
    assert [[cell.text_content() for cell in row.xpath("./td")] for row in rows] == expected


def test_an_entry_that_is_stored_as_it_is_leads_to_its_part(site: Deployment) -> None:
    name = site.mint(text(make_tar() + bytes(512), "x-tar", "application/x-tar"))
    page = read_page(site, f"/{name}?landing")
    (href,) = page.xpath("//section[@aria-labelledby='contents']//a/@href")
    assert site.get(href.replace("?landing", "?bytes")).body == b"Dear Sir"
    marked = read_page(site, href)
    assert marked.xpath("//tr[@id='part']//a/text()") == ["letters/1.txt"]


def make_warc() -> bytes:
    record = b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
    return b"".join(
        b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/%d\r\n"
        b"WARC-Date: 2026-11-24T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:%036d>\r\n"
        % (n, n)
        + record % (len(text), text)
        for n, text in enumerate((b"first", b"second"))
    )


def test_each_record_and_each_mail_of_a_file_has_a_part(site: Deployment) -> None:
    warc = make_warc()
    second = warc.rindex(b"WARC/1.0")
    mails = [b"Subject: one\n\nDear Sir\n", b"Subject: two\n\nDear Madam\n"]
    mbox = b"\n".join(b"From a@a.example Mon Nov 24 2026\n" + one for one in mails)
    for data, media_type, format, expected in (
        (warc, "application/warc", "warc", [warc[:second], warc[second:]]),
        (mbox, "application/mbox", "mbox", mails),
    ):
        page = read_page(site, f"/{site.mint(text(data, format, media_type))}?landing")
        links = page.xpath("//section[@aria-labelledby='contents']//a/@href")
        found = [site.get(one.replace("?landing", "?bytes")).body for one in links]
        assert [one.rstrip() for one in found] == [one.rstrip() for one in expected]


# questions
# ---------


@pytest.mark.parametrize(
    ("name", "asked", "status", "code"),
    [
        ("gif", "point=rect=5,5,5,9", 400, "invalid-request"),
        ("gif", "point=rect=5,5", 400, "invalid-request"),
        ("gif", "point=circle=5,5", 400, "invalid-request"),
        ("gif", "point=rect&left=1&top=1&right=9", 400, "invalid-request"),
        ("gif", "point=rect=0,0,9999,9999", 416, "part-out-of-range"),
        ("frames", "point=rect=0,0,5,5,3", 404, "part-not-found"),
        ("gif", "point=ms=0,5", 501, "part-not-supported"),
        ("au", "point=rect=0,0,5,5", 501, "part-not-supported"),
        ("au", "point=ms=0,999999", 416, "part-out-of-range"),
        ("pdf", "point=page=15", 404, "part-not-found"),
        ("csv", "point=rows=251,260", 404, "part-not-found"),
        ("gif", "preview=peaks", 501, "part-not-supported"),
        ("gif", "preview=page", 400, "invalid-request"),
        ("gif", "preview=measures", 400, "invalid-request"),
        ("gif", "preview=", 400, "invalid-request"),
        ("frames", "preview=frame-3", 404, "part-not-found"),
        ("pdf", "preview=page-0", 404, "part-not-found"),
        ("gif", "preview=frame-0&info", 400, "invalid-request"),
    ],
)
def test_impossible_places_are_refused(
    site: Deployment, names: dict[str, str], name: str, asked: str, status: int, code: str
) -> None:
    problem(site.get(f"/{names[name]}?{asked}"), status, code)


def test_a_form_leads_to_the_page_of_the_part(site: Deployment, names: dict[str, str]) -> None:
    """Without a script: the fields of the form, in any order, the last ones empty."""
    asked = "point=rect&bottom=60&left=10&top=20&right=50&frame="
    answer = site.get(f"/{names['gif']}?{asked}", BROWSER)
    assert answer.status == 303
    part = f"{names['gif']}%23rect=(10,20),(50,60)"
    assert answer.headers["location"] == f"{site.base}/{part}?landing"


def test_a_closed_picture_is_not_shown_around_its_open_part(site: Deployment) -> None:
    name = site.mint(text(make_jpeg(1), "jpeg", "image/jpeg"))
    whole = str(parse(name).whole.resource)
    site.do(Restrict(rule=ReadingRule(about=whole, access=Access.CLOSED)))
    site.do(Restrict(rule=ReadingRule(about=f"{name}#rect=(0,0),(5,5)", access=Access.OPEN)))
    problem(site.get(f"/{name}?preview=frame-0"), 403, "forbidden")
    problem(site.get(f"/{name}?point=rect=0,0,9,9"), 403, "forbidden")
    assert b"<svg" not in site.get(f"/{name}%23rect=(0,0),(5,5)?landing", BROWSER).body


def test_a_withdrawn_picture_is_silent(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    name = site.mint(text(make_jpeg(2), "jpeg", "image/jpeg"))
    assert site.get(f"/{name}?landing", BROWSER).status == 200
    site.do(Withdraw(identifier=parse(name).whole.resource, reason="asked to"))
    assert b"<svg" not in site.get(f"/{name}?landing", BROWSER).body
    problem(site.get(f"/{name}?preview=frame-0"), 410, "gone")
    problem(site.get(f"/{name}?point=rect=0,0,1,1"), 410, "gone")


# in a browser
# ------------

DRAG = """(async (x1, y1, x2, y2) => {
    const panes = document.querySelector(".panes"), box = panes.getBoundingClientRect();
    const at = (x, y) => ({clientX: box.left + x * box.width, clientY: box.top + y * box.height,
        bubbles: true, pointerId: 1, isPrimary: true});
    panes.setPointerCapture = () => {};
    document.querySelector(".pointed").replaceChildren();
    const target = panes.querySelector("svg");
    target.dispatchEvent(new PointerEvent("pointerdown", at(x1, y1)));
    target.dispatchEvent(new PointerEvent("pointermove", at(x2, y2)));
    target.dispatchEvent(new PointerEvent("pointerup", at(x2, y2)));
    for (let turn = 0; turn < 1500; turn++) {
        await new Promise(done => setTimeout(done, 20));
        const code = document.querySelector(".pointed code");
        if (code) return [code.textContent, document.querySelector(".pointed span").textContent];
    }
    return ["", document.querySelector(".pointed").textContent];
})"""


def drag(site: Deployment, name: str, ways: list[tuple[float, ...]]) -> list[Any]:
    """Drag the pointer over a preview, from one place to another, as parts of its size."""

    async def drag_all(browser: Browser) -> list[Any]:
        await browser.open(f"{site.base}/{name}?landing")
        return [await browser.evaluate(f"{DRAG}{one}") for one in ways]

    return run_browser(drag_all)


def draw_ways(seed: int, count: int) -> list[tuple[float, ...]]:
    chance = random.Random(seed)
    return [tuple(round(chance.random(), 3) for _ in range(4)) for _ in range(count)]


@pytest.mark.parametrize(("name", "width", "height"), [("gif", 575, 325), ("turned", 24, 40)])
def test_a_rectangle_is_drawn_outwards(
    site: Deployment,
    names: dict[str, str],
    name: str,
    width: int,
    height: int,
) -> None:
    ways = draw_ways(1997, 15)
    for way, (identifier, note) in zip(ways, drag(site, names[name], ways), strict=True):
        (x1, x2), (y1, y2) = sorted(way[::2]), sorted(way[1::2])
        sides = (x1 * width, y1 * height, x2 * width, y2 * height)
        expected = (
            *(math.floor(round(one, 3)) for one in sides[:2]),
            *(math.ceil(round(one, 3)) for one in sides[2:]),
        )
        found = point(site, names[name], f"rect={','.join(map(str, expected))}")
        assert (identifier, note) == (found["identifier"], "✓ exactly what you drew")


ZOOM = """(async () => {
    document.querySelector("[data-script=zooming]").click();
    for (let turn = 0; turn < 300; turn++) {
        await new Promise(done => setTimeout(done, 20));
        const view = document.querySelector(".zoomer .view");
        const viewer = window.OpenSeadragon?.getViewer(view);
        if (viewer?.world.getItemAt(0)?.getFullyLoaded()) {
            document.querySelector(".zoomer [aria-pressed]").click();
            view.scrollIntoView();
            return viewer.canvas.getAttribute("role");
        }
    }
})()"""
LOOK = """(() => {
    const viewer = OpenSeadragon.getViewer(document.querySelector(".zoomer .view"));
    viewer.viewport.zoomTo(%f, null, true);
    viewer.viewport.panTo(new OpenSeadragon.Point(%f, %f), true);
    viewer.viewport.applyConstraints(true);
    document.querySelector(".pointed").replaceChildren();
    const bounds = viewer.viewport.viewportToImageRectangle(viewer.viewport.getBounds(true));
    const box = viewer.canvas.getBoundingClientRect();
    return [bounds.x, bounds.y, bounds.width, bounds.height, box.x, box.y, box.width, box.height];
})()"""
NAMED = """[document.querySelector(".pointed code")?.textContent,
    document.querySelector(".pointed span")?.textContent]"""


@pytest.mark.parametrize(("name", "width", "height"), [("gif", 575, 325), ("turned", 24, 40)])
def test_a_rectangle_is_drawn_on_a_zoomed_picture(
    site: Deployment,
    names: dict[str, str],
    name: str,
    width: int,
    height: int,
) -> None:
    """At any zoom: the pixels under the pointer follow from the bounds of what is seen."""
    chance = random.Random(31)

    async def draw_all(browser: Browser) -> list[tuple[list[float], list[float], list[str]]]:
        await browser.open(f"{site.base}/{names[name]}?landing")
        assert not any("openseadragon" in one for one in browser.requests)
        assert await browser.evaluate(ZOOM) == "application"
        done = []
        for _ in range(8):
            look = (chance.uniform(1, 6), chance.random(), chance.random() * height / width)
            seen = await browser.evaluate(LOOK % look)
            ways = [round(chance.uniform(0.1, 0.9), 2) for _ in range(4)]
            x1, x2 = (seen[4] + one * seen[6] for one in ways[:2])
            y1, y2 = (seen[5] + one * seen[7] for one in ways[2:])
            for kind, x, y in (
                *(("mousePressed", x1, y1), ("mouseMoved", x2, y2), ("mouseReleased", x2, y2)),
            ):
                await browser.call(
                    "Input.dispatchMouseEvent",
                    type=kind,
                    x=x,
                    y=y,
                    button="left",
                    buttons=1,
                    clickCount=1,
                )
            for _ in range(100):
                await asyncio.sleep(0.02)
                found = await browser.evaluate(NAMED)
                if found[0]:
                    break
            done.append((seen, ways, found))
        return done

    seen_in_browser = run_browser(draw_all)
    for (x, y, across, down, *_), ways, (identifier, note) in seen_in_browser:
        sides = (
            sorted(x + one * across for one in ways[:2]),
            sorted(y + one * down for one in ways[2:]),
        )
        (left, right), (top, bottom) = (
            [min(max(one, 0), most) for one in pair]
            for pair, most in zip(sides, (width, height), strict=True)
        )
        if left == right or top == bottom:
            continue  # beside the picture
        assert note == "✓ exactly what you drew"
        fields = point(site, names[name], _read_rectangle(site, names[name], identifier))["place"]
        for got, wanted in zip(fields, (left, top, right, bottom), strict=True):
            assert abs(got - wanted) <= 1 + max(across, down) / 500  # a pixel of each grid


def _read_rectangle(site: Deployment, name: str, identifier: str) -> str:
    """The place that the page of a part marks, as a question."""
    page = read_page(site, "/" + identifier.replace("#", "%23") + "?landing")
    sides = ("left", "top", "right", "bottom")
    return "rect=" + ",".join(page.xpath(f"//input[@name='{one}']/@value")[0] for one in sides)


def test_a_span_is_dragged_over_a_waveform(site: Deployment, names: dict[str, str]) -> None:
    length = 17_806.25  # milliseconds of the AU: 142,450 samples at 8,000 Hz
    ways = draw_ways(1993, 9)
    for way, (identifier, note) in zip(ways, drag(site, names["au"], ways), strict=True):
        start, stop = sorted(way[::2])
        found = parse(identifier).fragment
        assert found is not None
        unit, _, numbers = str(found.text).partition("=")
        first, last = (int(one) * (1000 if unit == "sec" else 1) for one in numbers.split(","))
        assert (first, last) == (
            math.floor(round(start * length, 3)),
            math.ceil(round(stop * length, 3)),
        )
        assert note == "✓ exactly what you drew"


def test_a_span_is_dragged_from_row_to_row_of_a_contact_sheet(
    site: Deployment, names: dict[str, str]
) -> None:
    """Four rows, each a quarter of the film: from the first row into the third one."""
    ((identifier, note),) = drag(site, names["mpeg"], [(0.5, 0.1, 0.25, 0.6)])
    page = read_page(site, f"/{names['mpeg']}?landing")
    stretch = float(page.xpath("//div[@class='panes']/*")[1].get("viewbox").split(" ")[0])
    start, stop = math.floor(stretch * 0.5), math.ceil(stretch * 2.25)
    assert identifier.endswith(f"#msec={start},{stop}")
    assert note == "✓ exactly what you drew"


def test_numbers_words_and_rows_point_by_keyboard(site: Deployment, names: dict[str, str]) -> None:
    async def use_pages(browser: Browser) -> list[str]:
        async def settle() -> str:
            for _ in range(300):
                await asyncio.sleep(0.02)
                found = await browser.evaluate(
                    "document.querySelector('.pointed code')?.textContent"
                )
                if found:
                    await browser.evaluate("document.querySelector('.pointed').replaceChildren()")
                    return str(found)
            raise AssertionError("no identifier")

        async def press(key: str, code: int) -> None:
            for kind in ("keyDown", "keyUp"):
                await browser.call(
                    "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code
                )

        await browser.open(f"{site.base}/{names['gif']}%23rect=(10,20),(30,40)?landing")
        await browser.evaluate("document.querySelector('[name=left]').focus()")
        await press("ArrowUp", 38)
        seen = [await settle()]
        await browser.open(f"{site.base}/{names['csv']}?landing")
        await browser.evaluate("document.querySelector('tr[data-row=\"7\"]').click()")
        seen.append(await settle())
        await browser.open(f"{site.base}/{names['pdf']}?landing&at=3")
        await browser.evaluate(
            "getSelection().selectAllChildren(document.querySelector('.panes text'))"
        )
        seen.append(await settle())
        return seen

    rectangle, row, words = run_browser(use_pages)
    assert rectangle.endswith("#rect=(11,20),(30,40)")
    assert row.endswith("#row=7")
    found = site.get("/" + words.replace("#", "%23") + "?bytes")
    assert (found.status, found.headers["content-type"]) == (200, "application/pdf")


@pytest.mark.parametrize("name", ["gif", "au", "mpeg", "pdf", "csv"])
def test_no_page_is_wider_than_a_phone(site: Deployment, names: dict[str, str], name: str) -> None:
    async def measure(browser: Browser) -> tuple[int, list[str]]:
        await browser.set_width(320)
        await browser.open(f"{site.base}/{names[name]}?landing")
        width = await browser.evaluate("document.documentElement.scrollWidth")
        return int(width), browser.requests

    width, requests = run_browser(measure)
    assert width == 320
    assert [
        one for one in requests if not one.startswith((site.base, "data:", "about:blank"))
    ] == []
