"""The sources of a package: the registry itself, or a registry that is asked over HTTP.

What must stay true: both give the same changes in the same order, and bytes that have the promised
digest or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from perdure.errors.mirroring import OriginForgot, OriginWithholds
from perdure.model.changes import (
    BEGIN,
    RULE,
    TOKEN,
    WITHHELD,
    WITHOUT_RECORDS,
    ChangeMark,
    attest_line,
)
from perdure.model.commands import Content
from perdure.model.mirroring import MirroredChange, SoughtContent
from perdure.registry import Registry
from perdure.storage.spool import discard_content, read_content
from perdure.upkeep.mirroring.client import OriginForgets, RegistryClient
from perdure.writing.replayed_places import find_held

_PAGE = 1000


class SuccessionSource(Protocol):
    """A predecessor."""

    def walk_changes(self, since: ChangeMark | None = None) -> Iterator[MirroredChange]:
        """Yield the changes after a mark, or all of them."""

    def read_contents(
        self, sought: Sequence[SoughtContent]
    ) -> Iterator[tuple[SoughtContent, Iterator[bytes] | str]]:
        """Yield the bytes of each content, or the reason why they are missing."""


class LocalSource:
    """The registry of this directory."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def walk_changes(self, since: ChangeMark | None = None) -> Iterator[MirroredChange]:
        records = self._registry.records
        epochs = {one.epoch: one for one in records.list_epochs()}
        while changes := records.list_changes(since, limit=_PAGE):
            for change, lines in zip(changes, records.list_lines(changes), strict=True):
                if change.act == RULE:
                    wrote = tuple(lines)
                elif change.act in WITHOUT_RECORDS:
                    wrote = ()
                else:
                    wrote = tuple((key, attest_line(text)) for key, text in lines)
                begun = epochs.get(change.epoch) if change.act == BEGIN else None
                yield MirroredChange(change=change, lines=wrote, epoch=begun)
            since = changes[-1].mark

    def read_contents(
        self, sought: Sequence[SoughtContent]
    ) -> Iterator[tuple[SoughtContent, Iterator[bytes] | str]]:
        for one in sought:
            record = self._registry.records.find_record(one.key)
            held = find_held(record, one.version, one.format)
            if held is None or held.sha512 != one.sha512:
                yield one, "unknown"
            else:
                yield one, self._registry.bytes.read_chunks(held)


class RemoteSource:
    """A registry that gives everything to the bearer of a token with the right `mirror`."""

    def __init__(self, client: RegistryClient, incoming: Path) -> None:
        self._client = client
        self._incoming = incoming

    def walk_changes(self, since: ChangeMark | None = None) -> Iterator[MirroredChange]:
        """Yield them. Raises OriginUnusable, OriginForgot, or OriginWithholds for its token."""
        while True:
            try:
                changes = self._client.fetch_changes(since, limit=_PAGE).changes
            except OriginForgets:
                raise OriginForgot(url=self._client.url) from None
            for one in changes:
                is_private = one.change.leaf is not None or one.change.act in (TOKEN, WITHHELD)
                if not one.is_whole and one.epoch is None and not is_private:
                    raise OriginWithholds(url=self._client.url)
                yield one
            if not changes:
                return
            since = changes[-1].change.mark

    def read_contents(
        self, sought: Sequence[SoughtContent]
    ) -> Iterator[tuple[SoughtContent, Iterator[bytes] | str]]:
        for one, content in self._client.fetch_contents(sought, self._incoming):
            yield one, content if isinstance(content, str) else self._read_spooled(content)

    def _read_spooled(self, content: Content) -> Iterator[bytes]:
        try:
            yield from read_content(self._incoming, content)
        finally:
            discard_content(self._incoming, content)
