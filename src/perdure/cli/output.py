"""Output of data: to stdout, or to a file that appears only when it is complete.

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


@contextmanager
def output_file(name: str) -> Iterator[BinaryIO]:
    """Open stdout if `name` is `-`, else a file that gets its name only when all went well."""
    if name == "-":
        yield sys.stdout.buffer
        return
    target = Path(name).resolve()  # a symbolic link stays one
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
