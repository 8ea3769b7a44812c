"""Descriptions that documents contain, for resources that no one has described.

How it works: `perdure.extractors.inside.documents` reads pages, PDF, pictures, sound, mail and
documents of offices in a process of its own, with limits on memory, processor time and waiting
time, because the bytes come from strangers and some of the decoders are foreign code. The process
returns a description, marked as derived.

What must stay true: for all bytes, the answer is a description that `check_description` has
accepted, or None, within `SECONDS`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote_to_bytes

import msgspec

from perdure.errors import PerdureError
from perdure.model.about import About
from perdure.model.description_checks import check_description
from perdure.model.plain_words import read_pairs

_log = logging.getLogger(__name__)

SECONDS = 10
"""Longest wait for the process; its processor time is limited to a third of it."""
MEMORY = 512 << 20
"""Memory that the process may use, in bytes."""
LARGEST = 64 << 20
"""Largest document that is read, in bytes."""
_LONGEST_ANSWER = 1 << 20
_LONGEST_FAULT = 200  # characters
_LONGEST = 10_000
"""Characters of a value that are kept."""
TYPES = frozenset(
    ("text/html", "application/xhtml+xml", "application/pdf", "image/jpeg", "image/tiff",
     "image/png", "audio/mpeg", "audio/mp3", "message/rfc822", "application/epub+zip",
     "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
     "application/x-ole-storage")
)  # fmt: skip
_FAMILIES = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)
_LENGTH = struct.Struct("!I")


class DocumentBytes(msgspec.Struct, frozen=True):
    """The bytes of a document: a range of a file."""

    path: Path
    offset: int
    length: int
    media_type: str
    charset: str | None = None


def has_inside(media_type: str) -> bool:
    """Return True if documents of this type may say something of themselves."""
    return media_type in TYPES or media_type.startswith(_FAMILIES)


def describe_document(document: DocumentBytes) -> About | None:
    """Return the description that a document contains, or None if it has none or is unreadable."""
    if not has_inside(document.media_type) or document.length > LARGEST:
        return None
    words = [sys.executable, "-m", "perdure.extractors.inside.derived"]
    try:
        done = subprocess.run(  # noqa: S603  # our interpreter, our module; the rest is on stdin
            words,
            input=_write_question(document),
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        if len(done.stdout) > _LONGEST_ANSWER:
            return None
        return _accept_about(msgspec.json.decode(done.stdout, type=About))
    except (subprocess.SubprocessError, OSError, msgspec.MsgspecError, PerdureError) as error:
        _log.info("the metadata inside a document were not read: %s", _find_cause(error))
        return None


def _accept_about(found: About) -> About | None:
    """Check a description; None if it says nothing. Raises InvalidMetadata."""
    about = check_description(found)
    return about if about.titles or about.creators or about.descriptions else None


def _find_cause(error: Exception) -> str:
    """The last line that the process has written, if it failed; else the error itself."""
    if isinstance(error, subprocess.CalledProcessError):
        lines = bytes(error.stderr).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:_LONGEST_FAULT] if lines else f"its reader ended with {error.returncode}"
    return _describe_fault(error)


class InsideMetadata(msgspec.Struct, frozen=True):
    """Names and values inside a document, and the kind of metadata that they are."""

    source: str = ""
    pairs: dict[str, str] = {}
    problem: str = ""
    """The reason for which the document could not be read; empty if it was read."""


class InsideReader:
    """Reads many documents in one process, which is replaced if it dies or takes too long.

    Use it as a context manager. The process has the limits of `describe_document` for each of them.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_document(self, document: DocumentBytes) -> InsideMetadata:
        """Return what a document says of itself, or why it cannot be read."""
        if not has_inside(document.media_type):
            return InsideMetadata()
        if document.length > LARGEST:
            return InsideMetadata(problem=f"it is larger than {LARGEST >> 20} MiB")
        try:
            answer = self._exchange(_write_question(document))
            return msgspec.json.decode(answer, type=InsideMetadata)
        except TimeoutError:
            self._end_process()
            return InsideMetadata(problem=f"its reader took more than {SECONDS} seconds")
        except (OSError, EOFError, ValueError, msgspec.MsgspecError):
            self._end_process()
            return InsideMetadata(problem="its reader died")

    def describe_document(self, document: DocumentBytes) -> About | None:
        """Return what `describe_document` returns."""
        found = self.read_document(document)
        if found.problem:
            _log.info("the metadata inside a document were not read: %s", found.problem)
        if not found.pairs:
            return None
        about = msgspec.structs.replace(read_pairs(found.pairs), derived=found.source)
        try:
            return _accept_about(about)
        except PerdureError as error:
            _log.info("the metadata inside a document were not read: %s", _find_cause(error))
            return None

    def close(self) -> None:
        self._end_process()

    def _exchange(self, question: bytes) -> bytes:
        process = self._process or self._start_process()
        if process.stdin is None or process.stdout is None:
            raise EOFError
        process.stdin.write(_LENGTH.pack(len(question)) + question)
        process.stdin.flush()
        until = time.monotonic() + SECONDS
        (length,) = _LENGTH.unpack(_read_exactly(process.stdout.fileno(), _LENGTH.size, until))
        if length > _LONGEST_ANSWER:
            raise EOFError
        return _read_exactly(process.stdout.fileno(), length, until)

    def _start_process(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "perdure.extractors.inside.derived", "--many"]
        self._process = subprocess.Popen(  # noqa: S603  # our interpreter, our module
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._process

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()


def _read_exactly(descriptor: int, length: int, until: float) -> bytes:
    """Read from a pipe. Raises EOFError at its end, TimeoutError (an OSError) if it takes long."""
    found = b""
    while len(found) < length:
        left = until - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise TimeoutError
        piece = os.read(descriptor, length - len(found))
        if not piece:
            raise EOFError
        found += piece
    return found


def main() -> None:
    """Run the process: read documents from stdin, write what they contain to stdout."""
    from perdure.extractors.inside import documents

    if "--many" in sys.argv:
        _answer_many()
        return
    document = _read_question(sys.stdin.buffer.read())
    data = _read_bytes(document)
    _limit_process(SECONDS // 3)
    about = documents.describe_bytes(data, document.media_type, document.charset)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(about or About()))


def _answer_many() -> None:
    """Answer questions until stdin ends."""
    _limit_process(resource.RLIM_INFINITY)
    while len(head := sys.stdin.buffer.read(_LENGTH.size)) == _LENGTH.size:
        document = _read_question(sys.stdin.buffer.read(*_LENGTH.unpack(head)))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(usage.ru_utime + usage.ru_stime) + SECONDS // 3
        resource.setrlimit(resource.RLIMIT_CPU, (spent, resource.RLIM_INFINITY))
        found = _read_inside(document)
        answer = msgspec.json.encode(found)
        sys.stdout.buffer.write(_LENGTH.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()


def _read_inside(document: DocumentBytes) -> InsideMetadata:
    from perdure.extractors.inside import documents

    try:
        source, pairs = documents.read_inside(
            _read_bytes(document), document.media_type, document.charset
        )
    except Exception as error:  # of many kinds: the decoders are foreign code
        return InsideMetadata(problem=_describe_fault(error))
    return InsideMetadata(source, {name: value[:_LONGEST] for name, value in pairs.items()})


def _describe_fault(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:_LONGEST_FAULT] if words else type(error).__name__


def _write_question(document: DocumentBytes) -> bytes:
    """Write a question. A path is bytes, which need not be text."""
    return msgspec.json.encode(document, enc_hook=lambda path: quote(bytes(path)))


def _read_question(text: bytes) -> DocumentBytes:
    return msgspec.json.decode(
        text,
        type=DocumentBytes,
        dec_hook=lambda kind, value: kind(os.fsdecode(unquote_to_bytes(value))),
    )


def _read_bytes(document: DocumentBytes) -> bytes:
    with document.path.open("rb") as file:
        file.seek(document.offset)
        return file.read(document.length)


def _limit_process(most: int) -> None:
    """Set the limits of this process. `most`: seconds that it can never pass."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS // 3, most))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    main()
