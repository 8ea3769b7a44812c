"""A file outside a registry, and the parts that can be cut out of it.

How it works: type and charset are those that the caller gives, or they are detected from the first
bytes and the name of the file. A part is read as in a PDI or, if a PDI has no such part, as in a
URL of the media type.

What must stay true: the file is only read, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from perdure import formats
from perdure import parts as syntaxes
from perdure.errors import MalformedPart
from perdure.extractors.plain_text import Characters
from perdure.extractors.port import Extent, Part, Source, iterate_body
from perdure.formats.detect import LOOK, detect_type
from perdure.ids.pdi_fragment import read_fragment
from perdure.parts import Selector, pdi
from perdure.reading.extraction import PartExtraction
from perdure.reading.plain_texts import read_divided_text, read_plain_text


class FileParts:
    """The parts of a file. Use it in a `with` statement, which ends its processes."""

    def __init__(
        self, path: Path, *, media_type: str | None = None, charset: str | None = None
    ) -> None:
        self.source = _detect_source(path, media_type, charset)
        self._extraction = PartExtraction()

    def cut_part(self, spec: str, *, web: bool = False) -> Part:
        """Cut a part. With `web`, its text is read as in a URL, never as in a PDI.

        Raises MalformedPart, and the errors of `PartExtraction.cut_part`.
        """
        return self._extraction.cut_part(self.source, _read_selector(spec, self.source, web=web))

    def read_part(self, part: Part) -> Iterator[bytes]:
        """Yield the bytes of a part, in pieces of bounded size."""
        return iterate_body(part.body, self.source)

    def list_extents(self) -> tuple[Extent, ...]:
        """The addressable extents of the file. Raises as `PartExtraction.list_extents`."""
        return self._extraction.list_extents(self.source)

    def read_text(self, spec: str | None = None) -> str:
        """Read the plain text of the file, or of a part of it. Raises as `read_plain_text`."""
        selector = None if spec is None else _read_selector(spec, self.source, web=False)
        return read_plain_text(self._extraction, self.source, selector)

    def read_divided_text(self) -> Characters:
        """Read the plain text of the file. Raises as `read_divided_text`."""
        return read_divided_text(self._extraction, self.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._extraction.close()


def _detect_source(path: Path, media_type: str | None, charset: str | None) -> Source:
    """The file as a source, with the given or detected type."""
    with path.open("rb") as opened:
        found = detect_type(opened.read(LOOK), name=path.name)
    return Source(
        path=path,
        length=path.stat().st_size,
        media_type=media_type or str(found.media_type),
        charset=charset or found.charset,
        name=path.name,
    )


def _read_selector(spec: str, source: Source, *, web: bool) -> Selector:
    """Read a part: as in a PDI if the text can be part of one, otherwise as its type defines."""
    text = spec.removeprefix("#")
    if web:
        return syntaxes.parse_part(text, source.essence)
    fragment = read_fragment(text, formats.make_token(source.media_type))
    selected = pdi.make_selector(fragment) if fragment is not None else None
    if selected is not None and not isinstance(selected, syntaxes.Extension):
        return selected
    scheme = text.partition("=")[0].lower()
    is_ours = any(scheme in names for names in pdi.SCHEMES.values())
    try:
        found = syntaxes.parse_part(text, source.essence)
    except MalformedPart:
        if is_ours:
            return pdi.read_pdi_part(text)  # this reports what is wrong with the text
        known = (one.mark.search(text) for one in syntaxes.list_syntaxes(source.essence))
        if selected is None or any(known):
            raise
        return selected  # for a plug-in to read
    is_id = isinstance(found, syntaxes.ElementById)
    return pdi.read_pdi_part(text) if is_ours and is_id else found
