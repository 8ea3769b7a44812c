"""Webhooks: what is told, signatures, repetition, and addresses that are refused.

Section names are those of the specification Standard Webhooks 1.0.0.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.api import OpenRegistry
from perdure.cli import exits
from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.errors.webhooks import NoSuchWebhook, WebhooksTooMany
from perdure.ids import parse
from perdure.model.commands import Describe, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.reading.harvest import HarvestPlace
from perdure.upkeep.webhooks import subscriptions
from perdure.upkeep.webhooks.delivering import GIVE_UP, PAUSES, Deliverer, DeliveryFailed
from perdure.upkeep.webhooks.messages import make_secret
from perdure.upkeep.webhooks.subscriptions import Subscriptions, Webhook

SERIES, OTHER = "a.example.us", "b.example.us"


class Receiver:
    """A server of another: it keeps what it gets, and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.heard = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                receiver.heard.set()
                status, fields = receiver.answers.pop(0) if receiver.answers else (204, {})
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def list_records(self) -> list[tuple[str, str]]:
        """All records of all messages: name and state."""
        return [
            (one["name"], one["state"])
            for _, body in self.got
            for one in json.loads(body)["data"]["records"]
        ]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[OpenRegistry]:
    root = tmp_path / "registry"
    perdure.open(root, create=True, series=(SERIES, OTHER)).close()
    with (root / "perdure.toml").open("a") as file:
        file.write('private_networks = ["127.0.0.0/8"]\n')
    with perdure.open(root) as opened:
        yield opened


@pytest.fixture
def hooks(registry: OpenRegistry) -> Iterator[Subscriptions]:
    made = Subscriptions(registry.root)
    yield made
    made.close()


def deliver(registry: OpenRegistry, hooks: Subscriptions, *, at: float = 1e9) -> Deliverer:
    """Deliver all that is due at a time."""
    deliverer = Deliverer(registry, hooks, clock=lambda: at)

    async def run() -> None:
        while await deliverer.deliver_due():
            pass
        deliverer.close()

    asyncio.run(run())
    return deliverer


def mint(registry: OpenRegistry, series: str = SERIES) -> str:
    receipt = registry.mint(b"text", authority=series)
    return str(parse(str(receipt.identifier)).resource)


