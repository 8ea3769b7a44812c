"""Words that the code gives to the templates of pages, so that catalogues can translate them.

How it works: the code writes words in English, for every face alike: the JSON of a record has
`"status": "held"`. A template shows such a word by `{{ word | translate }}`. Text of a
template itself is marked there, and not listed here.

What must stay true: each word here is one that a page can show.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from perdure.server.pages.calendars import MONTHS
from perdure.server.pages.kinds import WORDS as DOCUMENTS

STATUSES = ("held", "located", "reserved", "described", "broken", "withdrawn", "closed")
"""The statuses of a record (`perdure.model.records`), and of one that a list may not describe."""
HEALTH = ("ok", "moved", "dead", "soft-404", "drift", "unreachable", "refused")
"""The verdicts of a check of locations (`perdure.upkeep.linkcheck.verdict`)."""
FACTS = (
    *("Title", "Creator", "Contributor", "Publisher", "Year", "Date", "Kind", "Language"),
    *("Subject", "Edition", "Rights", "Also known as", "Related", "Funding", "Description"),
)
"""The names of statements of a description (`perdure.server.resource.facts`)."""
SIGNATURES = (
    *("valid", "wrong", "other-use", "moved", "altered", "unverifiable", "unknown-key"),
    *("not-yet-valid", "expired", "revoked"),
)
"""The verdicts on a signature (`perdure.signing.verdict`)."""
CITATIONS = (
    *("verbatim", "reflowed", "same-words", "transcluded", "referenced", "altered"),
    *("elsewhere", "absent", "unverifiable"),
)
"""The verdicts on a citation (`perdure.model.verdicts`)."""
PIECES = ("gone", "closed")
"""The states of sources that cannot be compared (`perdure.reading.composites`)."""
SCOPES = ("same", "part", "overlapping", "whole", "set")
"""The scopes of an assertion (`perdure.policy.assertion_scope`)."""
CAPTURES = (
    *("exact", "same second, other URI", "nearest", "absent", "closed but known", "moved"),
    "unverified",
)
"""The verdicts on a PWID (`perdure.archives.pwid.verdict`)."""
COVERAGES = (
    *("the single archived element", "with everything that belongs to the page"),
    *("with everything below it", "with everything on its host"),
    *("the definition of a collection", "an image of it", "a recording of it", "something else"),
)
"""The meanings of the coverages of a PWID (`perdure.server.apis.pwids`)."""
PLACES = ("text", "title", "metadata")
"""The places to search in (`perdure.upkeep.searching.asking`)."""
LOCATION = ("format", "language", "region", "role")
"""The attributes of a location."""
PROBLEMS = (
    *("Embargoed", "Forbidden", "Gone", "Invalid request", "Malformed identifier"),
    *("Method not allowed", "No location", "No such page", "No such version", "Not acceptable"),
    *("Not found", "Part check failed", "Part not found", "Part not supported"),
    *("Part out of range", "Too many requests", "Unauthenticated", "Unavailable for legal reasons"),
    "Unknown scheme",
)
"""The titles of problems that readers meet; those of writers and operators remain English."""
MEMBER_STATES = ("elsewhere", "not a known identifier", "digest changed")
"""The states of members of a collection (`perdure.server.resource.member_states`) that are neither
those of a record nor verdicts on a PWID."""
MEMBERS = ("asked", "contact", "identifier", "offered", "reason", "versions")
"""Names of members of problems."""

FACETS = ("Series", "Year", "Kind", "Format")
"""What a search can be limited to (`perdure.server.apis.searching`)."""
KINDS = ("text", "image", "audio", "video", "application", "message", "other")
"""The kinds of media types that a search can be limited to."""

OPERATION = (
    *("held", "other files", "free", "answered", "failed", "half of all", "95 of 100"),
    *("Backup", "Verification"),
)
"""The rows and lines of the operator's plots (`perdure.server.desk.overseeing`)."""
DESK = ("Deposit", "Proposals", "Tokens", "Operation", "valid", "expired", "ended")
"""The pages for people who signed in (`perdure.server.desk.menu`), and the states of tokens."""


def list_words() -> Iterator[str]:
    """List all words, each once."""
    groups = (
        STATUSES,
        HEALTH,
        FACTS,
        SIGNATURES,
        CITATIONS,
        PIECES,
        SCOPES,
        CAPTURES,
        COVERAGES,
        MONTHS,
    )
    more = (
        DOCUMENTS,
        MEMBER_STATES,
        OPERATION,
        DESK,
        FACETS,
        KINDS,
        PLACES,
        LOCATION,
        PROBLEMS,
        MEMBERS,
    )
    yield from dict.fromkeys(chain(*groups, *more))
