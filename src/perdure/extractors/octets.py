"""Octets of any document: `#byte=0,100` of a PDI (section 3.4.6), `offset(0,100)` elsewhere."""

from __future__ import annotations

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.root import count_things
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.parts import ByteRange, Octets, Selector


class OctetExtractor:
    """Slices of stored bytes, of every media type."""

    media_types = ("*/*",)
    selectors = (ByteRange, Octets)
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case ByteRange(start=start, end=end):
                span = Span(start, end)
            case Octets(start=start, end=end):
                span = Span(start, source.length if end is None else end)
                selector = Octets(start, span.stop)
            case _:
                raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        if not span.start < span.stop <= source.length:  # ruling: part-range
            raise _make_out_of_range(source, selector)
        return Part(
            selector=selector,
            media_type="application/octet-stream",
            body=(span,),
            slices=(span,),
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return (
            Extent(syntax=f"byte=0,{min(source.length, 100)}", what="octets", size=source.length),
        )


def _make_out_of_range(source: Source, selector: Selector) -> PartOutOfRange:
    return PartOutOfRange(
        identifier=source.name, selector=str(selector), extent=count_things(source.length, "octet")
    )


EXTRACTOR = OctetExtractor()
