"""The members of a collection in one WARC file: archived records and held documents.

How it works: a PWID that is captured here becomes its records: response or resource, and the
records that belong to it (`companions`). A revisit brings its original as well, a page all its
resources and the targets of its redirects, a site everything in scope. A document that the registry
holds becomes a `resource` record under its identifier; so does the document of the collection. Each
record is a gzip member of its own. After every member the `Log` notes the end of the file, so that
a run that was killed can resume there.

What must stay true: records are copied byte for byte; a record whose head other readers would
refuse (from an ARC file, with bare line feeds, without an identifier) gets a new head with the same
fields, and a request whose payload was given the digest of its block one without that digest. No
record is written twice. A record that is damaged (it ends early, or does not have the digest that
was recorded with it) or missing is reported, and left out completely.
"""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import msgspec

from perdure.archives.capture import pages
from perdure.archives.capture.wholes import collect_whole
from perdure.archives.choosing import prefer_intact
from perdure.archives.files import heads
from perdure.archives.files.records import WarcRecord
from perdure.archives.index.revisits import find_original
from perdure.archives.opening import REDIRECTS
from perdure.archives.port import Capture
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    interpret_pwid,
    judge_evidence,
    look_up_evidence,
)
from perdure.errors import PerdureError
from perdure.errors.servers import BytesElsewhere
from perdure.ids import parse
from perdure.ids.pwid import Pwid
from perdure.model.collection import CollectionMember
from perdure.model.queries import LOCAL_READER, Fetch, Query
from perdure.registry import Registry
from perdure.upkeep.collection.checking import find_digest_fault
from perdure.upkeep.collection.companions import Companions
from perdure.upkeep.collection.making import HeldCollection
from perdure.upkeep.collection.resuming import RunLog

MOST_OF_SITE = 100_000
"""Largest number of URLs of one site or subsite."""
_PAYLOAD = "warc-payload-digest"
_NEEDED = (b"warc-type:", b"warc-record-id:", b"warc-date:", b"content-length:")
_SITES = ("subsite", "site")
_IN_MEMORY = 64 << 20  # bytes that can get a digest in the head before them

Watch = Callable[[int], None]
"""Called with the number of finished members."""


