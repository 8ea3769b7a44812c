"""An extractor that reads the text and the links of packages and cuts no parts.

No standard defines parts of these formats, so a passage of their text leads to the complete
document. Octets of a package have an extractor of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from perdure.errors import PartNotSupported
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.packages.package import ZipPackage, open_package
from perdure.extractors.port import MOST_LINKS, Extent, Indexes, ListedLink, Part, Source
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
        list_links: Callable[[Source, ZipPackage], Iterator[ListedLink]],
    ) -> None:
        self.media_types = media_types
        self.text_index = text_index
        self._read = read_text
        self._list = list_links

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()

    def map_text(self, source: Source) -> bytes:
        building = TextBuilding(source)
        with open_package(source) as package:
            self._read(source, package, building)
        return building.build_index()

    def list_links(self, source: Source) -> list[ListedLink]:
        with open_package(source) as package:
            return list(islice(self._list(source, package), MOST_LINKS))

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index)
