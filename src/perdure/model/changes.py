"""Numbered changes: what they are, and how each is tied to all that came before it. Pure.

How it works: every write ends in a `Change`. Within an epoch changes are numbered 1, 2, 3 …; the
first change of an epoch (`BEGIN`) names the last change that is known of the epoch before it. Three
hashes, all SHA-256, tie the changes together:

    digest  over a random salt, the actor, and the keys and lines that the change wrote
    leaf    over a zero byte and the row: all that `row_text` writes, the digest among it
    chain   over a one byte, the chain of the change before, and the leaf

So somebody who sees only public rows can check the chain, somebody who sees a salt and the lines
can check the digest, and once the salt is destroyed nobody can guess at the lines any more while
the chain still holds. New records of one batch are one change: they share a first and a last key.

What must stay true: these bytes are a promise to everybody who saved a chain. They never change;
docs/reference/changes.md specifies them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import chain as chained
from typing import NamedTuple

import msgspec

SALT_BYTES = 16
NO_CHAIN = bytes(32)
"""The chain before the first change of all."""
RECONSTRUCTED = 0
"""The epoch of what was written before changes were numbered."""
BEGIN = "begin"
"""The act of the first change of an epoch."""
TOKEN = "token"  # noqa: S105  (an act, no secret)
"""The act of a change of a token."""
TOKEN_KEY = "token:"  # noqa: S105
"""What the key of such a change begins with; the name of the token follows."""
_TITLE = "perdure change 1"
_PLACE = re.compile(r'"segment":\d+,"offset":\d+')
_PLACELESS = '"segment":0,"offset":0'
_MARK = re.compile(r"(?:([0-9]{1,9})\.)?([0-9]{1,18})")

Line = tuple[str, str]
"""The key of a record, and a revision of it in its stored form."""


class Mark(msgspec.Struct, frozen=True, order=True):
    """The place of a change in the sequence."""

    epoch: int
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"


BEGINNING = Mark(RECONSTRUCTED, 0)
"""The place before the first change of all, whichever epoch that is in."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The last change of a registry at some moment: a promise of everything up to it."""

    epoch: int
    number: int
    chain: str
    """In hexadecimal."""

    @property
    def mark(self) -> Mark:
        return Mark(self.epoch, self.number)


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of numbers. A rebuilt or restored registry begins a new one."""

    epoch: int
    reason: str
    """`created`, `reconstructed`, `numbered` or `rebuild`."""
    previous: Head | None = None
    """The last change that is known of the epoch before."""

    @property
    def line(self) -> str:
        """The text that the first change of the epoch is about."""
        return msgspec.json.encode(self).decode()


class Deed(NamedTuple):
    """What a change does, when, and who does it."""

    act: str
    at: str
    actor: str


class Scope(NamedTuple):
    """Which records a change is about: see the fields of `Change`."""

    first: str
    last: str
    records: int
    revision: int


NOTHING = Scope("", "", 0, 0)
"""The scope of a change that is about no record."""


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One numbered write."""

    epoch: int
    number: int
    at: str
    act: str
    first: str
    """Key of the record; of several records, the key of the first in their order."""
    last: str
    """Key of the last record; equal to `first` if there is only one."""
    count: int
    """Number of records."""
    revision: int
    """Revision of the record that the change made; 0 if the change is about no record."""
    digest: bytes
    chain: bytes
    actor: str
    """Name of a token, or `local`. Not part of the row: only the digest covers it."""
    salt: bytes | None
    """None once it was destroyed."""

    @property
    def mark(self) -> Mark:
        return Mark(self.epoch, self.number)

    @property
    def head(self) -> Head:
        """The head of a registry whose last change this is."""
        return Head(epoch=self.epoch, number=self.number, chain=self.chain.hex())

    @property
    def is_public(self) -> bool:
        """Whether everybody may see the row. Changes of tokens are nobody's business."""
        return self.act != TOKEN


def parse_mark(text: str, *, current: int) -> Mark | None:
    """`1042` (a number of the current epoch) or `3.1042`. None if the text is neither.

    >>> parse_mark("3.1042", current=1), parse_mark("7", current=1), parse_mark("-1", current=1)
    (Mark(epoch=3, number=1042), Mark(epoch=1, number=7), None)
    """
    matched = _MARK.fullmatch(text)
    if matched is None:
        return None
    epoch = current if matched[1] is None else int(matched[1])
    return Mark(epoch, int(matched[2]))


# Hashes
# ------


