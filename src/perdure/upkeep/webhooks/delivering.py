"""Delivers messages to webhooks, from the change feed.

How it works: after each change, the records of which a webhook was not notified yet are collected,
in the order of their last change and as harvesters see them (`perdure.reading.harvest`). Up to
`MOST_RECORDS` of them are one message. A webhook gets one message at a time, and several
webhooks get theirs side by side, so a slow one delays no other. A failed attempt is repeated after
the times in `PAUSES`; a webhook that failed for `GIVE_UP` seconds, or that answers 410, is
disabled, and the run ends with a report, so that the server logs it.

What must stay true: a message has only what everyone may read, nothing closed, and of a withdrawn
record only that it was withdrawn; nothing is sent to an address that safe fetching refuses
(`perdure.fetching`), or by a copy of a registry; redirects are not followed.

Specification: Standard Webhooks 1.0.0, "Deliverability and reliability".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

from perdure.errors import Conflict, PerdureError
from perdure.fetching.streaming import StreamingFetcher, StreamLimits
from perdure.ids.name_set import read_set
from perdure.model.timestamps import format_timestamp
from perdure.reading.harvest import HarvestPage, HarvestPlace, make_ranges
from perdure.registry import Registry
from perdure.upkeep.searching.updating import hold_lock
from perdure.upkeep.webhooks import messages
from perdure.upkeep.webhooks.subscriptions import (
    Subscriptions,
    Webhook,
    has_webhooks,
    read_place,
)

LOCK = "webhooks.lock"
MOST_RECORDS = 100
"""Records of one message."""
PAUSES = (5, 60, 300, 1800, 7200, 18_000, 36_000)
"""Seconds after each failed attempt; the last one is repeated."""
GIVE_UP = 5 * 86_400  # seconds
_AT_ONCE = 8
_LOOK_EVERY = 0.25  # seconds
_LONGEST_WAIT = 86_400  # seconds that a `Retry-After` may ask for
_LIMITS = StreamLimits(head_seconds=15.0, piece_seconds=5.0, body_seconds=15.0)
_OK = range(200, 300)
_GONE = 410


class DeliveryFailed(Exception):
    """An attempt failed. `wait` is the time that the receiver asks for, in seconds."""

    def __init__(self, problem: str, *, wait: int = 0, is_gone: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.wait = wait
        self.is_gone = is_gone


class Deliverer:
    """Delivers the messages of one registry. For one event loop."""

    def __init__(
        self,
        registry: Registry,
        subscriptions: Subscriptions,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry = registry
        self._subscriptions = subscriptions
        self._clock = clock
        base = registry.settings.base_url
        self._fetcher = StreamingFetcher(
            user_agent=f"perdure (+{base})" if base else "perdure",
            networks=registry.settings.private_networks,
        )
        self._fetcher.limit_streams(_LIMITS)
        self._generation = registry.records.open_counter()
        self._idle: dict[int, int] = {}
        """The count of changes at which a webhook had nothing to send, by its number."""
        self.disabled: list[Webhook] = []
        """Webhooks that were disabled in this run."""

    async def deliver_due(self) -> int:
        """Deliver one message to each webhook that has one. Return how many had one."""
        now = int(self._clock())
        due = [
            one
            for one in self._subscriptions.list_webhooks()
            if one.state == "active" and one.due <= now
        ]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def deliver(webhook: Webhook) -> bool:
            async with gate:
                return await self._deliver(webhook)

        return sum(await asyncio.gather(*map(deliver, due)))

    async def send_test(self, webhook: Webhook) -> None:
        """Send a test message once. Raises DeliveryFailed."""
        body = messages.write_message(messages.TEST, self._format_now(), self._base)
        await self._send(webhook, messages.make_id(), body)

    def close(self) -> None:
        """Close the connections to the receivers."""
        self._fetcher.close()
        self._generation.close()

    def _count_changes(self) -> int:
        return self._generation.change_count

    @property
    def _base(self) -> str:
        return self._registry.settings.base_url

    def _format_now(self) -> str:
        return format_timestamp(self._registry.clock())

    async def _deliver(self, webhook: Webhook) -> bool:
        if not webhook.message:
            if self._idle.get(webhook.id) == self._count_changes():
                return False
            count = self._count_changes()
            if not self._prepare(webhook):
                self._idle[webhook.id] = count
                return False
            webhook = self._subscriptions.find_webhook(webhook.id)
            if not webhook.message:  # the place was moved on: there may be more after it
                return True
        try:
            await self._send(webhook, webhook.message, webhook.body)
        except DeliveryFailed as error:
            self._note_failure(webhook, error)
        else:
            self._subscriptions.note_delivery(webhook, self._format_now())
        return True

    def _note_failure(self, webhook: Webhook, error: DeliveryFailed) -> None:
        now = int(self._clock())
        pause = max(PAUSES[min(webhook.attempts, len(PAUSES) - 1)], error.wait)
        self._subscriptions.note_failure(webhook, error.problem, now=now, due=now + pause)
        if error.is_gone or now - (webhook.failing_since or now) >= GIVE_UP:
            self._subscriptions.disable(webhook.id, error.problem)
            self.disabled.append(self._subscriptions.find_webhook(webhook.id))

    # messages
    # --------

    def _prepare(self, webhook: Webhook) -> bool:
        """Store the next message of a webhook, or the place that it has reached without one.

        Return False if there is nothing new.
        """
        page = self._list_page(webhook)
        following = page.following or page.end
        if page.records:
            body = messages.write_message(
                messages.CHANGED, self._format_now(), self._base, page.records
            )
            self._subscriptions.store_message(webhook.id, messages.make_id(), body, following)
        elif following != read_place(webhook.place):
            self._subscriptions.move_on(webhook.id, following)
        else:
            return False
        return True

    def _list_page(self, webhook: Webhook) -> HarvestPage:
        names = read_set(webhook.about) if webhook.about else None
        harvest = self._registry.harvest

        def list_from(place: HarvestPlace | None, since: str) -> HarvestPage:
            return harvest.list_page(
                place,
                since=since,
                ranges=None if names is None else make_ranges([names]),
                wanted=None if names is None else names.covers_resource,
                limit=MOST_RECORDS,
            )

        try:
            return list_from(read_place(webhook.place), "")
        except Conflict:  # an older copy of the registry took its place
            return list_from(None, webhook.notified_until)

    # sending
    # -------

    async def _send(self, webhook: Webhook, id: str, body: bytes) -> None:
        """Make one attempt. Raises DeliveryFailed."""

        async def send_body() -> AsyncIterator[bytes]:
            yield body

        headers = messages.make_headers(webhook.secret, id, int(self._clock()), body)
        try:
            response = await self._fetcher.open_response(
                webhook.url, method="POST", headers=headers, body=send_body()
            )
        except PerdureError as error:
            raise DeliveryFailed(error.problem()) from error
        response.close()
        if response.status not in _OK:
            raise DeliveryFailed(
                f"it answered {response.status}",
                wait=self._read_wait(response.find_header("Retry-After")),
                is_gone=response.status == _GONE,
            )

    def _read_wait(self, text: str | None) -> int:
        """Read `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date."""
        if text is None:
            return 0
        if text.isascii() and text.isdigit():
            return min(int(text[:9]), _LONGEST_WAIT)
        try:
            wait = parsedate_to_datetime(text).timestamp() - self._clock()
        except (ValueError, OverflowError):
            return 0
        return max(0, min(int(wait), _LONGEST_WAIT))


async def deliver_all(registry: Registry, subscriptions: Subscriptions) -> list[Webhook]:
    """Deliver all that is due now. Return the webhooks that were disabled."""
    deliverer = Deliverer(registry, subscriptions)
    try:
        while await deliverer.deliver_due():
            pass
    finally:
        deliverer.close()
    return deliverer.disabled


async def keep_delivering(
    registry: Registry, subscriptions: Subscriptions, is_wanted: Callable[[], bool]
) -> list[Webhook]:
    """Deliver after each change as long as it is wanted, or until a webhook was disabled.

    Return the webhooks that were disabled. A copy of a registry delivers nothing.
    """
    deliverer = Deliverer(registry, subscriptions)
    try:
        while is_wanted() and not deliverer.disabled:
            is_copy = bool(registry.fence.list_signs()) and not registry.fence.find_origin()
            if is_copy or not await deliverer.deliver_due():
                await asyncio.sleep(_LOOK_EVERY)
    finally:
        deliverer.close()
    return deliverer.disabled


def may_deliver(root: Path) -> bool:
    """Return True if a registry has webhooks, and no process delivers to them."""
    if not has_webhooks(root):
        return False
    with hold_lock(root / LOCK, 0) as is_free:
        return is_free
