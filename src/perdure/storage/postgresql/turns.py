"""Reading for an event loop, as the port `perdure.storage.turn_ports.TurnReader`.

How it works: one statement reads the count of revisions and all wanted rows, so all of it is one
snapshot. A plain look-up needs only records; a second statement also finds references and the last
records of ranges. Two connections take turns, so that a query need not wait for the one before.

psycopg connects and speaks the protocol, by its wrapper of libpq. Its cursors are left out: they
take half of the time of a look-up to adapt each value.

A connection that is lost is opened again by a thread, and its query is sent once more.

What must stay true: a query is sent after it was asked for, never joined to one on its way.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

import psycopg
from psycopg import pq

from perdure.errors import PerdureError
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import Connection, connect, reading_errors
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.turn_ports import TurnState, Wants

_LANES = 2
_STATE = """
SELECT NULL::text, concat_ws(' ',
    sum(count), hashtextextended(pg_current_snapshot()::text, 0) & 9223372036854775807,
    (SELECT coalesce(max(number), 0) FROM rules)){}
  FROM generation
"""
_RECORDS = "SELECT key, record{} FROM records WHERE key = ANY({})"
_NO_PLACE = ", NULL::text, NULL::text"
_REFERRING = """
SELECT refers.key, NULL, 'reference', place::text
  FROM unnest($2, $3) WITH ORDINALITY AS sought (hash, most, place), LATERAL (
    SELECT key FROM refers WHERE hash = sought.hash ORDER BY key LIMIT most
  ) AS refers
"""
_LASTS = """
SELECT last.key, last.record, 'range', place::text
  FROM unnest($4, $5) WITH ORDINALITY AS sought (low, high, place), LATERAL (
    SELECT key, record FROM records WHERE key >= low AND key <= high ORDER BY key DESC LIMIT 1
  ) AS last
