"""Composites: made of parts of other documents, checked, found, and told where they are from."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors.composing import (
    CompositeEmpty,
    CompositeMalformed,
    CompositePiecesTooMany,
    CompositeTooLong,
    IncludesTooDeep,
    PieceNotVerbatim,
    PieceUnusable,
)
from perdure.ids import parse
from perdure.model.commands import Restrict
from perdure.model.composites import CanonicalPlaces, count_canonical
from perdure.model.queries import PUBLIC_READER, Fetch, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.reading.composites import PieceReport
from perdure.storage.segments.store import Segments
from perdure.storage.spool import make_content
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.composing import compose_document, mint_composite
from perdure.upkeep.transfer.renewal import rebuild_registry

WORDS = 'Dear Sir,\r\nyou said "no" & <never>.\r\nYours\r\n'
LETTER = f"{TODAY}/1.text.1"
_PIXEL = "R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="
XI = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


@pytest.fixture
def letter(desk: Desk) -> Desk:
    desk.mint(text(WORDS))
    return desk


def compose(desk: Desk, source: str, media_type: str = "text/html") -> str:
    composed = compose_document(desk.registry, source.encode(), media_type)
    return mint_composite(desk.registry, composed, SERIES).identifier


def served(desk: Desk, name: str) -> str:
    format = "html" if ".html." in name else "xml"
    return desk.served(name.partition(f".{format}")[0], format=format).decode()


def report(desk: Desk, name: str) -> list[PieceReport]:
    step = desk.registry.reading.resolve(Query(identifier=parse(name), reader=PUBLIC_READER)).step
    assert isinstance(step, Fetch)
    return desk.registry.provenance.read_pieces(step, PUBLIC_READER)


def find_containing(desk: Desk, name: str) -> list[str]:
    return list(map(str, desk.registry.provenance.walk_composites(parse(name))))


# HTML
# ----


def test_a_page_gets_the_words_of_the_parts_that_it_cites(letter: Desk) -> None:
    page = f"""<!doctype html><title>x</title>
