"""The signatures of names: which documents sign a name, and whether they count.

How it works: a signature is a document of its own; its record has the signed name as a target
(`Record.targets`). `measure_content` measures the content that a name names now, as a statement
describes it. `list_signatures` reads the signatures of a name and judges each: the content is
compared with the statement, and the key with all versions of the list of allowed signers of the
series. The age of a signature is that of the change that recorded it. `list_page` reads those of a
set: of each name in it, and of the intervals and patterns around the name that are in it, too. A
page ends in the middle of a name if that has more signatures; its cursor says where (`_Place`).
Signatures are judged by the hundred: what they have in common is read once for all of them.

What must stay true: signatures, contents and lists are read through the read door, so nothing that
was withdrawn is shown; a statement is judged by the name that it states. Signatures that are judged
together are judged by one state of the registry, and nothing of it is used for the next ones but
lists of allowed signers, each with the revision of its record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from perdure.errors import Corrupt, NotFound, PerdureError
from perdure.errors.invalid import InvalidRequest
from perdure.errors.requests import ForeignCursor
from perdure.errors.signing import NothingToSign, PartNotSignable
from perdure.extractors.port import Part, Source, Span, iterate_body
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, make_set
from perdure.model.changes import ChangeMark
from perdure.model.queries import PUBLIC_READER, Fetch, Query, Reader
from perdure.model.records import LOCAL, IdentifiedRecord, Record, Representation
from perdure.model.target_references import TargetUse, find_target_kind
from perdure.model.timestamps import format_timestamp
from perdure.policy.naming import qualify_identifier
from perdure.reading.documents import Documents
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.reading.targeting import fetch_document, find_commit, is_open
from perdure.signing.allowed import parse_allowed_signers
from perdure.signing.document import LONGEST, SignedStatement, parse_signed_statement
from perdure.signing.stamps import read_certificates, verify_stamp
from perdure.signing.statement import LIST, LIST_TYPE, list_members
from perdure.signing.verdict import (
    AgeEvidence,
    SignatureJudgement,
    SignedContent,
    Trust,
    TrustVersion,
    judge_signature,
)
from perdure.storage.ports import Records

_PAGE = 1000
_NAMES_TOGETHER = 64
_FEW_TOGETHER, _MOST_TOGETHER = 16, 256  # signatures that are judged in one snapshot
_MOST_LISTS = 16  # lists of allowed signers that are kept in memory
MOST = 1000
"""Signatures of one name that are judged."""


IsWanted = Callable[[Identifier], bool]
"""Tells whether the signatures of a name are wanted."""


class HeldSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature in the registry, with its verdict."""

    identifier: Identifier
    """Of the signature, with format and version."""
    signed: SignedStatement
    judgement: SignatureJudgement
    recorded: ChangeMark | None
    recorded_at: str
    stamped: str = ""
    """The earliest time of a time stamp that was verified."""


class SignaturePage(NamedTuple):
    """Some of the signatures of a name, or of the names of a set."""

    signatures: list[HeldSignature]
    cursor: str | None
    """Of the next page; None on the last one."""


class _Place(NamedTuple):
    """A place in the signatures of a set, before which everything is listed."""

    cursor: str = ""
    """Of the list of the names of the set; empty at its start."""
    key: str = ""
    """Of the name or pattern among whose signatures the place is; empty between names."""
    after: str = ""
    """The key of the last signature before the place."""

    def __str__(self) -> str:
        return "\t".join(self) if self.key else self.cursor

    @classmethod
    def read(cls, cursor: str | None) -> _Place:
        """Read a cursor. Raises InvalidRequest if it has another form."""
        pieces = (cursor or "").split("\t")
        if len(pieces) > len(cls._fields):
            raise ForeignCursor(cursor=cursor or "")
        return cls(*pieces)


