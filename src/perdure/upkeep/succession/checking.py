"""Checks a hand-over package before anything of it is kept.

How it works: first the bag: every file is a plain file inside the package, is listed, and has the
size and the digest that the manifests say. Then the act: the signature is right, its key is the
expected one, and it is of this statement. Then the changes: they have the digest that was signed,
the chain is whole up to the head that was signed, each change wrote what its digest says, and
names nothing but what was handed over. Last, the bytes of every document are there.

What must stay true: a package is not trusted before all of that; a path leads nowhere else; nothing
is read into memory without a bound.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from perdure.errors import PerdureError
from perdure.errors.succession import HandOverUnsigned, PackageFlawed, PackageUnreadable
from perdure.ids import Identifier
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import (
    NO_CHAIN,
    RULE,
    WITHOUT_RECORDS,
    Change,
    Line,
    digest_attested,
    link_change,
)
from perdure.model.delegations import Delegation
from perdure.model.mirroring import MirroredChange, SoughtContent
from perdure.model.reading_rules import ReadingRule
from perdure.policy.naming import identify_record
from perdure.signing.document import (
    SignedStatement,
    parse_signed_statement,
    verify_signed_statement,
)
from perdure.signing.keys import PublicKey
from perdure.upkeep.mirroring.wire import WireMalformed, read_rows
from perdure.upkeep.succession import packing
from perdure.upkeep.succession.acts import (
    NamedDocument,
    SignedAct,
    read_hand_over,
    read_successor,
)
from perdure.upkeep.succession.selecting import ChangeSelection, read_rule_line

_MANIFEST_LINE = re.compile(r"([0-9a-f]{128}) [ *](.{1,1024})")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*(?:/[A-Za-z0-9][A-Za-z0-9._+=-]*){0,15}")
_TAGS = {"bagit.txt", "bag-info.txt", packing.MANIFEST, packing.TAG_MANIFEST}
_LARGEST_TAG = 64 << 10
_LARGEST_ACT = 256 << 10
_LONGEST_LINE = 64 << 20
_MOST_FILES = 20_000_000
_PAGE = 1000  # lines of changes that are read together
_PIECE = 1 << 20


class CheckedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that is whole and signed."""

    root: Path
    act: SignedAct
    signer: str
    """The fingerprint of the key that signed it; empty if it is not signed."""
    last: dict[str, str]
    """By key: the last line of each record."""
    places: dict[str, str]
    """By SHA-512: the path of a file with these bytes."""
    rules: tuple[ReadingRule, ...]

    def walk_changes(self) -> Iterator[MirroredChange]:
        """Yield the changes again. Raises PackageRefused if the file was changed meanwhile."""
        return _read_changes(self.root)


def check_package(root: Path, *, key: PublicKey | None, may_be_unsigned: bool) -> CheckedPackage:
    """Check a package. `key`: the one that must have signed it.

    Raises PackageRefused or HandOverUnsigned.
    """
    try:
        places = _check_bag(root)
    except (OSError, UnicodeError) as error:
        raise PackageUnreadable(place="", fault=str(error)) from error
    statement, signature = _read_act(root)
    signer = _check_signature(statement, signature, key, may_be_unsigned=may_be_unsigned)
    try:
        said = read_hand_over(statement.data)
    except PerdureError as error:
        raise PackageUnreadable(place=packing.STATEMENT, fault=str(error)) from error
    last, rules = _check_changes(root, said.head.chain, said.changes)
    delegation = _read_delegation(root, said.delegation, last, places)
    act = SignedAct(statement=statement, signature=signature, hand_over=said, delegation=delegation)
    _check_scope(root, delegation)
    _check_contents(root, last, places)
    return CheckedPackage(
        root=root, act=act, signer=signer, last=last, places=places, rules=tuple(rules)
    )


# The bag
# -------


def _check_bag(root: Path) -> dict[str, str]:
    """Check files against manifests. Return the path of a file for each SHA-512."""
    if root.is_symlink() or not root.is_dir():
        raise PackageFlawed(place="", flaw="directory")
    sizes = dict(_list_files(root))
    if _read_short(root, "bagit.txt", sizes) != packing.DECLARATION:
        raise PackageFlawed(place="bagit.txt", flaw="declaration")
    payload = _read_manifest(root, packing.MANIFEST, sizes)
    tags = _read_manifest(root, packing.TAG_MANIFEST, sizes)
    wanted = {name for name in sizes if name.startswith("data/")}
    _require_equal(set(payload), wanted, packing.MANIFEST)
    _require_equal(set(tags), _TAGS - {packing.TAG_MANIFEST}, packing.TAG_MANIFEST)
    _require_equal(_TAGS, set(sizes) - wanted, "")
    info = _read_short(root, "bag-info.txt", sizes).decode()
    oxum = f"{sum(sizes[name] for name in wanted)}.{len(wanted)}"
    if f"Payload-Oxum: {oxum}\n" not in info:
        raise PackageFlawed(place="bag-info.txt", flaw="oxum", subject=oxum)
    for name, digest in (tags | payload).items():
        if _digest_file(root / name, sizes[name]) != digest:
            raise PackageFlawed(place=name, flaw="digest")
    return {digest: name for name, digest in payload.items()}


