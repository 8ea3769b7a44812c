"""Changes of text in a citation: case, quotation marks, adjacent punctuation.

Specification: CSL 1.0.2, "Text-case", "Quotes", "Punctuation". The quotation marks of a style are
private characters until the entry is complete, because only then are the nesting of each and the
character after it known.

What must stay true: the case of words with inner capitals never changes in titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

OPEN, CLOSE = "\ue000", "\ue001"
"""Placeholders for the quotation marks of a style until `finish_entry`."""


class Quotes(msgspec.Struct, frozen=True):
    """The quotation marks of a locale."""

    open: str
    close: str
    inner_open: str
    inner_close: str
    punctuation_inside: bool


# Case
# ----

# "Stop words" of the specification, appendix "Title case conversion"
_SMALL_WORDS = """
    a an and as at but by down for from in into nor of on onto or over so the till to up via
    with yet about above across after against al along alongside amid amidst among amongst around
    aside astride atop before behind below beneath beside besides between beyond circa despite
    during et except inside lest like modulo near next notwithstanding off out per plus pro qua
    sans since than that through throughout toward towards under underneath until unto upon versus
    vs vs. v v. within without d' de la le les van von und
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"[^\s\u2010-\u2015/-]+")
_NEAR, _FAR = 8, 300
"""Number of characters that are examined around a word; examining all would take quadratic time."""
_ADDRESS = re.compile(r"\w+://|(?:\w+\.)+\w{2,}(?:/|$)")
_BEFORE_CAPITAL = re.compile(r"[:?!.][”’»\"']?\s+$|—\s*$")


def change_case(text: str, case: str, *, english: bool) -> str:
    """Change the case of a text. `case` is a value of `text-case`."""
    match case:
        case "lowercase":
            return text.lower()
        case "uppercase":
            return text.upper()
        case "capitalize-first":
            return _capitalize_first(text)
        case "capitalize-all":
            return re.sub(r"\S+", lambda word: _capitalize_first(word[0]), text)
        case "sentence":
            lowered = text.lower() if text.isupper() else text
            return _capitalize_first(lowered)
        case "title":
            return _capitalize_title(text) if english else text
    return text


def _capitalize_first(text: str) -> str:
    """Capitalise the first letter if its word is in lower case."""
    for at, letter in enumerate(text):
        if letter.isalnum():
            word = _WORD.match(text, at)
            plain = word is None or word[0] == word[0].lower()
            return text[:at] + letter.upper() + text[at + 1 :] if plain else text
    return text


def _capitalize_title(text: str) -> str:
    """Capitalise an English title; stop words only at its ends or after a colon, for example."""
    words = list(_WORD.finditer(text))
    pieces, end = [], 0
    for at, word in enumerate(words):
        pieces.append(text[end : word.start()])
        end = word.end()
        bare = word[0].strip("“”‘’«»\"'()[],;:.!?").lower()
        before = text[max(word.start() - _NEAR, 0) : word.start()]
        starts = at == 0 or _BEFORE_CAPITAL.search(before) is not None
        ends = at == len(words) - 1
        small = (bare in _SMALL or word[0].lower() in _SMALL) and not (starts or ends)
        small = small or (len(word[0]) == 1 and not starts)  # x, or the c of vitamin c
        pieces.append(word[0] if small or _is_address(text, word) else _capitalize_first(word[0]))
    return "".join((*pieces, text[end:]))


def _is_address(text: str, word: re.Match[str]) -> bool:
    """Return True if a word is a web address or a part of one."""
    first, last = max(word.start() - _FAR, 0), min(word.end() + _FAR, len(text))
    start = max(text.rfind(" ", first, word.start()) + 1, first)
    stop = text.find(" ", word.end(), last)
    return _ADDRESS.match(text[start : last if stop < 0 else stop]) is not None


# Joining
# -------

_MEETING = {
    "!": {".": "!", "?": "!?", ":": "!", ",": "!,", ";": "!;"},
    "?": {"!": "?!", ".": "?", ":": "?", ",": "?,", ";": "?;"},
    ".": {"!": ".!", "?": ".?", ":": ".:", ",": ".,", ";": ".;"},
    ":": {"!": "!", "?": "?", ".": ":", ",": ":,", ";": ":;"},
    ",": {"!": ",!", "?": ",?", ":": ",:", ".": ",.", ";": ",;"},
    ";": {"!": "!", "?": "?", ":": ";", ".": ";", ",": ";,"},
}


def append_text(text: str, more: str) -> str:
    """Append text; where punctuation meets punctuation, merge the two marks."""
    if not text or not more:
        return text + more
    first = more[0]
    if first not in _MEETING:
        return text + more
    end = len(text)
    while end and text[end - 1] == CLOSE:
        end -= 1
    last = text[end - 1] if end else ""
    if last == first:
        return text + more[1:]
    met = _MEETING.get(last, {}).get(first)
    if met is None:
        return text + more
    return text[: end - 1] + met[0] + text[end:] + met[1:] + more[1:]


def join_parts(parts: Iterable[str], delimiter: str) -> str:
    """Join the parts that are not empty with a delimiter."""
    whole = ""
    for part in parts:
        if part:
            whole = append_text(append_text(whole, delimiter), part) if whole else part
    return whole


def add_affixes(text: str, prefix: str, suffix: str) -> str:
    """Put a text between its affixes; an empty text stays empty."""
    if not text:
        return ""
    return append_text(append_text(prefix, text), suffix)


# Finishing
# ---------

_TYPED = re.compile("[\"']")
_STRAIGHT_OPEN = re.compile(r"(?:(?<=^)|(?<=[\s(\[\u2014\ue000]))([\"'])(?=\S)")
_INSIDE = re.compile(rf"({CLOSE}{{1,4}})([.,])")
_DOUBLED = re.compile(r"[ \n]{2,}|\n")
_NOTHING_BETWEEN = re.compile(r"\.(?: \.){1,3}(?= |$)")


def typeset_text(text: str, quotes: Quotes) -> str:
    """Replace the apostrophes and straight quotation marks of data by typographic ones."""
    if quotes.close != "’" and _has_pairs(text, quotes):  # otherwise every apostrophe would match
        text = text.replace(quotes.open, OPEN).replace(quotes.close, CLOSE)
    if _TYPED.search(text) is None:
        return text
    opened = _STRAIGHT_OPEN.sub(lambda found: OPEN if found[1] == '"' else "‘", text)
    return opened.replace('"', CLOSE).replace("'", "’")


def _has_pairs(text: str, quotes: Quotes) -> bool:
    """Return True if the quotation marks of a language are in a text, in pairs.

    Other languages use the same characters in other ways: „Buch“ ends with “.
    """
    if quotes.open not in text:
        return False
    depth = 0
    for mark in re.findall(f"{re.escape(quotes.open)}|{re.escape(quotes.close)}", text):
        depth += 1 if mark == quotes.open else -1
        if depth < 0:
            return False
    return depth == 0


def finish_entry(text: str, quotes: Quotes) -> str:
    """Finish an entry: insert its quotation marks and collapse repeated blanks."""
    if quotes.punctuation_inside:
        text = _INSIDE.sub(r"\2\1", text)
    depth = 0
    pieces = []
    for letter in text:
        if letter == OPEN:
            pieces.append(quotes.inner_open if depth % 2 else quotes.open)
            depth += 1
        elif letter == CLOSE:
            depth = max(depth - 1, 0)
            pieces.append(quotes.inner_close if depth % 2 else quotes.close)
        else:
            pieces.append(letter)
    return _NOTHING_BETWEEN.sub(".", _DOUBLED.sub(" ", "".join(pieces))).strip()
