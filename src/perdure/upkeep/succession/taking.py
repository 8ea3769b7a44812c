"""The side of the successor: it checks a package, takes everything over, and says so.

How it works: a package is a directory, or it is made here from a predecessor that can be asked. It
is checked whole (`perdure.upkeep.succession.checking`) and compared with what is here. Then its
reading rules, and its revisions in their order, go through the write door in batches. At the end a
new epoch begins, the series is minted here from now on, and the successor states that it took over.
A revision that is here already is passed over, so the same command continues an interrupted one.

What must stay true: nothing is kept of a package that is refused; what was closed is closed before
it is here; no name is given out here before everything of the predecessor is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perdure.errors import UnknownAuthority
from perdure.errors.succession import HandOverElsewhere, PackageFlawed, RecordContradicted
from perdure.ids import Identifier, parse
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import Change
from perdure.model.commands import Adopt, AdoptedRevision, Content, Mint
from perdure.model.delegations import Delegation, read_resolver
from perdure.model.hand_overs import TakeOver, write_take_over
from perdure.model.mirroring import SoughtContent
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.policy.naming import identify_record
from perdure.registry import Registry, initialise
from perdure.signing.keys import PublicKey
from perdure.storage.spool import Spool
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.delegating import sign_document
from perdure.upkeep.succession.acts import NamedDocument
from perdure.upkeep.succession.checking import CheckedPackage, check_package
from perdure.upkeep.succession.handing import find_signature
from perdure.upkeep.succession.packing import CHANGES, list_sought
from perdure.upkeep.succession.selecting import ChangeSelection, list_records, narrow_rules
from perdure.writing.adopting import TAKE_OVER, is_same_revision

if TYPE_CHECKING:
    from perdure.signing.signers import Signer

_MOST_REVISIONS = 500
_MOST_BYTES = 8 << 20
"""Of one batch: bytes in memory."""


class TakenOver(msgspec.Struct, frozen=True, kw_only=True):
    """The act of a successor."""

    names: str
    hand_over: str
    """The statement of the predecessor."""
    signer: str
    """The key of the predecessor; empty if it did not sign."""
    take_over: str
    """The statement of this registry."""
    records: int
    documents: int
    bytes: int
    rules: int
    captures: int
    """Captures of the web archive of the predecessor. They stay there."""
    epoch: int
    series: str
    """The series that this registry mints from now on; empty if no names are to come."""


def take_over(
    root: Path,
    package: Path,
    *,
    key: PublicKey | None,
    may_be_unsigned: bool = False,
    signer: Signer | None = None,
    by: str = LOCAL,
) -> TakenOver:
    """Take over what a package hands over to the registry in `root`.

    `key`: that of the predecessor. `signer`: the key of this registry.

    Raises PackageRefused, HandOverUnsigned, HandOverElsewhere or RecordContradicted before anything
    is written; UnknownAuthority if this registry has no series for its statement.
    """
    checked = check_package(package, key=key, may_be_unsigned=may_be_unsigned)
    with Registry(root) as registry:
        check_successor(registry, checked.act.delegation)
        _check_known(registry, checked)
        adoption = _Adoption(registry, checked, by)
        adoption.adopt_rules()
        adoption.adopt_records()
        epoch = adoption.begin_epoch()
    series = _find_coming(checked.act.delegation)
    if series:
        initialise(root, series=(series,))
    with Registry(root) as registry:
        stated = _state(registry, checked, epoch, signer, by)
    said = checked.act.hand_over
    return TakenOver(
        names=str(checked.act.delegation.names),
        hand_over=str(checked.act.statement.identifier),
        signer=checked.signer,
        take_over=str(stated),
        records=said.records,
        documents=said.documents,
        bytes=said.bytes,
        rules=said.rules,
        captures=said.captures,
        epoch=epoch,
        series=series,
    )


def check_successor(registry: Registry, delegation: Delegation) -> None:
    """Raise HandOverElsewhere unless names go to this registry, UnknownAuthority without series."""
    own = registry.settings.base_url
    bases = tuple(one.base for one in delegation.resolvers)
    if not own or read_resolver(own).base not in bases:
        raise HandOverElsewhere(successors=bases, own=own)
    if not registry.settings.series and not _find_coming(delegation):
        raise UnknownAuthority(authority=delegation.names.example.assigned_under, known=())


def _find_coming(delegation: Delegation) -> str:
    """The series whose names are to come; empty for past days, and for other names."""
    names = delegation.names
    is_series = names.is_interval and str(names) == names.example.authority_beginning
    return names.example.assigned_under if is_series and not delegation.last_day else ""


def _check_known(registry: Registry, checked: CheckedPackage) -> None:
    """Raise RecordContradicted if a record here is not the beginning, or the end, of one there."""
    known = {key for key in checked.last if registry.records.find_stored(key) is not None}
    selection = ChangeSelection(checked.act.delegation)
    for key, text in checked.last.items():
        record = stored.decode_stored(text)
        series = identify_record(key, record).assigned_under
        is_own = series in registry.settings.series and key not in known
        if is_own and not selection.covers_record(key, record):
            raise PackageFlawed(place=CHANGES, flaw="own", subject=spell_key(key))
    if not known:
        return
    past: dict[str, list[str]] = {key: [] for key in known}
    for _, (key, text) in list_records(checked.walk_changes()):
        if key in known:
            past[key].append(text)
    for key, texts in past.items():
        for held, text in zip(registry.records.list_revisions(key), texts, strict=False):
            if not is_same_revision(held, text):
                raise RecordContradicted(identifier=spell_key(key), revision=held.revision)


class _Adoption:
    def __init__(self, registry: Registry, checked: CheckedPackage, by: str) -> None:
        self._registry, self._checked, self._by = registry, checked, by
        self._incoming = registry.incoming
        self._revisions: list[AdoptedRevision] = []
        self._size = 0

    def adopt_rules(self) -> None:
        rules = narrow_rules(self._checked.act.delegation, self._checked.rules)
        if rules:
            self._execute(Adopt(rules=tuple(rules), by=self._by))

    def adopt_records(self) -> None:
        wanted = {
            one
            for key, text in self._checked.last.items()
            for one in list_sought(key, stored.decode_stored(text))
        }
        for change, (key, text) in list_records(self._checked.walk_changes()):
            record = self._registry.records.find_record(key)
            if record is None or record.revision < change.revision:
                self._add(change, key, text, wanted)
        act = self._checked.act
        for one in (act.statement, act.signature):
            if one is not None:
                self._add_document(one)
        self._flush()

    def begin_epoch(self) -> int:
        """Begin a new epoch, unless this is done. Return its number."""
        act = self._registry.delegations.find_act(self._checked.act.statement.identifier)
        if act is not None and isinstance(act.said, TakeOver):
            return act.said.epoch
        last = self._registry.records.list_epochs()[-1]
        if last.reason != TAKE_OVER or not self._is_empty(last.epoch):
            self._execute(Adopt(begins=True, by=self._by))
        head = self._registry.head()
        return head.epoch if head else 0

    def _is_empty(self, epoch: int) -> bool:
        head = self._registry.head()
        return head is not None and (head.epoch, head.number) == (epoch, 1)

    def _add(self, change: Change, key: str, text: str, wanted: set[SoughtContent]) -> None:
        contents = []
        for one in _list_brought(key, text):
            if one in wanted:
                wanted.discard(one)
                contents.append((one.version, self._read_content(one)))
        act = change.act if change.revision > 1 else TAKE_OVER
        self._add_revision(AdoptedRevision(key, change.revision, text, act, tuple(contents)))

    def _add_document(self, one: NamedDocument) -> None:
        key, text = one.line
        (sought,) = list_sought(key, one.record)
        content = self._spool_content(sought, [one.data])
        self._add_revision(AdoptedRevision(key, 1, text, TAKE_OVER, ((1, content),)))

    def _add_revision(self, one: AdoptedRevision) -> None:
        size = len(one.text) + sum(len(each.data or b"") for _, each in one.contents)
        if self._revisions and (
            len(self._revisions) >= _MOST_REVISIONS or self._size + size > _MOST_BYTES
        ):
            self._flush()
        self._revisions.append(one)
        self._size += size

    def _flush(self) -> None:
        if self._revisions:
            self._execute(Adopt(revisions=tuple(self._revisions), by=self._by))
        self._revisions, self._size = [], 0

    def _execute(self, command: Adopt) -> None:
        self._registry.door.execute_command(command)

    def _read_content(self, one: SoughtContent) -> Content:
        path = self._checked.root / self._checked.places[one.sha512]
        return self._spool_content(one, _read_pieces(path))

    def _spool_content(self, one: SoughtContent, pieces: Iterable[bytes]) -> Content:
        with Spool(self._incoming) as spool:
            for piece in pieces:
                spool.write(piece)
            content = spool.finish_content(format=one.format, media_type="")
        if content.sha512 != one.sha512:
            raise PackageFlawed(place=self._checked.places[one.sha512], flaw="digest")
        return content


def _list_brought(key: str, text: str) -> list[SoughtContent]:
    """The bytes of a revision, also those that are no longer served."""
    record = stored.decode_stored(text)
    return [
        SoughtContent(key, version.number, one.format, one.sha512, one.length)
        for version in record.versions
        for one in version.representations
    ]


def _read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def _state(
    registry: Registry, checked: CheckedPackage, epoch: int, signer: Signer | None, by: str
) -> Identifier:
    """State that the hand-over was taken over, unless that is done. Return the statement."""
    statement = checked.act.statement
    known = registry.delegations.find_act(statement.identifier)
    identifier = known.identifier if known else _mint_statement(registry, checked, epoch, by)
    if signer is not None and find_signature(registry, identifier) is None:
        sign_document(registry, identifier, signer, by)
    return identifier


def _mint_statement(registry: Registry, checked: CheckedPackage, epoch: int, by: str) -> Identifier:
    statement = checked.act.statement
    said = TakeOver(
        hand_over=statement.identifier,
        sha512=hashlib.sha512(statement.data).hexdigest(),
        epoch=epoch,
    )
    data = write_take_over(said, format_timestamp(registry.clock()))
    receipt = registry.door.execute_command(
        Mint(
            authority=registry.settings.series[0],
            contents=(make_assertion_content(data),),
            metadata={"title": f"Take-over of {checked.act.delegation.names}"},
            delegates=True,
            by=by,
        )
    )
    return parse(receipt.identifier)
