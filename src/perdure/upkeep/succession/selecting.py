"""The changes that a hand-over hands over, out of all changes of the predecessor.

How it works: a change is selected if it wrote a record whose name is handed over, a document about
such a name (a signature, an assertion, a delegation), or a reading rule for it. Of every other
change only its leaf goes along, so that the chain can be verified from the beginning; of a change
that wrote other names, too, only the lines that are handed over, and no salt.

What must stay true: both sides select the same bytes, because the predecessor signs their digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model import stored
from perdure.model.changes import BEGIN, RULE, WITHOUT_RECORDS, Change, Line, withhold_change
from perdure.model.delegations import Delegation
from perdure.model.mirroring import MirroredChange
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record
from perdure.model.target_references import TargetUse, find_target_kind
from perdure.policy.delegating import may_overlap
from perdure.policy.naming import identify_record
from perdure.policy.reading_rules import read_rule, select_in_force
from perdure.policy.rights import covers_object, make_object

_decode_rule = msgspec.json.Decoder(ReadingRule).decode


class ChangeSelection:
    """Selects what a delegation to a successor hands over. It sees the changes in their order."""

    def __init__(self, delegation: Delegation) -> None:
        self._delegation = delegation
        self._about: set[str] = set()
        """Keys of the documents about names that are handed over."""

    def select_change(self, whole: MirroredChange) -> MirroredChange:
        """Return a change with the lines that are handed over, or only its leaf."""
        change = whole.change
        if change.leaf is not None:
            return whole
        if change.act == BEGIN:
            return MirroredChange(change=change, epoch=whole.epoch)
        lines = tuple(line for line in whole.lines if self.selects_line(change, line))
        if not lines:
            return MirroredChange(change=withhold_change(change), is_whole=False)
        is_whole = whole.is_whole and len(lines) == len(whole.lines)
        return MirroredChange(change=change, lines=lines, is_whole=is_whole)

    def selects_line(self, change: Change, line: Line) -> bool:
        """Return True if what a change wrote is handed over."""
        key, text = line
        if change.act == RULE:
            return self._selects_rule(_decode_rule(text))
        if change.act in WITHOUT_RECORDS:
            return False
        return self.selects_record(key, stored.decode_stored(text))

    def selects_record(self, key: str, record: Record) -> bool:
        """Return True if a record is handed over."""
        if key in self._about or self.covers_record(key, record):
            return True
        is_about = bool(record.targets) and find_target_kind(record) is not TargetUse.COMPOSED
        if is_about and any(map(self._covers_target, record.targets)):
            self._about.add(key)
            return True
        return False

    def covers_record(self, key: str, record: Record) -> bool:
        """Return True if the name of a record is handed over."""
        names = self._delegation.names
        return names.low <= key < names.end and self._delegation.covers(
            identify_record(key, record)
        )

    def _covers_target(self, text: str) -> bool:
        target = parse(text)
        if target.key in self._about:
            return True
        if target.is_pattern:
            return may_overlap(self._delegation, read_set(text))
        return self._delegation.covers(target)

    def _selects_rule(self, rule: ReadingRule) -> bool:
        return not rule.match and (self.holds_rule(rule) or self.is_wide(rule))

    def holds_rule(self, rule: ReadingRule) -> bool:
        """Return True if a rule is about names that are handed over."""
        subject = read_rule(rule)
        if not subject.is_scope:
            return self._delegation.covers(parse(subject.about).resource)
        try:
            about = read_set(subject.about)
        except PerdureError:  # a whole authority, or `*`
            return False
        names = self._delegation.names
        if about.example.assigned_under == names.example.assigned_under:
            return may_overlap(self._delegation, about)
        return names.low <= about.low and about.end <= names.end

    def is_wide(self, rule: ReadingRule) -> bool:
        """Return True if a rule is about all names that are handed over, and about others."""
        example = make_object(self._delegation.names.example)
        return read_rule(rule).is_scope and covers_object(rule.about, example)


def narrow_rules(delegation: Delegation, rules: Iterable[ReadingRule]) -> list[ReadingRule]:
    """Return the rules that say of the handed names what all these rules say together.

    Rules about other names, too, become one about the handed names: the most specific in force.
    """
    selection = ChangeSelection(delegation)
    all_of_them = list(rules)
    own = [one for one in all_of_them if selection.holds_rule(one)]
    wide = [one for one in all_of_them if not selection.holds_rule(one)]
    in_force = select_in_force(wide)
    if not in_force:
        return own
    chosen = max(in_force, key=lambda rule: read_rule(rule).specificity)
    return [msgspec.structs.replace(chosen, about=str(delegation.names)), *own]


def read_rule_line(line: Line) -> ReadingRule:
    """Read the line of a change that set a reading rule. Raises msgspec.DecodeError."""
    return _decode_rule(line[1])


def list_records(changes: Iterable[MirroredChange]) -> Iterator[tuple[Change, Line]]:
    """Yield each revision of a record in selected changes."""
    for mirrored in changes:
        if mirrored.change.act not in WITHOUT_RECORDS:
            yield from ((mirrored.change, line) for line in mirrored.lines)
