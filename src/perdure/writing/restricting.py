"""Setting and lifting reading rules (`perdure.policy.reading_rules`).

What must stay true: a receipt for a rule means that every later answer obeys it.
"""

from __future__ import annotations

from msgspec.structs import replace

from perdure.errors.reading import RuleUnknown
from perdure.model.commands import Outcome, Receipt, Restrict
from perdure.model.reading_rules import ReadingRule
from perdure.policy.reading_rules import (
    check_rule,
    identify_subject,
    read_rule,
    select_in_force,
)
from perdure.writing.ledger import Ledger


def restrict_reading(ledger: Ledger, command: Restrict) -> Receipt:
    """Set a rule, or lift the one about the same subject.

    Raises InvalidRequest if the rule is malformed, or RuleUnknown if there is none to lift.
    """
    rule = replace(check_rule(command.rule), at=ledger.now, by=command.by, number=0)
    subject, about = read_rule(rule), identify_subject(rule)
    known = select_in_force(ledger.find_rules_about(subject))
    before = next((one for one in known if identify_subject(one) == about), None)
    if before is None and rule.lifted:
        raise RuleUnknown(about=rule.about)
    if before is not None and _is_same(before, rule):
        return Receipt(outcome=Outcome.UNCHANGED, identifier=rule.about, revision=before.number)
    number = ledger.save_rule(subject.key, rule)
    outcome = Outcome.CREATED if before is None else Outcome.CHANGED
    return Receipt(outcome=outcome, identifier=rule.about, revision=number)


def _is_same(one: ReadingRule, other: ReadingRule) -> bool:
    def strip_stamp(rule: ReadingRule) -> ReadingRule:
        return replace(rule, about="", part="", at="", by="", number=0)

    return strip_stamp(one) == strip_stamp(other)