"""
_SEPARATOR = "\x01"
"""Between the keys of a plain look-up: one text takes a tenth of the time of an array."""
_SPLIT = "string_to_array($1, chr(1))"
_PLAIN = " UNION ALL ".join((_STATE.format(""), _RECORDS.format("", _SPLIT))).encode()
_WHOLE = " UNION ALL ".join(
    (_STATE.format(_NO_PLACE), _RECORDS.format(_NO_PLACE, "$1"), _REFERRING, _LASTS)
).encode()
_REFERENCE, _RANGE = b"reference", b"range"
_PLAIN_NAME, _WHOLE_NAME = b"perdure_turn", b"perdure_whole_turn"
_BYTES = 1
"""The format of values that is not text."""
_TEXT_TYPE, _NUMBER_TYPE = 25, 20
_TEXTS_TYPE, _NUMBERS_TYPE = 1009, 1016
_LENGTH = struct.Struct("!i")
_ARRAY = struct.Struct("!iiiii")
_NUMBER = struct.Struct("!iq")
Then = Callable[[TurnState | None], None]


def _write_texts(texts: Iterable[bytes]) -> bytes:
    """An array in the binary format of the protocol."""
    pieces = [b""]
    for text in texts:
        pieces += (_LENGTH.pack(len(text)), text)
    pieces[0] = _ARRAY.pack(1, 0, _TEXT_TYPE, len(pieces) // 2, 1)
    return b"".join(pieces)


def _write_numbers(numbers: list[int]) -> bytes:
    head = _ARRAY.pack(1, 0, _NUMBER_TYPE, len(numbers), 1)
    return head + b"".join(_NUMBER.pack(8, number) for number in numbers)


def _encode(text: str) -> bytes | None:
    """A text as the server may have it; None if it cannot. PostgreSQL has no zero bytes."""
    if "\0" in text:
        return None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _join_keys(keys: Collection[str]) -> bytes | None:
    """All keys in one text; None if one of them has the separator, or if no database has it."""
    joined = _SEPARATOR.join(keys)
    if "\0" in joined or joined.count(_SEPARATOR) >= max(len(keys), 1):
        return None
    return _encode(joined)


class _Question:
    """The question of one query, and its answer."""

    def __init__(self, wants: Wants) -> None:
        self._wants = wants
        self._references = list(wants.references)
        self._ranges = [one for one in wants.ranges if all(map(_encode, one))]
        keys = None if wants.references or wants.ranges else _join_keys(wants.keys)
        if keys is not None:
            self.statement = _PLAIN_NAME
            self.values = [keys]
        else:
            self.statement = _WHOLE_NAME
            self.values = [
                _write_texts(filter(None, map(_encode, wants.keys))),
                _write_numbers([reference_hash(one) for one, _ in self._references]),
                _write_numbers([most for _, most in self._references]),
                _write_texts(low.encode() for low, _ in self._ranges),
                _write_texts(high.encode() for _, high in self._ranges),
            ]

    def read_answer(self, result: pq.abc.PGresult) -> TurnState:
        """Take the rows of the answer apart."""
        value, is_plain = result.get_value, self.statement is _PLAIN_NAME
        records: dict[str, str | None] = dict.fromkeys(self._wants.keys)
        found: dict[tuple[bytes, int], list[tuple[str, str]]] = {}
        counts = b""
        for row in range(result.ntuples):
            key, text = value(row, 0), value(row, 1) or b""
            if key is None:
                counts = text
            elif is_plain or (kind := value(row, 2)) is None:
                records[key.decode()] = text.decode()
            else:
                place = kind, int(value(row, 3) or 0) - 1  # the server counts from 1
                found.setdefault(place, []).append((key.decode(), text.decode()))
        revisions, changes, last_rule = map(int, counts.split())
        if is_plain:
            return TurnState(revisions, changes, last_rule, records, {}, {})
        referring = {
            one: sorted(key for key, _ in found.get((_REFERENCE, number), ()))
            for number, one in enumerate(self._references)
        }
        lasts: dict[tuple[str, str], tuple[str, str] | None] = dict.fromkeys(self._wants.ranges)
        for number, sought in enumerate(self._ranges):
            lasts[sought] = next(iter(found.get((_RANGE, number), ())), None)
        return TurnState(revisions, changes, last_rule, records, referring, lasts)


def _connect(address: DatabaseAddress) -> Connection:
    """Connect, and prepare the statements. Raises Unavailable."""
    made = connect(address)
    with reading_errors(address):
        whole = [_TEXTS_TYPE, _NUMBERS_TYPE, _NUMBERS_TYPE, _TEXTS_TYPE, _TEXTS_TYPE]
        for name, statement, types in (
            (_PLAIN_NAME, _PLAIN, [_TEXT_TYPE]),
            (_WHOLE_NAME, _WHOLE, whole),
        ):
            result = made.pgconn.prepare(name, statement, types)
            if result.status != pq.ExecStatus.COMMAND_OK:
                raise psycopg.OperationalError(made.pgconn.get_error_message())
    return made


class _Lane:
    """A connection, which answers one query at a time."""

    def __init__(self, address: DatabaseAddress) -> None:
        self.is_busy = False
        self._address = address
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket = -1
        """Its number while it is watched. After an error, libpq has closed it already."""
        self._is_writing = False
        self._question = _Question(Wants())
        self._then: Then = _ignore
        self._may_repeat = False
        self._result: pq.abc.PGresult | None = None
        self._is_closed = False

    def start_reading(self, wants: Wants, then: Then) -> None:
        self.is_busy = True
        self._question, self._then = _Question(wants), then
        self._may_repeat = True
        if self._connection is None:
            self._start_connecting()
        else:
            self._send()

    def close(self) -> None:
        self._is_closed = True
        self._drop_connection()

    def _start_connecting(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = self._loop.run_in_executor(None, _connect, self._address)
        task.add_done_callback(self._take_connection)

    def _take_connection(self, task: asyncio.Future[Connection]) -> None:
        if task.cancelled() or isinstance(task.exception(), PerdureError):
            self._finish(None)
            return
        made = self._connection = task.result()
        if self._is_closed or self._loop is None:
            self._drop_connection()
            return
        self._socket = made.pgconn.socket
        self._loop.add_reader(self._socket, self._receive)
        self._may_repeat = False  # not on a connection that is new
        self._send()

    def _send(self) -> None:
        if self._connection is None:
            return
        question, sender = self._question, self._connection.pgconn
        self._result = None
        try:
            sender.send_query_prepared(
                question.statement, question.values, [_BYTES] * len(question.values), _BYTES
            )
        except psycopg.Error:
            self._fail()
            return
        self._flush()

    def _flush(self) -> None:
        """Hand the query to the system, as far as it takes it now."""
        if self._connection is None or self._loop is None:
            return
        sender = self._connection.pgconn
        try:
            left = sender.flush()
        except psycopg.Error:
            self._fail()
            return
        if left and not self._is_writing:
            self._loop.add_writer(self._socket, self._flush)
        elif self._is_writing and not left:
            self._loop.remove_writer(self._socket)
        self._is_writing = bool(left)

    def _receive(self) -> None:
        if self._connection is None:
            return
        receiver = self._connection.pgconn
        try:
            receiver.consume_input()
            while not receiver.is_busy():
                result = receiver.get_result()
                if result is None:
                    break
                self._result = result
            else:
                return  # more of the answer is to come
        except psycopg.Error:
            self._fail()
            return
        if receiver.status != pq.ConnStatus.OK:
            self._fail()
        elif self.is_busy and self._result is not None:
            self._take_result(self._result)

    def _take_result(self, result: pq.abc.PGresult) -> None:
        self._result = None
        if result.status == pq.ExecStatus.TUPLES_OK:
            self._finish(self._question.read_answer(result))
        else:  # the server refuses: perhaps it is stopping, or no longer the primary
            self._fail()

    def _fail(self) -> None:
        """Give the connection up, and ask once more on a new one."""
        self._drop_connection()
        if not self.is_busy:
            return
        if self._may_repeat:
            self._may_repeat = False
            self._start_connecting()
        else:
            self._finish(None)

    def _finish(self, state: TurnState | None) -> None:
        if self._is_closed:
            return
        then, self._then = self._then, _ignore
        self.is_busy = False
        then(state)

    def _drop_connection(self) -> None:
        lost, self._connection = self._connection, None
        if lost is None:
            return
        if self._loop is not None and self._socket >= 0 and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._socket, self._is_writing = -1, False
        with suppress(psycopg.Error):
            lost.close()


def _ignore(_: TurnState | None) -> None:
    """Do nothing with the answer to no question."""


class DatabaseTurns:
    """Reads states of a registry in PostgreSQL."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._lanes = [_Lane(address) for _ in range(_LANES)]

    @property
    def is_free(self) -> bool:
        return any(not lane.is_busy for lane in self._lanes)

    def read_state(self, wants: Wants, then: Then) -> None:
        next(lane for lane in self._lanes if not lane.is_busy).start_reading(wants, then)

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()
