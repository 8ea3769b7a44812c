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

from perdure import naming, rules
from perdure.errors import PerdureError
from perdure.ledger import Ledger
from perdure.model import Command, Mint, Outcome, Receipt, Record, Version


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
    stems, keys = zip(*serials.following(count), strict=True)
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
    names = serials.following(len(run))
    used = 0
    answers: list[Receipt | PerdureError] = []
    for command in run:
        stem, key = names[used]
        try:
            format, record = _first(ledger, stem, command)
        except PerdureError as error:
            answers.append(error)
            continue
        ledger.add(key, record)
        used += 1
        name = f"{stem}.{format}.1"
        answers.append(Receipt(outcome=Outcome.CREATED, identifier=name, revision=1))
    serials.use(used)
    return answers


def _first(ledger: Ledger, stem: str, command: Mint) -> tuple[str, Record]:
    """The first record under a name: the format to tell, and what is kept."""
    now, by, metadata = ledger.now, command.by, command.metadata
    if not command.contents:
        format = naming.canonical_format(command.format)
        return format, Record(at=now, by=by, minted=command.format, metadata=metadata)
    contents = rules.checked_contents(stem, command.contents)
    held = [ledger.place(f"{stem}.{one.format}.1", 1, one) for one in contents]
    version = Version(number=1, at=now, representations=tuple(held))
    return held[0].format, Record(at=now, by=by, metadata=metadata, versions=(version,))