<p>He wrote <q cite="{LETTER}#char=0,9"></q>, and:</p>
<blockquote cite="https://pid.example/{TODAY}/1.text.1%23char=0,34"> </blockquote>
"""
    name = compose(letter, page)
    made = served(letter, name)
    assert made.startswith("<!doctype html><!-- perdure composite -->")
    assert re.search(
        r'<q cite="[^"]*#char=0,9" title="[^"]*, 2026-11-21, sha512:\w{128}">Dear Sir,</q>', made
    )
    assert 'Dear Sir,\nyou said "no" &amp; &lt;never&gt;</blockquote>' in made
    caption = made[made.index("<figcaption>") :]
    assert f"{LETTER}#char=0,34" in caption
    assert '<time datetime="2026-11-21">' in caption
    found = report(letter, name)
    assert [(str(one.identifier), one.verdict) for one in found] == [
        (f"{LETTER}#char=0,9", "verbatim"),
        (f"{LETTER}#char=0,34", "verbatim"),
    ]
    for one in found:  # as a citation, the verdict is the same
        citation = parse(f"{name}@{one.origin}={one.identifier}")
        assert letter.registry.citations.check_citation(citation).verdict == one.verdict


def test_what_is_composed_twice_stays_the_same(letter: Desk) -> None:
    page = f'<blockquote cite="{LETTER}#char=0,9"></blockquote>'
    once = compose_document(letter.registry, page.encode(), "text/html")
    assert compose_document(letter.registry, once.data, "text/html") == once


def test_a_name_without_a_version_gets_the_version_of_now(letter: Desk) -> None:
    name = compose(letter, f'<q cite="{TODAY}/1#char=0,4"></q>')
    assert f'cite="{LETTER}#char=0,4"' in served(letter, name)
    letter.commit(f"{TODAY}/1", text("Another text\r\n"))
    assert [one.verdict for one in report(letter, name)] == ["verbatim"]
    with pytest.raises(PieceUnusable, match="name a version: one of"):
        compose(letter, f'<q cite="{TODAY}/1#char=0,4"></q>')


@pytest.mark.parametrize(
    ("inner", "verdict"),
    [
        ("Dear Sir,", None),
        ("Dear  Sir,", "reflowed"),
        ("dear sir", "same-words"),
        ("No!", "absent"),
    ],
)
def test_a_quotation_that_is_not_verbatim_is_refused(
    letter: Desk, inner: str, verdict: str
) -> None:
    page = f'<p>\n<q cite="{LETTER}#char=0,9">{inner}</q>'
    if not verdict:
        compose(letter, page)
        return
    with pytest.raises(PieceNotVerbatim) as refused:
        compose(letter, page)
    assert (refused.value.line, refused.value.cited) == (3, f"{LETTER}#char=0,9")
    assert letter.mint(text("next")).identifier == f"{TODAY}/2.text.1"


def test_other_elements_and_addresses_stay_as_they_are(letter: Desk) -> None:
    page = (
        "<script>'<q cite=\"pdi://a.us/1/1/1/1\"></q>'</script><!-- <q cite='x'></q> -->"
        f'<blockquote cite="https://a.example/">As it is</blockquote><img src="a.gif">'
        f'<q cite="{LETTER}#char=0,4"></q><q>plain <q>nested</q></q>'
    )
    made = served(letter, compose(letter, page))
    kept = (
        "<script>'<q cite=\"pdi://a.us/1/1/1/1\"></q>'</script><!-- <q cite='x'></q> -->",
        '<blockquote cite="https://a.example/">As it is</blockquote><img src="a.gif">',
        "<q>plain <q>nested</q></q>",
    )
    assert all(one in made for one in kept)


def test_a_picture_is_shown_from_its_part(desk: Desk) -> None:
    gif = base64.b64decode(_PIXEL)
    desk.mint(make_content(gif, format="gif", media_type="image/gif"))
    name = compose(desk, f'<img alt="" src="{TODAY}/1.gif.1#rect=(0,0),(1,1)">')
    assert f'src="/{TODAY}/1.gif.1%23rect=(0,0),(1,1)"' in served(desk, name)
    assert [(one.element, one.verdict) for one in report(desk, name)] == [("img", "transcluded")]


# XML
# ---


def write_served_parts(desk: Desk, place: Path, xml: str) -> str:
    """The same document, whose includes lead to files with the bytes of the parts."""

    def write_part(found: re.Match[str]) -> str:
        name = parse(found[1])
        path = place / f"part{len(list(place.iterdir()))}"
        path.write_bytes(b"".join(desk.registry.signed_contents.open_content(name)))
        return f'href="{path}"'

    return re.sub(r'href="(pdi:[^"]*)"', write_part, xml)


@pytest.mark.skipif(not shutil.which("xmllint"), reason="xmllint is not installed")
def test_includes_are_filled_in_as_xmllint_does(letter: Desk, tmp_path: Path) -> None:
    """ "judge `xmllint --xinclude`": both give the same document, but for our instructions."""
    letter.mint(
        make_content(b"<a><b x='>'>one &amp; two</b><c/></a>", format="xml", media_type="text/xml")
    )
    xml = f"""<?xml version="1.0" encoding="UTF-8"?>
