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
        self._rules: list[tuple[str, ReadingRule]] = []

    def find_last_rule(self) -> int:
        last = max((rule.number for _, rule in self._list_foreseen()), default=0)
        return max(self._records.find_last_rule(), last)

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        foreseen = (one for one in self._list_foreseen() if one[0] == key)
        return self._add_foreseen(self._records.find_rules(key, after), foreseen, after)

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        foreseen = (one for one in self._list_foreseen() if one[0].startswith(beginning))
        return self._add_foreseen(self._records.find_rules_below(beginning, after), foreseen, after)

    def _add_foreseen(
        self, stored: list[ReadingRule], foreseen: Iterable[tuple[str, ReadingRule]], after: int
    ) -> list[ReadingRule]:
        known = {rule.number for rule in stored}
        more = [one for _, one in foreseen if one.number > after and one.number not in known]
        return sorted([*stored, *more], key=lambda rule: rule.number) if more else stored

    def _list_foreseen(self) -> list[tuple[str, ReadingRule]]:
        """Return the rules in the file, each with its key."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            self._rules, self._stamp = [], None
            return []
        stamp = found.st_mtime_ns, found.st_ino
        if stamp != self._stamp:
            with self._loading:
                self._rules = [(read_rule(rule).key, rule) for rule in self._load()]
                self._stamp = stamp
        return self._rules