class ExtractedMember(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished member."""

    number: int
    end: int
    """Length of the WARC file after it, in bytes."""
    written: tuple[str, ...] = ()
    """Things written for it: `file@offset` of records, identifiers of held documents."""
    page: str = ""
    """The start of a replay: the recorded URI …"""
    time: str = ""
    """… and the date."""
    problems: tuple[str, ...] = ()
    """What could not be written, and why."""


class MemberExtraction:
    """Writes members one after another. `log` holds the steps of an earlier run."""

    def __init__(
        self, registry: Registry, seen: HeldCollection, into: BinaryIO, log: RunLog[ExtractedMember]
    ) -> None:
        self._registry = registry
        self._seen = seen
        self._into = into
        self._log = log
        log.first = self._sync_file
        self._companions = Companions(registry.archive)
        self._written: set[str] = set()
        self._copied_whole: set[tuple[str, int]] = set()
        self._begun = log.about.begun

    def run(self, *, watch: Watch = lambda _: None) -> list[ExtractedMember]:
        """Write all members in order. Raises OSError if the file cannot be written."""
        size = self._into.seek(0, os.SEEK_END)
        while self._log.steps and self._log.steps[-1].end > size:
            self._log.steps.pop()  # logged, but never written to the disk
        done = list(self._log.steps)
        self._written = {key for step in done for key in step.written}
        self._into.seek(done[-1].end if done else 0)
        self._into.truncate()
        if not done:
            self._write_opening()
        for number, member in enumerate(self._seen.collection.members, 1):
            if number > len(done):
                self._log.add_step(self._extract_member(number, member))
            watch(number)
        self._sync_file()
        return self._log.steps

    def _sync_file(self) -> None:
        self._into.flush()
        os.fsync(self._into.fileno())

    def _write_opening(self) -> None:
        collection = self._seen.collection
        info = "".join(
            f"{name}: {' '.join(value.split())}\r\n"
            for name, value in (
                ("software", "perdure"),
                ("format", "WARC File Format 1.1"),
                ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
                ("isPartOf", str(self._seen.identifier)),
                ("description", collection.title),
                ("operator", "; ".join(collection.creators)),
            )
            if value
        ).encode()  # fmt: skip
        self._write_record(
            "warcinfo", "", "application/warc-fields", self._begun, [info], len(info)
        )
        self._write_held(str(self._seen.identifier), [])

    # one member
    # ----------

    def _extract_member(self, number: int, member: CollectionMember) -> ExtractedMember:
        start = self._into.tell()
        written: list[str] = []
        problems: list[str] = []
        page = time = ""
        try:
            identifier = parse(member.identifier)
            if isinstance(identifier, Pwid):
                captures, problems = self._find_captures(identifier)
                for capture in captures:
                    problems += self._copy_capture(capture, written)
                if captures and pages.has_resources(captures[0]):
                    page, time = captures[0].uri, captures[0].date
            else:
                self._write_held(member.identifier, written)
        except PerdureError as error:
            self._into.seek(start)
            self._into.truncate()
            self._written -= set(written)
            written, problems = [], [str(error)]
        self._into.flush()
        return ExtractedMember(
            number=number,
            end=self._into.tell(),
            written=tuple(written),
            page=page,
            time=time,
            problems=tuple(problems),
        )

    def _find_captures(self, pwid: Pwid) -> tuple[list[Capture], list[str]]:
        """Return the captures of a PWID, the one it names first, and the problems."""
        archive = self._registry.archive
        wanted = interpret_pwid(pwid)
        archive.withheld.require_served(str(pwid), pwid.item, wanted.first, wanted.last)
        if pwid.coverage in _SITES:
            found, more = pages.list_members(archive.captures, wanted, limit=MOST_OF_SITE)
            left = [f"of {pwid} only the first {MOST_OF_SITE} URLs"] if more else []
            return [one.capture for one in found], left or ([] if found else [f"{pwid}: absent"])
        judged = prefer_intact(
            archive.files, judge_evidence(wanted, look_up_evidence(archive.captures, wanted))
        )
        if judged.verdict is not CaptureVerdict.EXACT or judged.capture is None:
            return [], [f"{pwid}: {judged.sentence} here"]
        if pwid.coverage != "page":
            return [judged.capture], []
        return self._find_page_captures(pwid, judged.capture)

    def _find_page_captures(self, pwid: Pwid, page: Capture) -> tuple[list[Capture], list[str]]:
        """Return the captures of a page and its resources, and the problems."""
        archive = self._registry.archive
        found = collect_whole(archive.captures, archive.files, page)
        problems = [f"{uri} could not be read" for uri in found.unread]
        if not found.complete:
            problems.append(f"{pwid}: it has more resources than perdure looks for")
        return list(found.captures), problems

    def _copy_capture(self, capture: Capture, written: list[str]) -> list[str]:
        """Copy a capture with all that belongs to it; return the problems."""
        archive = self._registry.archive
        found = find_original(archive.captures, capture, archive.files)
        belonging = [capture]
        if found.capture is not None and found.capture != capture:
            belonging.append(found.capture)
        needs_payload = capture.status not in REDIRECTS
        missing = found.capture is None and needs_payload
        problems = [f"{capture.uri} {capture.date}: {found.how}"] if missing else []
        for one in belonging:
            place = one.file, one.offset
            if place in self._copied_whole:
                continue
            company = self._companions.find_company(one)
            copied = [
                self._copy_record(record, written)
                for record in (*company.before, one, *company.after)
            ]
            if not company.complete:
                copied.append(f"{one.uri} {one.date}: more belongs to it than perdure looks for")
            if any(copied):
                problems += filter(None, copied)
            else:
                self._copied_whole.add(place)
        return problems

    def _copy_record(self, record: Capture, written: list[str]) -> str:
        """Copy one record, unless it was copied already; return the problem, if any."""
        archive = self._registry.archive
        key = f"{record.file}@{record.offset}"
        if key in self._written:
            return ""
        start = self._into.tell()
        try:
            with closing(archive.files.open_record(record)) as opened:
                wrong = find_digest_fault(opened)
                if wrong:
                    return f"{record.uri or record.kind} in {key}: {wrong}"
                self._write_packed(_as_warc(opened, key))
        except PerdureError as error:
            self._into.seek(start)
            self._into.truncate()
            return str(error)
        self._written.add(key)
        written.append(key)
        return ""

    def _write_held(self, name: str, written: list[str]) -> None:
        """Write a held document as a `resource` record. Raises what resolving and cutting raise."""
        identifier = parse(name)
        resolved = self._registry.reading.resolve(Query(reader=LOCAL_READER, identifier=identifier))
        step = resolved.choose(whole=True)
        if not isinstance(step, Fetch):
            raise BytesElsewhere(identifier=name)
        if name in self._written:
            return
        one = step.representation
        versions = resolved.known.versions
        version = next((v for v in versions if one in v.representations), None)
        date = one.at or (version.at if version else self._begun)
        kind = one.media_type + (f"; charset={one.charset}" if one.charset else "")
        if resolved.inside is None:
            pieces = self._registry.bytes.read_chunks(one)
            self._write_record("resource", str(step.identifier), kind, date, pieces, one.length)
        else:
            part, opened = self._registry.documents.open_part(resolved, step)
            data = b"".join(opened)
            self._write_record("resource", name, part.media_type, date, [data], len(data))
        self._written.add(name)
        written.append(name)

    # records
    # -------

    def _write_record(
        self, kind: str, uri: str, media_type: str, date: str, pieces: Iterable[bytes], length: int
    ) -> None:
        """Write a record of our own. It has digests only if its bytes fit into memory."""
        data = b"".join(pieces) if length <= _IN_MEMORY else None
        digest = (
            base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()) if data else b""
        )
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{self._seen.sha512} {kind} {uri}")
        head = [
            ("WARC-Type", kind),
            ("WARC-Record-ID", f"<{identity.urn}>"),
            ("WARC-Date", date),
            ("WARC-Target-URI", uri),
            ("WARC-Block-Digest", f"sha1:{digest.decode()}" if digest else ""),
            ("WARC-Payload-Digest", f"sha1:{digest.decode()}" if digest and uri else ""),
            ("Content-Type", media_type),
            ("Content-Length", str(length)),
        ]
        body = [data] if data is not None else pieces
        self._write_packed(_chain_pieces(_record_head(b"WARC/1.1", head), body))

    def _write_packed(self, pieces: Iterable[bytes]) -> None:
        """Write a record as a gzip member."""
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        for piece in pieces:
            self._into.write(packer.compress(piece))
        self._into.write(packer.compress(b"\r\n\r\n") + packer.flush())


def _as_warc(record: WarcRecord, key: str) -> Iterator[bytes]:
    """Yield a record unchanged, or with a new head if some readers would refuse the old one."""
    raw = record.read_raw()
    head = next(raw)
    block_as_payload = _digests_block_as_payload(record)
    if _is_sound(head) and not block_as_payload:
        yield head
        yield from raw
        return
    kept = [one for one in record.fields if not block_as_payload or one[0].lower() != _PAYLOAD]
    fields = dict.fromkeys(name.lower() for name, _ in record.fields)
    added = []
    if "warc-record-id" not in fields:
        identity = uuid.uuid5(uuid.NAMESPACE_URL, key)
        added.append(("WARC-Record-ID", f"<{identity.urn}>"))
    if "content-length" not in fields:
        added.append(("Content-Length", str(sum(map(len, record.read_block())))))
    yield _record_head(b"WARC/1.0", [*kept, *added])
    yield from record.read_block()


def _digests_block_as_payload(record: WarcRecord) -> bool:
    """Return True for a request whose block has the digest that is given for its payload.

    warcprox 2.3 wrote it so; other readers take the payload for damaged.
    """
    names = ("warc-type", "warc-block-digest", _PAYLOAD)
    kind, block, payload = (heads.find_value(record.fields, name) for name in names)
    return kind == "request" and payload == block != ""


def _is_sound(head: bytes) -> bool:
    lower = head.lower()
    return (
        head.startswith((b"WARC/1.0\r\n", b"WARC/1.1\r\n"))
        and head.endswith(b"\r\n\r\n")
        and head.count(b"\n") == head.count(b"\r\n")
        and all(b"\n" + name in lower for name in _NEEDED)
    )


def _record_head(version: bytes, fields: Iterable[tuple[str, str]]) -> bytes:
    lines = [version, *(f"{name}: {value}".encode() for name, value in fields if value), b"", b""]
    return b"\r\n".join(lines)


def _chain_pieces(head: bytes, body: Iterable[bytes]) -> Iterator[bytes]:
    yield head
    yield from body


def open_partial(path: Path) -> BinaryIO:
    """Open the file being written: a new one, or the one that an earlier run left."""
    return path.open("r+b" if path.exists() else "x+b")
