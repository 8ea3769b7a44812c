"""The bytes of new versions: their place, and their entry in the record."""

from __future__ import annotations

import msgspec

from perdure.ids import Identifier
from perdure.model.records import Record
from perdure.policy import naming, rules
from perdure.writing.content_targets import find_targets
from perdure.writing.ledger import Ledger


def place_contents(
    ledger: Ledger, identifier: Identifier, record: Record, plan: rules.CommitPlan
) -> Record:
    """Give the fresh contents of a plan a place, and return the record with them.

    The names that they are about become targets of the record.
    """
    ledger.check_spooled(plan.fresh)
    added = tuple(
        ledger.place_content(
            str(naming.qualify_identifier(identifier, plan.version, content.format)),
            plan.version,
            content,
        )
        for content in plan.fresh
    )
    changed = rules.with_representations(record, plan.version, added, ledger.now)
    targets = find_targets(plan.fresh)
    if not targets:
        return changed
    targets = tuple(dict.fromkeys((*record.targets, *targets)))
    return msgspec.structs.replace(changed, targets=targets)
