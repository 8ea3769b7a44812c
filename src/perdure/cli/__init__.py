"""The command line: every function of perdure, for people and for scripts.

How it works: `perdure` is one group of commands. Each module here holds the commands of one theme.
All modules are imported to list the commands; this costs little, because a command imports what it
needs only when it runs. `perdure.cli.command` adds the options that every command has (`--json`,
`-C`). Writes go through the write door, so they work beside a running server.

What must stay true: stdout carries data and nothing else; an error is one line on stderr and the
exit code that `perdure.cli.exits` gives it, never a traceback; `perdure --help` starts at once.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from perdure.cli import (
    about,
    addresses,
    archive,
    binding,
    capturing,
    changes,
    citing,
    collection,
    correcting,
    exits,
    history,
    keeping,
    links,
    metadata,
    minting,
    moving,
    parts,
    promoting,
    pwid,
    reading,
    setup,
    status,
    template,
    tokens,
    withdrawing,
)
from perdure.cli.command import PerdureGroup
from perdure.errors import PerdureError

_SECTIONS = (
    (setup.init, setup.serve, setup.doctor, tokens.token),
    (minting.mint, minting.commit, correcting.correct),
    (binding.bind, binding.break_location, binding.alias),
    (withdrawing.withdraw, withdrawing.erase, withdrawing.proposals, withdrawing.refuse),
    (reading.get, reading.resolve, reading.list_identifiers, reading.describe, history.history),
    (citing.cite, metadata.metadata),
    (parts.part, parts.parts, parts.verify_part, parts.prepare, template.template),
    (status.status, keeping.verify, keeping.rebuild, keeping.backup, promoting.promote),
    (changes.changes, changes.head, changes.counts),
    (collection.collection,),
    (links.check_links, links.relocate, addresses.urlify, addresses.deurlify),
    (archive.archive, pwid.pwid),
    (moving.import_file, moving.export, moving.dedupe),
    (about.version, about.completion),
)


class Perdure(PerdureGroup):
    """The top group of commands. It turns errors of commands into messages and exit codes."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)  # in the order above, not alphabetical

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


def _stop_writing() -> None:
    """Discard the rest of stdout's buffer, so that the interpreter exits quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Perdure, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="perdure", message="perdure %(version)s")
def perdure() -> None:
    """Persistent identifiers that keep, prove and point inside what they name.

    Every command has --help. Exit codes and examples: docs/reference/cli.md.
    """


for _section in _SECTIONS:
    for _command in _section:
        perdure.add_command(_command)
archive.archive.add_command(capturing.capture)


def main() -> None:
    """The entry point of the program `perdure`."""
    perdure.main(prog_name="perdure")
