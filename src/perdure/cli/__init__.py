"""The command line: every function of perdure, for people and for scripts.

How it works: `perdure` is one group of commands. Each module here holds the commands of one theme,
and is imported when one of them is called; `perdure --help` reads `summaries` instead. A command
imports what it needs only when it runs. `perdure.cli.command` adds the options that every command
has (`--json`, `-C`). Writes go through the write door, so they work beside a running server.

What must stay true: stdout carries data and nothing else; an error is one line on stderr and the
exit code that `perdure.cli.exits` gives it, never a traceback; `perdure --help` starts at once.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click

from perdure.cli import exits
from perdure.cli.command import PerdureGroup
from perdure.errors import PerdureError

_MODULES = {
    "init": "setup",
    "serve": "setup",
    "handle-server": "native_handles",
    "doctor": "setup",
    "token": "tokens",
    "mint": "minting",
    "commit": "minting",
    "correct": "correcting",
    "bind": "binding",
    "break": "binding",
    "alias": "binding",
    "withdraw": "withdrawing",
    "erase": "withdrawing",
    "proposals": "withdrawing",
    "refuse": "withdrawing",
    "restrict": "restricting",
    "restrictions": "restricting",
    "import-restrictions": "restricting",
    "close": "closing",
    "get": "reading",
    "resolve": "reading",
    "list": "reading",
    "search": "searching",
    "describe": "reading",
    "history": "history",
    "diff": "differing",
    "cite": "citing",
    "cites": "citations",
    "cited-by": "citations",
    "citations": "citation_services",
    "quotes": "quotes",
    "index": "quotes",
    "metadata": "metadata",
    "part": "parts",
    "parts": "parts",
    "verify-part": "parts",
    "prepare": "parts",
    "text": "text",
    "template": "template",
    "statement": "signing",
    "allowed-signer": "signing",
    "sign": "signing",
    "attach-signature": "signing",
    "export-signatures": "signing",
    "compose": "composing",
    "provenance": "composing",
    "manifest": "composing",
    "assert": "asserting",
    "conjoin": "asserting",
    "assertions": "asserting",
    "retract": "asserting",
    "sparql": "triples",
    "nanopub": "triples",
    "delegate": "delegating",
    "undelegate": "delegating",
    "delegations": "delegating",
    "status": "status",
    "verify": "keeping",
    "rebuild": "keeping",
    "backup": "keeping",
    "move": "places",
    "promote": "promoting",
    "hand-over": "succession",
    "take-over": "succession",
    "mirror": "mirroring",
    "webhooks": "webhooks",
    "changes": "changes",
    "head": "changes",
    "counts": "changes",
    "collection": "collection",
    "check-links": "links",
    "relocate": "links",
    "discover": "discovering",
    "dns": "discovering",
    "urlify": "addresses",
    "deurlify": "addresses",
    "archive": "archive",
    "pwid": "citing",  # which adds `pwid cite`
    "harvest": "harvesting",
    "deposit": "depositing",
    "import": "moving",
    "export": "exporting",
    "update": "moving",
    "dedupe": "exporting",
    "version": "about",
    "completion": "about",
}
"""The module of each command, in the order of the help."""
_MANY_VALUES = 100_000
"""Values after which reference cycles are searched for. Modules, rows and records are many, and
hardly any is in a cycle; a server searches more often (`perdure.server.serve`)."""


class Perdure(PerdureGroup):
    """The top group of commands. It turns errors of commands into messages and exit codes."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(_MODULES)  # in the order above, not alphabetical

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"perdure.cli.{_MODULES[cmd_name]}")
        commands = (one for one in vars(module).values() if isinstance(one, click.Command))
        return next(one for one in commands if one.name == cmd_name)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  (as click calls it)
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands, and load none of them."""
        from perdure.cli.summaries import SUMMARIES

        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has stopped reading
            _stop_writing()
            raise click.exceptions.Exit(exits.BROKEN_PIPE) from None
        return result

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command line and exit."""
        words = extra.get("args", args[0] if args else None)
        as_json = "--json" in (sys.argv[1:] if words is None else words)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _report_warning
                code = super().main(*args, **extra | {"standalone_mode": False})
        except PerdureError as error:
            exits.report_error(error, as_json=as_json)
            code = exits.exit_code_of(error)
        except click.ClickException as error:
            exits.report_usage(error, as_json=as_json)
            code = exits.USAGE
        except click.Abort:
            code = exits.INTERRUPTED
        except OSError as error:
            exits.report_system(error, as_json=as_json)
            code = exits.SYSTEM
        sys.exit(code if isinstance(code, int) else 0)


def _report_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning, such as that of a retired setting, as one line without its place."""
    click.echo(f"perdure: {message}", err=True)


def _stop_writing() -> None:
    """Discard the rest of stdout's buffer, so that the interpreter exits quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Perdure, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="perdure", message="perdure %(version)s")
def perdure() -> None:
    """Persistent identifiers that keep, prove and point inside what they name.

    Every command has --help. Exit codes and examples: docs/reference/cli.md.
    """


def main() -> None:
    """The entry point of the program `perdure`."""
    gc.set_threshold(_MANY_VALUES)
    perdure.main(prog_name="perdure")
