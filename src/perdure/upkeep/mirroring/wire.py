"""The messages between an origin and its mirrors: rows of changes, and bytes.

How it works: rows are the full view of docs/reference/changes.md, with `full=stored`. Bytes are
asked for by `POST /contents`: a line of JSON for each representation. The answer has, for each, a
line of JSON and then as many bytes as the line says:

    {"key":"…","version":1,"format":"text"}
    {"key":"…","version":1,"format":"text","length":5}
    hello

With a nonce, the answer has the SHA-256 of the nonce and the bytes, and no bytes.

What must stay true: a malformed row or head raises WireMalformed, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from perdure.model.changes import (
    BEGIN,
    TOKEN,
    TOKEN_KEY,
    ChainHead,
    Change,
    ChangeMark,
    Epoch,
    make_withheld,
)
from perdure.model.mirroring import MirroredChange

CONTENTS = "/contents"
"""The path at which bytes are asked for."""
MEDIA_TYPE = "application/vnd.perdure.contents"
_HASH_BYTES = 32
_SALT_BYTES = 16


class WireMalformed(ValueError):
    """Another registry sent something that is not a row or not a head."""


# Rows
# ----


class WireLine(msgspec.Struct, frozen=True, gc=False):
    """A line of the full view: a row, or what a change wrote."""

    epoch: int = -1
    number: int = 0
    at: str = ""
    act: str = ""
    keys: tuple[str, ...] = ("", "")
    count: int = 0
    revision: int = 0
    digest: str = ""
    chain: str = ""
    actor: str | None = None
    salt: str | None = None
    leaf: str | None = None
    reason: str = ""
    previous: ChainHead | None = None
    key: str = ""
    stored: str = ""


_decode_lines = msgspec.json.Decoder(WireLine).decode_lines


def read_rows(text: bytes) -> list[MirroredChange]:
    """Read a page of full rows. Raises WireMalformed."""
    try:
        lines = _decode_lines(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireMalformed(f"a row cannot be read: {error}") from error
    found: list[MirroredChange] = []
    row: WireLine | None = None
    wrote: list[tuple[str, str]] = []
    for line in lines:
        if line.epoch < 0:
            wrote.append((line.key, line.stored))
            continue
        if row is not None:
            found.append(_make_change(row, wrote))
        elif wrote:
            raise WireMalformed("a record comes before the first row")
        row, wrote = line, []
    if row is not None:
        found.append(_make_change(row, wrote))
    elif wrote:
        raise WireMalformed("records come without a row")
    return found


def _make_change(row: WireLine, wrote: Sequence[tuple[str, str]]) -> MirroredChange:
    """Make the change of a row. Raises WireMalformed."""
    try:
        chain = _read_hash(row.chain)
        if row.leaf is not None:
            mark = ChangeMark(row.epoch, row.number)
            change = make_withheld(mark, _read_hash(row.leaf), chain)
            return MirroredChange(change=change, is_whole=False)
        first, last = row.keys
        salt = bytes.fromhex(row.salt) if row.salt is not None else None
        if salt is not None and len(salt) != _SALT_BYTES:
            raise WireMalformed("a salt has another length")
        change = Change(
            epoch=row.epoch,
            number=row.number,
            at=row.at,
            act=row.act,
            first=first,
            last=last,
            count=row.count,
            revision=row.revision,
            digest=_read_hash(row.digest),
            chain=chain,
            actor=row.actor or "",
            salt=salt,
        )
    except ValueError as error:
        raise WireMalformed(f"a row cannot be read: {error}") from error
    begun = None
    if row.act == BEGIN:
        begun = Epoch(epoch=row.epoch, reason=row.reason, previous=row.previous)
    return MirroredChange(
        change=change, lines=tuple(wrote), epoch=begun, is_whole=row.actor is not None
    )


def _read_hash(text: str) -> bytes:
    found = bytes.fromhex(text)
    if len(found) != _HASH_BYTES:
        raise WireMalformed("a hash has another length")
    return found


def show_row(mirrored: MirroredChange) -> dict[str, object]:
    """A change as evidence: everything that its row says."""
    change = mirrored.change
    shown: dict[str, object] = {"epoch": change.epoch, "number": change.number}
    if change.leaf is not None:
        return shown | {"leaf": change.leaf.hex(), "chain": change.chain.hex()}
    shown |= {"at": change.at, "act": change.act}
    if change.act == TOKEN:
        shown["token"] = change.first.removeprefix(TOKEN_KEY)
    if mirrored.epoch is not None:
        shown |= {
            "reason": mirrored.epoch.reason,
            "previous": msgspec.to_builtins(mirrored.epoch.previous),
        }
    shown |= {
        "keys": [change.first, change.last],
        "count": change.count,
        "revision": change.revision,
        "digest": change.digest.hex(),
        "chain": change.chain.hex(),
    }
    lines = [{"key": key, "stored": text} for key, text in mirrored.lines[:_MOST_SHOWN]]
    return shown | ({"lines": lines} if lines else {})


def write_change(mirrored: MirroredChange) -> bytes:
    """Write a change as `read_rows` reads it: the row, and the lines that are known of it."""
    change = mirrored.change
    row = show_row(mirrored)
    row.pop("lines", None)
    if mirrored.is_whole and mirrored.epoch is None and change.leaf is None:
        row |= {"actor": change.actor, "salt": change.salt.hex() if change.salt else None}
    lines = [{"key": key, "stored": text} for key, text in mirrored.lines]
    return b"".join(_encode(one) + b"\n" for one in (row, *lines))


_MOST_SHOWN = 10  # lines of a change that evidence keeps


# Bytes
# -----


class ContentQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of a request for bytes."""

    key: str
    version: int
    format: str
    nonce: str = ""
    """Hexadecimal digits: only a proof is wanted that the registry has the bytes."""


class ContentHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line before the bytes of a representation."""

    key: str
    version: int
    format: str
    length: int = 0
    """The number of bytes that follow."""
    missing: str = ""
    """Why there are none: `unknown`, `withdrawn`, `erased`, `damaged` or `forbidden`."""
    proof: str = ""
    """SHA-256 of the nonce and the bytes, in hexadecimal."""


_decode_question = msgspec.json.Decoder(ContentQuestion).decode
_decode_head = msgspec.json.Decoder(ContentHead).decode
_encode = msgspec.json.Encoder().encode


def read_questions(text: bytes) -> list[ContentQuestion]:
    """Read the lines of a request. Raises WireMalformed."""
    try:
        return [_decode_question(line) for line in text.splitlines() if line.strip()]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireMalformed(str(error)) from error


def write_questions(questions: Iterable[ContentQuestion]) -> bytes:
    """Write the lines of a request."""
    return b"".join(_encode(one) + b"\n" for one in questions)


def read_head(line: bytes) -> ContentHead:
    """Read the line before some bytes. Raises WireMalformed."""
    try:
        head = _decode_head(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireMalformed(f"the line before some bytes cannot be read: {error}") from error
    if head.length < 0:
        raise WireMalformed("a length is negative")
    return head


def write_head(head: ContentHead) -> bytes:
    """Write the line before some bytes."""
    return _encode(head) + b"\n"
