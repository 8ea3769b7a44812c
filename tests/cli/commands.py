"""The commands of the command line, which are loaded when they are called."""

from __future__ import annotations

import click

from perdure.cli.command import PerdureGroup


def load_commands(group: PerdureGroup) -> dict[str, click.Command]:
    """Load all commands of a group, in the order of its help."""
    context = click.Context(group)
    found = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    return {name: command for name, command in found if command is not None}