def test_changes_are_told_once_and_in_order(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    before = mint(registry)
    hooks.add_webhook(receiver.url, "", None)
    deliver(registry, hooks)
    assert receiver.list_records() == [(before, "changed")]
    names = [mint(registry) for _ in range(3)]
    deliver(registry, hooks)
    deliver(registry, hooks)
    assert [name for name, _ in receiver.list_records()] == [before, *names]


def test_many_records_are_several_messages(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    names = [mint(registry) for _ in range(230)]
    hooks.add_webhook(receiver.url, "", None)
    deliver(registry, hooks)
    assert [name for name, _ in receiver.list_records()] == names
    assert len(receiver.got) == 3


def test_a_set_and_a_place_limit_what_is_told(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    mint(registry)
    head = registry.records.find_head()
    assert head is not None
    hooks.add_webhook(receiver.url, f"pdi://{OTHER}/", HarvestPlace(head.epoch, head.number))
    mint(registry)
    other = mint(registry, OTHER)
    deliver(registry, hooks)
    assert receiver.list_records() == [(other, "changed")]


def test_closed_records_are_silent_and_withdrawn_ones_are_told(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    closed, withdrawn = mint(registry), mint(registry)
    rule = ReadingRule(about=closed, access=Access.CLOSED)
    registry.door.execute_command(Restrict(rule=rule))
    registry.door.execute_command(Withdraw(identifier=parse(withdrawn), reason="Do not tell"))
    hooks.add_webhook(receiver.url, "", None)
    deliver(registry, hooks)
    assert receiver.list_records() == [(withdrawn, "withdrawn")]
    assert b"Do not tell" not in receiver.got[0][1]


def test_a_rule_made_later_silences_a_webhook(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    """Issue 17, G: "obeyed by every face and every derived thing". A message has names only."""
    hooks.add_webhook(receiver.url, "", None)
    name = mint(registry)
    patch = b'{"titles": [{"value": "A qwertz title"}]}'
    registry.door.execute_command(Describe(identifier=parse(name), patch=patch))
    deliver(registry, hooks)
    assert receiver.list_records() == [(name, "changed")]
    registry.door.execute_command(Restrict(rule=ReadingRule(about=name, access=Access.CLOSED)))
    registry.door.execute_command(Describe(identifier=parse(name), patch=b'{"titles": []}'))
    other = mint(registry)
    deliver(registry, hooks)
    assert receiver.list_records() == [(name, "changed"), (other, "changed")]
    assert all(b"qwertz" not in body for _, body in receiver.got)


def test_the_signature_is_that_of_the_specification(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    """Webhook headers: "The content to sign is {msg_id}.{timestamp}.{payload}"."""
    added = hooks.add_webhook(receiver.url, "", None)
    mint(registry)
    deliver(registry, hooks, at=1_700_000_000)
    fields, body = receiver.got[0]
    assert fields["webhook-timestamp"] == "1700000000"
    signed = f"{fields['webhook-id']}.1700000000.{body.decode()}".encode()
    key = base64.b64decode(added.secret.split("_", 1)[1])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert fields["webhook-signature"] == f"v1,{expected}"
    assert 24 <= len(key) <= 64
    assert make_secret() != make_secret()


def test_a_failed_message_is_sent_again_as_it_was(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    """Deliverability: attempts have the same `webhook-id`, so the receiver can tell them apart."""
    hooks.add_webhook(receiver.url, "", None)
    mint(registry)
    receiver.answers = [(500, {}), (503, {"Retry-After": "120"})]
    deliver(registry, hooks, at=1000)
    mint(registry)
    (one,) = hooks.list_webhooks()
    assert (one.attempts, one.due, one.problem) == (1, 1000 + PAUSES[0], "it answered 500")
    deliver(registry, hooks, at=1000)
    assert len(receiver.got) == 1
    deliver(registry, hooks, at=1000 + PAUSES[0])
    (one,) = hooks.list_webhooks()
    assert one.due == 1000 + PAUSES[0] + 120
    deliver(registry, hooks, at=one.due)
    first, second, third, fourth = receiver.got
    assert first[1] == second[1] == third[1] != fourth[1]
    assert first[0]["webhook-id"] == third[0]["webhook-id"] != fourth[0]["webhook-id"]
    (one,) = hooks.list_webhooks()
    assert (one.attempts, one.failing_since, one.problem, one.message) == (0, 0, "", "")


def test_a_stored_message_survives_its_process(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    hooks.add_webhook(receiver.url, "", None)
    name = mint(registry)
    receiver.answers = [(500, {})]
    deliver(registry, hooks, at=1000)
    hooks.close()
    again = Subscriptions(registry.root)
    deliver(registry, again, at=2000)
    again.close()
    assert receiver.list_records() == [(name, "changed")] * 2


@pytest.mark.parametrize("status", [410, 500])
def test_a_dead_webhook_is_disabled_and_goes_on_when_enabled(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver, status: int
) -> None:
    hooks.add_webhook(receiver.url, "", None)
    name = mint(registry)
    receiver.answers = [(status, {})] * 2
    disabled: list[Webhook] = list(deliver(registry, hooks, at=1000).disabled)
    if status != 410:
        assert disabled == []
        disabled = deliver(registry, hooks, at=1000 + GIVE_UP).disabled
    assert [one.state for one in disabled] == ["disabled"]
    tried = len(receiver.got)
    deliver(registry, hooks, at=1e10)
    assert len(receiver.got) == tried
    receiver.answers = []
    hooks.enable(1)
    deliver(registry, hooks, at=1e10)
    assert receiver.list_records()[-1] == (name, "changed")


def test_redirects_are_not_followed(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    hooks.add_webhook(receiver.url, "", None)
    mint(registry)
    receiver.answers = [(307, {"Location": receiver.url})]
    deliver(registry, hooks)
    assert len(receiver.got) == 1
    assert hooks.find_webhook(1).problem == "it answered 307"


def test_private_addresses_are_refused(tmp_path: Path, receiver: Receiver) -> None:
    with perdure.open(tmp_path / "other", create=True, series=(SERIES,)) as registry:
        hooks = Subscriptions(registry.root)
        added = hooks.add_webhook(receiver.url, "", None)
        mint(registry)
        deliver(registry, hooks)
        assert receiver.got == []
        assert "not on the public internet" in hooks.find_webhook(added.id).problem
        deliverer = Deliverer(registry, hooks)
        with pytest.raises(DeliveryFailed, match="public internet"):
            asyncio.run(deliverer.send_test(added))
        deliverer.close()
        hooks.close()


def test_a_slow_receiver_delays_no_other(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    """Receivers get their messages side by side: this one hears while the other says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        hooks.add_webhook(f"http://127.0.0.1:{silent.getsockname()[1]}/", "", None)
        hooks.add_webhook(receiver.url, "", None)
        name = mint(registry)
        deliverer = Deliverer(registry, hooks)

        async def run() -> None:
            work = asyncio.create_task(deliverer.deliver_due())
            await asyncio.to_thread(receiver.heard.wait, 30)
            work.cancel()

        asyncio.run(run())
        deliverer.close()
    assert receiver.list_records() == [(name, "changed")]


def test_an_older_copy_tells_again_from_the_last_time(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    hooks.add_webhook(receiver.url, "", HarvestPlace(1, 1_000_000))
    name = mint(registry)
    deliver(registry, hooks)
    assert receiver.list_records() == [(name, "changed")]


def test_wrong_webhooks_are_refused(hooks: Subscriptions, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("ftp://a.example/", "http://", "javascript:1", "http://a b/"):
        with pytest.raises(InvalidRequest):
            hooks.add_webhook(url, "", None)
    with pytest.raises(InvalidRequest):
        hooks.add_webhook("https://a.example/", f"pdi://{SERIES}/1997/09/01/*.html", None)
    with pytest.raises(MalformedIdentifier):
        hooks.add_webhook("https://a.example/", "pdi://?", None)
    with pytest.raises(NoSuchWebhook):
        hooks.remove_webhook(7)
    monkeypatch.setattr(subscriptions, "MOST", 1)
    hooks.add_webhook("https://a.example/", "", None)
    with pytest.raises(WebhooksTooMany):
        hooks.add_webhook("https://b.example/", "", None)


def test_only_the_owner_reads_the_secrets(registry: OpenRegistry, hooks: Subscriptions) -> None:
    mode = (registry.root / subscriptions.FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_message_has_a_time_and_a_test_has_no_records(
    registry: OpenRegistry, hooks: Subscriptions, receiver: Receiver
) -> None:
    added = hooks.add_webhook(receiver.url, "", None)
    deliverer = Deliverer(registry, hooks)
    asyncio.run(deliverer.send_test(added))
    deliverer.close()
    fields, body = receiver.got[0]
    sent = json.loads(body)
    assert (sent["type"], sent["data"]["records"]) == ("webhook.test", [])
    assert sent["timestamp"].endswith("Z")
    assert abs(int(fields["webhook-timestamp"]) - time.time()) < 60


def test_a_server_delivers_what_the_command_line_added(tmp_path: Path, receiver: Receiver) -> None:
    """`perdure serve` starts the process that delivers when there is a webhook."""
    from tests.server.deployment import deployed, text

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "perdure.cli", "webhooks", "-C", str(site.root), "--json"]
        allowed = os.environ | {"PERDURE_PRIVATE_NETWORKS": "127.0.0.0/8"}
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, check=False, env=allowed
        )

    with deployed(tmp_path / "registry", private_networks="127.0.0.0/8") as site:
        added = run("add", receiver.url)
        assert json.loads(added.stdout)["secret"].startswith("whsec_")
        assert run("test", "1").returncode == 0
        name = str(parse(site.mint(text(b"new"))).resource)
        until = time.monotonic() + 60
        while (name, "changed") not in receiver.list_records():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert json.loads(run("list").stdout)["state"] == "active"
        receiver.answers = [(410, {})]
        site.mint(text(b"newer"))
        while json.loads(run("list").stdout)["state"] != "disabled":
            assert time.monotonic() < until
        assert run("list").returncode == exits.FINDINGS
        assert "secret" not in run("list").stdout
        assert run("remove", "1").returncode == 0
        assert run("remove", "1").returncode == exits.NOTHING_FOUND
