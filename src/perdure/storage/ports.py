"""What perdure asks of the world: small protocols that adapters fulfil.

A store of another kind (a database server, say) is a new module that offers `Records`, registered
as an entry point in the group `perdure.storage.sqlite`; nothing that stands is edited for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from perdure.model.records import Record, Token


class Records(Protocol):
    """A registry, as readers see it. Every method sees what was acknowledged before the call."""

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the registry for all that this thread reads inside."""

    def record(self, key: str) -> Record | None:
        """The current revision of a record."""

    def scan(self, low: str, high: str, *, limit: int) -> list[tuple[str, Record]]:
        """At most `limit` records with low <= key < high, in key order."""

    def first_key(self, low: str, high: str) -> str | None:
        """The smallest key with low <= key < high."""

    def referring(self, reference: str) -> list[str]:
        """Keys of records that refer to this, in key order (`perdure.policy.naming.references`)."""

    def history(self, key: str) -> list[Record]:
        """All revisions of a record, the oldest first."""

    def token(self, digest: str) -> Token | None:
        """The token with this SHA-256."""

    def token_named(self, name: str) -> Token | None:
        """The token of this name."""

    def tokens(self) -> list[Token]:
        """All tokens, by name."""


class Bytes(Protocol):
    """Where the bytes of representations lie."""

    def read(self, number: int, offset: int, length: int) -> bytes: ...

    def chunks(self, number: int, offset: int, length: int) -> Iterator[bytes]: ...
