"""The lines of a page, held equal to its text content."""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.extractors.cutting import source

from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.page_text import read_page_text
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.text_content import read_text_content


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>T &amp; t</title><p>One <b>f</b>ox<p> two\n words ", "T & t\nOne fox\ntwo words"),
        ("a<br>b<script>no</script><style>no</style>c", "a\nb\nc"),
        ("a<!-- no -->b<?no?>&lt;p&gt;&nbsp;", "ab<p>\xa0"),
        ("\ufeffa\0b&#0;c", "a\ufffdb\ufffdc"),
        ("<p/>a<p/>", "a"),
        ("", ""),
        ("a < b & c", "a < b & c"),
    ],
)
def test_the_text_of_a_page_is_its_lines(page: str, text: str) -> None:
    assert read_page_text(page) == text


def test_an_empty_element_of_xhtml_does_not_hide_the_rest() -> None:
    page = "<head><title/><script src='a'/></head><p>a<br/>b</p>"
    assert read_page_text(page, xhtml=True) == "a\nb"


_PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<b class='x'>",
        "</b>",
        "<br/>",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<!-- a -->",
        "<![CDATA[&lt;]]>",
        "<!doctype html>",
        "<",
        ">",
        "&amp;",
        "&lt",
        "&#65;",
        "&",
        "a",
        "B ",
        "\n",
        "\r\n",
        "\u3000",
        "é",
        "<textarea>",
        "</textarea>",
        "<x-y>",
        "</",
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
@example("<title><!-- a --></title>")
def test_the_lines_are_those_of_the_text_content(page: str) -> None:
    """The fast way beside the plain one, which also makes the map to the bytes."""
    with tempfile.TemporaryDirectory() as place:
        document = source(Path(place), page.encode(), "text/html", "utf-8")
        whole = read_text_content(Markup(document, "text", NoIndexes()))
    places = sorted({0, *whole.blocks, len(whole.text)})
    lines = (whole.text[start:stop] for start, stop in pairwise(places))
    plain = [re.sub("[ \t\n\f\r]+", " ", line).strip(" ") for line in lines]
    assert read_page_text(page) == "\n".join(filter(None, plain))
