"""Names in their usual spelling, read without a parser: only the key and the path of the name.

How it works: most requests spell a name as it was given out. For such texts, each scheme has a
pattern (`Scheme.plain_spellings`), from whose groups the key is put together. `read_plain_name`
chooses it by the first characters of the text, as `perdure.ids.parse` chooses the parser.

What must stay true: the result is the key and the path of the identifier that `parse` returns, and
that identifier has no part; or it is None. Several schemes share `urn:`, so a text that begins with
a longer prefix of another scheme is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from perdure.ids import load_schemes
from perdure.ids.grammar import LONGEST
from perdure.ids.scheme import PlainName

_Reader = Callable[[str], PlainName | None]
_SHORT = 4  # characters that tell most labels apart: `hdl:`, `urn:`


def read_plain_name(text: str) -> PlainName | None:
    """Return key and path of a name in its usual spelling, or None for any other text.

    >>> read_plain_name("doi:10.1000/182")
    PlainName(key='hdl:10.1000/182', path='doi:10.1000/182')
    >>> read_plain_name("doi:10.1000/a%2Fb")
    """
    reader = _index_readers().get(text[:_SHORT])
    return None if reader is None or len(text) > LONGEST else reader(text)


@cache
def _index_readers() -> dict[str, _Reader]:
    """Return the functions that read plain names, by the first characters of such names."""
    found: dict[str, list[tuple[str, _Reader]]] = {}
    schemes = load_schemes().values()
    prefixes = [prefix for scheme in schemes for prefix in scheme.prefixes]
    for scheme in schemes:
        for beginning, reader in scheme.plain_spellings:
            longer = tuple(
                prefix
                for prefix in prefixes
                if prefix.startswith(beginning.lower()) and prefix not in scheme.prefixes
            )
            found.setdefault(beginning[:_SHORT], []).append(
                (beginning, partial(_read_unclaimed, longer, reader) if longer else reader)
            )
    return {
        short: readers[0][1]
        if len(readers) == 1
        else partial(_read_longest, tuple(sorted(readers, key=lambda one: -len(one[0]))))
        for short, readers in found.items()
    }


def _read_unclaimed(longer: tuple[str, ...], reader: _Reader, text: str) -> PlainName | None:
    """Read a name unless it begins with a prefix that another scheme claims."""
    return None if text.lower().startswith(longer) else reader(text)


def _read_longest(readers: tuple[tuple[str, _Reader], ...], text: str) -> PlainName | None:
    for beginning, reader in readers:
        if text.startswith(beginning):
            return reader(text)
    return None
