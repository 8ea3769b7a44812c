"""Our CSL processor writes what citeproc-js writes: vectors/citations.json holds its entries."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perdure.metadata.citation.style import Style

_VECTORS = json.loads((Path(__file__).parents[2] / "vectors/citations.json").read_text("utf-8"))
_ITEMS = {item["id"]: item for item in _VECTORS["items"]}
ORACLE = Path(os.environ.get("PERDURE_CITEPROC", ".oracles"))
CASES = [
    pytest.param(
        group["style"],
        group["locale"],
        name,
        entry,
        id=f"{group['style']}-{group['locale']}-{name}",
    )
    for group in _VECTORS["expected"]
    for name, entry in group["entries"].items()
]

DIFFERS = (
    {
        ("modern-language-association", "en-US", "webpage-www-dr-dk"): "Www.Dr.Dk is no address",
        ("iso690-author-date-de", "de-DE", "webpage-a-page"): "the archive grows onto the URL",
    }
    | {
        (style, "fr-FR", item): "77apr. J.-C. lacks a blank"
        for style in (
            "apa",
            "modern-language-association",
            "iso690-author-date-fr",
            "iso690-numeric-fr",
        )
        for item in ("book-before-our-era", "book-of-the-first-century")
    }
    | {
        (group["style"], group["locale"], "years-of-both-eras"): "44–14 BC for 44 BC–14 AD"
        for group in _VECTORS["expected"]
    }
    | {
        (style, "fr-FR", item): "50av. J.-C. lacks a blank"
        for style in (
            "apa",
            "modern-language-association",
            "iso690-author-date-fr",
            "iso690-numeric-fr",
        )
        for item in ("years-before-our-era", "years-of-the-first-century")
    }
    | {
        ("modern-language-association", "en-US", "markup-that-is-none"): "an open tag is one there",
        ("modern-language-association", "en-US", "markup-in-a-title"): "x² is a word, so X²",
    }
)
"""Where we write something else, and why."""


@cache
def style(name: str, locale: str) -> Style:
    return Style(name, locale)


def tidied(entry: str) -> str:
    """An entry of citeproc-js without what its text output doubles: blanks, and full stops where a
    suffix meets a prefix ("Words.. Online", "here?. Online", "T. . [no date]")."""
    entry = re.sub(r"[ \n]+", " ", entry)
    return re.sub(r"([.?!])(?:\.|(?: \.)+)(?= |$)", r"\1", entry)


@pytest.mark.parametrize(("name", "locale", "item", "expected"), CASES)
def test_an_entry_is_that_of_citeproc_js(name: str, locale: str, item: str, expected: str) -> None:
    written = style(name, locale).write_entry(_ITEMS[item])
    if (name, locale, item) in DIFFERS:
        assert written != tidied(expected), "it is the same by now: take it off the list"
    else:
        assert written == tidied(expected)


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"type": "book"},
        {"type": "no such type", "title": "T"},
        {"type": "book", "author": []},
        {"type": "book", "author": [{}]},
        {"type": "book", "author": [{"family": ""}], "issued": {"date-parts": [[]]}},
        {"type": "book", "title": "", "issued": {}},
        {"type": "book", "title": "\ue000\ue001", "edition": "x" * 5000},
        {"type": "book", "title": "T", "issued": {"date-parts": [[2020, 13, 40], [2021, 1]]}},
        {"type": "article-journal", "page": "1–2, 5–7, 10", "volume": "IV"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["apa", "modern-language-association", "iso690-numeric-fr"])
def test_no_item_makes_a_style_fail(name: str, item: dict[str, Any]) -> None:
    assert isinstance(style(name, "fr-FR").write_entry(item), str)


def test_what_a_substitution_wrote_is_not_written_again() -> None:
    """ "substituted variables are suppressed in the rest of the output" (CSL 1.0.2, Substitute)."""
    item = {"type": "book", "title": "Nobody wrote this", "issued": {"date-parts": [[2001]]}}
    assert style("apa", "en-US").write_entry(item).count("Nobody wrote this") == 1


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Solving for x", "Solving for x."),
        ("solving: x in b cells", "Solving: X in b Cells."),
        ("x rays", "X Rays."),
    ],
)
def test_single_letters_are_capitalised_only_at_a_beginning(title: str, expected: str) -> None:
    """As citeproc-js 1.4 answered."""
    written = style("modern-language-association", "en-US").write_entry(
        {"type": "book", "title": title}
    )
    assert written == expected


@pytest.mark.skipif(
    shutil.which("node") is None or not (ORACLE / "node_modules/citeproc").is_dir(),
    reason="citeproc-js is asked where it is installed: make unit, or PERDURE_CITEPROC",
)
def test_the_vectors_are_what_citeproc_js_says() -> None:
    tool = Path(__file__).parents[2] / "tools" / "citation_vectors.py"
    place = os.environ | {"PERDURE_CITEPROC": str(ORACLE)}
    asked = subprocess.run([sys.executable, tool, "--check"], check=False, env=place)
    assert asked.returncode == 0
