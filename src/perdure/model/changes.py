"""Numbered changes, and the hash chain that ties each to all earlier ones. Pure.

How it works: every write produces a `Change`. Within an epoch changes are numbered 1, 2, 3 …; the
first change of an epoch (`BEGIN`) names the last known change of the previous epoch. Three hashes,
all SHA-256, tie the changes together:

    digest  over a random salt, the actor, and the keys and lines that the change wrote
    leaf    over a zero byte and the row: the output of `write_row`, which includes the digest
    chain   over a one byte, the chain of the previous change, and the leaf

So a reader of only the public rows can check the chain, and a reader of a salt and the lines can
check the digest. After the salt is destroyed, the lines can no longer be guessed, but the chain
stays valid. The new records of one batch are one change, with a first and a last key.

What must stay true: these bytes are a promise to everyone who saved a chain. They never change;
docs/reference/changes.md specifies them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import chain as chained
from typing import NamedTuple

import msgspec

from perdure.model.records import Token

SALT_BYTES = 16
NO_CHAIN = bytes(32)
"""The chain before the very first change."""
RECONSTRUCTED = 0
"""The epoch of writes made before changes were numbered."""
BEGIN = "begin"
"""The act of the first change of an epoch."""
TOKEN = "token"  # noqa: S105  (an act, not a secret)
"""The act of a change to a token."""
TOKEN_KEY = "token:"  # noqa: S105
"""The beginning of the key of such a change; the name of the token follows."""
RULE = "restrict"
"""The act of a change to the reading rules."""
RULE_KEY = "rule:"
"""The beginning of the key of such a change; the number of the rule follows."""
WITHHELD = "withheld"
"""The act, in a mirror, of a change of which it may know only the leaf."""
WITHOUT_RECORDS = frozenset((BEGIN, TOKEN, RULE, WITHHELD))
"""The acts of changes that write no record."""
ACTS = (
    *(BEGIN, "reconstructed", "mint", "reserve", "retrospect", "register", "import", "assign"),
    *("commit", "correct", "bind", "break", "relocate", "alias", "describe", "propose", "refuse"),
    *("withdraw", "erase", TOKEN, "delegate", "take-over", RULE, "rebuild"),
)
"""The acts of this release, as docs/reference/changes.md explains them."""
_TITLE = "perdure change 1"
_PLACE = re.compile(r'"segment":\d+,"offset":\d+')
_PLACELESS = '"segment":0,"offset":0'
_MARK = re.compile(r"(?:([0-9]{1,9})\.)?([0-9]{1,18})")

Line = tuple[str, str]
"""The key of a record, and a revision of it in its stored form."""


class ChangeMark(msgspec.Struct, frozen=True, order=True):
    """The place of a change in the sequence."""

    epoch: int
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"


class ChangeMoment(NamedTuple):
    """The place of a change in the sequence, and its time."""

    mark: ChangeMark
    at: str


BEGINNING = ChangeMark(RECONSTRUCTED, 0)
"""The place before the very first change, in whichever epoch that is."""


class ChainHead(msgspec.Struct, frozen=True, kw_only=True):
    """The last change of a registry at some moment: a commitment to all changes up to it."""

    epoch: int
    number: int
    chain: str
    """In hexadecimal."""

    @property
    def mark(self) -> ChangeMark:
        return ChangeMark(self.epoch, self.number)


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """A sequence of numbers. A rebuilt or restored registry begins a new one."""

    epoch: int
    reason: str
    """`created`, `reconstructed`, `numbered`, `rebuild`, `promotion` or `take-over`."""
    previous: ChainHead | None = None
    """The last known change of the previous epoch."""

    @property
    def line(self) -> str:
        """The text that the first change of the epoch records."""
        return msgspec.json.encode(self).decode()


class Deed(NamedTuple):
    """The act, time and author of a change."""

    act: str
    at: str
    actor: str


class Scope(NamedTuple):
    """The records that a change affects: see the fields of `Change`."""

    first: str
    last: str
    records: int
    revision: int


NOTHING = Scope("", "", 0, 0)
"""The scope of a change that affects no record."""


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One numbered write."""

    epoch: int
    number: int
    at: str
    act: str
    first: str
    """Key of the record, or of the first of several records in key order."""
    last: str
    """Key of the last record; equal to `first` if there is only one."""
    count: int
    """Number of records."""
    revision: int
    """Revision of the record that the change created; 0 if it affects no record."""
    digest: bytes
    chain: bytes
    actor: str
    """Name of a token, or `local`. Not part of the row: only the digest covers it."""
    salt: bytes | None
    """None after it was destroyed."""
    leaf: bytes | None = None
    """The hash of its row, if a mirror knows nothing else of it."""

    @property
    def mark(self) -> ChangeMark:
        return ChangeMark(self.epoch, self.number)

    @property
    def moment(self) -> ChangeMoment:
        return ChangeMoment(self.mark, self.at)

    @property
    def head(self) -> ChainHead:
        """The head of a registry whose last change this is."""
        return ChainHead(epoch=self.epoch, number=self.number, chain=self.chain.hex())

    @property
    def is_public(self) -> bool:
        """True if everyone may see the row. Changes to tokens and to reading rules are private."""
        return self.act not in (TOKEN, RULE, WITHHELD)


