"""docs/reference/cli.md says of every command what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.commands import load_commands

from perdure.cli import perdure
from perdure.cli.command import PerdureGroup

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference/cli.md").read_text("utf-8")
SHARED = {"--json", "--registry", "--version", "--help"}


def commands(group: PerdureGroup = perdure, *above: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in load_commands(group).items():
        if isinstance(command, PerdureGroup):
            yield from commands(command, *above, name)
        else:
            yield " ".join((*above, name)), command


COMMANDS = [pytest.param(name, command, id=name) for name, command in commands()]


def section(name: str) -> str:
    found = re.search(rf"^##+ {name}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section on {name}"
    return found[1]


def test_the_commands_are_those_of_the_issue() -> None:
    names = (
        "init serve mint commit bind break alias dedupe withdraw get resolve list describe verify"
        " rebuild import export backup token doctor"
    )
    assert set(names.split()) <= set(load_commands(perdure))


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_is_documented(name: str, command: click.Command) -> None:
    text = section(name)
    context = click.Context(command)
    words = [one.make_metavar(context) for one in command.params if isinstance(one, click.Argument)]
    assert f"\n{' '.join(('perdure', name, '[OPTIONS]', *words))}\n" in text
    options = [one for one in command.params if isinstance(one, click.Option)]
    expected = {
        f"| `{', '.join(one.opts)}{'' if one.is_flag else f' {one.make_metavar(context)}'}` "
        f"| {one.help} |"
        for one in options
        if SHARED.isdisjoint(one.opts) or one.name == "version"
    }
    assert set(re.findall(r"^\| `-.*", text, re.MULTILINE)) == expected


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_takes_the_shared_options(name: str, command: click.Command) -> None:
    taken = {spelling for one in command.params for spelling in one.opts}
    assert {"--json", "-C", "--registry"} <= taken


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_no_command_takes_an_empty_path(name: str, command: click.Command) -> None:
    """`perdure backup "$TARGET"` without a value must not mean the current directory."""
    for one in command.params:
        if isinstance(one.type, click.Path):
            with pytest.raises(click.BadParameter, match="the path is empty"):
                one.type.convert("", one, None)


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_option_says_what_it_is_for(name: str, command: click.Command) -> None:
    assert command.help
    assert all(one.help for one in command.params if isinstance(one, click.Option))


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda one: one.stem)
def test_how_tos_use_commands_and_options_that_exist(page: Path) -> None:
    known = dict(commands())
    for line in re.findall(r"^\s*\$ (.*perdure .*)$", page.read_text("utf-8"), re.MULTILINE):
        for call in re.findall(r"perdure ((?:-C \S+ )?[^|;]+)", line):
            words = re.sub(r"^-C \S+ ", "", call).split()
            command = known.get(words[0]) or known[" ".join(words[:2])]
            spelled = {spelling for one in command.params for spelling in one.opts}
            assert {word for word in words if word.startswith("--")} <= spelled, line
