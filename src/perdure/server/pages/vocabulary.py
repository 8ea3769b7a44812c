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

STATUSES = ("held", "located", "reserved", "described", "broken", "withdrawn", "closed")
"""The statuses of a record (`perdure.model.records`), and of one that a list may not describe."""
HEALTH = ("ok", "moved", "dead", "soft-404", "drift", "unreachable", "refused")
"""The verdicts of a check of locations (`perdure.upkeep.linkcheck.verdict`)."""


def list_words() -> Iterator[str]:
    """List all words, each once."""
    yield from dict.fromkeys(chain(STATUSES, HEALTH, MONTHS))
