"""Descriptions that documents contain, for resources that no one has described.

How it works: `perdure.metadata.inside` reads HTML, PDF, JPEG, TIFF, PNG and MP3 in a process of its
own, with limits on memory, processor time and waiting time, because the bytes come from strangers
and some of the decoders are foreign code. The process returns a description, marked as derived.

What must stay true: for all bytes, the answer is a description that `checked` has accepted, or
None, within `SECONDS`.
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
from pathlib import Path

import msgspec

from perdure.errors import PerdureError
from perdure.model.about import About, check_description

SECONDS = 10
"""Longest wait for the process; its processor time is limited to a third of it."""
MEMORY = 512 << 20
"""Memory that the process may use, in bytes."""
LARGEST = 64 << 20
"""Largest document that is read, in bytes."""
_LONGEST_ANSWER = 1 << 20
TYPES = frozenset(
    ("text/html", "application/xhtml+xml", "application/pdf", "image/jpeg", "image/tiff",
     "image/png", "audio/mpeg", "audio/mp3")
)  # fmt: skip


class DocumentBytes(msgspec.Struct, frozen=True):
    """The bytes of a document: a range of a file."""

    path: Path
    offset: int
    length: int
    media_type: str
    charset: str | None = None


def describe_document(document: DocumentBytes) -> About | None:
    """Return the description that a document contains, or None if it has none or is unreadable."""
    if document.media_type not in TYPES or document.length > LARGEST:
        return None
    words = [sys.executable, "-m", "perdure.metadata.derived"]
    try:
        done = subprocess.run(  # noqa: S603  # our interpreter, our module; the rest is on stdin
            words,
            input=msgspec.json.encode(document, enc_hook=str),
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        if len(done.stdout) > _LONGEST_ANSWER:
            return None
        about = check_description(msgspec.json.decode(done.stdout, type=About))
    except (subprocess.SubprocessError, OSError, msgspec.MsgspecError, PerdureError):
        return None
    return about if about.titles or about.creators or about.descriptions else None


def main() -> None:
    """Run the process: read a document from stdin, write its description to stdout."""
    document = msgspec.json.decode(
        sys.stdin.buffer.read(), type=DocumentBytes, dec_hook=lambda kind, value: kind(value)
    )
    from perdure.metadata import inside

    with document.path.open("rb") as file:
        file.seek(document.offset)
        data = file.read(document.length)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS // 3, SECONDS // 3))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    about = inside.describe_bytes(data, document.media_type, document.charset)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(about or About()))


if __name__ == "__main__":
    main()