def _list_files(root: Path, below: str = "") -> Iterator[tuple[str, int]]:
    """Yield the path and the size of every file."""
    count = 0
    waiting = [below]
    while waiting:
        directory = waiting.pop()
        with os.scandir(root / directory) as entries:
            for one in entries:
                name = f"{directory}/{one.name}" if directory else one.name
                facts = one.stat(follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode) and name.count("/") < 16:
                    waiting.append(name)
                    continue
                if not stat.S_ISREG(facts.st_mode):
                    raise PackageFlawed(place=name, flaw="kind")
                count += 1
                if count > _MOST_FILES:
                    raise PackageFlawed(place="", flaw="crowded", subject=str(_MOST_FILES))
                yield name, facts.st_size


def _require_equal(listed: set[str], there: set[str], manifest: str) -> None:
    for name in sorted(listed ^ there)[:1]:
        unexpected = "unlisted" if manifest else "foreign"
        raise PackageFlawed(place=name, flaw=unexpected if name in there else "missing")


def _read_short(root: Path, name: str, sizes: dict[str, int], most: int = _LARGEST_TAG) -> bytes:
    if name not in sizes:
        raise PackageFlawed(place=name, flaw="missing")
    if sizes[name] > most:
        raise PackageFlawed(place=name, flaw="long", subject=str(most))
    return (root / name).read_bytes()


def _read_manifest(root: Path, name: str, sizes: dict[str, int]) -> dict[str, str]:
    found: dict[str, str] = {}
    if name not in sizes:
        raise PackageFlawed(place=name, flaw="missing")
    with (root / name).open("r", encoding="utf-8", newline="\n") as file:
        while line := file.readline(2048):
            matched = _MANIFEST_LINE.fullmatch(line.removesuffix("\n"))
            if matched is None or not _PLAIN_PATH.fullmatch(matched[2]):
                raise PackageFlawed(place=name, flaw="path", subject=line[128:])
            if matched[2] in found:
                raise PackageFlawed(place=name, flaw="twice", subject=matched[2])
            found[matched[2]] = matched[1]
    return found


def _digest_file(path: Path, size: int) -> str:
    digest = hashlib.sha512()
    left = size
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()


# The act
# -------


class _ActLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    stored: str


_decode_act = msgspec.json.Decoder(_ActLine).decode_lines


def _read_act(root: Path) -> tuple[NamedDocument, NamedDocument | None]:
    sizes = dict(_list_files(root, "data"))
    text = _read_short(root, f"data/{packing.ACT}", sizes, _LARGEST_ACT)
    try:
        lines = [(one.key, one.stored) for one in _decode_act(text)]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PackageUnreadable(place=packing.ACT, fault=str(error)) from error
    names = [packing.STATEMENT, packing.SIGNATURE][: len(lines)]
    if not 1 <= len(lines) <= len(names):
        raise PackageFlawed(place=packing.ACT, flaw="act")
    found: list[NamedDocument] = []
    for name, line in zip(names, lines, strict=True):
        document = NamedDocument(line, _read_short(root, f"data/{name}", sizes, _LARGEST_ACT))
        _check_named(name, document)
        found.append(document)
    return found[0], found[1] if len(found) > 1 else None


