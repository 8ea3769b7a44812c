"""The charset of a text whose language is stated, found by the letters of that language.

How it works: single-byte charsets differ in the characters of the same bytes, and a language uses
few letters beyond ASCII. So the text is decoded in each charset, and the characters beyond ASCII
are counted: letters of the language count for it, other letters and signs against it, and so does a
capital after a small letter. Quotation marks, dashes and the lines of boxes count for nothing. The
best charset is taken if it explains nearly everything. `alphabets.txt` has the letters.

What must stay true: a text without letters of the language, or with many of others, has no answer
here: then general detection decides.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

_SINGLE_BYTE = (
    *("latin_1", "cp1252", "iso8859_2", "cp1250", "iso8859_5", "koi8_r", "cp1251", "koi8_u"),
    *("iso8859_7", "cp1253", "iso8859_9", "cp1254", "iso8859_8", "cp1255", "iso8859_6", "cp1256"),
    *("iso8859_13", "cp1257", "iso8859_4", "iso8859_10", "iso8859_3", "iso8859_14", "iso8859_15"),
    *("iso8859_16", "cp850", "cp852", "cp866", "cp437", "cp865", "cp861", "cp860", "cp863"),
    *("cp855", "cp857", "cp775", "cp869", "cp862", "cp864", "mac_roman"),
)
"""Python's codecs for charsets of IANA's registry. Among equals, the first is taken."""
_IDEOGRAPHS = "\u3001-\u3003\u3005\u300c-\u300f\u4e00-\u9fff\uff01-\uff5e"
_SCRIPTS = {
    "ja": ("\u3041-\u30ff" + _IDEOGRAPHS, ("euc_jp", "shift_jis", "cp932")),
    "ko": ("\uac00-\ud7a3" + _IDEOGRAPHS, ("euc_kr", "cp949")),
    "zh": (_IDEOGRAPHS, ("gb2312", "gbk", "big5", "gb18030")),
}
"""Of languages with thousands of characters: their ranges, and Python's codecs."""
_NEUTRAL = re.compile(
    "[\x00-\x7f\xa0\xa7\xa9\xab\xad\xae\xb0-\xb4\xb7\xbb-\xbe\xd7\xf7\u2013\u2014\u2018-\u201e"
    "\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2116\u2122\u2500-\u259f]+"
)
_OLD = ("cp850", "cp437", "cp865", "cp852", "cp861", "cp860", "cp863", "mac_roman")
"""Codecs of DOS and of early Macintoshes, for languages in Latin letters."""
_SIGNS_IN_WORDS = re.compile(
    rb"(?<=[A-Za-z])[\x80-\x82\x84\x86-\x89\x8b\x8d\x8f-\x91\x93-\x95\x98\x9b\x9d](?=[a-z])"
)
"""Bytes between two letters that are signs in windows-1252, but no apostrophe, ellipsis or dash."""
_WORDS_BEYOND_ASCII = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_FEWEST_SIGNS = 2
_RARE = 5  # letters beyond ASCII for each sign
_LONGEST_RUN = 1.3  # bytes beyond ASCII, one after another, on average
_LOOK = 64 << 10  # bytes
_AGAINST = 3  # times the weight of a letter of the language
_DOUBTFUL = 10  # letters of the language for each doubtful character


class _Score(NamedTuple):
    """The weight of a reading; a higher one is better."""

    total: int
    small: int
    """Letters of the language that are small."""
    order: int


def find_codec(data: bytes, language: str) -> str | None:
    """Return Python's codec for a text in this language (a tag, such as `da-DK`), or None.

    >>> find_codec("Blåbær på rødgrød".encode("cp850"), "da")
    'cp850'
    >>> find_codec("Zażółć gęślą jaźń".encode("iso8859-2"), "pl")
    'iso8859_2'
    """
    subtag = language.partition("-")[0].lower()
    letters = _load_letters().get(subtag)
    codecs: tuple[str, ...] = _SINGLE_BYTE
    if subtag in _SCRIPTS:
        ranges, codecs = _SCRIPTS[subtag]
        letters = f"[{ranges}]"
    if letters is None:
        return None
    found: list[tuple[_Score, str]] = []
    for order, codec in enumerate(codecs):
        score = _score_reading(data, codec, re.compile(letters), -order)
        if score is not None:
            found.append((score, codec))
    return max(found)[1] if found else None


def find_old_codec(data: bytes) -> str | None:
    """Return Python's codec for a text from DOS or an early Macintosh, or None.

    In windows-1252, many of the bytes from 0x80 to 0x9f are signs, which never occur between two
    letters. If they do, the language is unknown, but its letters still decide: the best reading in
    any language is taken.

    >>> find_old_codec("Blåbær på rødgrød".encode("cp850"))
    'cp850'
    >>> find_old_codec("don’t wait…well—“no”".encode("cp1252"))
    """
    signs = _SIGNS_IN_WORDS.findall(data)
    if len(signs) < _FEWEST_SIGNS:
        return None
    words = b" ".join(_WORDS_BEYOND_ASCII.findall(data[:_LOOK]))
    beyond = _BEYOND_ASCII.findall(words)
    if sum(map(len, beyond)) > len(beyond) * _LONGEST_RUN or len(signs) * _RARE < len(beyond):
        return None  # characters of several bytes, or signs among many letters
    found = [
        (score, codec)
        for order, codec in enumerate(_OLD)
        for letters in _load_letters().values()
        if (score := _score_reading(words, codec, re.compile(letters), -order)) is not None
    ]
    return max(found)[1] if found else None


def _score_reading(data: bytes, codec: str, letters: re.Pattern[str], order: int) -> _Score | None:
    """Weigh a reading; None if it is impossible or too doubtful."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    good = letters.findall(text)
    against = len(_NEUTRAL.sub("", letters.sub("", text)))
    if not good or against * _DOUBTFUL > len(good):
        return None
    against += sum(
        before.islower() and after.isupper() and not (before + after).isascii()
        for before, after in pairwise(text)
    )
    if against * _DOUBTFUL > len(good):
        return None
    return _Score(len(good) - _AGAINST * against, sum(map(str.islower, good)), order)


@cache
def _load_letters() -> dict[str, str]:
    """Return a pattern of the letters of each language, small and capital."""
    text = files("perdure.formats.data").joinpath("alphabets.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if line and line[0] != "#")
    return {
        subtag: f"[{re.escape(''.join(sorted({*small, *small.upper()})))}]"
        for subtag, small in rows
    }
