"""The title of an archived page is read as a browser reads it (HTML Standard section 13.2.3)."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from tests.archives.warcs import Warc

from perdure.archives.capture import titles
from perdure.archives.index import ranges
from perdure.archives.library import Library
from perdure.settings import Settings

DATE = "2016-01-22T11:20:29Z"


def title(tmp_path: Path, body: bytes, content_type: str = "text/html") -> str:
    made = Warc(tmp_path / "a.warc.gz")
    made.response("http://www.dr.dk/", DATE, body, media_type=content_type)
    library = Library(tmp_path / "registry", Settings())
    library.add_file(made.finish())
    [capture] = ranges.walk_range(library.captures, ranges.IndexRange("", "~"))
    return titles.describe_capture(library.captures, library.files, capture).title or ""


@pytest.mark.parametrize(
    ("charset", "codec", "word"),
    [
        ("windows-1251", "cp1251", "Привет мир"),
        ("koi8-r", "koi8_r", "Привет мир"),
        ("EUC-JP", "euc_jp", "日本語"),
        ("gb2312", "gbk", "中文鎔"),
        ("iso-8859-1", "cp1252", "“Ærø”"),
        ("utf-8", "utf-8", "Ærø – Привет"),
    ],
)
def test_the_charset_may_stand_in_either_head(
    tmp_path: Path, charset: str, codec: str, word: str
) -> None:
    page = f"<html><head><title>{word}</title>".encode(codec)
    assert title(tmp_path, page, f"text/html; charset={charset}") == word
    said = f"<meta http-equiv='Content-Type' content='text/html; charset={charset}'>".encode()
    (tmp_path / "b").mkdir()
    assert title(tmp_path / "b", said + page) == word


def test_a_mark_goes_over_what_the_server_says(tmp_path: Path) -> None:
    page = codecs.BOM_UTF8 + "<title>Ærø</title>".encode()
    assert title(tmp_path, page, "text/html; charset=iso-8859-1") == "Ærø"


def test_a_charset_that_nobody_knows_says_nothing(tmp_path: Path) -> None:
    page = "<title>Ærø</title>".encode()
    assert title(tmp_path, page, "text/html; charset=klingon") == "Ærø"