<doc {XI}>
<p>It said: <xi:include href="{LETTER}#char=0,34" parse="text"/></p>
<xi:include href="{TODAY}/2.xml.1#elt=1,2"><xi:fallback/></xi:include>
<xi:include parse="xml" href="{TODAY}/2.xml.1"/>
</doc>
"""
    name = compose(letter, xml, "text/xml")
    made = served(letter, name)
    assert made.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<?perdure composite?>')
    judged = tmp_path / "doc.xml"
    (tmp_path / "parts").mkdir()
    judged.write_text(write_served_parts(letter, tmp_path / "parts", xml))
    done = subprocess.run(
        ["xmllint", "--xinclude", "--nofixup-base-uris", "--nonet", str(judged)],
        capture_output=True, check=True,
    )  # fmt: skip
    theirs = etree.tostring(etree.fromstring(done.stdout), method="c14n").replace(b"&#xD;", b"")
    ours = etree.fromstring(made.encode())
    for instruction in list(ours.iter(etree.ProcessingInstruction)):
        _drop(instruction)
    assert etree.tostring(ours, method="c14n") == theirs
    assert [one.verdict for one in report(letter, name)] == ["verbatim"] * 3


def _drop(instruction: etree._Element) -> None:
    parent, before = instruction.getparent(), instruction.getprevious()
    if parent is None:
        return
    tail = instruction.tail or ""
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(instruction)


def include(name: str) -> str:
    return f'<a {XI}><xi:include href="{name}"/></a>'


def test_includes_within_includes_are_filled_in(letter: Desk) -> None:
    for number in range(2, 5):
        inner = include(f"{TODAY}/{number - 1}.xml.1") if number > 2 else "<x/>"
        letter.mint(make_content(inner.encode(), format="xml", media_type="text/xml"))
    name = compose(letter, include(f"{TODAY}/4.xml.1"), "text/xml")
    made = served(letter, name)
    assert made.count("<?perdure piece=") == 3
    assert "<x/>" in made
    assert "xi:include" not in made


def test_a_composite_is_included_with_its_pieces(letter: Desk) -> None:
    """Each piece is compared with its source, also those that the included composite had."""
    quoted = f'<a {XI}>It: <xi:include href="{LETTER}#char=0,4" parse="text"/></a>'
    inner = compose(letter, quoted, "text/xml")
    both = f'<b {XI}><xi:include href="{inner}"/> and <xi:include href="{inner}"/></b>'
    outer = compose(letter, both, "text/xml")
    pieces = report(letter, outer)
    named = f"{LETTER}#char=0,4"
    assert [str(one.identifier) for one in pieces] == [inner, named, inner, named]
    assert {one.verdict for one in pieces} == {"verbatim"}


def test_the_hash_of_an_include_may_be_escaped(letter: Desk) -> None:
    """composites.md: "XInclude forbids a `#` in `href`"."""
    one = f'<a {XI}><xi:include href="{LETTER}%23char=0,4" parse="text"/></a>'
    name = compose(letter, one, "text/xml")
    assert f'<?perdure piece="{LETTER}#char=0,4"' in served(letter, name)


def test_circles_and_towers_end(letter: Desk) -> None:
    letter.mint(make_content(b"<a/>", format="xml", media_type="text/xml"))
    circle = include(f"{TODAY}/2.xml")
    letter.commit(f"{TODAY}/2", make_content(circle.encode(), format="xml", media_type="text/xml"))
    with pytest.raises(IncludesTooDeep):
        compose(letter, circle, "text/xml")


def test_composites_that_explode_are_refused(letter: Desk) -> None:
    letter.mint(make_content(f"<a>{'x' * 9000}</a>".encode(), format="xml", media_type="text/xml"))
    one = f'<xi:include href="{TODAY}/2.xml.1"/>'
    many = f"<a {XI}>{one * 900}</a>".encode()
    letter.mint(make_content(many, format="xml", media_type="text/xml"))
    with pytest.raises(CompositeTooLong):
        compose(letter, f"<a {XI}>{one * 950}</a>", "text/xml")
    tiny = f'<xi:include href="{TODAY}/4.xml.1"/>'
    letter.mint(make_content(b"<x/>", format="xml", media_type="text/xml"))
    with pytest.raises(CompositePiecesTooMany):
        compose(letter, f"<a {XI}>{tiny * 1001}</a>", "text/xml")
    with pytest.raises(CompositePiecesTooMany):
        compose(letter, f'<q cite="{LETTER}#char=0,1"></q>' * 1001)


@pytest.mark.parametrize(
    "document",
    [
        "<a",
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://a.example/">%x;]><a/>',
    ],
)
def test_hostile_xml_is_refused(letter: Desk, document: str) -> None:
    with pytest.raises(CompositeMalformed):
        compose(letter, document, "text/xml")


@pytest.mark.parametrize(
    ("document", "media_type", "error"),
    [
        ("<p>nothing</p>", "text/html", CompositeEmpty),
        ("<a/>", "text/xml", CompositeEmpty),
        ("x", "text/plain", CompositeMalformed),
        (f'<q cite="{TODAY}/99.text.1"></q>', "text/html", PieceUnusable),
        (f'<q cite="{LETTER}#char=0,999"></q>', "text/html", PieceUnusable),
        ('<q cite="hdl:1839/elsewhere"></q>', "text/html", PieceUnusable),
        (f'<a {XI}><xi:include href=""/></a>', "text/xml", PieceUnusable),
        (f'<a {XI}><xi:include href="a.xml"/></a>', "text/xml", PieceUnusable),
        (f'<a {XI}><xi:include href="{LETTER}"/></a>', "text/xml", PieceUnusable),
        (f'<a {XI}><xi:include href="{LETTER}" xpointer="a"/></a>', "text/xml", PieceUnusable),
    ],
)
def test_what_cannot_be_composed(
    letter: Desk, document: str, media_type: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        compose(letter, document, media_type)
    assert letter.mint(text("next")).identifier == f"{TODAY}/2.text.1"


def test_a_part_that_is_not_xml_is_refused_with_its_reason(letter: Desk) -> None:
    with pytest.raises(PieceUnusable) as refused:
        compose(letter, include(LETTER), "text/xml")
    assert "in line 1 refused: it cannot be included as XML: syntax error" in str(refused.value)
    assert str(refused.value).count("docs/reference/composites.md") == 1


def test_other_charsets_are_refused(letter: Desk) -> None:
    with pytest.raises(CompositeMalformed, match="UTF-8"):
        compose_document(letter.registry, b"\xff\xfe<\0q\0", "text/html")


# afterwards
# ----------


def test_a_withdrawn_source_shows_its_tombstone(letter: Desk) -> None:
    page = f'<q cite="{LETTER}#char=0,9"></q>'
    name = compose(letter, page)
    kept = served(letter, name)
    receipt = letter.withdraw(f"{TODAY}/1", "a court said so")
    assert receipt.written_about == (name.removesuffix(".html.1"),)  # the withdrawer is told
    (one,) = report(letter, name)
    assert one.verdict == "gone"
    assert one.tombstone is not None
    assert one.tombstone.reason == "a court said so"
    assert (one.sha512, one.length) == ("", 0)
    assert served(letter, name) == kept


def test_a_closed_source_tells_nothing(letter: Desk) -> None:
    name = compose(letter, f'<q cite="{LETTER}#char=0,9"></q>')
    rule = ReadingRule(about=f"{TODAY}/1", access=Access.CLOSED, by_token=True)
    letter.registry.door.execute_command(Restrict(rule=rule))
    (one,) = report(letter, name)
    assert (one.verdict, one.sha512, one.date) == ("closed", "", "")


def test_composites_are_found_by_their_pieces(letter: Desk) -> None:
    name = compose(letter, f'<q cite="{LETTER}#char=5,9"></q>')
    for asked in (f"{TODAY}/1", LETTER, f"{LETTER}#char=0,6", f"{LETTER}#char=5,9"):
        assert find_containing(letter, asked) == [name]
    for asked in (f"{LETTER}#char=0,5", f"{TODAY}/9"):
        assert find_containing(letter, asked) == []
    assert letter.registry.assertions.list_assertions(parse(LETTER)) == []
    assert list(letter.registry.listings.walk_targeting(parse(LETTER))) == []


def test_composites_are_found_after_a_rebuild(letter: Desk) -> None:
    name = compose(letter, f'<q cite="{LETTER}#char=5,9"></q>')
    letter.registry.close()
    (letter.root / FILE).unlink()
    list(rebuild_registry(letter.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
    letter.reopen()
    assert find_containing(letter, LETTER) == [name]


def test_a_page_that_only_cites_is_no_composite(letter: Desk) -> None:
    page = f'<q cite="{LETTER}#char=5,9">Sir</q>'.encode()
    name = letter.mint(make_content(page, format="html", media_type="text/html")).identifier
    assert report(letter, name) == []
    assert find_containing(letter, LETTER) == []


@given(st.text("ab\r\n", max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_law_places_are_counted_as_origins_are(text: str, places: list[int]) -> None:
    """ "Counts as `count_canonical` does"."""
    counter = CanonicalPlaces(text)
    for place in places:
        within = min(place, len(text))
        assert counter.count_before(within) == count_canonical(text, within)
