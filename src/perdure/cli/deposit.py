"""Files on the command line that become the contents of a command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict

import click

if TYPE_CHECKING:
    from perdure.model.commands import Content
    from perdure.registry import Registry
    from perdure.upkeep.transfer.contents import DeclaredKind


class DepositOptions(TypedDict):
    """The options that `perdure.cli.options.add_file_options` adds."""

    format: tuple[str, ...]
    media_type: tuple[str, ...]
    charset: tuple[str, ...]
    language: tuple[str, ...]
    crlf: bool


@contextmanager
def deposit_files(
    registry: Registry, files: Sequence[str], about: DepositOptions
) -> Iterator[tuple[Content, ...]]:
    """Take in the contents of files (`-` is stdin). Spooled files are removed if they are refused.

    The first --type belongs to the first file, and so on; a single --language belongs to all files.
    Raises UsageError for a pipe or device without bytes, whose writer has probably failed.
    """
    from perdure.storage.spool import discard_content
    from perdure.upkeep.transfer.contents import take_in

    if not files:  # then the options describe a name without bytes
        yield ()
        return
    taken: list[Content] = []
    try:
        for file, said in zip(files, _declared_kinds(files, about), strict=True):
            with open_input(file) as source, registry.spool() as spool:
                name = None if file == "-" else Path(file).name
                content = take_in(source, spool, name=name, said=said, crlf=about["crlf"])
            taken.append(content)
            require_bytes(file, content.length, "document")
        yield tuple(taken)
    finally:
        for content in taken:
            discard_content(registry.incoming, content)  # committed content is not there any more


def require_bytes(file: str, length: int, noun: str) -> None:
    """Raise UsageError for a pipe or device without bytes, whose writer has probably failed."""
    if not length and not Path(file).is_file():
        raise click.UsageError(
            f"{file} has no bytes; to deposit an empty {noun}, name an empty file"
        )


def _declared_kinds(files: Sequence[str], about: DepositOptions) -> list[DeclaredKind]:
    from perdure.upkeep.transfer.contents import DeclaredKind

    count = len(files)
    languages = about["language"] * count if len(about["language"]) == 1 else about["language"]
    columns = []
    for name, given in (
        ("--format", about["format"]),
        ("--type", about["media_type"]),
        ("--charset", about["charset"]),
        ("--language", languages),
    ):
        if len(given) > count:
            raise click.UsageError(f"{name} is given more often than there are files")
        columns.append((*given, *(None for _ in range(count - len(given)))))
    return [
        DeclaredKind(format=format, media_type=media_type, charset=charset, language=language)
        for format, media_type, charset, language in zip(*columns, strict=True)
    ]


@contextmanager
def open_input(file: str) -> Iterator[BinaryIO]:
    """Open a file for reading, or stdin if the name is `-`."""
    if file == "-":
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as source:
            yield source