class Signatures:
    """The signatures of a registry, for reading."""

    def __init__(
        self,
        records: Records,
        door: ReadDoor,
        listings: Listings,
        documents: Documents,
        *,
        find_signers: Callable[[Identifier], Identifier | None],
        authorities: str = "",
        clock: Callable[[], datetime],
    ) -> None:
        """`find_signers` returns the list of allowed signers for a name; `authorities` names the
        document with the certificates of those whose time stamps count."""
        self._records = records
        self._door = door
        self._listings = listings
        self._documents = documents
        self._find_signers = find_signers
        self._authorities = authorities
        self._clock = clock
        self._trusts: dict[str, tuple[int, Trust]] = {}
        """The lists that were read last, each with the revision of its record."""

    # contents
    # --------

    def measure_content(
        self, name: Identifier, part: str | None = None, reader: Reader = PUBLIC_READER
    ) -> SignedContent:
        """Measure the content that a name names, under its name with format and version.

        An interval or a pattern names a list. Raises the errors of reading the name and of cutting
        its part, and NothingToSign or PartNotSignable.
        """
        if name.is_interval or name.is_pattern:
            return self._measure_list(name)
        resolved = self._door.resolve(Query(identifier=name, part=part, reader=reader))
        return self.measure_resolved(resolved)

    def measure_resolved(
        self, resolved: Resolved, cut: tuple[Source, Part] | None = None
    ) -> SignedContent:
        """Measure the content of a resolved name, as `measure_content`. `cut` is the part that it
        names, if it was cut already (`Documents.cut_part`).
        """
        step = resolved.step
        if not isinstance(step, Fetch):
            raise NothingToSign(identifier=str(resolved.query.identifier))
        if resolved.inside is not None:
            source, part = cut or self._documents.cut_part(resolved, step)
            return _measure_part(resolved, step, source, part)
        return _measure_document(step)

    def open_content(self, name: Identifier, reader: Reader = PUBLIC_READER) -> Iterator[bytes]:
        """Yield the bytes of which a statement about a name has the digest.

        There are none for the decoded form of a part. Raises the errors of `measure_content`.
        """
        if name.is_interval or name.is_pattern:
            yield list_members(self._walk_members(name))
            return
        resolved = self._door.resolve(Query(identifier=name, reader=reader))
        step = resolved.step
        if not isinstance(step, Fetch):
            raise NothingToSign(identifier=str(name))
        if resolved.inside is not None:
            part, pieces = self._documents.open_part(resolved, step)
            yield from pieces if part.decoded is None else ()
            return
        source = self._documents.open_source(step.identifier, step.representation)
        yield from source.read_chunks(Span(0, source.length))

    def _measure_list(self, name: Identifier) -> SignedContent:
        lines = list_members(self._walk_members(name))
        return SignedContent(
            identifier=name,
            sha512=hashlib.sha512(lines).hexdigest(),
            length=len(lines),
            reading=LIST,
            media_types=(LIST_TYPE,),
        )

    def _walk_members(self, name: Identifier) -> Iterator[tuple[Identifier, str]]:
        """Yield the representations of a set that are served, with their digests.

        Signatures are left out: otherwise the signature of an interval would change it.
        """
        for page in self._listings.walk_pages(make_set(name), limit=_PAGE):
            for one in page.records:
                record = one.record
                is_signature = record.targets and find_target_kind(record) is TargetUse.SIGNED
                if is_signature or record.tombstone:
                    continue
                for version in record.versions:
                    if version.tombstone:
                        continue
                    for held in version.representations:
                        full = qualify_identifier(one.identifier, version.number, held.format)
                        if name.matches(full):
                            yield full, held.sha512

    # signatures
    # ----------

    def list_signatures(
        self, name: Identifier, reader: Reader = PUBLIC_READER
    ) -> list[HeldSignature]:
        """Return the signatures of a name, and of every version, format and part that it names.

        They are in the order of their names, at most `MOST`. Raises MissingLibrary if this
        installation cannot verify signatures.
        """
        return list(islice(self.walk_signatures(name, reader), MOST))

    def list_page_of_name(
        self,
        name: Identifier,
        reader: Reader = PUBLIC_READER,
        *,
        cursor: str | None = None,
        limit: int = _PAGE,
    ) -> SignaturePage:
        """Return the same signatures page by page, at most `limit` of them.

        `cursor` is that of the page before. Raises InvalidRequest if it is not from this list.
        """
        if cursor is not None and self._records.find_record(cursor) is None:
            raise ForeignCursor(cursor=cursor)
        walk = self.walk_signatures(name, reader, after=cursor or "")
        found = list(islice(walk, limit))
        is_last = len(found) < limit or next(walk, None) is None
        return SignaturePage(found, None if is_last else found[-1].identifier.key)

    def walk_signatures(
        self, name: Identifier, reader: Reader = PUBLIC_READER, *, after: str = ""
    ) -> Iterator[HeldSignature]:
        """Yield the same signatures, all of them, and judge each when it is needed.

        With `after`, only those whose keys follow this one.
        """
        return self._walk_key(name.key, reader, name.matches, after)

    def find_attached(
        self, signed: SignedStatement, reader: Reader = PUBLIC_READER
    ) -> Identifier | None:
        """Return the signature with the same statement and the same proof, if one is stored."""
        for one in self._listings.walk_targeting(signed.statement.identifier):
            found = self._read_statement(one, reader)
            if found is not None and str(found[1]) == str(signed):
                return found[0].identifier
        return None

    def walk_set(self, names: NameSet, reader: Reader = PUBLIC_READER) -> Iterator[HeldSignature]:
        """Yield the signatures of a set, of intervals and patterns in it, and of the names in it.

        Raises NotFound if nothing known belongs to the set.
        """
        page = self.list_page(names, reader)
        yield from page.signatures
        while page.cursor is not None:
            page = self.list_page(names, reader, cursor=page.cursor)
            yield from page.signatures

    def list_page(
        self,
        names: NameSet,
        reader: Reader = PUBLIC_READER,
        *,
        cursor: str | None = None,
        limit: int = _PAGE,
    ) -> SignaturePage:
        """Return the signatures of at most `limit` names of a set, in the order of the names.

        They are at most `limit`, too. Those of an interval are listed with the first name in it,
        those of the set before all others. `cursor` is that of the page before. Raises the errors
        of `Listings.list_page`.
        """
        place = _Place.read(cursor)
        page = self._listings.list_page(names, cursor=place.cursor or None, limit=limit)
        whole = "" if names.pattern is None else names.pattern.key
        found: list[HeldSignature] = []
        if whole and not place.cursor and place.key in ("", whole):
            rest = self._take_signatures(found, names, (whole,), place, reader, limit)
            if rest is not None:
                return SignaturePage(found, str(rest))
            place = _Place()
        seen = {whole}
        for at in range(0, len(page.records), _NAMES_TOGETHER):
            rows = page.records[at : at + _NAMES_TOGETHER]
            keys: list[list[str]] = []
            for row in rows:
                outer = [one for one in row.identifier.list_pattern_keys() if one not in seen]
                seen.update(outer)
                own = row.identifier.key
                keys.append(outer if own == whole else [*outer, own])
            most = min(limit, _MOST_TOGETHER)
            known = self._find_judged(chain(*keys), reader, names.contains, most)
            for row, some in zip(rows, keys, strict=True):
                name = row.identifier
                rest = self._take_signatures(
                    found, names, some, place, reader, limit, of=name, known=known
                )
                if rest is not None:
                    return SignaturePage(found, str(rest))
                if len(found) >= limit and row is not page.records[-1]:
                    return SignaturePage(found, name.key)
                place = _Place(name.key)
        return SignaturePage(found, page.cursor)

    def _take_signatures(
        self,
        found: list[HeldSignature],
        names: NameSet,
        keys: Sequence[str],
        place: _Place,
        reader: Reader,
        limit: int,
        *,
        of: Identifier | None = None,
        known: Mapping[str, list[HeldSignature]] | None = None,
    ) -> _Place | None:
        """Add the signatures after a place of names in a set that have some keys.

        With `of`, those of patterns only if this name is the first of the pattern. `known` has them
        if they were judged already. Returns the place at which `found` had `limit` of them, or None
        if all were added.
        """
        first = keys.index(place.key) if place.key in keys else 0
        for key in keys[first:]:
            if known is not None and key not in known:
                continue
            last = place.after if key == place.key else ""
            walk: Iterable[HeldSignature]
            if known is None:
                walk = self._walk_key(key, reader, names.contains, last)
            else:
                walk = (held for held in known[key] if held.identifier.key > last)
            for held in walk:
                if len(found) >= limit:
                    return _Place(place.cursor, key, last)
                last = held.identifier.key
                signed = held.signed.statement.identifier
                if of is None or key == of.key or self._is_first(of, signed):
                    found.append(held)
        return None

    def _find_judged(
        self, keys: Iterable[str], reader: Reader, is_wanted: IsWanted, most: int
    ) -> dict[str, list[HeldSignature]] | None:
        """Judge the signatures of names with some keys, and return them by these keys.

        None if there may be more than `most`, or if one of them cannot be read.
        """
        with self._records.hold_snapshot():
            others = self._records.find_any_referring([_refer_to(key) for key in keys])
            if len(others) > most:
                return None
            try:
                rows = self._listings.read_records(others)
                judged = self._judge_together(rows, reader, is_wanted)
            except PerdureError:
                return None
        targets = {row.identifier.key: row.record.targets for row in rows}
        found: dict[str, list[HeldSignature]] = {}
        for held in judged:
            for key in {parse(one).key for one in targets[held.identifier.key]}:
                found.setdefault(key, []).append(held)
        return found

    def _walk_key(
        self, key: str, reader: Reader, is_wanted: IsWanted, after: str = ""
    ) -> Iterator[HeldSignature]:
        """Yield the wanted signatures of names with a key; with `after`, those with later keys.

        The first ones are judged at once, more and more of the others together.
        """
        others = [one for one in self._records.find_referring(_refer_to(key)) if one > after]
        at, size = 0, _FEW_TOGETHER
        while at < len(others):
            yield from self._judge_keys(others[at : at + size], key, reader, is_wanted)
            at, size = at + size, min(2 * size, _MOST_TOGETHER)

    def _judge_keys(
        self, keys: Sequence[str], about: str, reader: Reader, is_wanted: IsWanted
    ) -> Iterator[HeldSignature]:
        """Judge the records with some keys that are about the key `about`.

        If one of them cannot be judged, those before it are yielded first.
        """
        try:
            with self._records.hold_snapshot():
                rows = [
                    row
                    for row in self._listings.read_records(keys)
                    if any(parse(one).key == about for one in row.record.targets)
                ]
                judged = self._judge_together(rows, reader, is_wanted)
        except PerdureError:
            if len(keys) == 1:
                raise
            for key in keys:
                yield from self._judge_keys((key,), about, reader, is_wanted)
            return
        yield from judged

    def _is_first(self, name: Identifier, signed: Identifier) -> bool:
        """Return True if a name is the first one of a signed pattern, so that it is listed once."""
        for page in self._listings.walk_pages(make_set(signed.resource), limit=1):
            if page.records:
                return page.records[0].identifier.key == name.key
        return False

    def walk_all(self, reader: Reader = PUBLIC_READER) -> Iterator[HeldSignature]:
        """Yield all signatures of the registry. It reads every record."""
        low: str | None = ""
        while low is not None:
            with self._records.hold_snapshot():
                rows, low = scan_readable(self._records, low, None, limit=_PAGE, with_bytes=True)
                signed = [
                    IdentifiedRecord(row.name, row.record)
                    for row in rows
                    if not isinstance(row, DamagedRecord) and row.record.targets
                ]
                try:
                    judged: list[HeldSignature] | None = self._judge_together(signed, reader)
                except PerdureError:
                    judged = None
            if judged is not None:
                yield from judged
                continue
            for row in signed:  # those before the one that cannot be judged come first
                yield from self._judge_together((row,), reader)

    def has_signatures(self, name: Identifier, reader: Reader = PUBLIC_READER) -> bool:
        """Return whether `list_signatures` would list any. It verifies none, and skips damage.

        A name without signatures costs one look-up, another one reads the first open signature.
        """
        for one in self._listings.walk_targeting(name):
            with suppress(Corrupt):
                found = self._read_statement(one, reader)
                if found is not None and name.matches(found[1].statement.identifier):
                    return True
        return False

    def _judge_together(
        self,
        rows: Iterable[IdentifiedRecord],
        reader: Reader,
        is_wanted: IsWanted = lambda _name: True,
    ) -> list[HeldSignature]:
        """Read and judge the signatures of wanted names, which were read in this snapshot.

        What they have in common is read once: the changes that recorded them, the signed documents,
        the lists of allowed signers.
        """
        is_plain = not self._door.has_exceptions(reader)
        read = [
            (row, *found)
            for row in rows
            if (found := self._read_statement(row, reader, row.record, is_plain=is_plain))
            is not None
            and is_wanted(found[1].statement.identifier)
        ]
        if not read:
            return []
        contents = self._measure_together(
            [signed for _, _, signed in read], reader, is_plain=is_plain
        )
        moments = self._records.find_moments(
            [(row.identifier.key, self._find_revision(row, step)) for row, step, _ in read]
        )
        now, trusts = format_timestamp(self._clock()), dict[str, Trust]()
        judged = []
        for (_, step, signed), content, moment in zip(read, contents, moments, strict=True):
            recorded, at = moment or (None, "")
            stamped = self._find_stamp(signed)
            evidence = AgeEvidence(now=now, recorded=recorded, recorded_at=at, stamped=stamped)
            trust = self._load_trust_once(signed.statement.identifier, trusts)
            judged.append(
                HeldSignature(
                    identifier=step.identifier,
                    signed=signed,
                    judgement=judge_signature(signed, content, trust, evidence),
                    recorded=recorded,
                    recorded_at=at,
                    stamped=stamped,
                )
            )
        return judged

    def _find_revision(self, row: IdentifiedRecord, step: Fetch) -> int:
        """The revision that recorded the bytes of a signature."""
        key = row.identifier.key
        return find_commit(self._records, key, row.record, step.representation).revision

    def _measure_together(
        self, signatures: Sequence[SignedStatement], reader: Reader, *, is_plain: bool
    ) -> list[SignedContent | None]:
        """Measure what each signature is about; None if that is not available."""
        names = [one.statement.identifier for one in signatures]
        keys = [name.key for name in names]
        records: Mapping[str, Record] = {}
        with suppress(Corrupt):  # one at a time, only the damaged one is not available
            records = self._records.find_records(list(dict.fromkeys(keys)))
        steps = [
            None
            if record is None
            else self._door.fetch_only(name, record, reader, is_plain=is_plain)
            for name, record in zip(names, map(records.get, keys), strict=True)
        ]
        return [
            self._measure_available(name, reader) if step is None else _measure_document(step)
            for name, step in zip(names, steps, strict=True)
        ]

    def _measure_available(self, name: Identifier, reader: Reader) -> SignedContent | None:
        """Measure a content; None if it was withdrawn, erased or damaged, or is of a part that
        cannot be cut here."""
        try:
            return self.measure_content(name, reader=reader)
        except PerdureError:
            return None

    def _read_statement(
        self,
        one: IdentifiedRecord,
        reader: Reader,
        fresh: Record | None = None,
        *,
        is_plain: bool = False,
    ) -> tuple[Fetch, SignedStatement] | None:
        """Read a signed statement; None if the record has none, or was withdrawn or closed.

        `fresh` is the record, if it was read in this snapshot, in which the reader may have no
        exceptions (`is_plain`).
        """
        step = fetch_document(
            self._door, one.identifier, reader, longest=LONGEST, record=fresh, is_plain=is_plain
        )
        if step is None:
            return None
        try:
            signed = parse_signed_statement(self._listings.read_bytes(step.representation))
        except InvalidRequest:  # another document about the name
            return None
        if not is_plain and not is_open(self._door, signed.statement.identifier, reader):
            return None  # it has the digest and the length of something closed
        return step, signed

    def judge_signature(
        self, signed: SignedStatement, reader: Reader = PUBLIC_READER
    ) -> SignatureJudgement:
        """Judge a signature that no change has recorded."""
        name = signed.statement.identifier
        evidence = AgeEvidence(
            now=format_timestamp(self._clock()), stamped=self._find_stamp(signed)
        )
        content = self._measure_available(name, reader)
        return judge_signature(signed, content, self.load_trust(name), evidence)

    # time stamps
    # -----------

    def check_stamps(self, signed: SignedStatement) -> list[str]:
        """Return the times of all time stamps of a signature.

        Raises TimeStampRejected or TimeStampMalformed if one of them does not count.
        """
        if not signed.stamps:
            return []
        certificates = self._load_certificates()
        return [verify_stamp(one, signed.stamped_text, certificates) for one in signed.stamps]

    def _find_stamp(self, signed: SignedStatement) -> str:
        """The earliest time of a time stamp that counts, or an empty text."""
        found: list[str] = []
        for one in signed.stamps:
            with suppress(InvalidRequest, NotFound):
                found += self.check_stamps(msgspec.structs.replace(signed, stamps=(one,)))
        return min(found, default="")

    def _load_certificates(self) -> tuple[Any, ...]:
        data = self.read_authorities()
        return read_certificates(data) if data else ()

    def read_authorities(self) -> bytes:
        """The certificates of the authorities whose time stamps count, in PEM; empty if none is
        set. Raises NotFound if the document does not exist."""
        if not self._authorities:
            return b""
        query = Query(identifier=parse(self._authorities), reader=Reader(name=LOCAL))
        step = self._door.resolve(query).step
        if not isinstance(step, Fetch):
            raise NotFound(identifier=self._authorities)
        return self._listings.read_bytes(step.representation)

    # trust
    # -----

    def load_trust(self, name: Identifier) -> Trust:
        """Return the list of allowed signers for a name, with all its versions.

        It is empty if no list is set. Raises NotFound if the document does not exist, and
        SignersMalformed if it is not such a list.
        """
        listed = self._find_signers(name)
        return Trust() if listed is None else self._load_list(listed)

    def _load_trust_once(self, name: Identifier, known: dict[str, Trust]) -> Trust:
        """The same, out of the lists that were loaded in this snapshot, which it adds to."""
        listed = self._find_signers(name)
        if listed is None:
            return Trust()
        if listed.key not in known:
            known[listed.key] = self._load_list(listed)
        return known[listed.key]

    def _load_list(self, listed: Identifier) -> Trust:
        record = self._records.find_record(listed.key)
        if record is None:
            raise NotFound(identifier=str(listed))
        kept = self._trusts.get(listed.key)
        if kept is not None and kept[0] == record.revision:
            return kept[1]
        trust = Trust(tuple(self._read_versions(listed, record)))
        if len(self._trusts) >= _MOST_LISTS:
            self._trusts.clear()
        self._trusts[listed.key] = record.revision, trust
        return trust

    def _read_versions(self, listed: Identifier, record: Record) -> Iterator[TrustVersion]:
        past = [one for one in self._records.list_revisions(listed.key) if one.versions]
        for version in record.versions:
            if not version.representations or record.tombstone or version.tombstone:
                continue
            revision = next((one.revision for one in past if one.version(version.number)), 0)
            change = self._records.find_change(listed.key, revision)
            yield TrustVersion(
                signers=parse_allowed_signers(
                    self._listings.read_bytes(version.representations[0])
                ),
                committed=change.mark if change else None,
                at=version.at,
            )


