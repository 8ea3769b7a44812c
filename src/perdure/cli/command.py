"""What all commands have in common: `--json`, `-C`, and where they find the registry.

How it works: `Command` and `Group` add the shared options to whatever is made with them, so that
they may stand before or behind the name of a command. What was chosen is kept in the context;
`here()` gives it to the running command as one value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from perdure.registry import Registry

_JSON = "perdure.json"
_ROOT = "perdure.registry"
_VARIABLE = "PERDURE_REGISTRY"
_WHOLE = 1000  # characters: longer than any sentence


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            ctx.meta[name] = value

    return keep


def _shared() -> list[click.Option]:
    registry = click.Option(
        ["-C", "--registry"],
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        expose_value=False,
        callback=_keep(_ROOT),
        help=f"Directory of the registry; else ${_VARIABLE}, else the current one.",
    )
    as_json = click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_keep(_JSON),
        help="Answer in JSON, and tell errors in JSON on stderr.",
    )
    return [registry, as_json]


class _Shared(click.Command):
    """What commands and groups have in common."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += _shared()

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first sentence, which is wrapped and not broken off, however long the line is."""
        return super().get_short_help_str(max(limit, _WHOLE))


class Command(_Shared):
    """A command with the shared options."""


class Group(_Shared, click.Group):
    """A group with the shared options, whose commands have them too."""

    command_class = Command


class Here:
    """Where a command runs and how it answers."""

    def __init__(self, *, root: Path, as_json: bool) -> None:
        self.root = root
        self.as_json = as_json

    def registry(self) -> Registry:
        """The registry, to be opened with `with`. Raises BadSettings where there is none."""
        from perdure.registry import Registry

        return Registry(self.root)

    def answer(self, value: Any, text: str) -> None:
        """One line of data on stdout: `value` as JSON if that was asked for, else `text`."""
        if self.as_json:
            click.echo(to_json(value))
        elif text:
            click.echo(text)

    def summary(self, value: Any, text: str) -> None:
        """What was done: on stdout where scripts want it, else a remark for people."""
        self.answer(value, "")
        self.note(text)

    def fail(self, value: Any, text: str) -> None:
        """One line on stderr: why there is no data."""
        click.echo(to_json(value) if self.as_json else f"perdure: {text}", err=True)

    def note(self, text: str) -> None:
        """A remark on stderr, for people only."""
        if not self.as_json:
            click.echo(f"perdure: {text}", err=True)


def here() -> Here:
    """The surroundings of the running command."""
    meta = click.get_current_context().meta
    root = meta.get(_ROOT) or Path(os.environ.get(_VARIABLE, ""))
    return Here(root=root, as_json=meta.get(_JSON, False))


def to_json(value: Any) -> str:
    """Any value of ours as one line of JSON; identifiers as text."""
    import msgspec

    return json.dumps(msgspec.to_builtins(value, enc_hook=str))
