"""Read the title, author and date of an archived page from the page itself, to cite it.

How it works: the payload of the capture is read by `perdure.extractors.inside.derived`, like any
document in the registry, in a separate process. The charset is the one that a browser would choose:
that of a byte-order mark, the one that the server gave, the one that the document declares;
otherwise it is guessed from the bytes.

What must stay true: a page that cannot be read gives an empty description; time and memory are
bounded.
"""

from __future__ import annotations

import codecs
import tempfile
from pathlib import Path

from perdure import formats
from perdure.archives.capture import pages
from perdure.archives.index.revisits import find_original
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.errors import PerdureError
from perdure.extractors.inside import derived
from perdure.formats.detect import detect_type
from perdure.model.about import About

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SUCCESS = range(200, 300)


def describe_capture(captures: Captures, files: ArchiveFiles, capture: Capture) -> About:
    """Return what a capture says about itself; empty if it is an error page or not a document."""
    found = find_original(captures, capture).capture
    is_document = capture.media_type in derived.TYPES
    if found is None or not is_document or capture.status not in (None, *_SUCCESS):
        return About()
    try:
        data, charset = pages.read_payload(captures, files, found)
    except PerdureError:
        return About()
    with tempfile.NamedTemporaryFile(prefix="perdure-") as file:
        file.write(data or b"")
        file.flush()
        place = derived.DocumentBytes(
            Path(file.name),
            0,
            len(data or b""),
            capture.media_type,
            _choose_charset(charset, data or b""),
        )
        return derived.describe_document(place) or About()


def _choose_charset(given: str | None, data: bytes) -> str | None:
    if given and formats.find_python_codec(given) and not data.startswith(_MARKS):
        return given
    return detect_type(data).charset
