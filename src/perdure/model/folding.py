"""Folded characters: words that people take for equal are equal, however they are written.

How it works: a character is a letter or digit of a word, a character of a script without spaces
(Han, Kana, Thai …), a separator, or ignored (a mark, a format character). Its folded form is its
compatibility decomposition (UAX #15, NFKD) without marks, in lower case. `fold_words` writes a text
so that words are what is between characters of ASCII other than letters and digits; a character of
a script without spaces is a word of its own.

>>> fold_words("Ärger,\\u00a0naïve ＴＯ")
'arger, naive to'
>>> fold_words("日本 x")
' 日  本  x'

What must stay true: the folded form of a character depends on the character only, so a folded text
is the sequence of the forms of its characters. Folding takes time in proportion to the text.
"""

from __future__ import annotations

import enum
import unicodedata

MOST_FOLDED = 3
"""Folded characters of one character; more of them are left out."""


class Kind(enum.IntEnum):
    """The part that a character plays in words."""

    SEPARATOR = 0
    LETTER = 1
    ALONE = 2
    """It is a word of its own."""
    IGNORED = 3


# Blocks of scripts that write no spaces between words (Unicode, LineBreak classes ID, SA and CJ):
# Thai to Myanmar, Khmer, Kana and Han with their extensions. Hangul writes spaces.
_ALONE_RANGES = (
    (0x0E00, 0x0F00), (0x1000, 0x10A0), (0x1780, 0x1800), (0x1950, 0x19E0), (0x1A20, 0x1AB0),
    (0x2E80, 0x3100), (0x31A0, 0x31C0), (0x31F0, 0x3200), (0x3400, 0x4DC0), (0x4E00, 0xA000),
    (0xA9E0, 0xAA00), (0xAA60, 0xAAE0), (0xF900, 0xFB00), (0x1B000, 0x1B170), (0xFF66, 0xFFA0),
    (0x20000, 0x40000),
)  # fmt: skip
_SELECTORS = ((0x034F, 0x0350), (0x17B4, 0x17B6), (0x180B, 0x1810), (0xFE00, 0xFE10),
              (0xE0100, 0xE01F0))  # fmt: skip
"""Marks that are never seen: variation selectors, inherent vowels, the grapheme joiner."""
_HANGUL = (0xAC00, 0xD7A4)
"""Syllables, which are letters of words. Their decomposition is not a different writing."""


def classify_character(character: str) -> Kind:
    """Return the part that a character plays.

    >>> [classify_character(one).name for one in "a中-\\u0301"]
    ['LETTER', 'ALONE', 'SEPARATOR', 'IGNORED']
    """
    category, point = unicodedata.category(character), ord(character)
    if category == "Cf" or (category[0] == "M" and not _is_vowel(character)):
        return Kind.IGNORED
    if category[0] not in "LNM":
        return Kind.SEPARATOR
    return Kind.ALONE if _is_within(point, _ALONE_RANGES) else Kind.LETTER


def _is_vowel(mark: str) -> bool:
    """Return True if a mark distinguishes words, as the vowel signs of Indian scripts do.

    Unlike accents and points, these do not combine with the letter above or below it.
    """
    enclosing = unicodedata.category(mark) == "Me"
    return not (unicodedata.combining(mark) or enclosing or _is_within(ord(mark), _SELECTORS))


def _is_within(point: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= point < high for low, high in ranges)


def fold_character(character: str) -> str:
    """Return the folded form of a character; empty for a mark or a format character.

    >>> [fold_character(one) for one in "ÄßﬁⅣ\\u0301"]
    ['a', 'ss', 'fi', 'iv', '']
    """
    if _HANGUL[0] <= ord(character) < _HANGUL[1]:
        return character
    opened = unicodedata.normalize("NFKD", character.casefold()).casefold()
    kept = (Kind.LETTER, Kind.ALONE)
    letters = [one for one in opened if classify_character(one) in kept]
    return "".join(letters[:MOST_FOLDED])


class _Forms(dict[int, str]):
    """The form of each character in a folded text, made when it is first needed."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        form = _spell_folded(character)
        self[point] = form
        return form


def _spell_folded(character: str) -> str:
    if character.isascii():
        return character.lower()
    kind = classify_character(character)
    if kind is Kind.SEPARATOR:
        return " "
    form = "" if kind is Kind.IGNORED else fold_character(character)
    # a compatibility character may stand for several words: a circled ideograph, "㍿"
    return "".join(f" {one} " if classify_character(one) is Kind.ALONE else one for one in form)


_FORMS = _Forms()


def fold_words(text: str) -> str:
    """Return a text with its words folded and divided.

    A word is a run of ASCII letters, digits, and characters beyond ASCII.
    """
    return text.lower() if text.isascii() else text.translate(_FORMS)
