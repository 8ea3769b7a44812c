"""Parts that all commands share: `--json`, `-C`, and how they find the registry.

How it works: `PerdureCommand` and `PerdureGroup` add the shared options to every command and group,
so you may write these options before or after the name of a command. Their values are kept in the
context; `here()` returns them to the running command as one value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perdure.cli import exits
from perdure.cli.paths import StatedPath

if TYPE_CHECKING:
    from perdure.registry import Registry
    from perdure.settings import Settings

_JSON = "perdure.json"
_ROOT = "perdure.registry"
_FINDINGS = "perdure.findings"
_ANSWERED = "perdure.answered"
_VARIABLE = "PERDURE_REGISTRY"
_WHOLE = 1000  # characters: longer than any sentence


def _store_in_context(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def store_value(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            ctx.meta[name] = value

    return store_value


@cache
def _shared_options() -> tuple[click.Option, ...]:
    """The shared options, made once: `perdure --help` lists seventy commands."""
    registry = click.Option(
        ["-C", "--registry"],
        metavar="DIR",
        type=StatedPath(file_okay=False, path_type=Path),
        expose_value=False,
        is_eager=True,  # lists of names need the registry while arguments are read
        callback=_store_in_context(_ROOT),
        help=f"Directory of the registry. Default: ${_VARIABLE}, or the current directory.",
    )
    as_json = click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_store_in_context(_JSON),
        help="Answer in JSON, and report errors in JSON on stderr.",
    )
    return registry, as_json


class _SharedCommand(click.Command):
    """A base class for commands and groups: it adds the shared options."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += _shared_options()

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first sentence in full: it is wrapped, never truncated."""
        return super().get_short_help_str(max(limit, _WHOLE))


class PerdureCommand(_SharedCommand):
    """A command with the shared options."""

    def invoke(self, ctx: click.Context) -> Any:
        result = super().invoke(ctx)
        if ctx.meta.get(_FINDINGS):
            ctx.exit(exits.FINDINGS)
        return result


def note_findings() -> None:
    """Let the running command exit with 1 if all else goes well: a line of a list was bad."""
    click.get_current_context().meta[_FINDINGS] = True


class PerdureGroup(_SharedCommand, click.Group):
    """A group with the shared options, which its commands have too."""

    command_class = PerdureCommand


class Here:
    """The directory in which a command runs, and the ways in which it answers."""

    def __init__(self, *, root: Path, as_json: bool) -> None:
        self.root = root
        self.as_json = as_json

    def open_registry(self) -> Registry:
        """Open the registry; use it in a `with` statement. Raises BadSettings if there is none."""
        from perdure.registry import Registry
        from perdure.upkeep.forgetting import forget_withdrawn

        registry = Registry(self.root)
        forget_withdrawn(registry)
        return registry

    def list_resolvers(self) -> tuple[str, ...]:
        """Return the public address of our own resolver, if there is one."""
        base = self.find_base_url()
        return (base,) if base else ()

    def find_base_url(self) -> str:
        """Return the `base_url` of the registry or, without a registry, of the environment."""
        from perdure import settings

        if not (self.root / settings.FILE).exists():
            return os.environ.get("PERDURE_BASE_URL", "")
        return settings.load_settings(self.root, os.environ).base_url

    def has_registry(self) -> bool:
        """Return True if there is a registry in the directory."""
        from perdure import settings

        return (self.root / settings.FILE).exists()

    def load_settings(self) -> Settings:
        """Return the settings of the registry or, without a registry, those of the environment."""
        from perdure import settings

        if self.has_registry():
            return settings.load_settings(self.root, os.environ)
        return settings.read_table({}, os.environ)

    def print_answer(self, value: Any, text: str) -> None:
        """Print one line of data on stdout: `value` with --json, otherwise `text`."""
        click.get_current_context().meta[_ANSWERED] = True
        if self.as_json:
            click.echo(to_json(value))
        elif text:
            click.echo(text)

    def print_summary(self, value: Any, text: str) -> None:
        """Print the result of a change: on stdout with --json, otherwise as a remark."""
        self.print_answer(value, "")
        self.print_note(text)

    def print_failure(self, value: Any, text: str) -> None:
        """Print one line on stderr that says why there is no data."""
        click.echo(to_json(value) if self.as_json else f"perdure: {text}", err=True)

    def print_note(self, text: str) -> None:
        """Print a remark on stderr, unless --json was given."""
        if not self.as_json:
            click.echo(f"perdure: {text}", err=True)

    def end_list(self, text: str) -> None:
        """Print a remark that a list is empty, if nothing has been printed of it."""
        if not click.get_current_context().meta.get(_ANSWERED):
            self.print_note(text)


def here() -> Here:
    """Return the surroundings of the running command."""
    meta = click.get_current_context().meta
    root = meta.get(_ROOT) or Path(os.environ.get(_VARIABLE, ""))
    return Here(root=root, as_json=meta.get(_JSON, False))


def to_json(value: Any) -> str:
    """Return any value of the package as one line of JSON; identifiers become text."""
    import msgspec

    return json.dumps(msgspec.to_builtins(value, enc_hook=str))
