"""Bundles of signatures: everything that is needed to verify them without the registry.

    bundle.json             the index: names, numbers of changes, and the files below
    1/signed                the signed statement with its time stamps, as the registry keeps it
    1/statement             the statement alone, for other programs
    1/signature             the signature alone
    1/stamped, 1/stamp-1    the bytes that its time stamps are of, and each time stamp
    1/content               the bytes that it is about, if they are available
    lists/1/1               the list of allowed signers, in each of its versions
    authorities.pem         the certificates of time-stamping authorities

How it works: a bundle is a ZIP file. `ssh-keygen -Y verify`, `minisign` and `openssl` can verify
its files, too. `verify_bundle` judges each signature as the registry does, and measures the content
while it reads it.

What must stay true: nothing is written to disk when a bundle is read, and no file of it is read
further than a statement says that it is long. The bundle says itself who is trusted and when a
signature was recorded: both count only if the reader brings no list of his own.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from perdure.errors import PerdureError
from perdure.errors.invalid import InvalidRequest
from perdure.errors.signing import BundleMalformed
from perdure.formats.zip_faults import ZIP_FAULTS
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet
from perdure.model.changes import ChangeMark, parse_mark
from perdure.model.queries import Reader
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.reading.signatures import HeldSignature
from perdure.registry import Registry, utc_now
from perdure.signing import document
from perdure.signing.allowed import LONGEST, AllowedSigners, parse_allowed_signers
from perdure.signing.document import SignedStatement, parse_signed_statement
from perdure.signing.stamps import read_certificates, verify_stamp, wrap_token
from perdure.signing.statement import BYTES, LIST
from perdure.signing.verdict import (
    AgeEvidence,
    SignedContent,
    Trust,
    TrustVersion,
    judge_signature,
)
from perdure.upkeep.signing import walk_signatures

INDEX = "bundle.json"
AUTHORITIES = "authorities.pem"
_READER = Reader(name=LOCAL)
_FORM = 1
_LARGEST_INDEX = 64 << 20  # bytes
_PIECE = 256 * 1024
_DATE = (1980, 1, 1, 0, 0, 0)  # so that equal bundles have equal bytes


class BundledList(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a list of allowed signers in a bundle."""

    file: str
    committed: str | None = None
    at: str = ""


class BundledSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature in a bundle."""

    identifier: str
    of: str
    directory: str
    content: str | None = None
    list: str = ""
    """The list of allowed signers that counts, by its number in `lists`."""
    recorded: str | None = None
    recorded_at: str = ""


class BundleIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The file `bundle.json`."""

    bundle: int
    made: str
    signatures: tuple[BundledSignature, ...] = ()
    lists: dict[str, tuple[BundledList, ...]] = {}


# writing
# -------


def write_bundle(registry: Registry, names: NameSet, target: BinaryIO) -> int:
    """Write the signatures of a set of names. Return their number. Raises NotFound."""
    lists: dict[str, tuple[BundledList, ...]] = {}
    numbers: dict[Identifier | None, str] = {}
    found: list[BundledSignature] = []
    with zipfile.ZipFile(target, "w") as bundle:
        for held in walk_signatures(registry, names):
            name = held.signed.statement.identifier
            listed = registry.settings.find_signers(name)
            if listed not in numbers:
                numbers[listed] = number = str(len(numbers) + 1)
                lists[number] = _write_lists(registry, bundle, number, name)
            entry = _write_signature(registry, bundle, str(len(found) + 1), held)
            found.append(msgspec.structs.replace(entry, list=numbers[listed]))
        if authorities := registry.trusted_signers.read_authorities():
            _write_file(bundle, AUTHORITIES, authorities)
        made = format_timestamp(registry.clock())
        index = BundleIndex(bundle=_FORM, made=made, signatures=tuple(found), lists=lists)
        _write_file(bundle, INDEX, msgspec.json.format(msgspec.json.encode(index)) + b"\n")
    return len(found)


def _write_lists(
    registry: Registry, bundle: zipfile.ZipFile, number: str, name: Identifier
) -> tuple[BundledList, ...]:
    found = []
    for at, version in enumerate(registry.trusted_signers.load_trust(name).versions, 1):
        file = f"lists/{number}/{at}"
        _write_file(bundle, file, version.signers.text)
        committed = str(version.committed) if version.committed else None
        found.append(BundledList(file=file, committed=committed, at=version.at))
    return tuple(found)


def _write_signature(
    registry: Registry, bundle: zipfile.ZipFile, directory: str, held: HeldSignature
) -> BundledSignature:
    signed = held.signed
    name = signed.statement.identifier
    _write_file(bundle, f"{directory}/signed", str(signed).encode())
    _write_file(bundle, f"{directory}/statement", signed.statement.text)
    _write_file(bundle, f"{directory}/signature", signed.signature.encode())
    if signed.stamps:
        _write_file(bundle, f"{directory}/stamped", signed.stamped_text)
    for number, stamp in enumerate(signed.stamps, 1):
        _write_file(bundle, f"{directory}/stamp-{number}", wrap_token(stamp))
    content = None
    if signed.statement.reading in (BYTES, LIST) and _is_available(registry, name):
        content = f"{directory}/content"
        with bundle.open(zipfile.ZipInfo(content, _DATE), "w", force_zip64=True) as file:
            for piece in registry.signed_contents.open_content(name, _READER):
                file.write(piece)
    return BundledSignature(
        identifier=str(held.identifier),
        of=str(name),
        directory=directory,
        content=content,
        recorded=str(held.recorded) if held.recorded else None,
        recorded_at=held.recorded_at,
    )