def attest_line(line: str) -> str:
    """A stored line without the place where its bytes lie here, which a rebuild may change.

    >>> attest_line("=2026-11-21T05:13:46Z local text - - 5 9b71d 3 1042 text/plain")
    '=2026-11-21T05:13:46Z local text - - 5 9b71d 0 0 text/plain'
    """
    if line[:1] == "=":
        at, by, form, language, charset, size, digest, _, _, kind = line.split(" ", 9)
        return f"{at} {by} {form} {language} {charset} {size} {digest} 0 0 {kind}"
    return _PLACE.sub(_PLACELESS, line) if '"segment":' in line else line


def digest_lines(salt: bytes, actor: str, lines: Sequence[Line]) -> bytes:
    """The digest of a change, from what it wrote. Lines come in the order of their keys."""
    pairs = "\0".join(chained.from_iterable(lines))
    if "\0=" in pairs or '"segment":' in pairs:
        lines = [(key, attest_line(line)) for key, line in lines]
        pairs = "\0".join(chained.from_iterable(lines))
    alike = lines[0][1]
    if all(line == alike for _, line in lines):
        return digest_alike(salt, actor, [key for key, _ in lines], alike)
    return hashlib.sha256(b"%b%b\0\0%b" % (salt, actor.encode(), pairs.encode())).digest()


def digest_alike(salt: bytes, actor: str, keys: Iterable[str], line: str) -> bytes:
    """The digest of a change that wrote the same line for each of its keys."""
    text = "\0".join((actor, attest_line(line), *keys))
    return hashlib.sha256(salt + text.encode()).digest()


def row_text(epoch: int, number: int, deed: Deed, scope: Scope, digest: bytes) -> bytes:
    """What a leaf is the hash of: nine lines of text behind a title."""
    first, last, records, revision = scope
    return (
        f"{_TITLE}\n{epoch}\n{number}\n{deed.at}\n{deed.act}\n{first}\n"
        f"{last}\n{records}\n{revision}\n{digest.hex()}\n"
    ).encode()


def row_of(change: Change) -> bytes:
    """The row of a change."""
    deed = Deed(change.act, change.at, change.actor)
    scope = Scope(change.first, change.last, change.count, change.revision)
    return row_text(change.epoch, change.number, deed, scope, change.digest)


def hash_leaf(row: bytes) -> bytes:
    """The hash of a row, as RFC 6962 section 2.1 has it for a leaf."""
    return hashlib.sha256(b"\0" + row).digest()


def extend_chain(chain: bytes, leaf: bytes) -> bytes:
    """The chain after one more change."""
    return hashlib.sha256(b"\1" + chain + leaf).digest()


def link_change(before: bytes, change: Change) -> bytes:
    """The chain that a change must have behind this one."""
    return extend_chain(before, hash_leaf(row_of(change)))


def begin_chain(epoch: Epoch) -> bytes:
    """The chain before the first change of an epoch."""
    return bytes.fromhex(epoch.previous.chain) if epoch.previous else NO_CHAIN


class Numbering:
    """Gives changes their numbers and ties them to the chain.

    An adapter of the journal has one, tells it where the sequence stands, and takes it back there
    (`restart`) if a batch comes to nothing.
    """

    __slots__ = ("chain", "epoch", "number")

    def __init__(self) -> None:
        self.restart(0, 0, NO_CHAIN)

    def restart(self, epoch: int, number: int, chain: bytes) -> None:
        """The sequence stands here."""
        self.epoch, self.number, self.chain = epoch, number, chain

    def begin(self, epoch: Epoch, at: str, actor: str, salt: bytes) -> Change:
        """The first change of a new epoch."""
        self.restart(epoch.epoch, 0, begin_chain(epoch))
        digest = digest_alike(salt, actor, ("",), epoch.line)
        return self.extend(Deed(BEGIN, at, actor), NOTHING, digest, salt)

    def step(self, deed: Deed, scope: Scope, digest: bytes) -> None:
        """The same for those who need no value of it."""
        self.number += 1
        row = row_text(self.epoch, self.number, deed, scope, digest)
        self.chain = extend_chain(self.chain, hash_leaf(row))

    def extend(self, deed: Deed, scope: Scope, digest: bytes, salt: bytes | None) -> Change:
        """The next change."""
        self.step(deed, scope, digest)
        return Change(
            epoch=self.epoch,
            number=self.number,
            at=deed.at,
            act=deed.act,
            first=scope.first,
            last=scope.last,
            count=scope.records,
            revision=scope.revision,
            digest=digest,
            chain=self.chain,
            actor=deed.actor,
            salt=salt,
        )
