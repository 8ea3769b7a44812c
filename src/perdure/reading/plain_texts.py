"""The plain text of a document, of a part of it, or of a capture, for every face.

How it works: the text of a document comes from the extractor of its media type
(`PartExtraction.read_text`). A part is cut and read as a document of its own: a page of a PDF, rows
of a table, cues. If the bytes of a part have no text of their own (octets of a mail), the text is
that of the whole, as far as it is stored in the part. A capture is its payload, without transfer
and content codings.

What must stay true: a part without text is an error, never the text of the whole. A text is a
function of the stored bytes and of this version of perdure.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from perdure.archives.files.heads import find_value
from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.archives.readable import ReadableArchive
from perdure.errors import InvalidRequest
from perdure.errors.cutting import TextElsewhere, TextNotSupported
from perdure.errors.limits import PlainTextTooLong
from perdure.errors.naming import VersionNotSaid
from perdure.extractors.plain_text import Characters, list_breaks
from perdure.extractors.port import Source, iterate_body
from perdure.formats import MediaType
from perdure.formats.detect import LOOK, detect_type, resolve_type
from perdure.model.queries import Choices, Fetch, Gone, Preference
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction
from perdure.reading.resolved import Resolved

_TEXT_FIRST = (
    Preference("text/plain", 1.0),
    Preference("text/*", 0.9),
    Preference("application/*", 0.5),
    Preference("*/*", 0.1),
)
_MOST = 64 << 20  # bytes of a part or capture that are read as a document of their own
_SELECTOR = "text"
"""The name of the request in errors about parts."""


def choose_text(resolved: Resolved, *, whole: bool = False) -> Fetch | Gone:
    """Return the bytes whose text is requested: of several formats, the one that is closest to a
    text; or the tombstone.

    With `whole`, the reader must have the right to all of them, not only to the requested part.
    Raises TextElsewhere if they are not held here, VersionNotSaid for a part of several versions,
    and what `Resolved.choose` raises.
    """
    step = resolved.choose(accept=_TEXT_FIRST, whole=whole)
    if isinstance(step, Fetch | Gone):
        return step
    if isinstance(step, Choices) and resolved.inside is not None and not whole and step.fetches:
        versions = tuple(str(one.identifier) for one in step.fetches)
        raise VersionNotSaid(identifier=str(resolved.whole), versions=versions)
    raise TextElsewhere(selector=_SELECTOR)


def read_plain_text(
    extraction: PartExtraction, source: Source, selector: Selector | None = None
) -> str:
    """Return the plain text of a source, or of a part of it. Raises as `read_divided_text`."""
    return read_divided_text(extraction, source, selector).text


def read_divided_text(
    extraction: PartExtraction, source: Source, selector: Selector | None = None
) -> Characters:
    """Return the plain text of a source, or of a part of it, with the places at which words end
    although nothing divides them.

    Raises TextNotSupported if it has none, and what `PartExtraction.read_text` and `cut_part`
    raise.
    """
    if selector is None:
        text = extraction.read_text(source)
        if text is None:
            raise TextNotSupported(media_type=source.media_type, selector=_SELECTOR)
        return Characters(text.text, list_breaks(text))
    part = extraction.cut_part(source, selector)
    kind = MediaType.parse(part.media_type).with_charset(part.charset)
    body = iterate_body(part.body, source)
    with _hold_bytes(body, kind, f"{source.name}#{selector}") as cut:
        own = extraction.read_text(cut)
    if own is not None:
        return Characters(own.text, list_breaks(own))
    whole = extraction.read_text(source)
    place = None if whole is None else whole.locate_part(part)
    if whole is None or place is None:
        raise TextNotSupported(media_type=part.media_type, selector=_SELECTOR)
    inside = [one - place.start for one in list_breaks(whole) if place.start < one < place.stop]
    return Characters(whole.text[place.start : place.stop], inside)


def read_capture_text(
    extraction: PartExtraction, archive: ReadableArchive, capture: Capture
) -> str:
    """Return the plain text of a capture.

    Raises TextNotSupported if it has none, and what `open_capture` and `PartExtraction.read_text`
    raise.
    """
    with open_payload(archive, capture) as source:
        text = extraction.read_text(source)
    if text is None:
        raise TextNotSupported(media_type=capture.media_type, selector=_SELECTOR)
    return text.text


@contextmanager
def open_payload(archive: ReadableArchive, capture: Capture) -> Iterator[Source]:
    """Open the payload of a capture as a document of the type that its server stated.

    Raises PlainTextTooLong, and what `open_capture` raises.
    """
    opened = open_capture(archive.captures, archive.files, capture)
    with closing(opened.record) as record:
        kind = _read_type(find_value(opened.headers, "Content-Type") or capture.media_type)
        with _hold_bytes(record.read_payload(), kind, capture.uri) as source:
            yield source


def _read_type(field: str) -> MediaType | None:
    """Return the type that a server stated, or None if it stated none that can be read."""
    try:
        return MediaType.parse(field)
    except InvalidRequest:
        return None


@contextmanager
def _hold_bytes(chunks: Iterable[bytes], kind: MediaType | None, name: str) -> Iterator[Source]:
    """Hold bytes that are not a file of their own, to read them as a document.

    Without a type, it is detected. Raises PlainTextTooLong.
    """
    with tempfile.NamedTemporaryFile(prefix="perdure-text-") as file:
        length = 0
        for chunk in chunks:
            length += len(chunk)
            if length > _MOST:
                raise PlainTextTooLong(source=name, most=_MOST)
            file.write(chunk)
        file.flush()
        if kind is None:
            with Path(file.name).open("rb") as opened:
                kind = resolve_type(None, detect_type(opened.read(LOOK)))
        yield Source(
            path=Path(file.name),
            length=length,
            media_type=kind.essence,
            charset=kind.charset,
            name=name,
        )
