"""Content negotiation: Accept and Accept-Language, read and compared. Pure.

How it works: werkzeug reads the grammar. Clients repeat the same fields, so the results are cached.
`perdure.policy.preference` rates a media type, because it must choose among representations by the
same rule.

What must stay true: no Accept field means that everything is acceptable (RFC 9110 section 12.5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from werkzeug.http import parse_accept_header

from perdure.model.queries import Preference
from perdure.parts.media_types import strip_parameters
from perdure.policy.preference import media_quality

_LONGEST = 1024  # characters; longer fields are cut: no real client lists so many types


def read_preferences(field: str) -> tuple[Preference, ...]:
    """Read the ranges of an Accept or Accept-Language field, the most preferred first.

    >>> read_preferences("text/html;q=0.5, application/json")
    (Preference(range='application/json', quality=1.0), Preference(range='text/html', quality=0.5))
    """
    return _parse_preferences(field[:_LONGEST])


@lru_cache(maxsize=1024)
def _parse_preferences(field: str) -> tuple[Preference, ...]:
    return tuple(
        Preference(range=name, quality=float(quality))
        for name, quality in parse_accept_header(field)
    )


def choose_type(accept: tuple[Preference, ...], offers: Sequence[str]) -> str | None:
    """Choose the offer that the client prefers (the first of equals), or None if it accepts none.

    >>> choose_type(read_preferences("text/*, */*;q=0.1"), ("application/json", "text/html"))
    'text/html'
    """
    best = max(offers, key=lambda offer: media_quality(accept, offer))
    return best if media_quality(accept, best) > 0 else None


def find_leading(accept: tuple[Preference, ...]) -> frozenset[str]:
    """Return the ranges with the highest quality, without parameters; empty without the field."""
    most = max((one.quality for one in accept), default=0.0)
    return frozenset(strip_parameters(one.range) for one in accept if one.quality == most > 0)


def prefers_types(accept: tuple[Preference, ...], types: Iterable[str]) -> bool:
    """Return True if a client prefers these types to all others.

    A browser does not: it prefers HTML, and accepts XML and everything else too.

    >>> prefers_types(read_preferences("application/json, */*;q=0.1"), ("application/json",))
    True
    >>> prefers_types(read_preferences("application/json, text/plain, */*"), ("application/json",))
    False
    """
    first = find_leading(accept)
    return bool(first) and first <= frozenset(types)
