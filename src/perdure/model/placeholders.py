"""Codes that stand for missing values, such as `(:unkn)` for an unknown creator.

Specification: appendix 3 of the documentation of the DataCite kernel 4. Records in every format
have them, not only DataCite's: converters copy them into Dublin Core, for example.

What must stay true: a code is never the name of a person, a publisher or a title; it is matched as
a whole, so that a title that mentions one is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from perdure.model.about import About

PLACEHOLDERS = frozenset(
    f"(:{code})" for code in ("unac", "unal", "unap", "unas", "unav", "unkn", "none", "null", "tba")
)


def drop_placeholders(about: About) -> About:
    """Return a description without the titles and names that only say that they are missing."""
    publisher = about.publisher
    return replace(
        about,
        titles=tuple(one for one in about.titles if one.value not in PLACEHOLDERS),
        creators=tuple(one for one in about.creators if one.display_name not in PLACEHOLDERS),
        contributors=tuple(
            one for one in about.contributors if one.display_name not in PLACEHOLDERS
        ),
        publisher=None if publisher and publisher.name in PLACEHOLDERS else publisher,
        subjects=tuple(one for one in about.subjects if one.value not in PLACEHOLDERS),
        descriptions=tuple(one for one in about.descriptions if one.value not in PLACEHOLDERS),
    )