def parse_mark(text: str, *, current: int) -> ChangeMark | None:
    """Parse `1042` (a number of the current epoch) or `3.1042`. None if the text is neither.

    >>> parse_mark("3.1042", current=1), parse_mark("7", current=1), parse_mark("-1", current=1)
    (ChangeMark(epoch=3, number=1042), ChangeMark(epoch=1, number=7), None)
    """
    matched = _MARK.fullmatch(text)
    if matched is None:
        return None
    epoch = current if matched[1] is None else int(matched[1])
    return ChangeMark(epoch, int(matched[2]))


# Hashes
# ------

_FEWEST_SPACES = 9  # in the line of a document


def attest_line(line: str) -> str:
    """Return a stored line without the place of its bytes, which a rebuild may change.

    >>> attest_line("=2026-11-21T05:13:46Z local text - - 5 9b71d 3 1042 text/plain")
    '=2026-11-21T05:13:46Z local text - - 5 9b71d 0 0 text/plain'
    """
    if line[:1] == "=":
        if line.count(" ") == _FEWEST_SPACES:  # none is in the media type
            before, _, _, kind = line.rsplit(" ", 3)
            return f"{before} 0 0 {kind}"
        *facts, _, _, kind = line.split(" ", _FEWEST_SPACES)
        return f"{' '.join(facts)} 0 0 {kind}"
    return _PLACE.sub(_PLACELESS, line) if '"segment":' in line else line


def write_token_line(token: Token) -> str:
    """Return the line of a token, which a change attests: all fields but the digest of its secret.

    >>> token = Token(name="a", digest="5e", operations=("mint",), authorities=("*",))
    >>> write_token_line(token)[:54]
    '{"name":"a","operations":["mint"],"authorities":["*"],'
    """
    fields = msgspec.to_builtins(token)
    del fields["digest"]
    return msgspec.json.encode(fields).decode()


def digest_lines(salt: bytes, actor: str, lines: Sequence[Line]) -> bytes:
    """Return the digest of a change from the lines it wrote, sorted by key."""
    if len(lines) == 1:
        ((key, line),) = lines
        return digest_alike(salt, actor, (key,), line)
    pairs = "\0".join(chained.from_iterable(lines))
    greatest = max([line for _, line in lines])
    if greatest >= "=" or ('"' in pairs and '"segment":' in pairs):  # else no line has a place
        return digest_attested(salt, actor, [(key, attest_line(line)) for key, line in lines])
    return _digest_pairs(salt, actor, lines, pairs)


def digest_attested(salt: bytes, actor: str, lines: Sequence[Line]) -> bytes:
    """Do the same for lines that `attest_line` returned."""
    return _digest_pairs(salt, actor, lines, "\0".join(chained.from_iterable(lines)))


def _digest_pairs(salt: bytes, actor: str, lines: Sequence[Line], pairs: str) -> bytes:
    alike = lines[0][1]
    if all(line == alike for _, line in lines):
        return digest_alike(salt, actor, [key for key, _ in lines], alike)
    return hashlib.sha256(b"%b%b\0\0%b" % (salt, actor.encode(), pairs.encode())).digest()


