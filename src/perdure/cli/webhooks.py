"""Addresses that are notified of changes: `webhooks add|list|remove|enable|test|run`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from perdure.cli import exits
from perdure.cli.command import PerdureGroup, here

if TYPE_CHECKING:
    from perdure.registry import Registry
    from perdure.upkeep.webhooks.subscriptions import Subscriptions, Webhook

_NUMBER = click.IntRange(min=1)


@click.group(cls=PerdureGroup)
def webhooks() -> None:
    """Notify other servers of changes: each message is an HTTP request, signed and repeated."""


@contextmanager
def _open_subscriptions() -> Iterator[tuple[Registry, Subscriptions]]:
    from perdure.upkeep.webhooks.subscriptions import Subscriptions

    with here().open_registry() as registry:
        subscriptions = Subscriptions(registry.root)
        try:
            yield registry, subscriptions
        finally:
            subscriptions.close()


@webhooks.command("add")
@click.argument("url")
@click.option(
    "--about", default="", metavar="SET", help="Notify only of these names. Default: of all."
)
@click.option("--from-start", is_flag=True, help="Notify of all records that there are already.")
def add_webhook(url: str, about: str, from_start: bool) -> None:
    """Notify URL of changes from now on, and print the secret of the signatures.

    SET is a series, an interval, a pattern or the beginning of names. Messages follow the
    specification Standard Webhooks; libraries that verify them exist in many languages. URL must
    be on the public internet, or in one of the setting private_networks.
    """
    from perdure.reading.harvest import HarvestPlace

    with _open_subscriptions() as (registry, subscriptions):
        head = None if from_start else registry.records.find_head()
        place = None if head is None else HarvestPlace(head.epoch, head.number)
        added = subscriptions.add_webhook(url, about, place)
        here().print_answer(
            {"webhook": added.id, "url": added.url, "about": added.about, "secret": added.secret},
            f"webhook {added.id}: {added.url}\nsecret: {added.secret}",
        )


@webhooks.command("list")
def list_webhooks() -> None:
    """List the webhooks and their state. Exits with 1 if one is disabled."""
    with _open_subscriptions() as (_, subscriptions):
        found = subscriptions.list_webhooks()
    for one in found:
        shown = {
            "webhook": one.id,
            "url": one.url,
            "about": one.about,
            "state": one.state,
            "notified_until": one.notified_until,
            "attempts": one.attempts,
            "problem": one.problem,
        }
        here().print_answer(shown, _describe(one))
    if any(one.state == "disabled" for one in found):
        click.get_current_context().exit(exits.FINDINGS)


def _describe(one: Webhook) -> str:
    told = f", last message {one.notified_until}" if one.notified_until else ""
    problem = f"; {one.attempts} failed attempts, the last one: {one.problem}"
    about = f" about {one.about}" if one.about else ""
    return f"{one.id}  {one.state}  {one.url}{about}{told}{problem if one.problem else ''}"


@webhooks.command("remove")
@click.argument("number", type=_NUMBER)
def remove_webhook(number: int) -> None:
    """Remove the webhook with NUMBER, and the message that is under way."""
    with _open_subscriptions() as (_, subscriptions):
        subscriptions.remove_webhook(number)
    here().print_answer({"webhook": number, "removed": True}, f"webhook {number} is removed")


@webhooks.command("enable")
@click.argument("number", type=_NUMBER)
def enable_webhook(number: int) -> None:
    """Send to a disabled webhook again, from where it stopped."""
    with _open_subscriptions() as (_, subscriptions):
        subscriptions.enable(number)
    here().print_answer({"webhook": number, "state": "active"}, f"webhook {number} is active")


@webhooks.command("test")
@click.argument("number", type=_NUMBER)
def test_webhook(number: int) -> None:
    """Send a test message to the webhook with NUMBER, once. Exits with 1 if it is not accepted."""
    import asyncio

    from perdure.upkeep.webhooks.delivering import Deliverer, DeliveryFailed

    with _open_subscriptions() as (registry, subscriptions):
        webhook = subscriptions.find_webhook(number)
        deliverer = Deliverer(registry, subscriptions)
        try:
            asyncio.run(deliverer.send_test(webhook))
        except DeliveryFailed as error:
            here().print_failure(
                {"webhook": number, "accepted": False, "problem": error.problem},
                f"{webhook.url} did not accept it: {error.problem}",
            )
            click.get_current_context().exit(exits.FINDINGS)
        here().print_answer(
            {"webhook": number, "accepted": True}, f"{webhook.url} accepted the message"
        )


@webhooks.command("run")
@click.option("--once", is_flag=True, help="Deliver what is due now, then end.")
def run_webhooks(once: bool) -> None:
    """Deliver messages until interrupted; 'perdure serve' does so itself.

    One process delivers at a time. Exits with 1 if it disabled a webhook that failed for five
    days, or that answered 410.
    """
    import asyncio

    from perdure.upkeep.children import watch_parent
    from perdure.upkeep.searching.updating import hold_lock
    from perdure.upkeep.webhooks.delivering import LOCK, deliver_all, keep_delivering

    is_wanted = watch_parent()
    with (
        _open_subscriptions() as (registry, subscriptions),
        hold_lock(registry.root / LOCK, 0) as is_held,
    ):
        if not is_held:
            here().print_note("another process delivers already")
            return
        if once:
            disabled = asyncio.run(deliver_all(registry, subscriptions))
        else:
            work = keep_delivering(registry, subscriptions, is_wanted)
            disabled = asyncio.run(work)
    for one in disabled:
        here().print_note(f"webhook {one.id} is disabled: {one.url}: {one.problem}")
    if disabled:
        click.get_current_context().exit(exits.FINDINGS)
