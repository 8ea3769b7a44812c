"""The webhooks of a registry: addresses, secrets, and how far each was notified.

How it works: `webhooks.sqlite` has a row for each webhook: its address, its names, its secret, the
place in the changes up to which it was notified, and the message that is under way with its next
attempt. A message is stored before its first attempt. When it was delivered, the place after it is
stored in the same transaction that deletes it.

What must stay true: a message is delivered at least once, with the same id and body each time,
whatever is killed; only the owner of the directory can read the secrets.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw
import msgspec

from perdure.errors.webhooks import NoSuchWebhook, SetHasRepresentations, WebhooksTooMany
from perdure.fetching.targets import parse_target
from perdure.ids.name_set import read_set
from perdure.reading.harvest import HarvestPlace
from perdure.upkeep.immediate import begin_immediately
from perdure.upkeep.webhooks import messages

FILE = "webhooks.sqlite"
MOST = 100
"""Webhooks of one registry."""
_BUSY_MS = 10_000
_LONGEST_PROBLEM = 300
_SCHEMA = """
CREATE TABLE IF NOT EXISTS webhook (
    id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, about TEXT NOT NULL,
    secret TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'active', place TEXT NOT NULL,
    notified_until TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
    body BLOB NOT NULL DEFAULT x'', following TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0, failing_since INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT ''
);
"""


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An address that is notified of changes, and its state."""

    id: int
    url: str
    about: str = ""
    """The names of which it is notified; empty for all."""
    secret: str
    state: str = "active"
    """`active`, or `disabled` after it failed for long."""
    place: str = ""
    """The place in the changes up to which it was notified, as JSON; empty for the beginning."""
    notified_until: str = ""
    """The time of the last record of which it was notified."""
    message: str = ""
    """The id of the message that is under way; empty if there is none."""
    body: bytes = b""
    following: str = ""
    """The place after the message that is under way."""
    attempts: int = 0
    """Attempts to deliver it that failed."""
    failing_since: int = 0
    """The time of the first failure since the last success (Unix), or 0."""
    due: int = 0
    """The time of the next attempt (Unix)."""
    problem: str = ""
    """Why the last attempt failed."""


_FIELDS = Webhook.__struct_fields__


def write_place(place: HarvestPlace | None) -> str:
    """Write a place in the changes; the beginning as an empty text."""
    return "" if place is None else msgspec.json.encode(place).decode()


def read_place(text: str) -> HarvestPlace | None:
    """Read what `write_place` wrote."""
    return msgspec.json.decode(text, type=HarvestPlace) if text else None


class Subscriptions:
    """The webhooks of the registry in a directory. For one thread. Close it after use."""

    def __init__(self, root: Path) -> None:
        path = root / FILE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("secure_delete", "on")
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def add_webhook(self, url: str, about: str, place: HarvestPlace | None) -> Webhook:
        """Add a webhook that is notified of changes after a place, None for all.

        Raises InvalidRequest if the address or the set cannot be used, MalformedIdentifier or
        UnknownScheme if the set is not one, WebhooksTooMany.
        """
        names = read_set(about) if about else None
        if names is not None and names.has_representations:
            raise SetHasRepresentations(names=about)
        row = (parse_target(url).url, str(names or ""), messages.make_secret(), write_place(place))
        with begin_immediately(self._connection):
            if len(self.list_webhooks()) >= MOST:
                raise WebhooksTooMany(identifier="", most=MOST)
            self._connection.execute(
                "INSERT INTO webhook (url, about, secret, place) VALUES (?, ?, ?, ?)", row
            )
        return self.find_webhook(self._connection.last_insert_rowid())

    def remove_webhook(self, id: int) -> None:
        """Remove a webhook with its message. Raises NoSuchWebhook."""
        with begin_immediately(self._connection):
            self.find_webhook(id)
            self._connection.execute("DELETE FROM webhook WHERE id = ?", (id,))

    def find_webhook(self, id: int) -> Webhook:
        """Return a webhook by its number. Raises NoSuchWebhook."""
        found = self._read("WHERE id = ?", (id,))
        if not found:
            raise NoSuchWebhook(identifier=str(id))
        return found[0]

    def list_webhooks(self) -> list[Webhook]:
        """Return all webhooks in the order of their numbers."""
        return self._read("ORDER BY id", ())

    def _read(self, rest: str, values: tuple[Any, ...]) -> list[Webhook]:
        query = f"SELECT {', '.join(_FIELDS)} FROM webhook {rest}"  # noqa: S608  (texts from here)
        rows = self._connection.execute(query, values)
        return [Webhook(**dict(zip(_FIELDS, row, strict=True))) for row in rows]

    # delivering
    # ----------

    def move_on(self, id: int, place: HarvestPlace | None) -> None:
        """Store the place of a webhook that need not be notified of anything before it."""
        self._update(id, place=write_place(place))

    def store_message(
        self, id: int, message: str, body: bytes, following: HarvestPlace | None
    ) -> None:
        """Store a message before its first attempt, and the place after it."""
        place = write_place(following)
        self._update(id, message=message, body=body, following=place, attempts=0, due=0)

    def note_delivery(self, webhook: Webhook, at: str) -> None:
        """Note that the message that is under way was delivered."""
        done = {"message": "", "body": b"", "following": "", "attempts": 0, "due": 0}
        place = {"place": webhook.following, "notified_until": at}
        self._update(webhook.id, **done, **place, failing_since=0, problem="")

    def note_failure(self, webhook: Webhook, problem: str, *, now: int, due: int) -> None:
        """Note a failed attempt, and when the next one is due."""
        self._update(
            webhook.id,
            attempts=webhook.attempts + 1,
            failing_since=webhook.failing_since or now,
            due=due,
            problem=problem[:_LONGEST_PROBLEM],
        )

    def disable(self, id: int, problem: str) -> None:
        """Send nothing more to a webhook until it is enabled again."""
        self._update(id, state="disabled", problem=problem[:_LONGEST_PROBLEM])

    def enable(self, id: int) -> None:
        """Send to a webhook again, from where it stopped. Raises NoSuchWebhook."""
        self.find_webhook(id)
        self._update(id, state="active", attempts=0, failing_since=0, due=0, problem="")

    def _update(self, id: int, **fields: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in fields)
        query = f"UPDATE webhook SET {names} WHERE id = ?"  # noqa: S608  (names from this module)
        with begin_immediately(self._connection):
            self._connection.execute(query, (*fields.values(), id))


def has_webhooks(root: Path) -> bool:
    """Return True if the registry in a directory has a webhook."""
    if not (root / FILE).exists():
        return False
    subscriptions = Subscriptions(root)
    try:
        return bool(subscriptions.list_webhooks())
    finally:
        subscriptions.close()
