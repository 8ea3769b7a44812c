"""Minting by number: runs of mints that take the next numbers of a series, in one step.

How it works: nearly all that is minted asks for the next number and brings bytes or nothing. What
the mints of such a run have in common is found out once, and each goes straight to the ledger:
under a name that nobody had there is nothing that it could contradict. What brings more (locations,
a large file, an idempotency key) is left to the registrar, which gives it the same numbers.

What must stay true: each mint of a run is answered as it would be alone; a number is used up only
once nothing can fail any more, so that numbers have no gaps (PDI section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors import PerdureError
from perdure.model import stored
from perdure.model.commands import Command, Content, Mint, Outcome, Receipt
from perdure.model.records import Record, Version
from perdure.policy import naming, rules
from perdure.writing.ledger import MINT, Ledger, representation

_Said = tuple[str, str, str, str | None, str | None]


def in_common(owned: tuple[str, ...], command: Command) -> Mint | str | None:
    """What commands that follow each other share if they can be minted together.

    Those with bytes share their series. Those that only reserve a name share all that they say, so
    it is the command itself. None: it is no mint, or one that must be carried out alone.
    """
    if (
        not isinstance(command, Mint)
        or command.uid is not None
        or command.once is not None
        or command.locations
        or command.authority not in owned
    ):
        return None
    for content in command.contents:
        if content.spooled is not None:
            return None
    return command.authority if command.contents or command.metadata else command


def reserve(
    ledger: Ledger, command: Mint, count: int, *, owned: tuple[str, ...], day: str
) -> list[Receipt]:
    """So many names that say nothing but that, when and by whom they were minted.

    Raises UnknownAuthority, InvalidRequest or MalformedIdentifier where none can be minted so,
    Conflict where so many numbers are not left; then none is used up.
    """
    rules.check_series(command.authority, owned)
    end = f".{naming.canonical_format(command.format)}.1"
    serials = ledger.serials(command.authority, day)
    stems, keys = serials.following(count)
    ledger.reserve(keys, command.format, command.by)
    serials.use(count)
    created = Outcome.CREATED
    return [Receipt(outcome=created, identifier=stem + end, revision=1) for stem in stems]


def mint(
    ledger: Ledger, series: str, run: Sequence[Mint], *, owned: tuple[str, ...], day: str
) -> list[Receipt | PerdureError]:
    """Names for what the mints bring; a receipt or an error for each.

    Raises UnknownAuthority or InvalidRequest where none can be minted in the series, Conflict where
    so many numbers are not left; then none is used up.
    """
    rules.check_series(series, owned)
    serials = ledger.serials(series, day)
    stems, keys = serials.following(len(run))
    used = 0
    kinds: dict[_Said, _Kind] = {}
    documents: dict[str, list[tuple[str, str, str]]] = {}
    answers: list[Receipt | PerdureError] = []
    for command in run:
        stem, key = stems[used], keys[used]
        try:
            kind = _kind(ledger, stem, command, kinds)
            if kind is not None:
                name, row = kind.keep(stem, key, command.contents[0])
                documents.setdefault(command.by, []).append(row)
            else:
                name = _keep(ledger, stem, key, command)
        except PerdureError as error:
            answers.append(error)
            continue
        used += 1
        answers.append(Receipt(outcome=Outcome.CREATED, identifier=name, revision=1))
    serials.use(used)
    for by, rows in documents.items():
        ledger.add_documents(rows, by)
    return answers


class _Kind:
    """Documents of which the same is said, by the same person: only their bytes differ.

    What is the same is checked and spelled out once in a batch; each document is kept as it would
    be alone.
    """

    __slots__ = ("_behind", "_ledger", "_record")

    def __init__(self, ledger: Ledger, by: str, content: Content) -> None:
        self._ledger = ledger
        self._behind = f".{content.format}.1"
        self._record = stored.alike(ledger.now, by, representation(content))

    def keep(self, stem: str, key: str, content: Content) -> tuple[str, tuple[str, str, str]]:
        """The name under which it is kept; key, stored form and SHA-512."""
        ledger, name = self._ledger, stem + self._behind
        segment, offset = ledger.append(name, 1, content)
        text = self._record(content.length, content.sha512, segment, offset)
        return name, (key, text, content.sha512)


def _kind(ledger: Ledger, stem: str, command: Mint, known: dict[_Said, _Kind]) -> _Kind | None:
    """What a mint has in common with others; None for one that brings more than a document, or
    whose format must be spelled another way.

    Raises InvalidRequest or MalformedIdentifier, with the name that it would have.
    """
    if len(command.contents) != 1 or command.metadata:
        return None
    one = command.contents[0]
    said = (command.by, one.format, one.media_type, one.charset, one.language)
    try:
        return known[said]
    except KeyError:
        (content,) = rules.checked_contents(stem, (one,))
        if content is not one:
            return None
        found = known[said] = _Kind(ledger, command.by, content)
        return found


def _keep(ledger: Ledger, stem: str, key: str, command: Mint) -> str:
    """Keeps what a mint brings; the name to tell."""
    now, by, metadata = ledger.now, command.by, command.metadata
    if not command.contents:
        format = naming.canonical_format(command.format)
        record = Record(at=now, by=by, minted=command.format, metadata=metadata)
    else:
        contents = rules.checked_contents(stem, command.contents)
        held = [ledger.place(f"{stem}.{one.format}.1", 1, one) for one in contents]
        format = held[0].format
        version = Version(number=1, at=now, representations=tuple(held))
        record = Record(at=now, by=by, metadata=metadata, versions=(version,))
    ledger.add(key, record, MINT)
    return f"{stem}.{format}.1"
