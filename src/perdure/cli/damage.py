"""Damaged records that a command meets: each is reported, and the others are handled.

What must stay true: the exit code reports a damaged record, whatever else the command found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli import exits
from perdure.cli.command import here

if TYPE_CHECKING:
    from perdure.errors import Corrupt


class DamageReport:
    """Reports damaged records on stderr as they are met."""

    def __init__(self) -> None:
        self._first: Corrupt | None = None

    def __bool__(self) -> bool:
        """True if a record is damaged."""
        return self._first is not None

    def add_error(self, error: Corrupt) -> None:
        self._first = self._first or error
        exits.report_error(error, as_json=here().as_json)

    def end_command(self) -> None:
        """Exit with the code of the first error, if there is one."""
        if self._first is not None:
            click.get_current_context().exit(exits.exit_code_of(self._first))
