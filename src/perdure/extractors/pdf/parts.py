"""Parts of a PDF (RFC 8118): a page as a document of its own, a rectangle of it, an embedded file.

How it works: pikepdf (qpdf) copies a page with everything it needs into an empty document. Streams
stay untouched: nothing is decompressed, so a bomb in a page stays small. The identifier of the new
document is a digest of its content, so the same page yields the same bytes. Active content is left
behind: actions other than links within the document and to the web, scripts, additional actions. A
rectangle becomes the crop box of the page.

If the cross-reference table of a document is damaged, the document is searched for its objects, and
the fact `mended` of the part says so.

The part of a page has the digest of its decoded form, which does not depend on how it is stored
(`perdure.extractors.pdf.objects`; ruling: part-digest). An embedded file is returned unchanged.

What must stay true: the code runs confined. A page never brings a script along.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from perdure.errors import (
    PartNotFound,
    PartNotSupported,
    PartOutOfRange,
    PerdureError,
)
from perdure.errors.damage import PdfEncrypted
from perdure.errors.limits import EmbeddedFileTooLong, NestingUnsupported
from perdure.extractors.libraries import import_library
from perdure.extractors.pdf import text as pdf_text
from perdure.extractors.port import MOST_LINKS, Extent, Indexes, ListedLink, Part, Source
from perdure.formats import MediaType
from perdure.parts import Destination, Embedded, Page, Selector

if TYPE_CHECKING:
    import pikepdf

_EXTRA = "pdf"
_SHOWN = 50  # names in a list of extents
_LONGEST_FACT = 200  # characters
_LONGEST_ADDRESS = 8192  # characters
_DEEPEST = 32  # levels of a tree of names
_MOST_EMBEDDED = 64 << 20  # bytes
_HARMLESS = ("/URI", "/GoTo")
"""Actions that a link may keep."""
_ACTIVE = frozenset(("/RichMedia", "/Screen", "/Movie", "/Sound", "/3D", "/FileAttachment"))
"""Annotations that play media or carry files."""
_MEDIA_TYPE = "application/pdf"


class PdfExtractor:
    """Pages, named destinations and embedded files of a PDF."""

    media_types = (_MEDIA_TYPE,)
    selectors = (Page, Destination, Embedded)
    confined = True
    install = f"perdure[{_EXTRA}]"
    text_index = pdf_text.INDEX

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        with _open_pdf(source, selector) as pdf:
            match selector:
                case Page(number=number, view=view):
                    return _cut_page(source, selector, pdf, number, view)
                case Destination(name=name):
                    number = _find_target_page(source, selector, pdf, name)
                    return _cut_page(source, Page(number), pdf, number, None)
                case Embedded(name=name):
                    return _read_embedded(source, selector, pdf, name)
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        with _open_pdf(source, "pages") as pdf:
            found = [Extent(syntax="page=1", what="pages, from 1", size=len(pdf.pages))]
            for syntax, what, names in (
                ("nameddest={}", "named destinations", tuple(dict(_list_destinations(pdf)))),
                ("ef={}", "embedded files", tuple(pdf.attachments)),
            ):
                if names:
                    example = syntax.format(names[0])
                    shown = names[:_SHOWN]
                    found.append(Extent(syntax=example, what=what, size=len(names), items=shown))
        return tuple(found)

    def list_links(self, source: Source) -> list[ListedLink]:
        with _open_pdf(source, "links") as pdf:
            return list(islice(_list_addresses(pdf), MOST_LINKS))

    def map_text(self, source: Source) -> bytes:
        return pdf_text.map_pdf_text(source)

    def open_text(self, source: Source, index: bytes | memoryview) -> pdf_text.PdfText:
        return pdf_text.PdfText(source, index)


@contextmanager
def _open_pdf(source: Source, selector: Selector | str) -> Iterator[pikepdf.Pdf]:
    """Open a document. Raises Undecodable if it is damaged, encrypted or not a PDF."""
    pikepdf = import_library("pikepdf", _EXTRA, source, selector)
    try:
        with source.open_file() as file, pikepdf.open(file, suppress_warnings=True) as pdf:
            yield pdf
    except pikepdf.PasswordError:
        raise PdfEncrypted(**source.subject) from None
    except PerdureError:
        raise
    except (pikepdf.PdfError, ValueError, TypeError, AttributeError, KeyError) as error:
        # raised for an object of the wrong type
        raise source.quote_decoder("pikepdf", error) from None
    except RecursionError:
        raise NestingUnsupported(source=source.name) from None


# pages
# -----


def _cut_page(
    source: Source,
    selector: Page,
    pdf: pikepdf.Pdf,
    number: int,
    view: tuple[Fraction, Fraction, Fraction, Fraction] | None,
) -> Part:
    pikepdf = import_library("pikepdf", _EXTRA, source, selector)
    from perdure.extractors.pdf import objects as pdf_objects

    count = len(pdf.pages)
    if not 1 <= number <= count:
        raise PartNotFound(
            identifier=source.name, selector=str(selector), extent=f"page 1 to {count}"
        )
    alone = pikepdf.new()
    alone.pages.append(pdf.pages[number - 1])
    page = alone.pages[0]
    _disarm_page(page.obj, pikepdf.Name("/Stamp"))
    if view is not None:
        page.cropbox = _find_crop_box(source, selector, page, view)
    written = io.BytesIO()
    alone.save(
        written,
        deterministic_id=True,
        compress_streams=False,
        stream_decode_level=pikepdf.StreamDecodeLevel.none,
        object_stream_mode=pikepdf.ObjectStreamMode.disable,
    )
    mended = pdf.get_warnings()
    return Part(
        selector=selector,
        media_type=_MEDIA_TYPE,
        body=(written.getvalue(),),
        decoded=pdf_objects.digest_page(page),
        facts={"mended": str(mended[0])[:_LONGEST_FACT]} if mended else {},
    )


def _disarm_page(page: Any, stamp: Any) -> None:
    """Remove everything that a page or its annotations do by themselves or in other programs.

    A form field is cut off from its form, which may have scripts and is not in the part. It becomes
    a stamp with the same look, for programs that do not draw a field without its form.
    """
    if "/AA" in page:
        del page["/AA"]
    if "/Annots" not in page:
        return
    page["/Annots"] = [one for one in page["/Annots"] if str(one.get("/Subtype")) not in _ACTIVE]
    for annotation in page["/Annots"]:
        for key in ("/AA", "/PA", "/Parent"):
            if key in annotation:
                del annotation[key]
        if annotation.get("/Subtype") == "/Widget":
            annotation["/Subtype"] = stamp
        action = annotation.get("/A")
        if action is None:
            continue
        if str(action.get("/S")) not in _HARMLESS:
            del annotation["/A"]
        elif "/Next" in action:
            del action["/Next"]


def _find_crop_box(
    source: Source,
    selector: Page,
    page: Any,
    view: tuple[Fraction, Fraction, Fraction, Fraction],
) -> list[Decimal]:
    """Return the rectangle in the page's own coordinates, which count from the bottom."""
    left, bottom, right, top = (Fraction(str(one)) for one in page.cropbox)
    left, right = sorted((left, right))
    bottom, top = sorted((bottom, top))
    x, y, width, height = view
    box = (left + x, top - y - height, left + x + width, top - y)
    inside = box[0] < right and box[1] < top and box[2] > left and box[3] > bottom
    if not inside or width <= 0 or height <= 0:
        raise PartOutOfRange(
            identifier=source.name,
            selector=str(selector),
            extent=f"{float(right - left):g} by {float(top - bottom):g} units",
        )
    clipped = (max(box[0], left), max(box[1], bottom), min(box[2], right), min(box[3], top))
    return [round(Decimal(one.numerator) / one.denominator, 6) for one in clipped]


