"""Every error has a status, a page and a place in the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure import errors
from perdure.errors import Forbidden, PerdureError
from perdure.server.common import problems
from perdure.server.common.problems import STATUS

DOCUMENTED = Path(__file__).parents[2] / "docs/reference/errors.md"


def tree(kind: type[PerdureError] = PerdureError) -> Iterator[type[PerdureError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from tree(below)


def test_every_error_has_a_status() -> None:
    assert set(STATUS) == set(tree())


def test_every_code_is_documented_with_its_status() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", DOCUMENTED.read_text(), re.MULTILINE)
    documented = {code: int(status) for code, status in rows}
    assert len(rows) == len(documented)
    assert documented == {
        code: status.value for code, (status, _) in problems.explanations().items()
    }


def test_codes_are_of_one_class_each() -> None:
    codes = [kind.code for kind in tree()]
    assert len(codes) == len(set(codes))


def test_a_class_of_a_plug_in_takes_the_status_of_the_nearest_above() -> None:
    class TooLate(Forbidden):
        code = "too-late"

    assert problems.of_error(TooLate(who="a", needed="b")).status == 403


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.code)
def test_any_error_becomes_a_problem(kind: type[PerdureError]) -> None:
    fields: dict[str, object] = {
        name: [] if name in ("known", "versions", "offered") else name for name in kind.fields
    }
    fields |= {name: 1 for name in ("at", "limit", "version") if name in kind.fields}
    problem = problems.of_error(kind(**fields))
    assert problem.status == STATUS[kind]
    assert problem.code == kind.code
    assert set(problem.members) == set(kind.fields)
