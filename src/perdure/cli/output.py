"""Where data goes: stdout, or a file that appears only when it is whole.

What must stay true: what is no regular file (a device, a pipe) is written to and never replaced,
whoever runs the command: root may rename a file over /dev/null.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def output_file(name: str) -> Iterator[BinaryIO]:
    """stdout where `name` is `-`, else the file, which takes its name when all went well."""
    if name == "-":
        yield sys.stdout.buffer
        return
    target = Path(name).resolve()  # a link stays one
    if target.exists() and not target.is_file():
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
