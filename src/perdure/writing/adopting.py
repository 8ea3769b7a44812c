"""Taking over the records of a predecessor with their history, each revision as it is stored.

How it works: each revision becomes one change of this registry, with a time of this registry, so
that its followers and mirrors see it; the record itself keeps the times and actors of the
predecessor. The names were not given out here, so the act of a first revision is `take-over`.

What must stay true: a revision that is here already is passed over, if it is the same one; one that
contradicts it is refused, and nothing of its command is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.errors.succession import RecordContradicted, RevisionUnreadable
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import Change, attest_line
from perdure.model.commands import Adopt, AdoptedRevision, Content, Outcome, Receipt
from perdure.model.mirroring import BrokenRule, SoughtContent
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record
from perdure.policy.naming import identify_record
from perdure.policy.reading_rules import read_rule
from perdure.policy.replaying import check_succession
from perdure.writing.ledger import Ledger
from perdure.writing.line_placing import LinePlacer
from perdure.writing.replayed_places import PLACELESS, list_held

TAKE_OVER = "take-over"
"""The act of a first revision, and the reason of the epoch that begins afterwards."""


def adopt_records(ledger: Ledger, command: Adopt) -> Receipt:
    """Carry out a take-over of some records and rules.

    Raises RecordContradicted, RevisionUnreadable, or InvalidRequest for a malformed rule.
    """
    rules = [(read_rule(rule).key, rule) for rule in command.rules]
    revisions = list(_select_new(ledger, command.revisions))
    rules = [(key, rule) for key, rule in rules if not _has_rule(ledger, key, rule)]
    for key, rule in rules:
        ledger.save_rule(key, rule)
    placer = LinePlacer(ledger, dict(_list_contents(revisions)))
    for one in revisions:
        before = ledger.find_record(one.key)
        if before is None:
            text = placer.place_new(one.key, one.text)
        else:
            record = stored.decode_stored(one.text)
            text = placer.place_revision(one.key, one.text, record, before)
        ledger.adopt_line(one.key, text, one.revision, (one.act, command.by))
        placer.pass_references()
    ledger.recount_serials()
    if command.begins:
        ledger.begin_epoch(TAKE_OVER, command.by)
    is_changed = bool(rules or revisions or command.begins)
    return Receipt(outcome=Outcome.CREATED if is_changed else Outcome.UNCHANGED)


def _has_rule(ledger: Ledger, key: str, rule: ReadingRule) -> bool:
    wanted = replace(rule, number=0)
    return any(replace(one, number=0) == wanted for one in ledger.journal.find_rules(key))


def _select_new(ledger: Ledger, revisions: Iterable[AdoptedRevision]) -> Iterator[AdoptedRevision]:
    """Check revisions against what is here and against each other; yield those that are new."""
    known: dict[str, Record | None] = {}
    for one in revisions:
        before = known[one.key] if one.key in known else ledger.find_record(one.key)
        if before is not None and before.revision >= one.revision:
            _require_same(ledger, one)
            continue
        known[one.key] = _check_revision(one, before)
        yield one


def _check_revision(one: AdoptedRevision, before: Record | None) -> Record:
    """Return the record of a revision. Raises RevisionUnreadable."""
    try:
        record = stored.decode_stored(one.text)
        held = sum(1 for _ in list_held(record))
        if attest_line(one.text) != one.text or (
            one.text[:1] == stored.JSON and len(PLACELESS.findall(one.text)) != held
        ):
            raise ValueError("it has places of bytes")
        if (before.revision if before else 0, record.revision) != (one.revision - 1, one.revision):
            raise ValueError("a revision before it is missing")
        if before is None and identify_record(one.key, record).key != one.key:
            raise ValueError("its name has another key")
        if before is not None:
            check_succession(_make_change(one), before, record)
    except (msgspec.DecodeError, ValueError, TypeError, PerdureError, BrokenRule) as error:
        raise RevisionUnreadable(identifier=spell_key(one.key), fault=str(error)) from error
    return record


def _make_change(one: AdoptedRevision) -> Change:
    """The change of a revision, as far as the rules of a succession ask for it."""
    return Change(
        epoch=0,
        number=0,
        at="",
        act=one.act,
        first=one.key,
        last=one.key,
        count=1,
        revision=one.revision,
        digest=b"",
        chain=b"",
        actor="",
        salt=None,
    )


def _require_same(ledger: Ledger, one: AdoptedRevision) -> None:
    """Raise RecordContradicted unless a revision that is here is the one to be adopted."""
    held = ledger.list_revisions(one.key)[one.revision - 1]
    if not is_same_revision(held, one.text):
        raise RecordContradicted(identifier=spell_key(one.key), revision=one.revision)


def is_same_revision(held: Record, text: str) -> bool:
    """Return True if a line of another registry is that of a record, but for places."""
    return attest_line(stored.encode_stored(held).decode()) == attest_line(
        stored.encode_stored(stored.decode_stored(text)).decode()
    )


def _list_contents(
    revisions: Iterable[AdoptedRevision],
) -> list[tuple[SoughtContent, Content]]:
    return [
        (SoughtContent(one.key, version, content.format, content.sha512, content.length), content)
        for one in revisions
        for version, content in one.contents
    ]
