"""Paths on the command line: files and directories.

How it works: `StatedPath` is click's parameter type for paths.

What must stay true: an empty path is refused. It would name the current directory, and comes from a
variable of a script that has no value: `perdure backup "$TARGET"`.
"""

from __future__ import annotations

import os
from typing import Any

import click


class StatedPath(click.Path):
    """A path that is not empty."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if value == "":
            self.fail("the path is empty; the current directory is '.'", param, ctx)
        return super().convert(value, param, ctx)
