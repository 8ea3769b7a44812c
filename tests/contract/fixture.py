"""The registry that the contract table is about, made as the table says."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.archives.warcs import Warc
from tests.conftest import Clock, Desk
from tests.contract.table import TABLE

from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.commands import Assign, Content
from perdure.model.delegations import make_delegation, read_resolver
from perdure.model.records import Value
from perdure.registry import initialise
from perdure.storage.spool import make_content
from perdure.upkeep.delegating import delegate_names
from perdure.upkeep.indexing import bring_up_to_date, open_citations

ENVIRONMENT = {f"PERDURE_{name.upper()}": text for name, text in TABLE["settings"].items()}
DELEGATE = "https://resolver.archives.example/"
BASE: str = TABLE["settings"]["base_url"]


def read_bytes(label: str) -> bytes:
    """The bytes of a document of the table."""
    document = TABLE["documents"][label]
    if "base64" in document:
        return base64.b64decode(document["base64"])
    text: str = document["text"]
    return text.encode()


def _list_digests() -> dict[str, str]:
    named = {label: read_bytes(label) for label in TABLE["documents"]}
    parts = {
        one["answers"]["part"]["text"]
        for one in TABLE["kinds"].values()
        if "text" in one["answers"].get("part", {})
    }
    return {
        hashlib.sha512(data).hexdigest(): label
        for label, data in (named | {one: one.encode() for one in parts}).items()
    }


LABELS = _list_digests()
"""The label of each document and the text of each part, by SHA-512."""


def make_registry(place: Path) -> Path:
    """A registry with every kind of name, by the steps that the table lists for each."""
    root = place / "registry"
    initialise(root, **{name: tuple(found) for name, found in TABLE["authorities"].items()})
    desk = Desk(root, Clock(datetime.fromisoformat(TABLE["clock"]).replace(tzinfo=UTC)))
    desk.reopen(**TABLE["settings"])
    steps: dict[str, Callable[..., Any]] = {
        "hold": lambda name, label: desk.register(name, _make_content(label)),
        "commit": lambda name, label: desk.commit(name, _make_content(label)),
        "bind": lambda name, *uris: desk.bind(name, *uris, register=True),
        "alias": desk.alias,
        "reserve": desk.register,
        "withdraw": desk.withdraw,
        "values": lambda name, *values: desk.registry.door.execute_command(
            Assign(
                identifier=parse(name),
                values=tuple(
                    Value(index=index, type=type, data=data) for index, type, data in values
                ),
            )
        ),
        "delegate": lambda names, role: delegate_names(
            desk.registry,
            make_delegation(read_set(names), (read_resolver(DELEGATE),), role=role),
        ),
        "capture": lambda uri, date, label: _capture(desk, place, uri, date, label),
    }
    for kind in TABLE["kinds"].values():
        for step, *words in kind["made"]:
            steps[step](*words)
    with open_citations(desk.registry) as index:
        bring_up_to_date(index)
    desk.registry.close()
    return root


def _make_content(label: str) -> Content:
    document = TABLE["documents"][label]
    return make_content(read_bytes(label), format=document["format"], media_type=document["type"])


def _capture(desk: Desk, place: Path, uri: str, date: str, label: str) -> None:
    warc = Warc(place / "captures.warc.gz")
    warc.response(uri, date, read_bytes(label), media_type=TABLE["documents"][label]["type"])
    desk.registry.archive.add_file(warc.finish())
