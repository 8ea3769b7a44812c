"""Offsets of tags: against parse5, against laws, and on input that is made to take for ever.

`vectors/part-elt.json` says what parse5 sees. Where it is installed (`make unit` does that;
PERDURE_PARSE5 names another folder with `node_modules`), it is asked again, about real and
generated pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.extractors.markup.tag_walk import TagWalk
from perdure.extractors.markup.tags import (
    HTML,
    SGML,
    XML,
    Rule,
    read_attributes,
    read_tag,
    read_text_between,
    scan_tags,
)

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
VECTORS = json.loads((ROOT / "vectors" / "part-elt.json").read_text())
PARSE5 = Path(os.environ.get("PERDURE_PARSE5", ".oracles")).resolve()

Offsets = list[list[int]]


def offsets(data: bytes, rule: Rule = HTML) -> Offsets:
    tags = scan_tags(data, rule)
    return [list(one) for one in zip(tags.starts, tags.stops, strict=True)]


def written(data: bytes, rule: Rule = HTML) -> list[bytes]:
    return [data[start:stop] for start, stop in offsets(data, rule)]


# as parse5 sees them
# -------------------


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["rule"])
def test_pages_of_the_vectors(case: dict[str, Any]) -> None:
    assert offsets(case["markup"].encode("latin-1")) == case["tags"]


@pytest.mark.corpus
@pytest.mark.parametrize("case", VECTORS["documents"], ids=lambda case: case["file"])
def test_documents_of_the_1990s(case: dict[str, Any]) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    data = (CORPUS / case["file"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == case["sha256"], "not the document of the vectors"
    found = offsets(data)
    assert len(found) == case["count"]
    shown = json.dumps(found, separators=(",", ":")).encode()
    assert hashlib.sha256(shown).hexdigest() == case["tags_sha256"]


def oracle(*arguments: str, pages: list[str] | None = None) -> list[dict[str, Any]]:
    if shutil.which("node") is None or not (PARSE5 / "node_modules/parse5").is_dir():
        pytest.skip("parse5 is asked where it is installed: make unit, or PERDURE_PARSE5")
    done = subprocess.run(
        ["node", str(ROOT / "tools" / "tag_oracle.mjs"), *arguments],
        input="".join(f"{json.dumps(page)}\n" for page in pages or []),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PERDURE_PARSE5": str(PARSE5)},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.corpus
def test_parse5_on_documents_of_the_1990s() -> None:
    pages = sorted(CORPUS.glob("*.html"))
    if not pages:
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    seen = oracle(*map(str, pages))
    assert [offsets(page.read_bytes()) for page in pages] == [one["tags"] for one in seen]


LEXEMES = """
    < </ <a <A </a > /> / = " ' b <b> </b> <script> </script> <style> </style> <title> </title>
    <textarea> </textarea <!-- --> --!> <!--> <!---> - -- ! <! <? ?> <![CDATA[ ]]> <!doctype x <1
    <script </SCRIPT </script/ a=b a=b/ href=/> \xe9 \0 <br/> &lt; <svg> </svg> <_a> => == <p
