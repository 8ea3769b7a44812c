"""Asks another registry for its changes and its bytes, over one connection that stays open.

How it works: an operator has named the registry, so its address is not checked as that of a
stranger; but it may lie, hang or send half, so everything has a limit. Bytes are hashed while they
arrive (`perdure.storage.spool`), and dropped if they are not the promised ones.

What must stay true: every failure is OriginUnusable, or OriginForgets if the registry does not know
a change; a redirect is a failure, and the secret goes to no other address.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from perdure.errors import DigestMismatch, PerdureError
from perdure.errors.mirroring import OriginSpelling, OriginUnusable
from perdure.ids import parse
from perdure.ids.keys import spell_key
from perdure.model.changes import ChangeMark, parse_mark
from perdure.model.commands import Content
from perdure.model.mirroring import MirroredChange, SoughtContent
from perdure.model.reading_rules import ReadingRule
from perdure.policy.naming import qualify_identifier
from perdure.storage.byte_ports import CHUNK
from perdure.storage.spool import Spool
from perdure.upkeep.mirroring import wire
from perdure.upkeep.mirroring.wire import ContentHead, ContentQuestion, WireMalformed

_SECONDS = 60.0
_LARGEST_PAGE = 256 << 20
_LONGEST_LINE = 64 << 10
_FULL = "&full=stored"
_NOT_TOLD = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
_AT_ONCE = 1000
"""Representations that are asked for together."""


class OriginForgets(Exception):
    """The other registry does not know a change."""


class ChangePage(NamedTuple):
    """Changes of another registry."""

    changes: list[MirroredChange]
    head: ChangeMark | None
    """Its last change, if it told of it."""


class _RulePage(msgspec.Struct):
    """An answer of `/restrictions`."""

    restrictions: list[ReadingRule]
    cursor: str = ""


def check_url(url: str) -> str:
    """Return the address of a registry without a slash at its end. Raises InvalidRequest."""
    parts = urlsplit(url)
    try:
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine or parts.query or parts.fragment or parts.username or not url.isascii():
        raise OriginSpelling(url=url)
    return url.rstrip("/")


class RegistryClient:
    """Asks one registry. One thread uses it."""

    def __init__(self, url: str, secret: str = "") -> None:
        """`secret`: of a token of that registry with the right `mirror`."""
        self.url = url
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
        self._connection = make(parts.hostname or "", parts.port, timeout=_SECONDS)
        self._is_interrupted = False
        self._begun: ChangeMark | None = None
        """The mark of the request for changes that was sent and not answered yet."""
        self._path = parts.path.rstrip("/")
        self._fields = {"Authorization": f"Bearer {secret}"} if secret else {}

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """End a request that waits, from a handler of signals or from another thread."""
        self._is_interrupted = True
        with suppress(OSError, AttributeError):  # no connection is open
            self._connection.sock.shutdown(socket.SHUT_RDWR)

    # Changes
    # -------

    def fetch_changes(
        self, since: ChangeMark | None, *, limit: int, wait: int = 0, is_public: bool = False
    ) -> ChangePage:
        """Fetch changes after a mark, or from the first one on; wait up to `wait` seconds for one.

        `is_public`: only what everyone may know of them.

        Raises OriginForgets, OriginUnusable.
        """
        asked = f"since={since}" if since is not None else "since=0.0"
        fields = {"Prefer": f"wait={wait}"} if wait else {}
        path = f"/changes?{asked}&limit={limit}{'' if is_public else _FULL}"
        answer = self._ask("GET", path, None, fields, wait=wait)
        if answer.status == HTTPStatus.CONFLICT:
            self._drop(answer)
            raise OriginForgets
        return self._read_changes(answer)

    def begin_changes(self, since: ChangeMark, *, have: ChangeMark, limit: int) -> None:
        """Ask for changes after a mark, and do not wait: `end_changes` reads the answer.

        `have`: the last change that is durable here. Nothing else is asked until the answer is
        read. If it fails, `end_changes` returns None.
        """
        path = f"{self._path}/changes?since={since}&have={have}&limit={limit}{_FULL}"
        try:
            self._connection.request("GET", path, None, self._fields)
            self._begun = since
        except (OSError, http.client.HTTPException):
            self._connection.close()

    def end_changes(self, since: ChangeMark | None) -> ChangePage | None:
        """Read the answer to `begin_changes`.

        Return None if changes after another mark were asked for, or if the registry did not send
        any: then `fetch_changes` says why.
        """
        begun, self._begun = self._begun, None
        if begun is None:
            return None
        with suppress(OSError, http.client.HTTPException, OriginUnusable):
            if begun == since:
                page = self._read_changes(self._connection.getresponse())
                if page.changes:
                    return page
        self._connection.close()
        return None

    def _read_changes(self, answer: http.client.HTTPResponse) -> ChangePage:
        """Read a page of changes. Raises OriginUnusable."""
        self._check_status(answer)
        text = self._read_all(answer)
        try:
            found = wire.read_rows(text)
        except WireMalformed as error:
            raise self._make_unusable(str(error)) from error
        head = parse_mark(answer.headers.get("Perdure-Head", ""), current=0)
        return ChangePage(found, head)

    def fetch_change(self, mark: ChangeMark, *, is_public: bool = False) -> MirroredChange | None:
        """Fetch the change at a mark; None if it has none there. Raises OriginUnusable."""
        before = ChangeMark(mark.epoch, mark.number - 1)
        try:
            found = self.fetch_changes(before, limit=1, is_public=is_public).changes
        except OriginForgets:
            return None
        return found[0] if found and found[0].change.mark == mark else None

    def fetch_rules(self, after: int) -> list[ReadingRule] | None:
        """Fetch the reading rules in force with numbers behind this one.

        None if the registry does not tell its mirrors. Raises OriginUnusable.
        """
        found: list[ReadingRule] = []
        cursor = str(after)
        while cursor:
            answer = self._ask("GET", f"/restrictions?limit=10000&cursor={cursor}", None, {})
            if answer.status in _NOT_TOLD:
                self._drop(answer)
                return None
            self._check_status(answer)
            try:
                page = msgspec.json.decode(self._read_all(answer), type=_RulePage)
            except msgspec.MsgspecError as error:
                raise self._make_unusable(f"its rules cannot be read: {error}") from error
            found += page.restrictions
            cursor = page.cursor
        return found

    # Bytes
    # -----

    def fetch_contents(
        self, sought: Sequence[SoughtContent], incoming: Path
    ) -> Iterator[tuple[SoughtContent, Content | str]]:
        """Fetch bytes. Yield each content, or the reason why it could not be had.

        Bytes that are not the promised ones have the reason `wrong`. Raises OriginUnusable.
        """
        for at in range(0, len(sought), _AT_ONCE):
            some = sought[at : at + _AT_ONCE]
            questions = [ContentQuestion(one.key, one.version, one.format) for one in some]
            answer = self._ask_contents(questions)
            for one, question in zip(some, questions, strict=True):
                head = self._read_head(answer, question)
                if head.missing:
                    yield one, head.missing
                elif head.length != one.length:
                    self._drop(answer)
                    yield one, "wrong"
                    rest = some[some.index(one) + 1 :]
                    yield from self.fetch_contents(rest, incoming)
                    break
                else:
                    yield one, self._spool_content(answer, one, incoming)
            else:
                self._drop(answer)

    def fetch_published(self, sought: SoughtContent, incoming: Path) -> Content | str:
        """Fetch bytes under their public name, without a right. Raises OriginUnusable.

        Return the reason if the registry does not give the promised bytes to everyone.
        """
        try:
            name = parse(spell_key(sought.key))
            full = qualify_identifier(name, sought.version, sought.format)
        except PerdureError:
            return "unknown"
        path = f"/{quote(str(full), safe=':/')}?bytes"
        answer = self._ask("GET", path, None, {"Accept-Encoding": "identity"})
        if answer.status != HTTPStatus.OK or answer.length != sought.length:
            self._connection.close()
            return "unknown"
        return self._spool_content(answer, sought, incoming)

    def fetch_proofs(
        self, sought: Sequence[SoughtContent], nonce: str
    ) -> Iterator[tuple[SoughtContent, ContentHead]]:
        """Challenge the registry over bytes. Yield its answers. Raises OriginUnusable."""
        for at in range(0, len(sought), _AT_ONCE):
            some = sought[at : at + _AT_ONCE]
            questions = [
                ContentQuestion(one.key, one.version, one.format, nonce=nonce) for one in some
            ]
            answer = self._ask_contents(questions)
            for one, question in zip(some, questions, strict=True):
                head = self._read_head(answer, question)
                if head.length:
                    raise self._make_unusable("it sent bytes in place of a proof")
                yield one, head
            self._drop(answer)

    def send_content(self, sought: SoughtContent, pieces: Iterable[bytes]) -> bool:
        """Send bytes that are damaged there. Return True if they were mended.

        Raises OriginUnusable.
        """
        asked = {"key": sought.key, "version": str(sought.version), "format": sought.format}
        path = f"{wire.CONTENTS}?{urlencode(asked)}"
        fields = {"Content-Length": str(sought.length)}
        answer = self._ask("PUT", path, pieces, fields)
        self._check_status(answer)
        return b'"mended":true' in self._read_all(answer)

    def _ask_contents(self, questions: Sequence[ContentQuestion]) -> http.client.HTTPResponse:
        answer = self._ask("POST", wire.CONTENTS, wire.write_questions(questions), {})
        self._check_status(answer)
        return answer

    def _read_head(
        self, answer: http.client.HTTPResponse, question: ContentQuestion
    ) -> ContentHead:
        try:
            line = answer.readline(_LONGEST_LINE)
            head = wire.read_head(line)
        except (OSError, http.client.HTTPException, WireMalformed) as error:
            raise self._make_unusable(str(error)) from error
        if (head.key, head.version, head.format) != (
            question.key,
            question.version,
            question.format,
        ):
            raise self._make_unusable("it sent bytes of another name")
        return head

    def _spool_content(
        self, answer: http.client.HTTPResponse, sought: SoughtContent, incoming: Path
    ) -> Content | str:
        """Read bytes, and return them if they are the promised ones."""
        with Spool(incoming) as spool:
            left = sought.length
            while left:
                piece = self._read_piece(answer, min(left, CHUNK))
                spool.write(piece)
                left -= len(piece)
            with suppress(DigestMismatch):
                spool.expect_digest("sha-512", bytes.fromhex(sought.sha512))
                return spool.finish_content(format=sought.format, media_type="")
        return "wrong"

    # One request
    # -----------

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None,
        fields: dict[str, str],
        *,
        wait: int = 0,
    ) -> http.client.HTTPResponse:
        """Send a request; once more if the connection had been closed meanwhile."""
        target = f"{self._path}{path}"
        for is_last in (False, True):
            is_fresh = self._connection.sock is None
            try:
                self._connection.timeout = _SECONDS + wait
                if self._connection.sock is not None:
                    self._connection.sock.settimeout(_SECONDS + wait)
                self._connection.request(method, target, body, self._fields | fields)
                if self._is_interrupted:  # before there was a connection to shut down
                    raise ConnectionAbortedError("interrupted")
                return self._connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                is_idle = isinstance(error, (http.client.RemoteDisconnected, ConnectionError))
                if is_last or is_fresh or not is_idle or self._is_interrupted:
                    raise self._make_unusable(_describe(error)) from error
        raise AssertionError("a loop with two turns")

    def _check_status(self, answer: http.client.HTTPResponse) -> None:
        if answer.status == HTTPStatus.OK:
            return
        with suppress(OSError, http.client.HTTPException):
            answer.read(_LONGEST_LINE)
        self._connection.close()
        raise self._make_unusable(f"it answered {answer.status} {answer.reason}")

    def _read_all(self, answer: http.client.HTTPResponse) -> bytes:
        pieces: list[bytes] = []
        length = 0
        while piece := self._read_piece(answer, _LARGEST_PAGE, may_end=True):
            pieces.append(piece)
            length += len(piece)
            if length > _LARGEST_PAGE:
                self._connection.close()
                raise self._make_unusable("a page of its changes is too long")
        return b"".join(pieces)

    def _read_piece(
        self, answer: http.client.HTTPResponse, most: int, *, may_end: bool = False
    ) -> bytes:
        try:
            piece = answer.read1(most) if not may_end else answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise self._make_unusable(_describe(error)) from error
        if not piece and not may_end:
            self._connection.close()
            raise self._make_unusable("its answer ended early")
        return piece

    def _drop(self, answer: http.client.HTTPResponse) -> None:
        """Read the rest of a short answer, or close the connection."""
        try:
            if len(answer.read(_LONGEST_LINE)) < _LONGEST_LINE:
                return
        except (OSError, http.client.HTTPException):
            pass
        self._connection.close()

    def _make_unusable(self, fault: str) -> OriginUnusable:
        self._connection.close()
        return OriginUnusable(url=self.url, fault=fault)


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def prove_bytes(pieces: Iterator[bytes], nonce: str) -> str:
    """The proof that bytes are here: SHA-256 of a nonce and the bytes. Raises Corrupt."""
    digest = hashlib.sha256(bytes.fromhex(nonce))
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