def _check_named(name: str, document: NamedDocument) -> None:
    """Check that a document has the bytes and the key that its line says."""
    key, text = document.line
    try:
        identifier, record = document.identifier, stored.decode_stored(text)
        digest = record.versions[0].representations[0].sha512
        is_right = identifier.key == key and record.revision == 1
    except (PerdureError, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise PackageUnreadable(place=packing.ACT, fault=str(error)) from error
    if not is_right or hashlib.sha512(document.data).hexdigest() != digest:
        raise PackageFlawed(place=name, flaw="other")


def _check_signature(
    statement: NamedDocument,
    signature: NamedDocument | None,
    key: PublicKey | None,
    *,
    may_be_unsigned: bool,
) -> str:
    """Return the fingerprint of the key that signed the statement; empty if none did."""
    if signature is None:
        if not may_be_unsigned or key is not None:
            raise HandOverUnsigned()
        return ""

    def find_key(fingerprint: str) -> PublicKey | None:
        return key if key is not None and key.fingerprint == fingerprint else None

    try:
        signed: SignedStatement = parse_signed_statement(signature.data)
        found = verify_signed_statement(signed, find_key)
    except PerdureError as error:
        raise PackageUnreadable(place=packing.SIGNATURE, fault=str(error)) from error
    said = signed.statement
    digest = hashlib.sha512(statement.data).hexdigest()
    if str(said.identifier) != str(statement.identifier) or said.sha512 != digest:
        raise PackageFlawed(place=packing.SIGNATURE, flaw="signature")
    if key is not None and found.fingerprint != key.fingerprint:
        raise PackageFlawed(place=packing.SIGNATURE, flaw="key", subject=found.fingerprint)
    return found.fingerprint


# The changes
# -----------


def _read_changes(root: Path) -> Iterator[MirroredChange]:
    """Read changes, some at a time. Raises PackageRefused."""
    try:
        with (root / "data" / packing.CHANGES).open("rb") as file:
            some: list[bytes] = []
            while line := file.readline(_LONGEST_LINE):
                if not line.endswith(b"\n"):
                    raise PackageFlawed(place=packing.CHANGES, flaw="line")
                if len(some) >= _PAGE and line.startswith(b'{"epoch":'):
                    yield from read_rows(b"".join(some))
                    some = []
                some.append(line)
            yield from read_rows(b"".join(some))
    except (WireMalformed, OSError) as error:
        raise PackageUnreadable(place=packing.CHANGES, fault=str(error)) from error


def _check_changes(root: Path, head: str, digest: str) -> tuple[dict[str, str], list[ReadingRule]]:
    """Check the chain and the digests. Return the last line of each record, and the rules."""
    path = root / "data" / packing.CHANGES
    if not path.exists() or _digest_file(path, path.stat().st_size) != digest:
        raise PackageFlawed(place=packing.CHANGES, flaw="digest")
    chain, last = NO_CHAIN, dict[str, str]()
    rules: list[ReadingRule] = []
    for one in _read_changes(root):
        change = one.change
        chain = link_change(chain, change)
        if chain != change.chain:
            raise _refuse_change(change, "chain")
        if one.epoch is not None or not one.lines:
            continue
        if one.is_whole and not _has_digest(change, one.lines):
            raise _refuse_change(change, "change")
        if change.act == RULE:
            try:
                rules.append(read_rule_line(one.lines[0]))
            except msgspec.MsgspecError as error:
                raise _refuse_change(change, "unreadable") from error
            continue
        last.update(one.lines)
    if chain.hex() != head:
        raise PackageFlawed(place=packing.CHANGES, flaw="head")
    return last, rules


def _has_digest(change: Change, lines: tuple[Line, ...]) -> bool:
    """Return whether a change wrote these lines, as far as its salt is known."""
    return change.salt is None or digest_attested(change.salt, change.actor, lines) == change.digest


def _refuse_change(change: Change, flaw: str) -> PackageFlawed:
    return PackageFlawed(place=packing.CHANGES, flaw=flaw, subject=str(change.mark))


def _read_delegation(
    root: Path, name: Identifier, last: dict[str, str], places: dict[str, str]
) -> Delegation:
    """Read the delegation to the successor, which is among the documents."""
    text = last.get(name.key)
    try:
        held = stored.decode_stored(text or "").versions[0].representations[0]
        if held.length > _LARGEST_ACT:
            raise ValueError(held.length)
        return read_successor((root / places[held.sha512]).read_bytes())
    except (IndexError, KeyError, ValueError, OSError, msgspec.MsgspecError) as error:
        raise PackageFlawed(place="", flaw="delegation", subject=str(name)) from error
    except PerdureError as error:
        raise PackageUnreadable(place="", fault=str(error)) from error


def _check_scope(root: Path, delegation: Delegation) -> None:
    """Check that every record is one that may be handed over."""
    selection = ChangeSelection(delegation)
    for one in _read_changes(root):
        if one.change.act in WITHOUT_RECORDS and one.change.act != RULE:
            continue
        for line in one.lines:
            try:
                is_fine = selection.selects_line(one.change, line)
                if one.change.act != RULE:
                    key, text = line
                    is_fine &= identify_record(key, stored.decode_stored(text)).key == key
            except (PerdureError, msgspec.MsgspecError, ValueError, IndexError) as error:
                raise _refuse_change(one.change, "unreadable") from error
            if not is_fine:
                name = spell_key(line[0])
                raise PackageFlawed(place=packing.CHANGES, flaw="scope", subject=name)


def _check_contents(root: Path, last: dict[str, str], places: dict[str, str]) -> None:
    """Check that the bytes of every document are there, with their length."""
    for key, text in last.items():
        try:
            sought = packing.list_sought(key, stored.decode_stored(text))
        except (msgspec.MsgspecError, ValueError) as error:
            raise PackageUnreadable(place=packing.CHANGES, fault=str(error)) from error
        for one in sought:
            _check_content(root, one, places.get(one.sha512))


def _check_content(root: Path, one: SoughtContent, place: str | None) -> None:
    if place is None or (root / place).stat().st_size != one.length:
        name = f"{spell_key(one.key)}.{one.format}.{one.version}"
        raise PackageFlawed(place=packing.OBJECTS, flaw="content", subject=name)
