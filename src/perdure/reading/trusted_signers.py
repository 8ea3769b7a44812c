"""The signers and the authorities of time stamps that a registry trusts.

How it works: a setting names, for each series, the document with the list of allowed signers; a
signature is judged by all versions of it. Another setting names the document with the certificates
of those whose time stamps count.

What must stay true: a list is kept in memory with the revision of its record, and read again as
soon as that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from perdure.errors import NotFound
from perdure.errors.invalid import InvalidRequest
from perdure.ids import Identifier, parse
from perdure.model.queries import Fetch, Query, Reader
from perdure.model.records import LOCAL, Record
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.signing.allowed import parse_allowed_signers
from perdure.signing.document import SignedStatement
from perdure.signing.stamps import read_certificates, verify_stamp
from perdure.signing.verdict import Trust, TrustVersion
from perdure.storage.ports import Records

_MOST_LISTS = 16  # lists of allowed signers that are kept in memory


class TrustedSigners:
    """The allowed signers of a registry, and the authorities whose time stamps count."""

    def __init__(
        self,
        records: Records,
        door: ReadDoor,
        listings: Listings,
        *,
        find_signers: Callable[[Identifier], Identifier | None],
        authorities: str = "",
    ) -> None:
        """`find_signers` returns the list of allowed signers for a name; `authorities` names the
        document with the certificates of those whose time stamps count."""
        self._records = records
        self._door = door
        self._listings = listings
        self._find_signers = find_signers
        self._authorities = authorities
        self._trusts: dict[str, tuple[int, Trust]] = {}
        """The lists that were read last, each with the revision of its record."""

    # trust
    # -----

    def load_trust(self, name: Identifier) -> Trust:
        """Return the list of allowed signers for a name, with all its versions.

        It is empty if no list is set. Raises NotFound if the document does not exist, and
        SignersMalformed if it is not such a list.
        """
        listed = self._find_signers(name)
        return Trust() if listed is None else self._load_list(listed)

    def load_trust_once(self, name: Identifier, known: dict[str, Trust]) -> Trust:
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

    def find_stamp(self, signed: SignedStatement) -> str:
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
