"""What changed from one revision of a record to the next. Pure.

How it works: every revision of a record is kept, with when it was made and by whom. Two that follow
one another are compared member by member, in whatever form they are to be shown.

>>> changes({"a": 1, "at": "then"}, {"a": 2, "b": [3], "at": "now"})
{'a': {'before': 1, 'after': 2}, 'b': {'before': None, 'after': [3]}}

What must stay true: a member that is not in the forms compared is not in the result, so a form that
may be shown gives a history that may be shown.
"""

from __future__ import annotations

from collections.abc import Mapping

Change = dict[str, object]
"""`before` and `after`; None where there was or is nothing."""

_OF_EVERY_REVISION = frozenset(("revision", "at", "by"))


def changes(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, Change]:
    """The members that differ, by name."""
    names = [*before, *(name for name in after if name not in before)]
    return {
        name: {"before": before.get(name), "after": after.get(name)}
        for name in names
        if name not in _OF_EVERY_REVISION and before.get(name) != after.get(name)
    }
