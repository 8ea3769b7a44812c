"""Citations that other services report: kept apart, queued, and shown only if they are accepted.

How it works: `received.sqlite` has a row for each report: the citing address, the cited name, who
reported it, and its state. A Webmention is `queued` until its page was fetched by the rules of safe
fetching (`perdure.fetching`) and refers to the cited name; then it is `waiting`, like a report in a
file of Scholix or of DataCite's events. The operator accepts or deletes reports. If an accepted
Webmention is reported again, it is `requeued`: it is listed as before until its page was fetched
again, and its report is deleted if the page is gone or no longer refers to the name (Webmention
section 3.2.4).

What must stay true: a report is never an assertion or a change, and says nothing about documents
held here. Reporting again changes an accepted report only if its page says so, and no report of
another service. The queue is bounded, and so is the number of reports of one host. What is deleted
is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import msgspec

from perdure.errors.citing import NoSuchReport, ReportsTooMany
from perdure.ids import Identifier
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.immediate import begin_immediately

FILE = "received.sqlite"
MOST_WAITING = 10_000
"""Reports that are neither accepted nor refused."""
MOST_OF_HOST = 500
"""Such reports whose citing address is at one host."""
_ACCEPTED = ("accepted", "requeued")
_BUSY_MS = 10_000
_LONGEST = 2048  # characters of an address
_LONGEST_TITLE = 300
_SCHEMA = """
CREATE TABLE IF NOT EXISTS report (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, host TEXT NOT NULL,
    target TEXT NOT NULL, target_key TEXT NOT NULL, kind TEXT NOT NULL, provider TEXT NOT NULL,
    title TEXT NOT NULL, day TEXT NOT NULL, state TEXT NOT NULL, problem TEXT NOT NULL,
    at TEXT NOT NULL, UNIQUE (source, target)
);
CREATE INDEX IF NOT EXISTS report_target ON report (target_key, state, id);
CREATE INDEX IF NOT EXISTS report_state ON report (state, id);
CREATE INDEX IF NOT EXISTS report_host ON report (host, state);
"""
_COLUMNS = "id, source, target, kind, provider, title, day, state, problem, at"


class CitationReported(msgspec.Struct, frozen=True, kw_only=True):
    """A report: something elsewhere refers to a name."""

    number: int = 0
    source: str
    """The address of the citing document."""
    target: str
    """The cited name."""
    kind: str
    """`webmention`, `scholix` or `datacite`."""
    provider: str = ""
    """Who reported it, in the words of the report."""
    title: str = ""
    day: str = ""
    """The day of the link, if the report says so."""
    state: str = "waiting"
    problem: str = ""
    """The reason of a refusal."""
    at: str = ""
    """The time of the report."""


class ReceivedCitations:
    """The reports of one registry. For one thread."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._connection = apsw.Connection(str(registry.root / FILE))
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("secure_delete", "on")
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    # taking in
    # ---------

    def add_report(self, report: CitationReported, target: Identifier) -> bool:
        """Add a report, or queue a known one again. Return False if it was known.

        Raises ReportsTooMany if too many wait already.
        """
        source = report.source[:_LONGEST]
        host = _read_host(source)
        with begin_immediately(self._connection):
            query = "SELECT id, state, kind FROM report WHERE source = ? AND target = ?"
            known = self._connection.execute(query, (source, str(target))).fetchone()
            if known is not None:
                if report.state == "queued" and known[2] == report.kind:
                    state = "requeued" if known[1] in _ACCEPTED else "queued"
                    self._set_state(int(str(known[0])), state)
                return False
            self._check_room(host)
            self._connection.execute(
                "INSERT INTO report (source, host, target, target_key, kind, provider, title, day,"
                " state, problem, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
                (
                    source,
                    host,
                    str(target),
                    target.key,
                    report.kind,
                    report.provider[:_LONGEST_TITLE],
                    report.title[:_LONGEST_TITLE],
                    report.day,
                    report.state,
                    format_timestamp(self._registry.clock()),
                ),
            )
        return True

    def _check_room(self, host: str) -> None:
        waiting = "state IN ('queued', 'waiting')"
        for condition, values, most in (
            (waiting, (), MOST_WAITING),
            (f"host = ? AND {waiting}", (host,), MOST_OF_HOST),
        ):
            query = f"SELECT count(*) FROM report WHERE {condition}"  # noqa: S608  (texts from here)
            row = self._connection.execute(query, values).fetchone()
            if row is not None and int(str(row[0])) >= most:
                raise ReportsTooMany(most=most)

    # deciding
    # --------

    def list_reports(
        self, state: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[CitationReported]:
        """Return reports in a state, or all, in the order of their numbers."""
        condition = "id > ?" if state is None else "id > ? AND state = ?"
        values = [after] if state is None else [after, state]
        return list(self._read_rows(f"{condition} ORDER BY id LIMIT ?", [*values, limit]))

    def list_queue(self, limit: int) -> list[CitationReported]:
        """Return reports whose pages must be fetched, in the order of their numbers."""
        condition = "state IN ('queued', 'requeued') ORDER BY id LIMIT ?"
        return list(self._read_rows(condition, [limit]))

    def list_accepted(self, keys: Iterable[str], limit: int = 100) -> list[CitationReported]:
        """Return the newest accepted reports about the records with these keys."""
        found: list[CitationReported] = []
        for key in keys:
            for state in _ACCEPTED:
                condition = "target_key = ? AND state = ? ORDER BY id DESC LIMIT ?"
                found += self._read_rows(condition, [key, state, limit])
        return sorted(found, key=lambda one: -one.number)[:limit]

    def decide_report(self, number: int, state: str, problem: str = "", title: str = "") -> None:
        """Accept or refuse a report, or let it wait for a decision. Raises NoSuchReport."""
        with begin_immediately(self._connection):
            self._require(number)
            self._set_state(number, state, problem)
            if title:
                query = "UPDATE report SET title = ? WHERE id = ?"
                self._connection.execute(query, (title[:_LONGEST_TITLE], number))

    def delete_report(self, number: int) -> None:
        """Delete a report, whatever its state. Raises NoSuchReport."""
        with begin_immediately(self._connection):
            self._require(number)
            self._connection.execute("DELETE FROM report WHERE id = ?", (number,))

    def _require(self, number: int) -> None:
        query = "SELECT 1 FROM report WHERE id = ?"
        if self._connection.execute(query, (number,)).fetchone() is None:
            raise NoSuchReport(identifier=str(number))

    def _set_state(self, number: int, state: str, problem: str = "") -> None:
        query = "UPDATE report SET state = ?, problem = ? WHERE id = ?"
        self._connection.execute(query, (state, problem[:_LONGEST], number))

    def _read_rows(self, rest: str, values: list[Any]) -> Iterator[CitationReported]:
        query = f"SELECT {_COLUMNS} FROM report WHERE {rest}"  # noqa: S608  (texts from this module)
        names = ("number", *_COLUMNS.split(", ")[1:])
        for row in self._connection.execute(query, values):
            yield msgspec.convert(dict(zip(names, row, strict=True)), CitationReported)


def back_up_reports(root: Path, target: Path) -> None:
    """Copy the reports of a registry to the directory of its backup, if it has any."""
    if not (root / FILE).exists():
        return
    with (
        closing(apsw.Connection(str(root / FILE), flags=apsw.SQLITE_OPEN_READONLY)) as source,
        closing(apsw.Connection(str(target / FILE))) as copy,
        copy.backup("main", source, "main") as work,
    ):
        source.set_busy_timeout(_BUSY_MS)
        work.step()


def _read_host(source: str) -> str:
    with suppress(ValueError):
        return urlsplit(source).hostname or ""
    return ""
