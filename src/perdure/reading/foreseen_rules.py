"""The reading rules of a mirror, with those of its origin that are not mirrored yet.

How it works: `ForeseenRules` answers the questions about rules in place of the records. Rules that
the mirror follower foresees (`perdure.upkeep.mirroring.foreseeing`) have the numbers that they will
have here, so they are added to the stored ones with smaller numbers, as if they were stored.

What must stay true: a rule is obeyed once, whether it is foreseen, stored, or both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from perdure.model.reading_rules import ReadingRule
from perdure.policy.reading_rules import read_rule


class RuleRecords(Protocol):
    """The questions about rules that records answer (`perdure.storage.ports.Records`)."""

    def find_last_rule(self) -> int: ...

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]: ...

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]: ...


class ForeseenRules:
    """The rules of a mirror. Safe to use from several threads."""

    def __init__(
        self, records: RuleRecords, file: Path, load: Callable[[], Sequence[ReadingRule]]
    ) -> None:
        """`load` reads the rules of a file, which is looked at for each question."""
        self._records = records
        self._file = file
        self._load = load
        self._loading = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._rules: dict[str, list[ReadingRule]] = {}
        """The foreseen rules by their keys."""
        self._last = 0

    def find_last_rule(self) -> int:
        last = self._last if self._read_foreseen() else 0
        return max(self._records.find_last_rule(), last)

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        foreseen = self._read_foreseen().get(key, [])
        return _add_rules(self._records.find_rules(key, after), foreseen, after)

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        foreseen = self._read_foreseen()
        below = [one for key in foreseen if key.startswith(beginning) for one in foreseen[key]]
        return _add_rules(self._records.find_rules_below(beginning, after), below, after)

    def _read_foreseen(self) -> dict[str, list[ReadingRule]]:
        """Return the rules in the file by their keys, the oldest of each first."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            self._rules, self._stamp = {}, None
            return {}
        stamp = found.st_mtime_ns, found.st_ino
        if stamp != self._stamp:
            with self._loading:
                rules = self._load()
                self._last = max((one.number for one in rules), default=0)
                self._rules, self._stamp = _group_rules(rules), stamp
        return self._rules


def _group_rules(rules: Iterable[ReadingRule]) -> dict[str, list[ReadingRule]]:
    found: dict[str, list[ReadingRule]] = {}
    for rule in sorted(rules, key=lambda one: one.number):
        found.setdefault(read_rule(rule).key, []).append(rule)
    return found


def _add_rules(
    stored: list[ReadingRule], foreseen: Sequence[ReadingRule], after: int
) -> list[ReadingRule]:
    """Add foreseen rules behind a number to stored ones, each rule once, the oldest first."""
    known = {rule.number for rule in stored}
    more = [one for one in foreseen if one.number > after and one.number not in known]
    return sorted([*stored, *more], key=lambda rule: rule.number) if more else stored
