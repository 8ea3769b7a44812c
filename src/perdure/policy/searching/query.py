"""A search as people type it: words, phrases, beginnings of words, words that must not occur.

    archive "further notice" presid* -draft

How it works: the words between spaces are folded (`perdure.model.folding`), so they are found
however they are written. Text in quotation marks is a phrase; so is a word that folds into several,
as `e-mail` or `東京` does. A word that ends in an asterisk stands for all words that begin so. A
word or phrase after a minus sign must not occur. Every other character divides words.

>>> parse_query('Ärger "Further notice" presid* -draft')
SearchQuery(terms=(Term(tokens=('arger',), is_prefix=False), Term(tokens=('further', 'notice'), \
is_prefix=False), Term(tokens=('presid',), is_prefix=True)), \
excluded=(Term(tokens=('draft',), is_prefix=False),))

What must stay true: a term consists of letters and digits, whatever was typed. So no query has a
meaning in the language of a database.
"""

from __future__ import annotations

import re

import msgspec

from perdure.errors.searching import QueryTooLong, QueryWithoutWords
from perdure.model.folding import Kind, classify_character, fold_words

MOST_CHARACTERS = 1000
MOST_WORDS = 64
INSIDE = "0-9a-z\x80-\U0010ffff"
"""The characters of words in a folded text, as a class of a regular expression."""
_WORD = re.compile(f"[{INSIDE}]+")
_QUOTES = str.maketrans("“”„‟", '""""')
_PIECE = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)(?:"(?P<star>\*)?|\Z)|(?P<word>[^\s"]+))')


class Term(msgspec.Struct, frozen=True):
    """Words that are to be found in a row."""

    tokens: tuple[str, ...]
    """Folded."""
    is_prefix: bool = False
    """True if the last word may be longer."""


class SearchQuery(msgspec.Struct, frozen=True):
    """Terms that must occur, at least one, and terms that must not."""

    terms: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()


def parse_query(text: str) -> SearchQuery:
    """Read a search.

    Raises QueryWithoutWords if it names no word to be found, QueryTooLong.
    """
    if len(text) > MOST_CHARACTERS:
        raise QueryTooLong(most=MOST_CHARACTERS, unit="characters")
    terms: list[Term] = []
    excluded: list[Term] = []
    for piece in _PIECE.finditer(text.translate(_QUOTES)):
        term = _read_term(piece)
        if term is not None:
            (excluded if piece["minus"] else terms).append(term)
    if not terms:
        raise QueryWithoutWords(query=text)
    if sum(len(one.tokens) for one in (*terms, *excluded)) > MOST_WORDS:
        raise QueryTooLong(most=MOST_WORDS, unit="words")
    return SearchQuery(tuple(dict.fromkeys(terms)), tuple(dict.fromkeys(excluded)))


def _read_term(piece: re.Match[str]) -> Term | None:
    """Return a term, or None if it has neither letters nor digits."""
    word = piece["word"]
    text = piece["phrase"] if word is None else word
    tokens = tuple(_WORD.findall(fold_words(text)))
    if not tokens:
        return None
    has_star = bool(piece["star"]) if word is None else word.endswith("*")
    # a character of a script without spaces is a complete word
    return Term(tokens, has_star and classify_character(tokens[-1][-1]) is not Kind.ALONE)
