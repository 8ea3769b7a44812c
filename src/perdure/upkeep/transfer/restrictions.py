"""Reading rules in files: one JSON object a line, written by one registry and read by another.

    {"about":"pdi://oma.eop.gov.us/2026/11/21/1","access":"closed","until":"2030-01-01"}

How it works: a line has the members of a rule as `perdure restrictions --json` prints them. All
lines are read and checked before the first rule is set. A rule that is already in force is left as
it is. A line with `lifted` ends a rule.

What must stay true: a file with a malformed line changes nothing; the rules of a file are set in
its order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from perdure.errors import InvalidRequest
from perdure.errors.reading import RuleLineUnusable, RuleUnknown
from perdure.model.commands import Outcome, Receipt, Restrict
from perdure.model.reading_rules import ReadingRule, RequestedRule
from perdure.policy.reading_rules import check_rule
from perdure.writing.peers import SharedDoor

_AT_ONCE = 1000


class RuleLine(RequestedRule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a file: a rule with all members that a registry writes."""

    at: str = ""
    by: str = ""
    lifted: bool = False
    number: int = 0


def read_rules(lines: Iterable[bytes]) -> list[ReadingRule]:
    """Read and check the rules of a file, the time and the number of which do not matter.

    Raises RuleLineUnusable with the number of the line.
    """
    return [_read_rule(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _read_rule(number: int, line: bytes) -> ReadingRule:
    try:
        found = msgspec.json.decode(line, type=RuleLine)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RuleLineUnusable(line=number, fault=str(error)) from error
    fields = msgspec.structs.asdict(found) | {"at": "", "number": 0}
    try:
        return check_rule(ReadingRule(**fields))
    except InvalidRequest as error:
        raise RuleLineUnusable(line=number, fault=str(error)) from error


def import_rules(
    door: SharedDoor, rules: Iterable[ReadingRule], by: str
) -> Iterator[tuple[ReadingRule, Outcome]]:
    """Set rules in their order, and yield each with what became of it.

    `by` is recorded for rules that do not say who set them. A rule that ends no other one is
    unchanged.
    """
    waiting = iter(rules)
    while some := list(islice(waiting, _AT_ONCE)):
        receipts = asyncio.run(_submit_rules(door, some, by))
        yield from zip(some, receipts, strict=True)


async def _submit_rules(door: SharedDoor, rules: list[ReadingRule], by: str) -> list[Outcome]:
    commands = [Restrict(rule=one, by=one.by or by) for one in rules]
    answers = await asyncio.gather(*map(door.submit_command, commands), return_exceptions=True)
    return [_read_outcome(answer) for answer in answers]


def _read_outcome(answer: Receipt | BaseException) -> Outcome:
    if isinstance(answer, RuleUnknown):
        return Outcome.UNCHANGED
    if isinstance(answer, BaseException):
        raise answer
    return answer.outcome
