"""Who may read: nobody but people on the machine itself reads a closed archive."""

from __future__ import annotations

import pytest

from perdure.model.queries import Reader
from perdure.model.records import LOCAL
from perdure.policy.access import may_read_captures


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
