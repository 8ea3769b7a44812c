"""What a client would like to have: Accept and Accept-Language, read and compared. Pure.

How it works: werkzeug reads the grammar; a field comes again and again in the same words, so the
result is remembered. How welcome one media type is, `perdure.policy.preference` says, for it must
choose among representations by the same measure.

What must stay true: no Accept field means that everything is welcome (RFC 9110 section 12.5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from werkzeug.http import parse_accept_header

from perdure.model.queries import Preference
from perdure.parts.media_types import strip_parameters
from perdure.policy.preference import media_quality

_LONGEST = 1024  # characters; longer fields are cut: nobody has that many wishes


def preferences(field: str) -> tuple[Preference, ...]:
    """The ranges of an Accept or Accept-Language field, the most welcome first.

    >>> preferences("text/html;q=0.5, application/json")
    (Preference(range='application/json', quality=1.0), Preference(range='text/html', quality=0.5))
    """
    return _preferences(field[:_LONGEST])


@lru_cache(maxsize=1024)
def _preferences(field: str) -> tuple[Preference, ...]:
    return tuple(
        Preference(range=name, quality=float(quality))
        for name, quality in parse_accept_header(field)
    )


def choose(accept: tuple[Preference, ...], offers: Sequence[str]) -> str | None:
    """The most welcome of the media types we can give; of equals the first; None: none is.

    >>> choose(preferences("text/*, */*;q=0.1"), ("application/json", "text/html"))
    'text/html'
    """
    best = max(offers, key=lambda offer: media_quality(accept, offer))
    return best if media_quality(accept, best) > 0 else None


def leading(accept: tuple[Preference, ...]) -> frozenset[str]:
    """The ranges that stand before all others, without their parameters; none without the field."""
    most = max((one.quality for one in accept), default=0.0)
    return frozenset(strip_parameters(one.range) for one in accept if one.quality == most > 0)


def prefers(accept: tuple[Preference, ...], types: Iterable[str]) -> bool:
    """Whether a client asks for one of these types before anything else.

    A browser, which would rather have HTML but takes XML and everything else too, does not.

    >>> prefers(preferences("application/json, */*;q=0.1"), ("application/json",))
    True
    >>> prefers(preferences("application/json, text/plain, */*"), ("application/json",))
    False
    """
    first = leading(accept)
    return bool(first) and first <= frozenset(types)
