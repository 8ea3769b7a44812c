"""A server on a backup: it answers, writes nothing, and goes on writing after the promotion."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.deployment import (
    OTHER_SERIES,
    SERIES,
    SHOULDER,
    Deployment,
    deployed,
    resource,
    text,
    today,
)

from perdure.ids import parse
from perdure.model.timestamps import format_timestamp
from perdure.registry import load_bytes, load_store, utc_now
from perdure.settings import load_settings
from perdure.upkeep.transfer.backup import back_up
from perdure.upkeep.transfer.predecessors import PredecessorUrl
from perdure.upkeep.transfer.promoting import promote_copy

STORE = load_store("sqlite")
VALUES = {
    "values": [
        {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://a.example"}}
    ]
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("copies")
    with deployed(place / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def secret(original: Deployment) -> str:
    return original.token("all")


@pytest.fixture(scope="module")
def name(original: Deployment, secret: str) -> str:
    """A document that is in the backup."""
    return original.mint(text(b"one"))


@pytest.fixture(scope="module")
def copy(original: Deployment, name: str, secret: str) -> Iterator[Deployment]:
    target = original.root.parent / "backup"
    list(back_up(original.root, target, STORE, load_bytes("segments")))
    with deployed(target, handle_prefixes="21.T14999") as running:
        yield running


def test_a_copy_answers(copy: Deployment, name: str) -> None:
    assert copy.get(f"/{name}").body == b"one"
    assert copy.get(f"/{resource(name)}").status == 200
    assert copy.get("/changes").status == 200
    (warning,) = (one for one in copy.log() if one["event"] == "copy")
    assert "backup" in warning["signs"][0]


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PUT", f"/pdi://{SERIES}/", b"two"),
        ("PUT", "/{name}", b"two"),
        ("POST", f"/pdi://{SERIES}/?mint", {}),
        ("POST", f"/ark:{SHOULDER}?mint", {}),
        ("POST", "/hdl:10.9999/x?register", {"locations": ["https://a.example"]}),
        ("POST", "/{name}?bind", {"locations": ["https://a.example"]}),
        ("POST", "/{name}?withdraw", {"reason": "a test"}),
        ("POST", "/tokens", {"name": "t", "operations": ["mint"], "authorities": [SERIES]}),
        ("PUT", "/api/handles/21.T14999/x", VALUES),
    ],
)
def test_a_copy_writes_nothing(
    copy: Deployment, name: str, secret: str, method: str, target: str, body: Any
) -> None:
    """Ruling copy-fence: "it answers, and writes nothing, until `perdure promote`" """
    head = copy.registry.head()
    fields = (f"Authorization: Bearer {secret}", "Content-Type: application/json")
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    target = target.format(name=resource(name))
    answer = copy.ask(method, target, *fields[: 1 if isinstance(body, bytes) else 2], body=sent)
    assert answer.status == 503, answer.body
    told = json.loads(answer.body)
    assert "this is a copy of a registry" in told.get("detail", told.get("message"))
    if "code" in told:
        assert told["code"] == "copy-not-promoted"
        assert "retry-after" not in answer.headers
    assert copy.registry.head() == head


def test_a_server_goes_on_after_a_promotion(
    original: Deployment, copy: Deployment, secret: str
) -> None:
    """Its predecessor answers over HTTP, and has given out names since."""
    later = [original.mint(text(b"%d" % number)) for number in range(3)]
    (ark,) = (original.mint(authority=SHOULDER) for _ in range(1))
    done = promote_copy(
        copy.root,
        STORE,
        load_settings(copy.root, {}),
        now=format_timestamp(utc_now()),
        predecessor=PredecessorUrl(original.base),
    )
    assert (done.reserved, done.unlisted, done.closed) == (4, 0, (SERIES, OTHER_SERIES))
    for reserved in (*map(resource, later), ark):
        record = copy.registry.listings.find_record(parse(reserved))
        assert record is not None, reserved
        assert (record.versions, record.locations) == ((), ())
    refused = copy.put(f"/pdi://{SERIES}/", b"two", token=secret)
    assert refused.status == 409
    assert f"pdi://{SERIES}/{today()}/" in refused.body.decode()
    minted = copy.post(f"/ark:{SHOULDER}?mint", {}, token=secret)
    assert minted.status == 201, minted.body
    assert json.loads(minted.body)["identifier"] != ark


def test_the_backup_is_in_no_home(copy: Deployment) -> None:
    assert (Path(copy.root) / "home.json").exists()
    assert not (Path(copy.root) / "backup.json").exists()
