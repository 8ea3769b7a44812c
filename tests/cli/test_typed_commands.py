"""The commands in pages and messages exist: each call of `perdure` is parsed as it is typed."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.commands import load_commands

from perdure.cli import perdure
from perdure.cli.command import PerdureGroup

PROJECT = Path(__file__).parents[2]
PAGES = [
    *sorted(PROJECT.glob("*.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "examples").rglob("*.md")),
]
SOURCES = sorted((PROJECT / "src" / "perdure").rglob("*.py"))
_SHELL = {"", "console", "sh", "bash"}
_OMITTED = "…"


def list_blocks(page: Path) -> Iterator[list[str]]:
    """The blocks of a page that show a shell."""
    block: list[str] | None = None
    for line in page.read_text("utf-8").splitlines():
        mark = line.strip()
        if not mark.startswith("```"):
            if block is not None:
                block.append(line)
        elif block is None:
            block, language = [], mark.removeprefix("```")
        else:
            if language in _SHELL:
                yield textwrap.dedent("\n".join(block)).replace("\\\n", " ").splitlines()
            block = None


def list_lines(page: Path) -> Iterator[str]:
    """The lines that a reader types, each with the lines that continue it."""
    for block in list_blocks(page):
        has_prompts = any(line.startswith("$ ") for line in block)
        typed = ""
        for line in block:
            if typed:  # a quotation mark is still open
                typed += "\n" + line
            elif line.startswith("$ " if has_prompts else "perdure "):
                typed = line.removeprefix("$ ")
            if typed and is_complete(typed):
                yield typed
                typed = ""


def is_complete(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def list_calls(line: str) -> Iterator[list[str]]:
    """The words of each call of `perdure` in a line, without the word itself."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#" if " #" in line else ""
    words = list(lexer)
    while "perdure" in words:
        words = words[words.index("perdure") + 1 :]
        end = next((at for at, word in enumerate(words) if set(word) <= set("|&;<>()")), None)
        yield words[:end]


def list_quoted(source: Path) -> Iterator[str]:
    """The commands that the messages of a module quote."""
    text = source.read_text("utf-8")
    if "'perdure" not in text:  # few modules have one, and parsing all takes seconds
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"'(perdure [a-z][^'{}]*)'", node.value)


CALLS = [
    pytest.param(call, id=f"{path.relative_to(PROJECT)}: perdure {' '.join(call)}"[:120])
    for paths, list_texts in ((PAGES, list_lines), (SOURCES, list_quoted))
    for path in paths
    for text in list_texts(path)
    for call in list_calls(text)
    if "[OPTIONS]" not in call
]


def parse_call(group: PerdureGroup, words: list[str]) -> None:
    """Parse the words as the command line does, without converting or running anything."""
    context = click.Context(group, info_name="perdure")
    _, rest, _ = group.make_parser(context).parse_args(list(words))
    if not rest:
        return
    commands = load_commands(group)
    assert rest[0] in commands, f"no command {rest[0]!r}"
    command = commands[rest[0]]
    if isinstance(command, PerdureGroup):
        parse_call(command, rest[1:])
        return
    context = click.Context(command, info_name=rest[0])
    values, more, _ = command.make_parser(context).parse_args(rest[1:])
    assert not more, f"too many arguments: {more}"
    omitted = len(rest) == 1 or any(_OMITTED in word for word in rest)
    for parameter in command.params:
        if parameter.required and not omitted:
            assert values.get(parameter.name or "") not in (None, ()), parameter.name


@pytest.mark.parametrize("call", CALLS)
def test_a_command_that_a_reader_is_told_can_be_typed(call: list[str]) -> None:
    parse_call(perdure, call)
