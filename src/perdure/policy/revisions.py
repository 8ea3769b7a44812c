"""Differences between one revision of a record and the next. Pure.

How it works: the registry keeps every revision of a record with its time and its actor. Successive
revisions are compared member by member, in the form in which they will be shown.

>>> compare_revisions({"a": 1, "at": "then"}, {"a": 2, "b": [3], "at": "now"})
{'a': {'before': 1, 'after': 2}, 'b': {'before': None, 'after': [3]}}

What must stay true: the result has only members of the compared forms. If the forms may be shown,
so may the history.
"""

from __future__ import annotations

from collections.abc import Mapping

Change = dict[str, object]
"""`before` and `after`, each None if the member is missing."""

_OF_EVERY_REVISION = frozenset(("revision", "at", "by"))


def compare_revisions(
    before: Mapping[str, object], after: Mapping[str, object]
) -> dict[str, Change]:
    """The members that differ, by name."""
    names = [*before, *(name for name in after if name not in before)]
    return {
        name: {"before": before.get(name), "after": after.get(name)}
        for name in names
        if name not in _OF_EVERY_REVISION and before.get(name) != after.get(name)
    }