# links
# -----


def _list_addresses(pdf: pikepdf.Pdf) -> Iterator[ListedLink]:
    """Yield the links to the web, each with its page (ISO 32000, 12.6.4.8)."""
    for number, page in enumerate(pdf.pages, 1):
        for annotation in islice(page.obj.get("/Annots", ()), MOST_LINKS):
            action = annotation.get("/A") if hasattr(annotation, "get") else None
            address = None if action is None else action.get("/URI")
            if address is not None:
                yield ListedLink("pdf", str(address)[:_LONGEST_ADDRESS], number)


# names
# -----


def _find_target_page(source: Source, selector: Selector, pdf: pikepdf.Pdf, name: str) -> int:
    """Return the number of the page to which a named destination leads."""
    known = dict(_list_destinations(pdf))
    pikepdf = import_library("pikepdf", _EXTRA, source, selector)
    target = known.get(name)
    if isinstance(target, pikepdf.Dictionary):
        target = target["/D"]
    number = _find_page_number(pdf, target) if isinstance(target, pikepdf.Array) else None
    if number is None:
        names = ", ".join(list(known)[:_SHOWN]) or "no named destination"
        raise PartNotFound(identifier=source.name, selector=str(selector), extent=names)
    return number


def _find_page_number(pdf: pikepdf.Pdf, target: Any) -> int | None:
    """Return the page of an explicit destination, `[page /XYZ …]`."""
    place = target[0].objgen
    numbers = (number for number, page in enumerate(pdf.pages, 1) if page.obj.objgen == place)
    return next(numbers, None)


def _list_destinations(pdf: pikepdf.Pdf) -> Iterator[tuple[str, Any]]:
    """Yield names and their destinations, from the tree of names and from the older dictionary."""
    root: Any = pdf.Root
    tree = root.get("/Names", {}).get("/Dests") if "/Names" in root else None
    if tree is not None:
        yield from _list_names(tree, 0)
    if "/Dests" in root:
        for name, target in root["/Dests"].items():
            yield name.removeprefix("/"), target


def _list_names(node: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        return
    names = node.get("/Names", ())
    for at in range(0, len(names) - 1, 2):
        yield str(names[at]), names[at + 1]
    for kid in node.get("/Kids", ()):
        yield from _list_names(kid, depth + 1)


def _read_embedded(source: Source, selector: Embedded, pdf: pikepdf.Pdf, name: str) -> Part:
    if name not in pdf.attachments:
        names = ", ".join(list(pdf.attachments)[:_SHOWN]) or "no embedded file"
        raise PartNotFound(identifier=source.name, selector=str(selector), extent=names)
    file = pdf.attachments[name].get_file()
    if (file.size or 0) > _MOST_EMBEDDED:
        raise EmbeddedFileTooLong(source=source.name, selector=str(selector), most=_MOST_EMBEDDED)
    return Part(
        selector=selector, media_type=_check_media_type(file.mime_type), body=(file.read_bytes(),)
    )


def _check_media_type(media_type: str) -> str:
    """Return the media type that the document states, if it is valid."""
    try:
        return MediaType.parse(media_type).essence
    except ValueError:
        return "application/octet-stream"


EXTRACTOR = PdfExtractor()
