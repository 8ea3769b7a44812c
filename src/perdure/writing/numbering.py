"""Minting by number: runs of mints that take the next numbers of a series, in one step.

How it works: nearly every mint asks for the next number and brings bytes or nothing. The mints of
such a run share checks, which are made once; then each mint goes straight to the ledger, since a
new name has nothing that it could contradict. A mint that brings more (locations, targets, a large
file, an idempotency key) is left to the registrar, which uses the same numbers.

What must stay true: each mint of a run gets the answer that it would get alone; a number is used up
only when nothing can fail any more, so that numbers have no gaps (PDI section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors import PerdureError
from perdure.model import stored
from perdure.model.commands import (
    Answer,
    Command,
    Content,
    Mint,
    Outcome,
    Receipt,
    make_representation,
)
from perdure.model.records import Record, Version
from perdure.policy import naming, rules
from perdure.writing.content_targets import may_have_targets
from perdure.writing.ledger import MINT, DocumentRun, Ledger
from perdure.writing.shares import Shares

_Said = tuple[str, str, str, str | None, str | None]


def find_common(owned: tuple[str, ...], command: Command) -> Mint | str | None:
    """The key by which successive commands are grouped, so that they can be minted together.

    Mints with bytes are grouped by their series. Mints that only reserve a name must be equal, so
    their key is the command itself. It is None if the command is not a mint, or if it must be
    carried out alone.
    """
    if (
        not isinstance(command, Mint)
        or command.uid is not None
        or command.once is not None
        or command.locations
        or command.targets
        or command.about is not None
        or command.later
        or command.day
        or command.delegates
        or command.authority not in owned
    ):
        return None
    for content in command.contents:
        if content.spooled is not None or may_have_targets(content):
            return None
    return command.authority if command.contents or command.metadata else command


def reserve_names(
    ledger: Ledger, shares: Shares, command: Mint, count: int, *, owned: tuple[str, ...], day: str
) -> list[Receipt]:
    """Mint `count` names whose records only say when and by whom they were minted.

    Raises UnknownAuthority, InvalidRequest or MalformedIdentifier if such names cannot be minted,
    Conflict or ShareUsedUp if fewer numbers are left; then no number is used up.
    """
    rules.check_series(command.authority, owned)
    shares.check_share(command.bearer, count)
    end = naming.spell_first_ending(command.format)
    serials = ledger.find_serials(command.authority, day)
    names, keys = serials.list_following(count, end)
    ledger.reserve_names(keys, command.format, command.by)
    serials.use_numbers(count)
    shares.note_names(command.bearer, count)
    created = Outcome.CREATED
    return [Receipt(outcome=created, identifier=name, revision=1) for name in names]


def mint_run(
    ledger: Ledger,
    shares: Shares,
    series: str,
    run: Sequence[Mint],
    *,
    owned: tuple[str, ...],
    day: str,
) -> list[Answer]:
    """Mint a name for each command of a run, and return a receipt or an error for each.

    Raises UnknownAuthority or InvalidRequest if the series cannot be minted in, Conflict if too few
    numbers are left; then no number is used up.
    """
    rules.check_series(series, owned)
    serials = ledger.find_serials(series, day)
    stems, keys = serials.list_following(len(run))
    used = 0
    kinds: dict[_Said, _Kind] = {}
    runs: dict[str, DocumentRun] = {}
    answers: list[Answer] = []
    for command in run:
        stem, key = stems[used], keys[used]
        try:
            if command.bearer:
                shares.check_share(command.bearer)
            kind = _find_kind(ledger, stem, command, kinds, runs)
            if kind is not None:
                name = kind.keep_document(stem, key, command.contents[0])
            else:
                name = _keep_contents(ledger, stem, key, command)
        except PerdureError as error:
            answers.append(error)
            continue
        used += 1
        if command.bearer:
            shares.note_names(command.bearer)
        answers.append(Receipt(outcome=Outcome.CREATED, identifier=name, revision=1))
    serials.use_numbers(used)
    for documents in runs.values():
        if documents.lines:  # none, if the bytes of all were refused
            ledger.add_documents(documents)
    return answers


class _Kind:
    """Documents of one actor that differ only in their bytes.

    Their common fields are checked and encoded once in a batch; each document is stored as it would
    be alone.
    """

    __slots__ = ("_behind", "_bytes", "_record", "_run")

    def __init__(self, ledger: Ledger, run: DocumentRun, content: Content) -> None:
        self._bytes, self._run = ledger.bytes, run
        self._behind = f".{content.format}.1"
        self._record = stored.encode_alike_twice(ledger.now, run.by, make_representation(content))

    def keep_document(self, stem: str, key: str, content: Content) -> str:
        """Store a document in its run. Return its name."""
        run, name = self._run, stem + self._behind
        length, sha512 = content.length, content.sha512
        segment, offset = self._bytes.append(name, 1, content)
        line, attested = self._record(length, sha512, segment, offset)
        run.lines.append((key, line))
        run.attested.append((key, attested))
        run.references.append(f"sha512:{sha512}")
        return name


def _find_kind(
    ledger: Ledger,
    stem: str,
    command: Mint,
    known: dict[_Said, _Kind],
    runs: dict[str, DocumentRun],
) -> _Kind | None:
    """The kind of document that a mint brings.

    None if the mint brings more than a document, or if its format is not in canonical form. Raises
    InvalidRequest or MalformedIdentifier, with the name that the document would have.
    """
    if len(command.contents) != 1 or command.metadata:
        return None
    one = command.contents[0]
    said = (command.by, one.format, one.media_type, one.charset, one.language)
    try:
        return known[said]
    except KeyError:
        (content,) = rules.check_new_contents(stem, (one,))
        if content is not one:
            return None
        run = runs.setdefault(command.by, DocumentRun(command.by))
        found = known[said] = _Kind(ledger, run, content)
        return found


def _keep_contents(ledger: Ledger, stem: str, key: str, command: Mint) -> str:
    """Store the contents of a mint, and return their name."""
    now, by, metadata = ledger.now, command.by, command.metadata
    if not command.contents:
        end = naming.spell_first_ending(command.format)
        record = Record(at=now, by=by, minted=command.format, metadata=metadata)
    else:
        contents = rules.check_new_contents(stem, command.contents)
        held = [ledger.place_content(f"{stem}.{one.format}.1", 1, one) for one in contents]
        end = naming.spell_first_ending(held[0].format)
        version = Version(number=1, at=now, representations=tuple(held))
        record = Record(at=now, by=by, metadata=metadata, versions=(version,))
    ledger.add_record(key, record, MINT)
    return stem + end