"""
PIECES = [*LEXEMES.split(), " ", "\n", "\r\n", "\t", "\f", "<a b= c>", "<p id='x>' t=\"y>\">"]


def generated(count: int, seed: int) -> list[str]:
    choose = random.Random(seed)
    return ["".join(choose.choices(PIECES, k=choose.randint(1, 40))) for _ in range(count)]


def test_parse5_on_generated_pages() -> None:
    pages = generated(5_000, seed=1997)
    for page, seen in zip(pages, oracle("-", pages=pages), strict=True):
        assert offsets(page.encode("latin-1")) == seen["tags"], page


# XML and SGML: from their specifications
# ---------------------------------------


@pytest.mark.parametrize(
    ("markup", "tags"),
    [
        (b"<a><b/></a>", [b"<a>", b"<b/>", b"</a>"]),
        (b"<title><b>x</b></title>", [b"<title>", b"<b>", b"</b>", b"</title>"]),
        (b"<script><b/></script>", [b"<script>", b"<b/>", b"</script>"]),
        (b"<_a/><:b/><\xc3\xa9/><a.b-c/>", [b"<_a/>", b"<:b/>", b"<\xc3\xa9/>", b"<a.b-c/>"]),
        (b"<1/><-a/><.b/>< c/>", []),
        (b"<a><![CDATA[<b>]]]]><![CDATA[></b>]]></a>", [b"<a>", b"</a>"]),
        (b"<a><?p <b> > ?></a>", [b"<a>", b"</a>"]),
        (b"<!-- <b> --!> <c> --><a/>", [b"<a/>"]),
        (
            b'<!DOCTYPE a [<!ELEMENT a (b)><!ENTITY c "<d>"><!-- ]> \' --><?p ]> "?>]><a/>',
            [b"<a/>"],
        ),
        (b"<!DOCTYPE a [<!ELEMENT a (b)> <!ATTLIST a b CDATA '><c>'>]><a/>", [b"<a/>"]),
        (b"<!DOCTYPE a PUBLIC '>' \">\"><a/>", [b"<a/>"]),
        (b"<a b='>' c=\">\"/>", [b"<a b='>' c=\">\"/>"]),
        (b"<?xml version='1.0'?>\xef\xbb\xbf<a/>", [b"<a/>"]),
    ],
)
def test_xml(markup: bytes, tags: list[bytes]) -> None:
    assert written(markup, XML) == tags


@pytest.mark.parametrize(
    ("markup", "tags"),
    [
        (b"<A><B>x</A>", [b"<A>", b"<B>", b"</A>"]),
        (b"<?page break><p>", [b"<p>"]),
        (b"<![ CDATA [ <b> ]]><p>", [b"<p>"]),
        (b"<![IGNORE[ <b> ]]><![INCLUDE[<i>]]><p>", [b"<i>", b"<p>"]),
        (b"<!DOCTYPE x [<!ENTITY % y '<z>'> <?p>]><p>", [b"<p>"]),
    ],
)
def test_sgml(markup: bytes, tags: list[bytes]) -> None:
    """ISO 8879: a processing instruction ends at `>`; marked sections are ignored or not."""
    assert written(markup, SGML) == tags


# one tag
# -------


def test_attributes() -> None:
    data = b"<p A=b c = 'd>' e=\"\" f g=/h/ =i=j>"
    found = [(one.name, data[one.value]) for one in read_attributes(data, 0, len(data))]
    assert found == [
        (b"A", b"b"),
        (b"c", b"d>"),
        (b"e", b""),
        (b"f", b""),
        (b"g", b"/h/"),
        (b"=i", b"j"),
    ]


@pytest.mark.parametrize(
    ("tag", "name", "closing", "empty"),
    [
        (b"<a>", b"a", False, False),
        (b"</A >", b"A", True, False),
        (b"<br/>", b"br", False, True),
        (b"<a b='/'/>", b"a", False, True),
        (b"<a b=/>", b"a", False, False),
        (b"<a b='/'>", b"a", False, False),
    ],
)
def test_reading(tag: bytes, name: bytes, closing: bool, empty: bool) -> None:
    seen = read_tag(tag, 0, len(tag))
    assert (seen.name, seen.closing, seen.empty) == (name, closing, empty)


# laws
# ----

markup = st.lists(st.sampled_from(PIECES), max_size=40).map(lambda page: "".join(page).encode())
rules = st.sampled_from([HTML, XML, SGML])


@given(st.one_of(markup, st.binary(max_size=200)), rules)
@example(b"<a", HTML)
def test_tags_lie_one_behind_the_other(data: bytes, rule: Rule) -> None:
    """Ruling elt-range: "the bytes from `<` of tag 3 through `>` of tag 7, both included"."""
    end = 0
    for start, stop in offsets(data, rule):
        assert end <= start < stop <= len(data)
        assert data[start : start + 1] == b"<"
        assert data[stop - 1 : stop] == b">"
        end = stop


@given(st.one_of(markup, st.binary(max_size=200)), rules)
def test_tags_and_what_is_between_them_are_the_document(data: bytes, rule: Rule) -> None:
    found = offsets(data, rule)
    ends = [0, *(stop for _, stop in found)]
    starts = [*(start for start, _ in found), len(data)]
    between = [data[start:stop] for start, stop in zip(ends, starts, strict=True)]
    tags = [*written(data, rule), b""]
    assert b"".join(gap + tag for gap, tag in zip(between, tags, strict=True)) == data


@given(markup, markup, rules)
def test_what_follows_a_document_changes_none_of_its_tags(
    first: bytes, second: bytes, rule: Rule
) -> None:
    """A tag is told by what stands before it: at most one that is cut in two is gained."""
    found = offsets(first, rule)
    assert offsets(first + second, rule)[: len(found)] == found


@given(st.lists(st.one_of(markup, st.binary(max_size=20)), max_size=4), st.integers(1, 30), rules)
def test_a_walk_finds_the_same_tags(pieces: list[bytes], step: int, rule: Rule) -> None:
    """The tags around a few places are those of `scan_tags`."""
    data = b" ".join(pieces)
    tags = scan_tags(data, rule)
    walk = TagWalk(data, rule)
    for place in range(0, len(data), step):
        number = bisect_right(tags.starts, place) - 1
        start, stop = (tags.starts[number], tags.stops[number]) if number >= 0 else (0, 0)
        assert walk.move_to(place) == (place < stop)
        assert (walk.start, walk.stop) == (start, stop)
        following = tags.starts[number + 1] if number + 1 < len(tags.starts) else len(data)
        assert walk.find_next_start() == following


_USUAL = ('<a href="x" b="y">', "<p>", "</p>", "text", '<i x="<" y=">z" />', '<q a="x" b c="!">')
_UNUSUAL = ("<!-- ", " -->", '<title a="x">', "</title>", "<a b='x'>", '<a b="x"c="y">', '<a b="')


@given(st.lists(st.sampled_from(_USUAL + _UNUSUAL), max_size=20), rules, st.data())
def test_a_walk_enters_values_of_tags(pieces: list[str], rule: Rule, data: st.DataObject) -> None:
    """ "None if the place is not the beginning of a value": else tag, names and value are those of
    `scan_tags` and `read_attributes`, and the walk goes on as if it had moved there.
    """
    document = "".join(pieces).encode()
    tags = scan_tags(document, rule)
    walk = TagWalk(document, rule)
    for place in range(len(document)):
        if not data.draw(st.booleans()):
            continue
        value = walk.enter_value(place)
        number = bisect_right(tags.starts, place) - 1
        start, stop = (tags.starts[number], tags.stops[number]) if number >= 0 else (0, 0)
        assert value is None or place < stop
        assert walk.move_to(place) == (place < stop)
        assert (walk.start, walk.stop) == (start, stop)
        if value is not None:
            assert value.element == read_tag(document, start, stop).name
            (attribute,) = (
                one for one in read_attributes(document, start, stop) if one.value.start == place
            )
            assert (value.attribute, value.text) == (attribute.name, document[attribute.value])


def test_a_walk_enters_the_values_of_usual_tags() -> None:
    walk = TagWalk(b'<p>it <a class="b" href="y">', HTML)
    assert walk.enter_value(25) == (b"a", b"href", b"y")
    assert TagWalk(b'<!-- <a href="x"> -->', HTML).enter_value(14) is None


@pytest.mark.parametrize("rule", [HTML, XML, SGML])
def test_a_walk_passes_many_tags_at_once(rule: Rule) -> None:
    data = b"<p a='>' b=c>text</p>\n" * 500 + b"<!-- <b> --><i>" + b"<p/>" * 300
    tags = scan_tags(data, rule)
    walk = TagWalk(data, rule)
    for place in (5, 9000, 9003, 11_490, 11_501, 11_515, len(data) - 1):
        number = bisect_right(tags.starts, place) - 1
        assert walk.move_to(place) == (place < tags.stops[number])
        assert (walk.start, walk.stop) == (tags.starts[number], tags.stops[number])


@given(markup, rules)
def test_text_between_tags_lies_between_them(data: bytes, rule: Rule) -> None:
    found = offsets(data, rule)
    ends = [0, *(stop for _, stop in found)]
    starts = [*(start for start, _ in found), len(data)]
    for start, stop in zip(ends, starts, strict=True):
        at = start
        for piece in read_text_between(data, start, stop, rule):
            assert at <= piece.start <= piece.stop <= stop
            at = piece.stop


@given(markup, rules)
def test_a_view_of_memory_is_read_like_bytes(data: bytes, rule: Rule) -> None:
    assert offsets(memoryview(data), rule) == offsets(data, rule)  # type: ignore[arg-type]


# what takes for ever elsewhere
# -----------------------------

_LENGTH = 400_000
AGAIN = """
    < <a <a_ <a_b= <a_b=' <a_b="_ a=a_ / = > ' " <a>< <a/ <a_= <_
    <!-- <!--> --! -- <! <? <![CDATA[ </ </a <!DOCTYPE_[ <!DOCTYPE_[<!--
    <a_b=c_ <a_b='c'_d="e"_ <script> <script_ </script <script><!-- <title> <title></titl
"""


@pytest.mark.parametrize("more", AGAIN.split())
@pytest.mark.parametrize("start", [b"", b"<a ", b"<script><!--", b"<!DOCTYPE a [", b"<!--"])
@pytest.mark.parametrize("rule", [HTML, XML, SGML], ids=lambda rule: rule.name)
def test_a_long_document_is_read_once(more: str, start: bytes, rule: Rule) -> None:
    """Time that grows with the square of the length would be days: the test would not end."""
    piece = more.replace("_", " ").encode()
    data = start + piece * (_LENGTH // len(piece))
    assert len(scan_tags(data, rule).starts) <= len(data) / 3
    walk = TagWalk(data, rule)
    for place in range(0, len(data), 40):
        walk.move_to(place)


def test_a_tag_with_a_million_attributes_is_one() -> None:
    data = b"<a " + b"b=c " * 1_000_000 + b"><i>"
    assert offsets(data) == [[0, len(data) - 3], [len(data) - 3, len(data)]]


def test_no_more_tags_are_looked_for_than_said() -> None:
    data = b"<a>" * 10 + b"<title><b></title>" + b"<!-- -->" + b"<a>" * 10
    for most in range(25):
        assert len(scan_tags(data, HTML, most).starts) == min(most, 22)
