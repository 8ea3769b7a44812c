"""Reading files of a deposit: safely, once, and only if they do not change meanwhile.

How it works: `open_file` refuses to follow a link in the last part of a path, and checks that the
directory of the file is below the root, whatever links are on the way. `Measure` hashes and samples
the bytes. A file whose size or time of change is another after it was read has changed.

What must stay true: nothing outside the root is read; a pipe or a device never blocks; memory is
bounded for any length.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from perdure import formats
from perdure.errors.depositing import DepositUnreadable, FileChanged, FileNotRegular, RowPathOutside
from perdure.formats import OCTETS, MediaType
from perdure.formats.detect import Sample, Sampler, detect_type
from perdure.upkeep.deposit.spelling import spell_path

PIECE = 1 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileRoot:
    """The directory of a deposit."""

    def __init__(self, directory: Path) -> None:
        """Raises OSError if it is not a directory that can be read."""
        self.path = os.path.realpath(os.fsencode(directory))
        if not stat.S_ISDIR(os.stat(self.path).st_mode):
            raise NotADirectoryError(20, "it is not a directory", str(directory))
        self._checked = b""
        """The last directory that was found to be below the root."""

    @contextmanager
    def open_file(self, path: bytes) -> Iterator[BinaryIO]:
        """Open a file below the root, which must not change while it is open.

        Raises FileNotTaken or RowPathOutside.
        """
        full = os.path.join(self.path, path)
        self._check_directory(os.path.dirname(full), path)
        try:
            descriptor = os.open(full, _FLAGS)
        except OSError as error:
            kind = FileNotRegular if os.path.islink(full) else None
            if kind is not None:
                raise kind(path=spell_path(path)) from None
            raise _quote_system(path, error) from None
        with open(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise FileNotRegular(path=spell_path(path))
            try:
                yield file
            except OSError as error:
                raise _quote_system(path, error) from None
            after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise FileChanged(path=spell_path(path))

    def _check_directory(self, directory: bytes, path: bytes) -> None:
        if directory == self._checked:
            return
        real = os.path.realpath(directory)
        if real != self.path and not real.startswith(self.path.rstrip(b"/") + b"/"):
            raise RowPathOutside(path=spell_path(path))
        self._checked = directory


def _quote_system(path: bytes, error: OSError) -> DepositUnreadable:
    return DepositUnreadable(path=spell_path(path), fault=error.strerror or str(error))


class Measure(NamedTuple):
    """Size, digest and sample of the bytes of a file."""

    size: int
    sha512: str
    sample: Sample


def measure_stream(file: BinaryIO) -> Measure:
    """Read a file to its end. Raises OSError."""
    sampler, digest, size = Sampler(), hashlib.sha512(), 0
    while piece := file.read(PIECE):
        sampler.feed(piece)
        digest.update(piece)
        size += len(piece)
    return Measure(size, digest.hexdigest(), sampler.take_sample())


class FileKind(NamedTuple):
    """The type of a file; texts are empty if they are not known."""

    media_type: str
    charset: str
    format: str
    why: str


def detect_kind(sample: Sample, name: str, language: str) -> FileKind:
    """Detect the type of a file by its content and name."""
    found = detect_type(sample, name=name, language=language or None)
    why = {
        "content": "type by its content",
        "name": "type by its name",
        "both": "",
        "nothing": "type unknown",
    }[found.source]
    charset = found.charset or ""
    essence = str(found.media_type.with_charset(None))
    if not charset and formats.is_text(essence):
        why = "; ".join(filter(None, (why, "charset unknown")))
    return FileKind(
        essence,
        charset,
        formats.make_token(found.media_type, found.charset),
        why,
    )


def guess_kind(name: str) -> FileKind:
    """The type that the name alone promises. A text has no charset then."""
    found: MediaType | None = formats.find_type_by_name(name)
    if found is None:
        return FileKind(OCTETS.essence, "", "", "type not detected")
    return FileKind(str(found.with_charset(None)), "", "", "type by its name, not detected")
