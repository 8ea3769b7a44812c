"""The names of citations: those that are listed can be checked, in every format with a text.

Section 3.5.2 of the PDI draft: "When each content type token is made available for fragment
citation, the origin position MUST be defined".
"""

from __future__ import annotations

import base64
import io
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock, Desk, copy_as_new
from tests.reading.test_citations_of_media import check, keep, make_pdf

from perdure.errors import PartOutOfRange
from perdure.ids import parse
from perdure.model.queries import PUBLIC_READER, Gone, Query
from perdure.model.verdicts import Verdict
from perdure.reading.citations.describing import find_passage
from perdure.reading.citations.divided import DividedPassage
from perdure.upkeep.citations.asking import FOUND, CitationsWanted, answer_citations, read_filter
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.citations.listing import CitationListing, CitationPage
from perdure.upkeep.citations.subjects import make_subject
from perdure.upkeep.indexing import bring_up_to_date

SENTENCE = "It was " + " ".join(f"word{number}" for number in range(20)) + ", he wrote."
LINES = [" ".join(SENTENCE.split()[at : at + 6]) for at in range(0, 24, 6)]
LETTER = f"Dear Sir,\r\n{SENTENCE}\r\nYours"
START, STOP = LETTER.index(SENTENCE), LETTER.index(SENTENCE) + len(SENTENCE)
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ODF = "application/vnd.oasis.opendocument.text"


def zip_files(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def make_docx(part: str) -> bytes:
    form = "http://schemas.openxmlformats.org/"
    word = f"{form}wordprocessingml/2006/main"
    kinds, office = f"{form}package/2006/", f"{form}officeDocument/2006/relationships"
    relation = f'<Relationships xmlns="{kinds}relationships"><Relationship Id="r1"'
    return zip_files(
        **{
            "[Content_Types].xml": f'<Types xmlns="{kinds}content-types"><Override '
            f'PartName="/word/document.xml" ContentType="{WORD}.main+xml"/></Types>',
            "_rels/.rels": f'{relation} Type="{office}/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>See: {part}'
            f"</w:t></w:r></w:p><w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p></w:body></w:document>",
        }
    )


def make_odt(part: str) -> bytes:
    names = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
        for one in ("office", "text")
    )
    content = (
        f'<office:document-content {names} xmlns:xlink="http://www.w3.org/1999/xlink"><office:body>'
        f'<office:text><text:p>{SENTENCE}</text:p><text:p><text:a xlink:href="{part}">x</text:a>'
        "</text:p></office:text></office:body></office:document-content>"
    )
    return zip_files(mimetype=ODF, **{"content.xml": content})


def make_record(page: str, kind: str = "text/html") -> bytes:
    payload = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{page}".encode()
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        "WARC-Date: 2026-11-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload + b"\r\n\r\n"


def make_warc(part: str) -> bytes:
    return make_record("<p>Another page.") + make_record(f'<p>{SENTENCE}<p><a href="{part}">x</a>')


def make_mail(part: str, *, coded: bool) -> bytes:
    body = "\r\n".join(f"> {line}" for line in LINES) + f"\r\n\r\nSee {part} there.\r\n"
    head = "From: a@example.org\r\nTo: b@example.org\r\nSubject: It\r\nMIME-Version: 1.0\r\n"
    if coded:
        head += "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n"
        body = base64.encodebytes(body.encode()).decode().replace("\n", "\r\n")
    return f"{head}\r\n{body}".encode()


def make_cues(part: str) -> bytes:
    cues = [f"00:0{at}.000 --> 00:0{at + 1}.000\n{line}\n" for at, line in enumerate(LINES)]
    return "\n".join(["WEBVTT\n", *cues, f"00:08.000 --> 00:09.000\n{part}\n"]).encode()


