"""Documents in ZIP packages, as ResourceSync packs them (ANSI/NISO Z39.99-2017 sections 12, 14).

How it works: a package begins with `manifest.xml`, which says what each further file is. The
documents follow while the package is sent. Their files are stored without compression, but in the
form of a compressed stream (RFC 1951 section 3.2.4), because a reader that does not wait for the
end of a package can find the end of such a file.

What must stay true: memory is bounded, whatever the length of the documents. A document that is
withdrawn, erased or closed while its package is sent ends the package there, so that it never looks
complete.
"""

from __future__ import annotations

import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from http import HTTPStatus

from perdure.errors.harvesting import PackageOutdated
from perdure.metadata.xml_text import write_attributes
from perdure.reading.public_documents import PublicDocument, find_document
from perdure.registry import Registry
from perdure.server.common.answers import Answer
from perdure.server.common.service import Service
from perdure.storage.byte_ports import CHUNK

ZIP = "application/zip"
MANIFEST = "manifest.xml"
_LONG = 1 << 31  # bytes; a file with more needs the form of ZIP64


def name_path(number: int) -> str:
    """Return the path of a document in its package. Its identifier is in the manifest."""
    return f"/documents/{number}"


def answer_package(
    service: Service, manifest: bytes, documents: Sequence[PublicDocument], name: str
) -> Answer:
    """Answer with a package, which is made while it is sent."""
    pieces = write_package(service.registry, manifest, documents)
    shown = write_attributes({"filename": name}).strip().encode()
    fields = [
        (b"content-type", ZIP.encode()),
        (b"content-disposition", b"attachment; " + shown),
        (b"cache-control", b"no-cache"),
    ]
    return Answer(HTTPStatus.OK, fields, stream=_stream_pieces(service, pieces))


async def _stream_pieces(service: Service, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while piece := await service.read_chunk(pieces):
        yield piece


def write_package(
    registry: Registry, manifest: bytes, documents: Iterable[PublicDocument]
) -> Iterator[bytes]:
    """Yield a package in pieces. Raises PackageOutdated, Corrupt."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=0) as package:
        package.writestr(MANIFEST, manifest)
        for number, one in enumerate(documents, 1):
            held = find_document(registry.reading, one.identifier)
            if held is None or held.sha512 != one.held.sha512:
                raise PackageOutdated(identifier=str(one.identifier))
            name = name_path(number).removeprefix("/")
            with package.open(name, "w", force_zip64=held.length >= _LONG) as file:
                for piece in registry.bytes.read_chunks(held):
                    file.write(piece)
                    if sink.length >= CHUNK:
                        yield sink.take()
    yield sink.take()


class _Sink:
    """Collects what a ZIP file writes. It cannot seek, so nothing is written twice."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.length = 0

    def write(self, piece: bytes, /) -> int:
        self._pieces.append(bytes(piece))
        self.length += len(piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: pieces are taken when there are enough."""

    def close(self) -> None:
        """Do nothing: the last pieces are taken after the end."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        self.length = 0
        return taken
