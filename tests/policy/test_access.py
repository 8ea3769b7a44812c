"""Who may read: nobody but people on the machine itself reads a closed archive."""

from __future__ import annotations

import pytest

from perdure.ids import parse
from perdure.model.queries import Reader
from perdure.model.records import LOCAL, Record
from perdure.policy.access import may_read, may_read_captures


@pytest.mark.parametrize(
    ("name", "access", "may"),
    [
        ("", "open", True),
        ("ann", "open", True),
        (LOCAL, "open", True),
        ("", "closed", False),
        ("ann", "closed", False),
        (LOCAL, "closed", True),
    ],
)
def test_captures_of_a_closed_archive(name: str, access: str, *, may: bool) -> None:
    assert may_read_captures(Reader(name=name), access) is may


def test_no_record_is_closed_to_anybody() -> None:
    name = parse("pdi://oma.eop.gov.us/1997/09/01/1")
    assert may_read(Reader(), name, Record(at="2026-11-21T12:00:00Z")) is True
