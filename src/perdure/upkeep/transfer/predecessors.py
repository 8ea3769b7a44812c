"""The names that a registry gave out after its copy was made, and its tokens.

How it works: a predecessor is a registry directory, or the URL of a resolver with `/changes`. It
must have the last change of the copy, with the same chain. The changes after it bring new names:
a directory lists each of them; over HTTP a row with several names has only the first and the last,
which is enough if all are serial numbers. Only a directory shows its tokens.

What must stay true: names that cannot be listed are counted, never silently left out.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import msgspec

from perdure.errors import Conflict, Corrupt, MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.importing import PredecessorUnreadable, PredecessorUnrelated
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import encode_number, make_resource_key
from perdure.model import stored
from perdure.model.changes import WITHOUT_RECORDS, ChainHead, ChangeMark
from perdure.model.records import Record, Token, Tombstone
from perdure.policy.naming import spell_name
from perdure.settings import load_settings
from perdure.storage import home
from perdure.storage.ports import Records, Store
from perdure.writing.copy_fence import CopyFence
from perdure.writing.withdrawing import ERASE, WITHDRAW

_PAGE = 1000
_SECONDS = 30
_WHOLE = 64 << 20  # bytes of a page of rows


class LaterWrites(msgspec.Struct, frozen=True, kw_only=True):
    """The writes of a predecessor after a change."""

    names: dict[str, Record]
    """By key: the names that it gave out, with records that only reserve them."""
    withdrawn: dict[str, Record] = {}
    """By key: records with the tombstones that the predecessor has, of later withdrawals."""
    unlisted: int = 0
    """Number of names that could not be listed."""
    tokens: dict[str, Token] | None = None
    """By name: all its tokens, as they are now; None if they cannot be read."""


class Predecessor(Protocol):
    """The registry of which another one is a copy."""

    def list_later_writes(self, head: ChainHead | None) -> LaterWrites:
        """Its writes after the last change of the copy.

        Raises InvalidRequest if it does not have this change, or cannot be read.
        """


class PredecessorDirectory:
    """A predecessor in a directory that can be read from here."""

    def __init__(self, root: Path, store: Store) -> None:
        self.root = root
        self._store = store

    @property
    def is_original(self) -> bool:
        """True if it is a registry in its own home, and no copy. Raises BadSettings."""
        guard = CopyFence(self.root, self._store, load_settings(self.root, {}).copy_fence)
        return bool(home.find_id(self.root)) and not guard.list_signs()

    def list_later_writes(self, head: ChainHead | None) -> LaterWrites:
        try:
            load_settings(self.root, {})
            with closing(self._store.open_records(self.root)) as records:
                self._check_related(records, head)
                return _list_writes(records, head)
        except PredecessorUnrelated:
            raise
        except PerdureError as error:
            raise PredecessorUnreadable(predecessor=str(self.root), fault=str(error)) from error

    def _check_related(self, records: Records, head: ChainHead | None) -> None:
        if head is None:
            return
        before = ChangeMark(head.epoch, head.number - 1)
        try:
            found = [one.head for one in records.list_changes(before, limit=1)]
        except Conflict:
            found = []
        if found != [head]:
            raise PredecessorUnrelated(predecessor=str(self.root), mark=str(head.mark))


def _list_writes(records: Records, head: ChainHead | None) -> LaterWrites:
    found: dict[str, Record] = {}
    withdrawn: dict[str, Record] = {}
    since = head.mark if head else None
    while page := records.list_changes(since, limit=_PAGE):
        for change in page:
            since = change.mark
            if change.act in WITHOUT_RECORDS:
                continue
            for key, line in records.find_lines(change):
                record = stored.decode_stored(line)
                found.setdefault(key, _reserve_record(record))
                if record.tombstone or any(one.tombstone for one in record.versions):
                    withdrawn[key] = record
    return LaterWrites(names=found, withdrawn=withdrawn, tokens=_read_tokens(records))


def _read_tokens(records: Records) -> dict[str, Token] | None:
    try:
        return {one.name: one for one in records.list_tokens()}
    except Corrupt:
        return None


def _reserve_record(there: Record) -> Record:
    """A record that only reserves the name of another one."""
    formats = [one.format for version in there.versions[:1] for one in version.representations]
    return Record(name=there.name, minted=there.minted or (formats[0] if formats else ""))


class PredecessorUrl:
    """A predecessor that answers over HTTP."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def list_later_writes(self, head: ChainHead | None) -> LaterWrites:
        if head is not None:
            (before,) = self._read_rows(f"{head.epoch}.{head.number - 1}", 1) or [{}]
            place = (before.get("epoch"), before.get("number"), before.get("chain"))
            if place != (head.epoch, head.number, head.chain):
                raise PredecessorUnrelated(predecessor=self._url, mark=str(head.mark))
        names: dict[str, Record] = {}
        withdrawn: dict[str, Record] = {}
        unlisted = 0
        since = f"{head.epoch}.{head.number}" if head else "0.0"
        while page := self._read_rows(since, _PAGE):
            for row in page:
                since = f"{row['epoch']}.{row['number']}"
                unlisted += _add_names(names, row, withdrawn)
        return LaterWrites(names=names, withdrawn=withdrawn, unlisted=unlisted)

    def _read_rows(self, since: str, limit: int) -> list[dict[str, Any]]:
        """The public rows after a mark. Raises InvalidRequest."""
        url = f"{self._url}/changes?since={since}&limit={limit}"
        try:
            if not url.lower().startswith(("http://", "https://")):
                raise ValueError("it is not an http(s) URL")
            with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310  (checked above)
                lines = answer.read(_WHOLE).splitlines()
            return [msgspec.json.decode(line, type=dict[str, Any]) for line in lines]
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.CONFLICT:
                raise PredecessorUnrelated(predecessor=self._url, mark=since) from error
            raise PredecessorUnreadable(predecessor=self._url, fault=str(error)) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise PredecessorUnreadable(predecessor=self._url, fault=str(error)) from error


def _add_names(names: dict[str, Record], row: dict[str, Any], withdrawn: dict[str, Record]) -> int:
    """Add the names of a public row. Return the number of those that it does not list.

    The row of a withdrawal does not say of which versions, so they count as all.
    """
    if row.get("act") in (None, *WITHOUT_RECORDS):  # without an act, a row is private
        return 0
    try:
        ends = [parse(row[name]) for name in ("name", "first", "last") if name in row]
    except (MalformedIdentifier, UnknownScheme):
        return int(row.get("count", 1))
    for one in ends:
        names.setdefault(one.key, Record(name=spell_name(one)))
        if row["act"] in (WITHDRAW, ERASE):
            why = Tombstone(reason="", at=str(row.get("at", "")), by="")
            withdrawn[one.key] = Record(name=spell_name(one), tombstone=why)
    between = int(row.get("count", 1)) - len({one.key for one in ends})
    if between <= 0:
        return 0
    keys = _list_serials(ends[0], ends[-1], between)
    names.update((key, names.get(key, Record())) for key in keys)
    return between - len(keys)


def _list_serials(first: Identifier, last: Identifier, between: int) -> list[str]:
    """The keys of the serial numbers between two names, if there are exactly so many."""
    if not (isinstance(first, Pdi) and isinstance(last, Pdi) and first.serial and last.serial):
        return []
    day = (first.series, first.date)
    if day != (last.series, last.date) or last.serial - first.serial - 1 != between:
        return []
    stem = make_resource_key(first.series, first.date, None)
    numbers = range(first.serial + 1, last.serial)
    return [f"{stem}/{encode_number(str(number))}" for number in numbers]
