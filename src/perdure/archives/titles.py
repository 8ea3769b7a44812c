"""What an archived page says about itself: its title, who wrote it, when. For references to it.

How it works: the payload of the capture is read by what reads documents that are held
(`perdure.metadata.derived`), in a process of its own, in the charset that a browser would take:
that of a byte-order mark, that which the server gave, that which the document declares; else what
the bytes look like.

What must stay true: what cannot be read says nothing; the answer comes within bounds.
"""

from __future__ import annotations

import codecs
import re
import tempfile
from contextlib import closing
from pathlib import Path

from perdure import formats
from perdure.archives import heads, pages
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.archives.revisits import original
from perdure.description import About
from perdure.detect import detect
from perdure.errors import PerdureError
from perdure.metadata import derived

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([!#-~]{1,40}?)\"?\s*(?:;|$)", re.IGNORECASE)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SUCCESS = range(200, 300)


def said(captures: Captures, files: ArchiveFiles, capture: Capture) -> About:
    """What a capture says about itself; nothing of what is no document, or of an error page."""
    found = original(captures, capture).capture
    is_document = capture.media_type in derived.TYPES
    if found is None or not is_document or capture.status not in (None, *_SUCCESS):
        return About()
    try:
        data = pages.payload(captures, files, found)
        with closing(files.open(found)) as record:
            content_type = heads.value_of(record.headers, "Content-Type")
    except PerdureError:
        return About()
    with tempfile.NamedTemporaryFile(prefix="perdure-") as file:
        file.write(data or b"")
        file.flush()
        place = derived.Document(
            Path(file.name),
            0,
            len(data or b""),
            capture.media_type,
            _charset(content_type, data or b""),
        )
        return derived.read(place) or About()


def _charset(content_type: str, data: bytes) -> str | None:
    given = _CHARSET.search(content_type)
    if given and formats.python_codec(given[1]) and not data.startswith(_MARKS):
        return given[1]
    return detect(data).charset
