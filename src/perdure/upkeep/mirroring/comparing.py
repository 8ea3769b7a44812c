"""Compares the bytes of two registries, and repairs each from the other.

How it works: a challenge has a new random nonce. Both sides hash it with the bytes, so neither can
answer from memory, and no bytes travel. If the answers differ, the digest in the record decides
which side is damaged. Bytes that have this digest replace those that do not, in their place.

What must stay true: only bytes with the promised digest are written; what was withdrawn or erased
on one of the sides is not compared, and comes back on neither.
# ruling: tombstone-silence
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from perdure.errors import Corrupt
from perdure.errors.mirroring import NotMirror
from perdure.ids.keys import spell_key
from perdure.model.commands import NOWHERE
from perdure.model.mirroring import SoughtContent
from perdure.model.records import Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.registry import Registry
from perdure.storage.byte_ports import Bytes
from perdure.storage.origin import find_origin, load_secret
from perdure.storage.spool import discard_content, read_content
from perdure.upkeep.mirroring.client import RegistryClient, check_url
from perdure.upkeep.mirroring.wire import ContentHead

_PAGE = 1000
_AT_ONCE = 200  # documents of one challenge
_NONCE_BYTES = 32
_HERE, _THERE = "here", "there"
_REPAIRED, _LOST, _FOUND = "repaired", "lost", "found"


class ContentDamage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that one of the registries does not have as promised."""

    identifier: str
    side: str
    """`here` or `there`."""
    outcome: str
    """`repaired`; `lost` if neither side has them; `found` if nothing was repaired."""


class ComparedBytes(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a comparison."""

    compared: int
    skipped: int
    """Documents that the other registry does not have, or does not give."""
    damaged: tuple[ContentDamage, ...]


def open_other(registry: Registry, url: str | None, secret: str | None) -> RegistryClient:
    """Return a client of the registry to compare with: by default the origin of a mirror.

    Raises NotMirror if there is no default, OriginSpelling.
    """
    origin = find_origin(registry.root)
    if url is None and origin is None:
        raise NotMirror(directory=str(registry.root))
    chosen = check_url(url) if url is not None else (origin.url if origin else "")
    is_own = origin is not None and chosen == origin.url
    if secret is None:
        secret = load_secret(registry.root) if is_own else ""
    return RegistryClient(chosen, secret)


def compare_bytes(
    registry: Registry, other: RegistryClient, *, sample: int | None, is_repairing: bool
) -> ComparedBytes:
    """Compare bytes with another registry; all, or a sample of them.

    Raises OriginUnusable, StorageFailed, OSError.
    """
    comparison = _Comparison(registry, other, is_repairing=is_repairing)
    chosen: Iterable[tuple[SoughtContent, Representation]] = list_served(registry)
    if sample is not None:
        chosen = _draw_sample(chosen, sample)
    pairs = iter(chosen)
    while some := list(islice(pairs, _AT_ONCE)):
        comparison.compare_some(some)
    return ComparedBytes(
        compared=comparison.compared,
        skipped=comparison.skipped,
        damaged=tuple(comparison.damaged),
    )


def list_served(registry: Registry) -> Iterator[tuple[SoughtContent, Representation]]:
    """Yield the bytes that are neither withdrawn nor erased."""
    low: str | None = ""
    while low is not None:
        page = scan_readable(registry.records, low, None, limit=_PAGE, with_bytes=True)
        for row in page.rows:
            if not isinstance(row, DamagedRecord):
                yield from _list_of_record(row)
        low = page.following


def _list_of_record(row: ScannedRecord) -> Iterator[tuple[SoughtContent, Representation]]:
    record: Record = row.record
    for version in record.versions:
        if record.tombstone or version.tombstone:
            continue
        for held in version.representations:
            if not held.erased:
                sought = SoughtContent(
                    row.key, version.number, held.format, held.sha512, held.length
                )
                yield sought, held


def _draw_sample(
    found: Iterable[tuple[SoughtContent, Representation]], size: int
) -> list[tuple[SoughtContent, Representation]]:
    """Draw some at random, each as likely as any other (algorithm R)."""
    drawn: list[tuple[SoughtContent, Representation]] = []
    source = random.SystemRandom()
    for number, one in enumerate(found):
        if number < size:
            drawn.append(one)
        elif (place := source.randrange(number + 1)) < size:
            drawn[place] = one
    return drawn


def is_sound(held_bytes: Bytes, held: Representation) -> bool:
    """Return True if bytes are here and have their digest."""
    digest = hashlib.sha512()
    try:
        for piece in held_bytes.read_chunks(held):
            digest.update(piece)
    except (Corrupt, OSError):
        return False
    return digest.hexdigest() == held.sha512


class _Comparison:
    def __init__(self, registry: Registry, other: RegistryClient, *, is_repairing: bool) -> None:
        self._registry = registry
        self._bytes = registry.bytes
        self._other = other
        self._is_repairing = is_repairing
        self.compared = self.skipped = 0
        self.damaged: list[ContentDamage] = []

    def compare_some(self, pairs: list[tuple[SoughtContent, Representation]]) -> None:
        nonce = secrets.token_hex(_NONCE_BYTES)
        held = dict(pairs)
        proofs = list(self._other.fetch_proofs(list(held), nonce))
        for sought, head in proofs:
            self._judge(sought, held[sought], head, nonce)

    def _judge(
        self, sought: SoughtContent, held: Representation, head: ContentHead, nonce: str
    ) -> None:
        if head.missing and head.missing != "damaged":
            self.skipped += 1
            return
        self.compared += 1
        ours, digest = self._prove(held, nonce)
        is_sound_here = digest == held.sha512
        if is_sound_here and ours == head.proof:
            return
        if is_sound_here:
            self._note(sought, _THERE, self._repair_there(sought, held))
        else:
            self._note(sought, _HERE, self._repair_here(sought, held))

    def _prove(self, held: Representation, nonce: str) -> tuple[str, str]:
        """The proof and the SHA-512 of our bytes; empty texts if they cannot be read."""
        proof, digest = hashlib.sha256(bytes.fromhex(nonce)), hashlib.sha512()
        try:
            for piece in self._bytes.read_chunks(held):
                proof.update(piece)
                digest.update(piece)
        except (Corrupt, OSError):
            return "", ""
        return proof.hexdigest(), digest.hexdigest()

    def _repair_there(self, sought: SoughtContent, held: Representation) -> str:
        if not self._is_repairing:
            return _FOUND
        is_mended = self._other.send_content(sought, self._bytes.read_chunks(held))
        return _REPAIRED if is_mended else _LOST

    def _repair_here(self, sought: SoughtContent, held: Representation) -> str:
        if not self._is_repairing:
            return _FOUND
        incoming = self._registry.incoming
        ((_, content),) = self._other.fetch_contents([sought], incoming)
        if isinstance(content, str):
            return _LOST
        try:
            if held.segment == NOWHERE:
                return _LOST
            self._bytes.mend_bytes(held, read_content(incoming, content))
        except Corrupt:  # the segment is missing
            return _LOST
        finally:
            discard_content(incoming, content)
        return _REPAIRED if is_sound(self._bytes, held) else _LOST

    def _note(self, sought: SoughtContent, side: str, outcome: str) -> None:
        record = self._registry.records.find_record(sought.key)
        name = spell_key(sought.key)
        if record is not None:
            identifier = identify_record(sought.key, record)
            name = str(qualify_identifier(identifier, sought.version, sought.format))
        self.damaged.append(ContentDamage(identifier=name, side=side, outcome=outcome))