DOCUMENTS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "text": ("text/plain", lambda part: f"See {part} and:\n{SENTENCE}".encode()),
    "html": (
        "text/html",
        lambda part: f'<p>A <b>memo</b>: {SENTENCE}<p>it <img src="{part}">'.encode(),
    ),
    "xml": ("text/xml", lambda part: f'<a b="{part}"><c/>{SENTENCE}</a>'.encode()),
    "csv": ("text/csv", lambda part: f'who,it\r\nhe,"{SENTENCE}"\r\nhe,{part}\r\n'.encode()),
    "rfc822": ("message/rfc822", lambda part: make_mail(part, coded=False)),
    "mail": ("message/rfc822", lambda part: make_mail(part, coded=True)),
    "vtt": ("text/vtt", make_cues),
    "docx": (WORD, make_docx),
    "odt": (ODF, make_odt),
    "warc": ("application/warc", make_warc),
    "pdf": ("application/pdf", lambda part: make_pdf("One.", SENTENCE, f"See {part} there")),
}
LIBRARIES = {"pdf": "pypdfium2", "warc": "fastwarc"}


@pytest.fixture(scope="module")
def desk(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One registry for all, so that its confined processes are started once."""
    desk = Desk(copy_as_new(pristine, tmp_path_factory.mktemp("texts") / "r"), Clock())
    yield desk
    desk.registry.close()


@cache
def keep_pair(desk: Desk, kind: str) -> tuple[str, str]:
    """Keep a letter, and a document that quotes it and refers to it, once."""
    pytest.importorskip(LIBRARIES.get(kind, "io"))
    media_type, make = DOCUMENTS[kind]
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    desk.clock.advance(days=1)
    return cited, keep(desk, make(f"{cited}#char={START},{STOP}"), kind, media_type)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_quotation_that_is_found_can_be_checked(desk: Desk, kind: str) -> None:
    pytest.importorskip("numpy")
    from perdure.upkeep.quotations.asking import find_quotations_of
    from perdure.upkeep.quotations.passage_index import PassageIndex

    cited, citing = keep_pair(desk, kind)
    with closing(PassageIndex(desk.registry)) as index:
        bring_up_to_date(index)
        for name in (cited, citing):
            resolved = desk.registry.reading.resolve(Query(identifier=parse(name)))
            report = find_quotations_of(desk.registry, index, resolved, PUBLIC_READER)
            assert not isinstance(report, Gone)
            (quotation,) = (one for one in report.quotations if one.document in (cited, citing))
            assert quotation.citation is not None
            assert quotation.citation.startswith(f"{citing}@")
            assert check(desk, quotation.citation).verdict.is_quotation
    assert quotation.citation in list_found_names(desk, cited)


def list_found_names(desk: Desk, cited: str) -> list[str | None]:
    """The names of the citations that are listed of what is found (`?citedby&kind=found`)."""
    wanted = CitationsWanted("citedby", read_filter((FOUND,)))
    with closing(CitationIndex(desk.registry)) as index:
        resolved = desk.registry.reading.resolve(Query(identifier=parse(cited)))
        page = answer_citations(desk.registry, index, resolved, wanted, PUBLIC_READER)
    assert isinstance(page, CitationPage)
    return [one.name for one in page.citations]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_reference_that_is_listed_can_be_checked(desk: Desk, kind: str) -> None:
    cited, citing = keep_pair(desk, kind)
    names = list(list_citation_names(desk, cited))
    assert names
    assert all(one.startswith(f"{citing}@") for one in names)
    allowed = {Verdict.REFERENCED, Verdict.VERBATIM, Verdict.REFLOWED, Verdict.TRANSCLUDED}
    assert {check(desk, one).verdict for one in names} <= allowed


def list_citation_names(desk: Desk, cited: str) -> Iterator[str]:
    with closing(CitationIndex(desk.registry)) as index:
        bring_up_to_date(index)
        resolved = desk.registry.reading.resolve(Query(identifier=parse(cited)))
        listing = CitationListing(desk.registry, index, PUBLIC_READER)
        for one in listing.walk_all(make_subject(desk.registry, resolved), "citedby"):
            yield one.name or ""


def test_a_reference_without_a_copy_in_pages_books_and_archives(desk: Desk) -> None:
    """`referenced`: the identifier, or a link to it, but no copy."""
    pytest.importorskip("pypdfium2")
    pytest.importorskip("fastwarc")
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    part = f"{cited}#char=0,4"
    pages = keep(desk, make_pdf("One.", f"See {part} there"), "pdf", "application/pdf")
    archive = make_record("<p>x") + make_record(f'<a href="{part}">x</a>')
    warc = keep(desk, archive, "warc", "application/warc")
    second = len(make_record("<p>x"))
    for name, origin, other in ((pages, 2, 1), (warc, second, 0)):
        assert check(desk, f"{name}@{origin}={part}").verdict is Verdict.REFERENCED
        found = check(desk, f"{name}@{other}={part}")
        assert (found.verdict, found.likeness) == (Verdict.ELSEWHERE, Verdict.REFERENCED)
        assert str(found.right) == f"{name}@{origin}={part}"


def test_the_origin_in_the_subtitles_of_a_film_is_a_second(desk: Desk, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    pytest.importorskip("av")
    cues = (
        f"{at + 1}\n00:00:0{at},500 --> 00:00:0{at + 1},400\n{line}\n"
        for at, line in enumerate(LINES)
    )
    (tmp_path / "cues.srt").write_text("\n".join(cues))
    words = "-y -nostdin -v error -f lavfi -i color=s=16x16:r=5:d=6 -i cues.srt -map 0:v -map 1:s"
    subprocess.run([ffmpeg, *words.split(), "film.mkv"], check=True, cwd=tmp_path)
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    film = (tmp_path / "film.mkv").read_bytes()
    citing = keep(desk, film, "video+matroska", "video/matroska")
    second = START + len(LINES[0]) + 1
    parts = {
        f"char={START},{STOP}": ((0, 1), "t=0.5,4.4%26track%3d2", Verdict.REFLOWED),
        f"char={second},{second + len(LINES[1])}": (
            (1, 2),
            "t=1.5,2.4%26track%3d2",
            Verdict.VERBATIM,
        ),
    }
    for part, (origins, place, verdict) in parts.items():
        for origin in range(5):
            found = check(desk, f"{citing}@{origin}={cited}#{part}")
            assert str(found.part) == f"{citing}#{place}"
            if origin in origins:
                assert found.verdict is verdict
            else:
                assert (found.verdict, found.likeness) == (Verdict.ELSEWHERE, verdict)
                assert str(found.right) == f"{citing}@{origins[0]}={cited}#{part}"
    with pytest.raises(PartOutOfRange, match="origin 9"):
        check(desk, f"{citing}@9={cited}#char={START},{STOP}")


def test_the_origin_in_an_archive_is_a_byte_of_the_record(desk: Desk) -> None:
    pytest.importorskip("fastwarc")
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    first, second = make_record("<p>Another page."), make_record(f"<p>{SENTENCE}")
    citing = keep(desk, first + second, "warc", "application/warc")
    part, end = f"{cited}#char={START},{STOP}", len(first + second)
    for origin in (len(first), len(first) + 9, end - 1):
        found = check(desk, f"{citing}@{origin}={part}")
        assert (found.verdict, found.extent) == (Verdict.VERBATIM, len(SENTENCE))
        assert str(found.part) == f"{citing}#byte={len(first)},{end}"
    for origin in (0, len(first) - 1, end):
        found = check(desk, f"{citing}@{origin}={part}")
        assert found.verdict is Verdict.ELSEWHERE
        assert str(found.right) == f"{citing}@{len(first)}={part}"
    with pytest.raises(PartOutOfRange, match="origin"):
        check(desk, f"{citing}@{end + 1}={part}")


PAGE = "<h1>Title</h1><ul><li>{}</li><li>{}</li></ul><p>The end"


def test_a_tag_between_two_words_of_a_page_divides_them(desk: Desk) -> None:
    """`reflowed`: "equal but for white space, line breaks", as people see the page."""
    at = SENTENCE.index(" word9 ")
    halves = SENTENCE[:at], SENTENCE[at + 1 :]
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    page = keep(desk, PAGE.format(*halves).encode(), "html", "text/html")
    part, origin = f"{cited}#char={START},{STOP}", PAGE.index("{}")
    stop = origin + len(halves[0]) + len("</li><li>") + len(halves[1])
    found = check(desk, f"{page}@{origin}={part}")
    assert (found.verdict, str(found.part)) == (
        Verdict.REFLOWED,
        f"{page}#char={origin},{stop}",
    )
    assert found.passage is not None
    assert (found.passage.before, found.passage.after) == ("Title", "The end")
    found = check(desk, f"{page}@0={part}")
    assert (found.verdict, found.likeness) == (Verdict.ELSEWHERE, Verdict.REFLOWED)
    assert str(found.right) == f"{page}@{origin}={part}"
    back = check(desk, f"{cited}@{START}={page}#char={origin},{stop}")  # the other way round
    assert (back.verdict, str(back.part)) == (Verdict.REFLOWED, part)
    other = keep(desk, PAGE.format(halves[0], "x" + halves[1]).encode(), "html", "text/html")
    (change,) = check(desk, f"{other}@{origin}={part}").changes
    assert (change.cited, change.citing) == ("word9", "xword9")
    start = PAGE.index("{}") - len("<h1></h1><ul><li>") + len(halves[0])
    assert (change.start, change.stop) == (start, start + len("xword9"))
    both = keep(desk, PAGE.format(*halves).encode() + b"<p>x", "html", "text/html")
    same = check(desk, f"{both}@{origin}={page}#char={origin},{stop}")
    assert same.verdict is Verdict.VERBATIM  # equal as they are


@given(st.lists(st.text("ab \n", min_size=1), min_size=1, max_size=6))
def test_law_places_of_a_divided_text(pieces: list[str]) -> None:
    """ "positions in the result are those of the texts themselves"."""
    text = "".join(pieces)
    breaks = list(accumulate(map(len, pieces)))
    passage = DividedPassage(text, breaks)
    divided = passage.divide()
    assert divided.split() == " ".join(pieces).split()
    for place, character in enumerate(text):
        assert divided[passage.shift(place)] == character
        assert passage.restore(passage.shift(place)) == place
        assert passage.restore(passage.shift(place) + 1) == place + 1  # the end of a passage


def test_a_passage_without_a_part_of_its_own_is_the_document(desk: Desk) -> None:
    """ "200: the citing document's own bytes", also of an office document, and of two pages."""
    pytest.importorskip("pypdfium2")
    cited = keep(desk, LETTER.encode(), "text", "text/plain")
    part = f"{cited}#char={START},{STOP}"
    word = keep(desk, make_docx("nothing"), "docx", WORD)
    half = SENTENCE.index("word9")
    pages = make_pdf(f"So: {SENTENCE[:half]}", f"{SENTENCE[half:]} The end.")
    pdf = keep(desk, pages, "pdf", "application/pdf")
    for name, origin, verdict in ((word, 0, Verdict.VERBATIM), (pdf, 1, Verdict.REFLOWED)):
        found = check(desk, f"{name}@{origin}={part}")
        assert (found.verdict, found.part) == (verdict, None)
        assert str(find_passage(found)) == name
    assert check(desk, f"{word}@1={part}").verdict is Verdict.ELSEWHERE
    assert str(check(desk, f"{word}@1={part}").right) == f"{word}@0={part}"
    nested = keep(desk, f"He: {SENTENCE}".encode(), "text", "text/plain")
    found = check(desk, f"{nested}@4={word}@0={part}")  # what is quoted in a document without parts
    assert (found.verdict, str(found.part)) == (
        Verdict.VERBATIM,
        f"{nested}#char=4,{4 + len(SENTENCE)}",
    )


def test_the_text_of_an_office_document_is_cited(desk: Desk) -> None:
    word = keep(desk, make_docx("nothing"), "docx", WORD)
    text = f"See: nothing\r\n{SENTENCE}\r\n"
    for written, verdict in (
        (text, Verdict.VERBATIM),
        (LETTER, Verdict.ALTERED),
        ("x", Verdict.ABSENT),
    ):
        citing = keep(desk, written.encode(), "text", "text/plain")
        assert check(desk, f"{citing}@0={word}").verdict is verdict
    other = keep(desk, make_odt("x:y"), "odt", ODF)  # other bytes, but the same words
    assert check(desk, f"{word}@0={word}").unit == "byte"
    assert check(desk, f"{other}@0={word}").verdict is Verdict.ALTERED
