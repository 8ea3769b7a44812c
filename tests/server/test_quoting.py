"""A reader quotes a sentence and gets the identifier of exactly that sentence."""

from __future__ import annotations

import json
import re
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from tests.server.deployment import Deployment, text

from perdure.extractors.indexes import NoIndexes
from perdure.extractors.port import Source, Span, iterate_body
from perdure.extractors.text.characters import TextExtractor, find_characters

LETTER = "Lieber Freund,\r\nschöne Grüße aus Kyoto (京都)!\nBis bald, bis bald.\r\n".encode()
CANONICAL = re.sub("\r\n|\r|\n", "\r\n", LETTER.decode())
PAGE = b"<!DOCTYPE html><title>T</title><p>To <b>whom</b> it may\nconcern &amp; others"


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(LETTER, charset="utf-8"))


def asked(site: Deployment, name: str, quoted: str, **around: str) -> str:
    """Where a quotation leads to."""
    more = "".join(f"&{key}={quote_plus(value)}" for key, value in around.items())
    answer = site.get(f"/{name}?quote={quote_plus(quoted)}{more}")
    assert answer.status == 303, answer.body
    return "/" + answer.headers["location"].split("/", 3)[3]


def said(element: html.HtmlElement) -> str:
    return "".join(map(str, element.itertext())).strip()


@pytest.mark.parametrize("words", ["schöne Grüße", "京都", "Freund,\nschöne", "Lieber"])
def test_the_part_is_what_was_quoted(site: Deployment, letter: str, words: str) -> None:
    there = asked(site, letter, words)
    assert there.startswith(f"/{letter}%23char=")
    part = site.get(there.removesuffix("?landing")).body.decode()
    assert part.replace("\r\n", "\n") == words


def test_positions_are_those_of_canonical_text(site: Deployment, letter: str) -> None:
    """A line break is two characters of canonical text, however it is written."""
    start = CANONICAL.index("Bis bald")
    assert asked(site, letter, "Bis bald").endswith(f"%23char={start},{start + 8}?landing")


def test_the_page_shows_and_cites_the_passage(site: Deployment, letter: str) -> None:
    answer = site.get(asked(site, letter, "schöne Grüße"))
    assert answer.status == 200
    shown = html.fromstring(answer.body)
    assert [said(one) for one in shown.cssselect("#passage ~ blockquote")] == ["schöne Grüße"]
    (citation,) = shown.cssselect("#cite ~ blockquote")
    assert "(characters 16–28; " in said(citation)
    assert not shown.cssselect("main form:not(.styles)")


def test_the_form_of_the_page_asks_for_it(site: Deployment, letter: str) -> None:
    answer = site.get(f"/{letter}?landing")
    shown = html.fromstring(answer.body)
    (form,) = shown.cssselect("main form:not(.styles)")
    assert (form.get("method"), form.get("action")) == ("get", f"{site.base}/{letter}")
    assert [one.get("name") for one in form.cssselect("input")] == ["quote", "before"]


def test_words_that_occur_twice_are_no_reference(site: Deployment, letter: str) -> None:
    assert site.get(f"/{letter}?quote=bis+bald.").status == 303
    answer = site.get(f"/{letter}?quote=bald")
    assert answer.status == 300
    found = json.loads(answer.body)["occurrences"]
    starts = [one.start() for one in re.finditer("bald", CANONICAL)]
    named = [f"{letter}#char={start},{start + 4}" for start in starts]
    assert [one["identifier"] for one in found] == named
    assert [one["before"][-4:] for one in found] == ["Bis ", "bis "]
    assert found[0]["after"].startswith(", bis bald.")
    shown = html.fromstring(site.get(f"/{letter}?quote=bald", "Accept: text/html").body)
    links = [
        str(one.attrib["href"]).removeprefix(site.base) for one in shown.cssselect("main ol a")
    ]
    assert links == [f"/{one.replace('#', '%23')}?landing" for one in named]
    assert site.get(links[1]).status == 200
    (typed,) = shown.cssselect("main form input")
    assert typed.get("value") == "bald"
    there = asked(site, letter, "bald", before="bis ")
    start = CANONICAL.index("bis bald") + 4
    assert there.endswith(f"%23char={start},{start + 4}?landing")


@pytest.mark.parametrize("nothing", ["", "+", "no+such+words", "%00", 3000 * "x"])
def test_what_is_not_there(site: Deployment, letter: str, nothing: str) -> None:
    assert site.get(f"/{letter}?quote={nothing}").status in (400, 404)


def test_a_page_is_quoted_as_it_reads(site: Deployment) -> None:
    name = site.mint(text(PAGE, "html", "text/html"))
    there = asked(site, name, "whom it may concern & others")
    assert site.get(there.removesuffix("?landing")).body == (
        b"whom</b> it may\r\nconcern &amp; others"
    )
    shown = html.fromstring(site.get(there).body)
    (passage,) = shown.cssselect("#passage ~ blockquote")
    assert said(passage) == "whom it may concern & others"


def test_a_page_never_tells_of_a_part_that_is_not_there(site: Deployment, letter: str) -> None:
    assert site.get(f"/{letter}%23char=0,9999?landing").status == 416


@given(
    st.text(st.sampled_from("aé京\r\n \U0001f4dc"), min_size=1, max_size=40),
    st.sampled_from(["utf-8", "utf-16-le", "utf-8-sig"]),
    st.data(),
)
def test_the_characters_of_a_slice_cut_that_slice(
    tmp_path_factory: pytest.TempPathFactory, written: str, charset: str, data: st.DataObject
) -> None:
    """The inverse of cutting, wherever no line break is torn apart."""
    bytes_of = written.encode(charset)
    label = charset.removesuffix("-sig").removesuffix("-le")
    if charset == "utf-16-le":
        bytes_of = b"\xff\xfe" + bytes_of
    path = tmp_path_factory.mktemp("slice") / "text"
    path.write_bytes(bytes_of)
    source = Source(path=path, length=len(bytes_of), media_type="text/plain", charset=label)
    start = data.draw(st.integers(0, len(written) - 1))
    stop = data.draw(st.integers(start + 1, len(written)))
    lead = len(bytes_of) - len(written.encode(charset.removesuffix("-sig")))
    codec = charset.removesuffix("-sig")
    span = Span(lead + len(written[:start].encode(codec)), lead + len(written[:stop].encode(codec)))
    if "\r\n" in (written[max(start - 1, 0) : start + 1], written[stop - 1 : stop + 1]):
        return  # a line break that was torn apart
    part = TextExtractor().extract_part(
        source, find_characters(source, span, NoIndexes()), NoIndexes()
    )
    canonical = re.sub("\r\n|\r|\n", "\r\n", written[start:stop])
    assert part.slices == (span,)
    assert b"".join(iterate_body(part.body, source)) == canonical.encode(codec)
