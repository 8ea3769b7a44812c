"""Documents to cut parts out of: bytes become a source in a file, a part its bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from perdure.extractors.port import Part, Source, iterate_body
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction


def source(place: Path, data: bytes, media_type: str, charset: str | None = None) -> Source:
    """A source with these bytes, in a file of its own below `place`."""
    digest = hashlib.sha512(data).hexdigest()
    path = place / digest[:16]
    path.write_bytes(data)
    return Source(
        path=path,
        length=len(data),
        media_type=media_type,
        charset=charset,
        sha512=digest,
        name="it",
    )


def content(part: Part, source: Source) -> bytes:
    return b"".join(iterate_body(part.body, source))


def cut(extraction: PartExtraction, source: Source, selector: Selector) -> bytes:
    """The bytes of a part, of which every slice is a slice of the source."""
    part = extraction.cut_part(source, selector)
    found = content(part, source)
    assert found == b"".join(source.read_bytes(one.start, one.stop) for one in part.slices)
    return found
