"""The signatures of names: which documents sign a name, and whether they count.

How it works: a signature is a document of its own; its record has the signed name as a target
(`Record.targets`). `list_signatures` reads the signatures of a name and judges each: the content
(`signed_contents`) is compared with the statement, and the key with all versions of the list of
allowed signers of the series (`trusted_signers`). The age of a signature is that of the change that
recorded it. `list_page` reads those of a set: of each name in it, and of the intervals and patterns
around the name that are in it, too. A page ends in the middle of a name if that has more
signatures; its cursor says where (`_Place`). Signatures are judged by the hundred: what they have
in common is read once for all of them.

What must stay true: signatures, contents and lists are read through the read door, so nothing that
was withdrawn is shown; a statement is judged by the name that it states. Signatures that are judged
together are judged by one state of the registry, and nothing of it is used for the next ones but
lists of allowed signers, each with the revision of its record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.errors.invalid import InvalidRequest
from perdure.errors.requests import ForeignCursor
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, make_set
from perdure.model.changes import ChangeMark
from perdure.model.queries import PUBLIC_READER, Fetch, Reader
from perdure.model.records import IdentifiedRecord, Record
from perdure.model.target_references import TargetUse
from perdure.model.timestamps import format_timestamp
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.reading.signed_contents import SignedContents, measure_document
from perdure.reading.targeting import fetch_document, find_commit, is_open
from perdure.reading.trusted_signers import TrustedSigners
from perdure.signing.document import LONGEST, SignedStatement, parse_signed_statement
from perdure.signing.verdict import (
    AgeEvidence,
    SignatureJudgement,
    SignedContent,
    Trust,
    judge_signature,
)
from perdure.storage.ports import Records

_PAGE = 1000
_NAMES_TOGETHER = 64
_FEW_TOGETHER, _MOST_TOGETHER = 16, 256  # signatures that are judged in one snapshot
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
        contents: SignedContents,
        signers: TrustedSigners,
        clock: Callable[[], datetime],
    ) -> None:
        self._records = records
        self._door = door
        self._listings = listings
        self._contents = contents
        self._signers = signers
        self._clock = clock

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
        size = _FEW_TOGETHER
        with self._records.hold_snapshot():
            others = [one for one in self._records.find_referring(_refer_to(key)) if one > after]
            judged = self._judge_if_sound(others[:size], key, reader, is_wanted)
        while others:
            if judged is not None:
                yield from judged
            else:  # those before the one that cannot be judged come first
                for one in others[:size]:
                    yield from self._judge_keys((one,), key, reader, is_wanted)
            others, size = others[size:], min(2 * size, _MOST_TOGETHER)
            judged = self._judge_if_sound(others[:size], key, reader, is_wanted)

    def _judge_if_sound(
        self, keys: Sequence[str], about: str, reader: Reader, is_wanted: IsWanted
    ) -> list[HeldSignature] | None:
        """Do the same as `_judge_keys`; None if one of the records cannot be judged."""
        try:
            return self._judge_keys(keys, about, reader, is_wanted)
        except PerdureError:
            return None

    def _judge_keys(
        self, keys: Sequence[str], about: str, reader: Reader, is_wanted: IsWanted
    ) -> list[HeldSignature]:
        """Judge the records with some keys that are about the key `about`."""
        if not keys:
            return []
        with self._records.hold_snapshot():
            rows = [
                row
                for row in self._listings.read_records(keys)
                if any(parse(one).key == about for one in row.record.targets)
            ]
            return self._judge_together(rows, reader, is_wanted)

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
            stamped = self._signers.find_stamp(signed)
            evidence = AgeEvidence(now=now, recorded=recorded, recorded_at=at, stamped=stamped)
            trust = self._signers.load_trust_once(signed.statement.identifier, trusts)
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
        measure_available = self._contents.measure_available
        steps = [
            None
            if record is None
            else self._door.fetch_only(name, record, reader, is_plain=is_plain)
            for name, record in zip(names, map(records.get, keys), strict=True)
        ]
        return [
            measure_available(name, reader) if step is None else measure_document(step)
            for name, step in zip(names, steps, strict=True)
        ]

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
            now=format_timestamp(self._clock()), stamped=self._signers.find_stamp(signed)
        )
        content = self._contents.measure_available(name, reader)
        return judge_signature(signed, content, self._signers.load_trust(name), evidence)


def _refer_to(key: str) -> str:
    """The reference of records whose content is a signature of names with a key."""
    return f"{TargetUse.SIGNED}:{key}"


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
