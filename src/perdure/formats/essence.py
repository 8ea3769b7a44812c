"""Media types from header fields and records, without their parameters."""

from __future__ import annotations

JSON_LD = "application/ld+json"
"""The type of documents that may be assertions."""


def strip_parameters(media_type: str) -> str:
    """Return type and subtype of a media type or range, in lower case (RFC 9110 section 8.3.1).

    >>> strip_parameters("Text/HTML ; charset=utf-8"), strip_parameters("image/*;q=0.5")
    ('text/html', 'image/*')
    """
    return media_type.partition(";")[0].strip().lower()
