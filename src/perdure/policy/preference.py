"""Quality of a media type or a language for a reader (RFC 9110 section 12, RFC 4647). Pure."""

from __future__ import annotations

from perdure.formats.essence import strip_parameters
from perdure.model.queries import Preference


def media_quality(accept: tuple[Preference, ...], media_type: str) -> float:
    """Quality of a media type; the most specific matching range decides (RFC 9110 12.5.1)."""
    if not accept:
        return 1.0
    essence = strip_parameters(media_type)
    major = essence.partition("/")[0]
    qualities: dict[str, float] = {}
    for preference in accept:
        qualities.setdefault(strip_parameters(preference.range), preference.quality)
    ranges = (essence, f"{major}/*", "*/*")
    return next((qualities[one] for one in ranges if one in qualities), 0.0)


def language_quality(asked: tuple[Preference, ...], language: str) -> float:
    """Quality of a language by basic filtering, the longest range first (RFC 4647 3.3.1)."""
    tag = language.lower()
    matching: dict[str, float] = {}
    for preference in asked:
        range_ = preference.range.lower()
        if range_ == "*" or tag == range_ or tag.startswith(f"{range_}-"):
            matching.setdefault(range_.removeprefix("*"), preference.quality)
    return matching[max(matching, key=len)] if matching else 0.0


_PAGES = frozenset(("text/html", "application/xhtml+xml", "text/*", "*/*"))


def prefers_other_than_page(accept: tuple[Preference, ...]) -> bool:
    """Return True if the types that are accepted most are all different from HTML."""
    best = max((one.quality for one in accept), default=0.0)
    leading = [strip_parameters(one.range) for one in accept if one.quality == best > 0]
    return bool(leading) and _PAGES.isdisjoint(leading)
