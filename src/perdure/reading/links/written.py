"""Identifiers that are written in a text: of every scheme, and in addresses of resolvers. Pure.

How it works: a text is searched for the labels of all schemes and for `http`, as bytes, without
regard to case. Each place is read up to the first character that no identifier has; punctuation
that belongs to the sentence is left out; the rest is parsed. An address counts as the identifier in
it (`perdure.ids.urls`). `doi 10.1000/182` and `DOI: 10.1000/182` are read, too.

What must stay true: time is in proportion to the text. Nothing is fetched. Text that cannot be
parsed is not an identifier.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from string import ascii_letters, digits
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.ids import Identifier, load_schemes, parse
from perdure.ids.urls import deurlify, is_known_host, list_beginnings, read_plain_address
from perdure.reading.targets import read_identifier

LONGEST = 8192  # bytes of an identifier
_LONG = 65_536  # bytes of a text that is searched at once
_WEB = (b"http://", b"https://")
_TOKEN = re.compile(rb"[!#-;=?-\[\]_a-z~]{1,%d}" % LONGEST)  # printable, not of `"<>\^{|}
_COMPLETE = re.compile(
    rb"(?!(?!doi:)(?i:doi))[!#%%(-;=?-\[\]_a-z~]{0,%d}[0-9A-Za-z]" % (LONGEST - 1)
)
"""A token without character references. The label of a DOI may have more spellings."""
_HOST = re.compile(rb"(?i:https?)://([!#-.0-;=?-\[\]_a-z~]*+)")
_LOOSE_DOI = re.compile(rb"doi\.?(?:\s*:\s*|\s{1,2})(?=10\.[0-9]{4,9}/)", re.IGNORECASE)
_DOI_APART = re.compile(rb"doi(?:\.(?:\s*:\s*|\s{1,2})| (?:\s*:\s*|\s?))(?=10\.[0-9]{4,9}/)")
"""A DOI whose label is not followed by a colon, in a text in lower case."""
_BARE_DOI = re.compile(r"10\.[0-9]{4,9}/\S+")
_IN_WORD = frozenset(f"{ascii_letters}{digits}_+.%-".encode())
_EMBEDDED = re.compile(rb"(?:pdi(?::|%3a)|/ark:)", re.IGNORECASE)
_PARAMETER = re.compile(r"[?&](?:amp;)?part=([^&#]*)")
_AFTER = ".,;:!?'\"*_"
_CLOSING = {")": "(", "]": "[", "}": "{"}


class WrittenIdentifier(NamedTuple):
    """An identifier, and its bytes [start, stop) in a text."""

    identifier: Identifier
    start: int
    stop: int


@cache
def _list_needles() -> tuple[tuple[bytes, bytes], ...]:
    """Return labels, and what follows their colons, one of which begins every identifier but a
    DOI whose label is not followed by a colon.
    """
    prefixes = {prefix for scheme in load_schemes().values() for prefix in scheme.prefixes}
    found = {one.partition(":")[0] for one in prefixes} - {"http", "https"}
    labels = sorted(one.encode() for one in found | {"doi"})
    return (*((one, b"") for one in labels), (b"http", b"//"), (b"https", b"//"))


@cache
def _group_needles() -> dict[int, tuple[tuple[bytes, bytes], ...]]:
    """Return the needles by the last letter of their labels."""
    needles = _list_needles()
    endings = {label[-1] for label, _ in needles}
    return {one: tuple(pair for pair in needles if pair[0][-1] == one) for one in endings}


@cache
def _compile_colons() -> re.Pattern[bytes]:
    """Return a pattern for colons after a letter that ends a label, in lower case."""
    return re.compile(rb":(?<=[%b]:)" % bytes(_group_needles()))


def find_written(
    text: bytes, bases: tuple[str, ...] = (), *, is_escaped: bool = False
) -> Iterator[WrittenIdentifier]:
    """Yield the identifiers in a text in an encoding that contains ASCII, in order.

    `bases` are the addresses of our own resolver. `is_escaped` says that `&` begins a character
    reference, as in markup.
    """
    return read_places(text, find_places(text), 0, len(text), bases, is_escaped=is_escaped)


def read_places(
    text: bytes,
    places: list[int],
    start: int,
    stop: int,
    bases: tuple[str, ...] = (),
    *,
    is_escaped: bool = False,
) -> Iterator[WrittenIdentifier]:
    """Yield the identifiers in [start, stop) of a text, as if it were a text of its own.

    `places` are those of the complete text (`find_places`); the others are of `find_written`.
    """
    end = start
    for index in range(bisect_left(places, start), len(places)):
        at = places[index]
        if at >= stop:
            return
        if at < end or (at > start and text[at - 1] in _IN_WORD):
            continue
        found = _read_place(text, at, stop, bases, is_escaped=is_escaped)
        if found is None:
            continue
        if isinstance(found, int):
            end = found
            continue
        yield found
        end = found.stop


def find_places(text: bytes) -> list[int]:
    """Return the places at which an identifier may begin."""
    if len(text) >= _LONG and find_spec("numpy") is not None:
        return _find_places_at_once(text)
    folded = text.lower()
    found: list[int] = []
    needles = _group_needles()
    for colon in _compile_colons().finditer(folded):
        at = colon.start()
        for label, after in needles[folded[at - 1]]:
            if folded.endswith(label, 0, at) and folded.startswith(after, at + 1):
                found.append(at - len(label))
    return sorted(found + [one.start() for one in _DOI_APART.finditer(folded)])


def _find_places_at_once(text: bytes) -> list[int]:
    """Return the same places, five times as fast: each colon is looked at, and what precedes it."""
    import numpy as np

    letters = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero(letters == ord(":"))
    found: list[int] = []
    for label, after in _list_needles():
        places = colons[(colons >= len(label)) & (colons < len(text) - len(after))] - len(label)
        for distance, letter in enumerate(b"%b:%b" % (label, after)):
            there = letters[places + distance]
            places = places[(there | 0x20 if chr(letter).isalpha() else there) == letter]
        found += places.tolist()
    found += [one.start() for one in _DOI_APART.finditer(text.lower())]
    return sorted(found)


def choose_candidates(text: bytes, places: list[int], bases: tuple[str, ...] = ()) -> list[int]:
    """Return the places of a text without those of addresses of something else."""
    return [at for at in places if not _is_elsewhere(text, at, bases)]


def _is_elsewhere(text: bytes, at: int, bases: tuple[str, ...]) -> bool:
    """Return True if the address of something else begins at a place."""
    host = _HOST.match(text, at) if text[at] in b"hH" else None
    if host is None or _is_resolver(host[1]):
        return False
    token = _TOKEN.match(text, at)
    return token is not None and not _may_be_resolver(token[0], bases)


def _read_place(
    text: bytes, at: int, stop: int, bases: tuple[str, ...], *, is_escaped: bool
) -> WrittenIdentifier | int | None:
    """Return the identifier at a place before `stop`; the end of an address that is none; or
    None.
    """
    loose = _LOOSE_DOI.match(text, at, stop) if text[at] in b"dD" else None
    start = at if loose is None else loose.end()
    token = _TOKEN.match(text, start, stop)
    if token is None:
        return None
    data = token[0]
    is_web = text[start] in b"hH" and data[:8].lower().startswith(_WEB)
    if is_web and not _may_be_resolver(data, bases):
        return token.end()
    written = data.decode("ascii")
    length = len(written)
    if is_escaped and "&" in written:
        written, length = _unescape(written)
    if not written[-1:].isalnum():  # most are not followed by punctuation
        kept = trim_sentence(written)
        length -= len(written) - len(kept)
        written = kept
    identifier = read_address(written, bases) if loose is None else _read_loose_doi(written, bases)
    if identifier is None:
        return token.end() if is_web else None
    return WrittenIdentifier(identifier, at, start + length)


def _read_loose_doi(written: str, bases: tuple[str, ...]) -> Identifier | None:
    """Return the DOI that is written after its label: that of `read_address`, with less work."""
    if "pdi:" in written.lower():  # a part may be written as in the address of a PDI
        return read_address(f"doi:{written}", bases)
    try:
        return parse(f"doi:{written}")
    except (PerdureError, ValueError):
        return None


def read_complete(value: bytes, bases: tuple[str, ...] = ()) -> Identifier | None:
    """Return the identifier that an escaped value is from its first to its last character.

    None if this needs a closer look: `read_places` then finds all identifiers in it.
    """
    text = value.decode("latin-1")
    if len(text) > LONGEST or not text[-1:].isalnum():  # what follows may be punctuation
        return None
    try:
        plain = read_plain_address(text, bases)
    except PerdureError:
        return None
    if plain is not None:
        return plain
    return read_address(text, bases) if _COMPLETE.fullmatch(value) else None


def _unescape(written: str) -> tuple[str, int]:
    """Return a text without character references, and how long it was as it is written.

    A reference to a character that no identifier has ends the text.
    """
    for found in re.finditer(r"&(?:lt|gt|quot|apos|nbsp|#39|#34|#60|#62|#160);?", written):
        written = written[: found.start()]
        break
    return html.unescape(written), len(written)


def _may_be_resolver(token: bytes, bases: tuple[str, ...]) -> bool:
    """Return True if an address may be at a resolver. Most are not, so this must be fast."""
    host = token.split(b"/", 3)[2]
    if _is_resolver(host) or _EMBEDDED.search(token):
        return True
    return any(one and token.startswith(one.encode()) for one in bases)


@lru_cache(maxsize=1024)
def _is_resolver(host: bytes) -> bool:
    """Return True for the host of a public resolver, with its port or without."""
    return is_known_host(host.decode("ascii", "replace").lower().partition(":")[0])


def trim_sentence(text: str) -> str:
    """Return a text without the punctuation of the sentence around it.

    >>> trim_sentence("doi:10.1000/182)."), trim_sentence("doi:10.1002/(SICI)1097")
    ('doi:10.1000/182', 'doi:10.1002/(SICI)1097')
    """
    while text and not text[-1].isalnum():
        last = text[-1]
        if last in _AFTER or (last in _CLOSING and text.count(last) > text.count(_CLOSING[last])):
            text = text[:-1]
        else:
            break
    return text


def read_address(text: str, bases: tuple[str, ...] = ()) -> Identifier | None:
    """Return the identifier that an address or an identifier in a document names, or None.

    >>> str(read_address("https://pid.example.org/pdi://oma.eop.gov.us/1997/09/01/1.text.1%2337,51"))
    'pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51'
    """
    text = text.removeprefix("/")  # an address on the same server
    if text.startswith(list_beginnings(bases)) or "pdi:" in text.lower():
        part = _PARAMETER.search(text)
        if part is not None:
            text = f"{text[: part.start()]}#{part[1]}"
        elif "?" in text:
            text = text.partition("?")[0]
        text = text.replace("%23", "#")
    try:
        is_web = text[:8].lower().startswith(("http://", "https://"))
        return deurlify(text, bases, read_identifier) if is_web else parse(text)
    except (PerdureError, ValueError):
        return None


def read_bare_doi(text: str) -> Identifier | None:
    """Return the DOI that is written without its label, as in JATS and TEI, or None."""
    found = _BARE_DOI.match(text.strip())
    return None if found is None else read_address(f"doi:{trim_sentence(found[0])}")
