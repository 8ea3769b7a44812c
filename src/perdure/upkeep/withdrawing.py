"""Withdrawals, with the documents that have passages of what is withdrawn.

How it works: `find_quoting` searches the index of passages for the texts that a command would
withdraw. It does so before the command is carried out, since no one reads them afterwards, and
outside of the writer, since no other command should wait. `report_quoting` adds the documents to
the receipt. They keep their bytes.  # ruling: tombstone-silence

What must stay true: a withdrawal never fails, and hardly waits, because of the search. If something
could not be searched, the receipt says so. Documents that the reader may not read are not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.errors.cutting import TextNotSupported
from perdure.errors.root import count_things
from perdure.ids import Identifier, parse
from perdure.model.changes import ChangeMark
from perdure.model.commands import Answer, Command, Outcome, Receipt, Withdraw
from perdure.model.queries import LOCAL_READER, Fetch, Gone, Query, Reader
from perdure.policy.naming import identify_record, qualify_identifier, read_qualifiers
from perdure.policy.remaining import MOST_LISTED, list_representations
from perdure.registry import Registry
from perdure.upkeep.changes.following import count_behind

_MOST_BEHIND = 100
"""Changes that a withdrawal adds to the index itself; if there are more, it does not wait."""


class QuotingDocuments(NamedTuple):
    """Documents that have passages of a text, and why there may be others."""

    names: tuple[str, ...] = ()
    """The documents, each once, with version and format."""
    unsearched: str = ""
    """Why not all documents were searched, or not for all of the text; empty if they were."""

    @property
    def is_known(self) -> bool:
        """False if there is nothing to report."""
        return bool(self.names or self.unsearched)


def execute_command(registry: Registry, command: Command) -> Receipt:
    """Carry out a command of a person on this machine. Raises the error of the command."""
    if not isinstance(command, Withdraw):
        return registry.door.execute_command(command)
    found = find_quoting(registry, command)
    return report_quoting(registry, registry.door.execute_command(command), found)


def execute_commands(registry: Registry, commands: Sequence[Command]) -> list[Answer]:
    """Carry out commands of a person on this machine together, each with its answer."""
    found = [find_quoting(registry, one) if isinstance(one, Withdraw) else None for one in commands]
    answers = registry.door.execute_commands(commands)
    return [
        report_quoting(registry, answer, quoting)
        if quoting is not None and isinstance(answer, Receipt)
        else answer
        for answer, quoting in zip(answers, found, strict=True)
    ]


def find_quoting(
    registry: Registry, command: Withdraw, reader: Reader = LOCAL_READER
) -> QuotingDocuments:
    """Return the documents that have passages of what a command would withdraw."""
    try:
        names = list(_list_documents(registry, command))
        return _search(registry, names, reader) if names else QuotingDocuments()
    except PerdureError as error:
        return QuotingDocuments(unsearched=str(error))


def report_quoting(registry: Registry, receipt: Receipt, found: QuotingDocuments) -> Receipt:
    """Add documents to the receipt of a withdrawal, except those that it names otherwise."""
    if receipt.outcome is not Outcome.CHANGED:
        return receipt
    told = {*receipt.copies, *receipt.written_about}
    names = tuple(
        name
        for name in found.names
        if not told & {name, str(parse(name).resource)} and _is_served(registry, parse(name))
    )
    return replace(
        receipt,
        quoted_in=names[:MOST_LISTED],
        is_list_cut=receipt.is_list_cut or len(names) > MOST_LISTED,
        unsearched=found.unsearched,
    )


def _list_documents(registry: Registry, command: Withdraw) -> Iterator[Identifier]:
    """Yield the names of the documents that a command would withdraw, with equal bytes once."""
    record = registry.listings.find_record(command.identifier.whole.resource)
    if record is None or record.tombstone is not None:
        return
    name = identify_record(command.identifier.key, record)
    named = read_qualifiers(command.identifier)[0]
    version = named if command.version is None else command.version
    digests: set[str] = set()
    for number, held in list_representations(record, version):
        if held.sha512 not in digests:
            digests.add(held.sha512)
            yield qualify_identifier(name, number, held.format)


def _search(registry: Registry, names: Sequence[Identifier], reader: Reader) -> QuotingDocuments:
    """Search the index for the texts of some documents. Raises MissingLibrary, FollowerFailed."""
    from perdure.upkeep.indexing import bring_up_to_date, open_passages  # few commands need it

    with open_passages(registry) as index:
        from perdure.upkeep.quotations.asking import find_quotations_of

        found: dict[str, None] = {}
        reasons: dict[str, None] = {}
        behind = _count_behind(registry, index.find_mark())
        if behind <= _MOST_BEHIND:
            bring_up_to_date(index)
        else:
            changes = count_things(behind, "change")
            reasons[f"the index of passages lacks {changes}; 'perdure index' adds them"] = None
        for name in names:
            try:
                resolved = registry.reading.resolve(Query(identifier=name, reader=LOCAL_READER))
                report = find_quotations_of(registry, index, resolved, reader)
            except TextNotSupported:
                continue
            except PerdureError as error:
                reasons[str(error)] = None
                continue
            if not isinstance(report, Gone):
                found |= dict.fromkeys(one.document for one in report.quotations)
    return QuotingDocuments(tuple(found), "; ".join(reasons))


def _count_behind(registry: Registry, mark: ChangeMark | None) -> int:
    """Return the number of changes after a mark; all, if it is of another epoch."""
    behind = None if mark is None else count_behind(registry.records, mark)
    if behind is not None:
        return behind
    head = registry.head()
    return 0 if head is None else head.number


def _is_served(registry: Registry, name: Identifier) -> bool:
    """Return False for a document that was withdrawn meanwhile, in the same turn for example."""
    with suppress(PerdureError):
        query = Query(identifier=name, reader=LOCAL_READER)
        return isinstance(registry.reading.resolve(query).require_step(), Fetch)
    return False
