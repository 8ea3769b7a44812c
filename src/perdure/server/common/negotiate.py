"""Content negotiation: Accept and Accept-Language, read and compared. Pure.

How it works: werkzeug reads the grammar. Clients repeat the same fields, so the results are cached.
`perdure.policy.preference` rates a media type, because it must choose among representations by the
same rule.

What must stay true: no Accept field means that everything is acceptable (RFC 9110 section 12.5.1).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache

from werkzeug.http import parse_accept_header

from perdure.formats.essence import strip_parameters
from perdure.model.queries import Preference
from perdure.policy.preference import media_quality

_HTML = "text/html"
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

    A client that names HTML, with no lower quality than anything else, gets it, although it may
    rate another type as high: so do text browsers.  # ruling: page-or-thing

    >>> choose_type(read_preferences("text/*, */*;q=0.1"), ("application/json", "text/html"))
    'text/html'
    >>> w3m = read_preferences("text/html, text/*;q=0.5, image/*, application/*, multipart/*")
    >>> choose_type(w3m, ("application/json", "text/html"))
    'text/html'
    """
    others = tuple(one for one in offers if one != _HTML)
    if len(others) < len(offers) and names_first(accept, _HTML, before=others):
        return _HTML
    best = max(offers, key=lambda offer: media_quality(accept, offer))
    return best if media_quality(accept, best) > 0 else None


def names_first(
    accept: tuple[Preference, ...], media_type: str, before: Container[str] = ()
) -> bool:
    """Return True if Accept names a type itself, with no lower quality than anything else.

    A wildcard names nothing. If a type in `before` has the same quality and comes earlier, the
    client prefers that one.

    >>> names_first(read_preferences("text/html, image/avif, */*;q=0.8"), "text/html")
    True
    >>> names_first(read_preferences("*/*"), "text/html")
    False
    """
    for one in _list_leading(accept):
        if one == media_type:
            return True
        if one in before:
            return False
    return False


def prefers_named(
    accept: tuple[Preference, ...], types: Sequence[str], others: Iterable[str]
) -> bool:
    """Return True if Accept names one of these types, as its best, and rates the others lower.

    Only what is offered counts: a client that also accepts pictures prefers no picture to a text.

    >>> axios = read_preferences("application/json, text/plain, */*")
    >>> prefers_named(axios, ("application/json",), ("image/png",))
    False
    >>> prefers_named(read_preferences("text/html, image/avif"), ("text/html",), ("text/plain",))
    True
    """
    best = max((media_quality(accept, one) for one in others), default=0.0)
    return may_prefer(accept, types) and rate_named(accept, types) > best


def rate_named(accept: tuple[Preference, ...], types: Sequence[str]) -> float:
    """Return the highest quality of those of these types that Accept names itself, or 0."""
    return max((one.quality for one in accept if strip_parameters(one.range) in types), default=0.0)


def may_prefer(accept: tuple[Preference, ...], types: Sequence[str]) -> bool:
    """Return True if `prefers_named` could be True, whatever the other types are."""
    every = any(one.range == "*/*" for one in accept)
    least = min(one.quality for one in accept) if every else 0.0
    most = max((one.quality for one in accept), default=0.0)
    named = rate_named(accept, types)
    return named == most and named > least


def _list_leading(accept: tuple[Preference, ...]) -> list[str]:
    most = max((one.quality for one in accept), default=0.0)
    return [strip_parameters(one.range) for one in accept if one.quality == most > 0]


def find_leading(accept: tuple[Preference, ...]) -> frozenset[str]:
    """Return the ranges with the highest quality, without parameters; empty without the field."""
    return frozenset(_list_leading(accept))


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
