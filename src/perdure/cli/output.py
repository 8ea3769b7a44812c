"""Output of data: to stdout, or to a file that appears only when it is complete.

`note_other_type` says if a file has another type than its name promises, as a part of it may have.

What must stay true: anything that is not a regular file (a device, a pipe) is written to and never
replaced, because root may rename a file over /dev/null.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from perdure.cli.command import here
from perdure.errors.root import quote


@contextmanager
def output_file(name: str) -> Iterator[BinaryIO]:
    """Open stdout if `name` is `-`, else a file that gets its name only when all went well."""
    if name == "-":
        yield sys.stdout.buffer
        return
    target = Path(os.path.realpath(name))  # a symbolic link stays one
    if target.is_symlink() or (target.exists() and not target.is_file()):  # a loop, or a device
        with target.open("wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def check_not_input(output: str, file: str) -> None:
    """Raise UsageError if the output would replace the file that it is made from."""
    target = Path(output)
    if output != "-" and target.is_file() and target.samefile(file):
        raise click.UsageError(f"--output would replace {file}; choose another name")


def note_other_type(output: str, media_type: str) -> None:
    """Say so if the name of a file promises another media type than its content has."""
    from perdure import formats
    from perdure.formats.essence import strip_parameters

    suffix = "" if output == "-" else Path(output).suffix.removeprefix(".")
    promised = formats.find_media_type(suffix) if suffix else None
    found = strip_parameters(media_type)
    is_any_text = found == "text/plain" and promised is not None and promised.major == "text"
    if promised is not None and found not in ("", promised.essence) and not is_any_text:
        here().print_note(f"{quote(output)} contains {found}, not {promised.essence}")