def _refer_to(key: str) -> str:
    """The reference of records whose content is a signature of names with a key."""
    return f"{TargetUse.SIGNED}:{key}"


def _measure_document(step: Fetch) -> SignedContent:
    held = step.representation
    return SignedContent(
        identifier=step.identifier.whole,
        sha512=held.sha512,
        length=held.length,
        media_types=_list_media_types(held),
    )


def _measure_part(resolved: Resolved, step: Fetch, source: Source, part: Part) -> SignedContent:
    with_part = step.identifier.whole.with_part(resolved.part or "")
    if with_part is None:
        raise PartNotSignable(identifier=str(resolved.asked))
    media_types = (strip_parameters(part.media_type),)
    if part.decoded is not None:
        return SignedContent(
            identifier=with_part,
            sha512=part.decoded.sha512,
            length=0,
            reading=part.decoded.form,
            media_types=media_types,
        )
    digest, length = hashlib.sha512(), 0
    for piece in iterate_body(part.body, source):
        digest.update(piece)
        length += len(piece)
    return SignedContent(
        identifier=with_part,
        sha512=digest.hexdigest(),
        length=length,
        media_types=media_types,
    )


def _list_media_types(held: Representation) -> tuple[str, ...]:
    """The present media type, and those before corrections."""
    past = (one.before.media_type for one in reversed(held.corrections))
    return tuple(dict.fromkeys(map(strip_parameters, (held.media_type, *past))))


def describe_signature(held: HeldSignature) -> dict[str, object]:
    """Return a signature with its verdict, as every interface shows it in JSON."""
    statement, judgement = held.signed.statement, held.judgement
    return {
        "identifier": str(held.identifier),
        "of": str(statement.identifier),
        "verdict": str(judgement.verdict),
        "reason": judgement.reason,
        "proof": judgement.proof,
        "form": held.signed.form.name,
        "role": statement.role,
        "signer": statement.signer,
        "principals": list(judgement.principals),
        "signed": statement.signed,
        "stamped": held.stamped or None,
        "recorded": str(held.recorded) if held.recorded else None,
        "recorded_at": held.recorded_at or None,
    }
