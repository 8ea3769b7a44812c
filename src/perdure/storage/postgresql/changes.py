"""Reading the numbered changes of a registry in PostgreSQL, and what they wrote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

from perdure.errors.conflicts import ChangeUnknown
from perdure.model.changes import (
    BEGIN,
    RECONSTRUCTED,
    RULE,
    RULE_KEY,
    TOKEN,
    TOKEN_KEY,
    WITHHELD,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
    ChangeMark,
    ChangeMoment,
    Epoch,
    Line,
)
from perdure.storage.postgresql.decoding import CHANGE, make_change

_HEAD = f"""
SELECT {CHANGE} FROM changes WHERE number IS NOT NULL ORDER BY epoch DESC, number DESC LIMIT 1
"""
_AFTER = f"""
SELECT {CHANGE} FROM changes WHERE number IS NOT NULL AND (epoch, number) > (%s, %s)
  ORDER BY epoch, number LIMIT %s
"""
_EPOCHS = "SELECT epoch, reason, previous_epoch, previous_number, previous_chain FROM epochs"
_OF = f"SELECT {CHANGE} FROM changes WHERE number IS NOT NULL AND id = "
_PLACES = """
SELECT changes.epoch, changes.number, changes.id FROM changes
  JOIN unnest(%s::int[], %s::bigint[]) AS sought (epoch, number) USING (epoch, number)
"""
_RUN = """
SELECT key, record FROM records
  WHERE key >= %s AND key <= %s AND change IS NOT DISTINCT FROM %s
  UNION ALL
SELECT key, record FROM history
  WHERE key >= %s AND key <= %s AND change IS NOT DISTINCT FROM %s AND revision = 1
  ORDER BY key
"""
_ONE = """
SELECT record, change FROM history WHERE key = %s AND revision = %s
  UNION ALL
SELECT record, change FROM records WHERE key = %s
  LIMIT 1
"""
_MOMENTS = """
SELECT changes.epoch, changes.number, changes.at
  FROM unnest(%s::text[], %s::int[]) WITH ORDINALITY AS sought (key, revision, place)
  LEFT JOIN history ON history.key = sought.key AND history.revision = sought.revision
  LEFT JOIN records ON records.key = sought.key
  LEFT JOIN changes ON number IS NOT NULL AND changes.revision = sought.revision
    AND id = CASE WHEN history.key IS NULL THEN records.change ELSE history.change END
  ORDER BY place
"""
_PRESENT = "SELECT key, record, change FROM records WHERE key = ANY(%s)"
_TOKENS = "SELECT after, change, number FROM token_changes WHERE name = %s"


class ChangeReader(ABC):
    """The part of `Records` that is about changes."""

    @abstractmethod
    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Query the registry."""

    @abstractmethod
    def _number_waiting(self) -> None:
        """Number the changes that are waiting, unless a state is held."""

    def list_epochs(self) -> list[Epoch]:
        self._number_waiting()
        epochs = []
        for epoch, reason, *named in self._ask(f"{_EPOCHS} ORDER BY epoch"):
            previous = None
            if named[0] is not None:
                previous = ChainHead(epoch=named[0], number=named[1], chain=named[2])
            epochs.append(Epoch(epoch=epoch, reason=reason, previous=previous))
        return epochs

    def find_head(self) -> ChainHead | None:
        self._number_waiting()
        rows = self._ask(_HEAD)
        return make_change(rows[0]).head if rows else None

    def list_changes(self, since: ChangeMark | None = None, *, limit: int) -> list[Change]:
        self._number_waiting()
        mark = self._find_place(since)
        return [make_change(row) for row in self._ask(_AFTER, (mark.epoch, mark.number, limit))]

    def _find_place(self, mark: ChangeMark | None) -> ChangeMark:
        """The mark, or one before all changes. Raises ChangeUnknown if it is not known."""
        first = ChangeMark(-1, 0)
        if mark is None or (mark.number == 0 and mark.epoch == RECONSTRUCTED):
            return first
        if mark.number == 0:
            epochs = self._ask("SELECT epoch FROM epochs")
            if not epochs:
                return first
            if (mark.epoch,) in epochs:
                return mark
        elif mark in self._find_places([mark]):
            return mark
        head = self._ask(_HEAD)
        last = str(make_change(head[0]).mark) if head else None
        raise ChangeUnknown(identifier=f"change {mark}", last=last)

    def _find_places(self, marks: Sequence[ChangeMark]) -> dict[ChangeMark, int]:
        """The ids of changes."""
        values = ([mark.epoch for mark in marks], [mark.number for mark in marks])
        return {ChangeMark(*row[:2]): row[2] for row in self._ask(_PLACES, values)}

    def _find_marks(self, places: Collection[int]) -> dict[int, ChangeMark]:
        """The marks of changes, by their ids."""
        of_ids = "SELECT id, epoch, number FROM changes WHERE id = ANY(%s) AND number IS NOT NULL"
        return {row[0]: ChangeMark(*row[1:]) for row in self._ask(of_ids, (list(places),))}

    def find_lines(self, change: Change) -> list[Line]:
        return self.list_lines((change,))[0]

    def list_lines(self, changes: Sequence[Change]) -> list[list[Line]]:
        places = self._find_places([one.mark for one in changes if one.epoch != RECONSTRUCTED])
        alone = [one for one in changes if one.count == 1 and one.act not in WITHOUT_RECORDS]
        rows = self._ask(_PRESENT, (list({one.first for one in alone}),)) if alone else ()
        present = {(key, place): text for key, text, place in rows}
        found = []
        for change in changes:
            place = places.get(change.mark)
            text = present.get((change.first, place)) if place is not None else None
            is_alone = text is not None and change.count == 1 and change.act not in WITHOUT_RECORDS
            found.append(
                [(change.first, text or "")] if is_alone else self._find_other_lines(change, place)
            )
        return found

    def _find_other_lines(self, change: Change, place: int | None) -> list[Line]:
        key = change.first
        if change.act == WITHHELD:
            return []
        if change.act == BEGIN:
            return [("", one.line) for one in self.list_epochs() if one.epoch == change.epoch]
        if change.act == TOKEN:
            rows = self._ask(_TOKENS, (key.removeprefix(TOKEN_KEY),))
            return [(key, after) for after, written, _ in rows if written == place]
        if change.act == RULE:
            number = int(key.removeprefix(RULE_KEY))
            rows = self._ask("SELECT rule FROM rules WHERE number = %s", (number,))
            return [(key, text) for (text,) in rows]
        if change.count == 1:
            rows = self._ask(_ONE, (key, change.revision, key))
            return [(key, text) for text, written in rows if written == place]
        scope = (key, change.last, place)
        return self._ask(_RUN, scope + scope)

    def find_change(self, key: str, revision: int) -> Change | None:
        self._number_waiting()
        rows = self._ask(_ONE, (key, revision, key))
        place = rows[0][1] if rows else None
        found = self._ask(f"{_OF} %s", (place,)) if place is not None else ()
        change = make_change(found[0]) if found else None
        return change if change is not None and change.revision == revision else None

    def find_moments(self, revisions: Sequence[tuple[str, int]]) -> list[ChangeMoment | None]:
        self._number_waiting()
        keys, numbers = [key for key, _ in revisions], [number for _, number in revisions]
        rows = self._ask(_MOMENTS, (keys, numbers)) if revisions else ()
        return [None if at is None else ChangeMoment(ChangeMark(*mark), at) for *mark, at in rows]
