"""An extractor that reads the text of packages and cuts no parts.

No standard defines parts of these formats, so a passage of their text leads to the complete
document. Octets of a package have an extractor of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.errors import PartNotSupported
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.packages.package import ZipPackage, open_package
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Selector
from perdure.parts.selectors import PartSelector


class PackageExtractor:
    """The text of some kinds of packages."""

    selectors: tuple[type[PartSelector], ...] = ()
    confined = False
    install = None

    def __init__(
        self,
        media_types: tuple[str, ...],
        text_index: str,
        read_text: Callable[[Source, ZipPackage, TextBuilding], None],
    ) -> None:
        self.media_types = media_types
        self.text_index = text_index
        self._read = read_text

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()

    def map_text(self, source: Source) -> bytes:
        building = TextBuilding(source)
        with open_package(source) as package:
            self._read(source, package, building)
        return building.build_index()

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index)
