"""Every error has a status, a page and a place in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perdure.errors import (
    Forbidden,
    PerdureError,
)
from perdure.errors.naming import SerialNotCome
from perdure.errors.tree import QUOTING, list_classes
from perdure.server.common import problems
from perdure.server.common.problems import STATUS

DOCUMENTED = Path(__file__).parents[2] / "docs/reference/errors.md"


def tree() -> list[type[PerdureError]]:
    """Classes with a code of their own; those below them share it, with its status."""
    return [
        kind
        for kind in list_classes()
        if "code" in vars(kind) and kind.__module__.startswith("perdure.errors.")
    ]


def test_every_error_has_a_status() -> None:
    assert set(STATUS) == set(tree())


def test_every_code_is_documented_with_its_status() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", DOCUMENTED.read_text(), re.MULTILINE)
    documented = {code: int(status) for code, status in rows}
    assert len(rows) == len(documented)
    assert documented == {
        code: status.value for code, (status, _) in problems.list_explanations().items()
    }


def test_codes_are_of_one_class_each() -> None:
    codes = [kind.code for kind in tree()]
    assert len(codes) == len(set(codes))


def test_a_class_of_a_plug_in_takes_the_status_of_the_nearest_above() -> None:
    class TooLate(Forbidden):
        code = "too-late"

    assert problems.make_problem(TooLate(who="a", needed="b")).status == 403


@pytest.mark.parametrize("kind", tree(), ids=lambda kind: kind.code)
def test_any_error_becomes_a_problem(kind: type[PerdureError]) -> None:
    whole = QUOTING.get(kind, kind)
    fields: dict[str, object] = {
        name: [] if name in ("known", "versions", "offered") else name for name in whole.fields
    }
    fields |= {name: 1 for name in ("at", "limit", "version", "wait") if name in whole.fields}
    problem = problems.make_problem(whole(**fields))
    assert problem.status == STATUS[kind]
    assert problem.code == kind.code
    assert set(problem.members) == {*kind.fields, *kind.computed}


def test_a_reason_has_code_and_status_of_its_parent_and_members_of_its_own() -> None:
    problem = problems.make_problem(SerialNotCome(identifier="pdi://a.example.us/9", last=3))
    assert (problem.status, problem.code) == (400, "invalid-request")
    assert problem.members == {
        "what": "'pdi://a.example.us/9'",
        "reason": "serial numbers are assigned in order, and today's last one is 3",
        "rule": SerialNotCome.rule,
        "identifier": "pdi://a.example.us/9",
        "last": 3,
    }