def _is_available(registry: Registry, name: Identifier) -> bool:
    try:
        registry.signed_contents.measure_content(name, reader=_READER)
    except PerdureError:  # withdrawn, erased, damaged, or of a part that cannot be cut here
        return False
    return True


def _write_file(bundle: zipfile.ZipFile, name: str, data: bytes) -> None:
    bundle.writestr(zipfile.ZipInfo(name, _DATE), data)


# reading
# -------


def verify_bundle(
    path: Path, allowed: AllowedSigners | None = None, authorities: bytes = b""
) -> Iterator[HeldSignature]:
    """Yield the signatures of a bundle with their verdicts.

    `allowed` and `authorities` are those that the reader trusts, instead of those of the bundle.
    Raises BundleMalformed, and the errors of reading lists and certificates.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            yield from _Bundle(str(path.name), bundle, allowed, authorities).judge_all()
    except PerdureError:  # some of them are ValueErrors, too
        raise
    except ZIP_FAULTS:
        raise BundleMalformed(file=path.name, expected="a sound ZIP archive") from None


class _Bundle:
    """A bundle that is read."""

    def __init__(
        self,
        name: str,
        bundle: zipfile.ZipFile,
        allowed: AllowedSigners | None,
        authorities: bytes,
    ) -> None:
        self._name = name
        self._zip = bundle
        self._allowed = allowed
        try:
            self._index = msgspec.json.decode(self._read(INDEX, _LARGEST_INDEX), type=BundleIndex)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self._expect(f"an index in {INDEX}") from None
        if self._index.bundle != _FORM:
            raise self._expect("an index of a known form")
        own = self._read(AUTHORITIES, LONGEST) if AUTHORITIES in bundle.namelist() else b""
        data = authorities or (own if allowed is None else b"")
        self._certificates: tuple[Any, ...] = read_certificates(data) if data else ()

    def judge_all(self) -> Iterator[HeldSignature]:
        for entry in self._index.signatures:
            yield self._judge_entry(entry)

    def _judge_entry(self, entry: BundledSignature) -> HeldSignature:
        signed = parse_signed_statement(
            self._read(f"{entry.directory}/signed", document.LONGEST + 1)
        )
        own = self._allowed is None
        recorded = parse_mark(entry.recorded, current=0) if own and entry.recorded else None
        stamped = self._find_stamp(signed)
        evidence = AgeEvidence(
            now=format_timestamp(utc_now()),
            recorded=recorded,
            recorded_at=entry.recorded_at if own else "",
            stamped=stamped,
        )
        content = self._measure_content(entry, signed)
        return HeldSignature(
            identifier=self._parse_name(entry.identifier),
            signed=signed,
            judgement=judge_signature(signed, content, self._load_trust(entry), evidence),
            recorded=recorded,
            recorded_at=evidence.recorded_at,
            stamped=stamped,
        )

    def _measure_content(
        self, entry: BundledSignature, signed: SignedStatement
    ) -> SignedContent | None:
        """Measure the content, as far as the statement says that it is long."""
        statement = signed.statement
        if entry.content is None or statement.reading not in (BYTES, LIST):
            return None
        digest, length = hashlib.sha512(), 0
        with self._open(entry.content) as file:
            while length <= statement.length and (piece := file.read(_PIECE)):
                digest.update(piece)
                length += len(piece)
        return SignedContent(
            identifier=self._parse_name(entry.of),
            sha512=digest.hexdigest(),
            length=length,
            reading=statement.reading,
            media_types=(statement.media_type,),
        )

    def _find_stamp(self, signed: SignedStatement) -> str:
        found = []
        for one in signed.stamps:
            try:
                found.append(verify_stamp(one, signed.stamped_text, self._certificates))
            except InvalidRequest:  # it does not count
                continue
        return min(found, default="")

    def _load_trust(self, entry: BundledSignature) -> Trust:
        if self._allowed is not None:
            return Trust((TrustVersion(signers=self._allowed),))
        return Trust(
            tuple(
                TrustVersion(
                    signers=parse_allowed_signers(self._read(one.file, LONGEST + 1)),
                    committed=_read_mark(one.committed),
                    at=one.at,
                )
                for one in self._index.lists.get(entry.list, ())
            )
        )

    def _parse_name(self, text: str) -> Identifier:
        try:
            return parse(text)
        except PerdureError:
            raise self._expect("only identifiers as names") from None

    def _read(self, name: str, most: int) -> bytes:
        with self._open(name) as file:
            data: bytes = file.read(most)
        return data

    def _open(self, name: str) -> Any:
        try:
            return self._zip.open(name)
        except KeyError:
            raise self._expect(f"the file {name[:80]}") from None

    def _expect(self, expected: str) -> BundleMalformed:
        return BundleMalformed(file=self._name, expected=expected)


def _read_mark(text: str | None) -> ChangeMark | None:
    return parse_mark(text, current=0) if text else None