def digest_alike(salt: bytes, actor: str, keys: Iterable[str], line: str) -> bytes:
    """Return the digest of a change that wrote the same line for each of its keys."""
    text = "\0".join((actor, attest_line(line), *keys))
    return hashlib.sha256(salt + text.encode()).digest()


def write_row(epoch: int, number: int, deed: Deed, scope: Scope, digest: bytes) -> bytes:
    """Return the input of a leaf's hash: a title and nine lines of text."""
    first, last, records, revision = scope
    return (
        f"{_TITLE}\n{epoch}\n{number}\n{deed.at}\n{deed.act}\n{first}\n"
        f"{last}\n{records}\n{revision}\n{digest.hex()}\n"
    ).encode()


def make_row(change: Change) -> bytes:
    """Return the row of a change."""
    deed = Deed(change.act, change.at, change.actor)
    scope = Scope(change.first, change.last, change.count, change.revision)
    return write_row(change.epoch, change.number, deed, scope, change.digest)


def hash_leaf(row: bytes) -> bytes:
    """Return the hash of a row, as RFC 6962 section 2.1 defines it for a leaf."""
    return hashlib.sha256(b"\0" + row).digest()


def find_leaf(change: Change) -> bytes:
    """Return the leaf of a change."""
    return change.leaf if change.leaf is not None else hash_leaf(make_row(change))


def make_withheld(mark: ChangeMark, leaf: bytes, chain: bytes) -> Change:
    """Make a change of which only the number, the leaf and the chain are known."""
    return Change(
        epoch=mark.epoch,
        number=mark.number,
        at="",
        act=WITHHELD,
        first="",
        last="",
        count=0,
        revision=0,
        digest=b"",
        chain=chain,
        actor="",
        salt=None,
        leaf=leaf,
    )


def withhold_change(change: Change) -> Change:
    """Return what is left of a change for those who may know nothing else of it."""
    return make_withheld(change.mark, find_leaf(change), change.chain)


def extend_chain(chain: bytes, leaf: bytes) -> bytes:
    """Return the chain after one more change."""
    return hashlib.sha256(b"\1" + chain + leaf).digest()


def link_change(before: bytes, change: Change) -> bytes:
    """Return the chain that a change must have after the chain `before`."""
    return extend_chain(before, find_leaf(change))


def begin_chain(epoch: Epoch) -> bytes:
    """Return the chain before the first change of an epoch."""
    return bytes.fromhex(epoch.previous.chain) if epoch.previous else NO_CHAIN


class Numbering:
    """Numbers changes and ties them to the chain.

    A journal adapter has one, sets its position in the sequence, and resets it (`restart_at`) if a
    batch fails.
    """

    __slots__ = ("chain", "epoch", "number")

    def __init__(self) -> None:
        self.restart_at(0, 0, NO_CHAIN)

    def restart_at(self, epoch: int, number: int, chain: bytes) -> None:
        """Set the position in the sequence."""
        self.epoch, self.number, self.chain = epoch, number, chain

    def begin_epoch(self, epoch: Epoch, at: str, actor: str, salt: bytes) -> Change:
        """Make the first change of a new epoch."""
        self.restart_at(epoch.epoch, 0, begin_chain(epoch))
        digest = digest_alike(salt, actor, ("",), epoch.line)
        return self.number_change(Deed(BEGIN, at, actor), NOTHING, digest, salt)

    def count_change(self, deed: Deed, scope: Scope, digest: bytes) -> None:
        """Count a change like `number_change`, without creating a value."""
        self.number += 1
        row = write_row(self.epoch, self.number, deed, scope, digest)
        self.chain = extend_chain(self.chain, hash_leaf(row))

    def count_leaf(self, leaf: bytes) -> None:
        """Count a change of which only the leaf is known."""
        self.number += 1
        self.chain = extend_chain(self.chain, leaf)

    def number_leaf(self, leaf: bytes) -> Change:
        """Make the next change, of which only the leaf is known."""
        self.count_leaf(leaf)
        return make_withheld(ChangeMark(self.epoch, self.number), leaf, self.chain)

    def number_change(self, deed: Deed, scope: Scope, digest: bytes, salt: bytes | None) -> Change:
        """Make the next change."""
        self.count_change(deed, scope, digest)
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
