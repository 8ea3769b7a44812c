"""Parts of resources: every syntax that points into a document, read into one union of selectors.

How it works: one module for each syntax, each with a function `read(text) -> Selector`; the
selectors are in `perdure.parts.selectors`. What a part text means follows the identifier (ruling:
part-meaning): in a PDI it has the PDI's rules (`perdure.parts.pdi`), on every other identifier
those of the fragments of its media type. Which these are, and in which order they are asked, is the
table `SYNTAXES`. A syntax is told by its mark, never by trying.

>>> parse("line=10,20", "text/plain")
TextRange(unit='line', start=10, end=20, checks=())
>>> parse("intro", "text/html"), parse("page=3", "application/pdf")
(ElementById(id='intro'), Page(number=3, view=None))
>>> str(parse("ffp(track_ID=101)*mp(/~time('npt','10','30'))", "video/mp4"))
"ffp(track_ID=101)*mp(/~time('npt','10','30'))"
>>> parse("t=10", "text/plain")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.PartNotSupported: no part 't=10' can be cut from 'text/plain'; it has parts of ...

What must stay true: pure; a `read` never raises anything but MalformedPart, or PartNotSupported for
a text that keeps to the grammar and means nothing that is cut here, and takes time in proportion to
the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from perdure.errors import MalformedPart, PartNotSupported
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.ids.urn import Urn
from perdure.parts import (
    annotation,
    directive,
    media,
    member,
    mpeg21,
    page,
    pdi,
    plaintext,
    table,
    xpointer,
)
from perdure.parts.grammar import check, decoded
from perdure.parts.selectors import (
    Between,
    ByteRange,
    Cells,
    CharRange,
    ChildSequence,
    Crop,
    Css,
    Destination,
    ElementById,
    Embedded,
    Extension,
    First,
    Information,
    Instant,
    Interval,
    Media,
    Member,
    NameRange,
    Octets,
    Page,
    Rect,
    Rendering,
    Selected,
    Selector,
    TagRange,
    TextDirective,
    TextPosition,
    TextQuote,
    TextRange,
    Track,
    Within,
    XPath,
)

__all__ = [
    "FORMS",
    "SYNTAXES",
    "Between",
    "ByteRange",
    "Cells",
    "CharRange",
    "ChildSequence",
    "Crop",
    "Css",
    "Destination",
    "ElementById",
    "Embedded",
    "Extension",
    "First",
    "Information",
    "Instant",
    "Interval",
    "Media",
    "Member",
    "NameRange",
    "Octets",
    "Page",
    "Rect",
    "Rendering",
    "Selected",
    "Selector",
    "Syntax",
    "TagRange",
    "TextDirective",
    "TextPosition",
    "TextQuote",
    "TextRange",
    "Track",
    "Within",
    "XPath",
    "parse",
    "select",
]


class Syntax(NamedTuple):
    """A way to write parts."""

    name: str
    """As messages name it."""
    mark: re.Pattern[str]
    """What is found in the texts that are written so, and in no others."""
    read: Callable[[str], Selector]


_ANY_CASE = re.ASCII | re.IGNORECASE
_SCHEME = re.compile(r"^(?!offset\()[\w.:-]++\(")  # of the XPointer Framework, known or not

_PLAIN_TEXT = Syntax(
    "char= and line= (RFC 5147)", re.compile("^(?:char|line)=", _ANY_CASE), plaintext.read
)
_TABLE = Syntax(
    "row=, col= and cell= (RFC 7111)", re.compile("^(?:row|col|cell)=", _ANY_CASE), table.read
)
_PAGE = Syntax(
    "page=, nameddest= and ef= (RFC 8118)",
    re.compile(f"(?:^|[&#])(?:{'|'.join(page.PARAMETERS)})="),
    page.read,
)
_MEDIA = Syntax(
    "t=, xywh=, track= and id= (Media Fragments URI 1.0)",
    re.compile("(?:^|&)(?:t|xywh|track|id)="),
    media.read,
)
_MPEG_21 = Syntax("ffp() and mp() (ISO/IEC 21000-17)", _SCHEME, mpeg21.read)
_TIME = Syntax("@time() (ISO 24619)", re.compile(r"^@?time\("), media.read_time_call)
_OCTETS = Syntax("offset() (ISO/IEC 21000-17)", re.compile(r"^offset\('?[0-9]"), mpeg21.read)
_POINTER = Syntax("element() and xpointer() (XPointer)", _SCHEME, xpointer.read)
_KNOWN_POINTER = _POINTER._replace(  # any other text may be an ID of HTML
    mark=re.compile(r"^(?:[\w.:-]++\(.*)?(?:xmlns|element|xpointer|xpath1)\(", re.DOTALL)
)
_DIRECTIVE = Syntax(
    ":~:text= (URL Fragment Text Directives)", re.compile(directive.DELIMITER), directive.read
)
_ANNOTATION = Syntax(
    "selector() and JSON (Web Annotation)",
    re.compile(r"^(?:selector\(|\s*\{)"),
    annotation.read,
)
_MEMBER = Syntax("member= (collections)", re.compile("^member="), member.read)
_ID = Syntax("IDs of HTML", re.compile(""), xpointer.read_id)
_NCNAME = Syntax("IDs of XML", re.compile(r"^[^=(:]++\Z"), xpointer.read)
_SGML_ID = Syntax("IDs of SGML", _NCNAME.mark, xpointer.read_id)
_IDS = frozenset({_ID, _NCNAME, _SGML_ID})

COLLECTION = "application/vnd.perdure.collection+json"

_EVERYWHERE = (_OCTETS, _ANNOTATION)
_HTML = (*_EVERYWHERE, _KNOWN_POINTER, _DIRECTIVE, _PLAIN_TEXT, _ID)
_XML = (*_EVERYWHERE, _POINTER, _NCNAME, _DIRECTIVE, _PLAIN_TEXT)
_SGML = (*_EVERYWHERE, _SGML_ID, _PLAIN_TEXT, _DIRECTIVE)
_TIMED = (*_EVERYWHERE, _TIME, _MPEG_21, _MEDIA)

SYNTAXES: dict[str, tuple[Syntax, ...]] = {
    "text/csv": (*_EVERYWHERE, _TABLE, _PLAIN_TEXT, _DIRECTIVE),
    "text/html": _HTML,
    "application/xhtml+xml": _HTML,
    "text/sgml": _SGML,
    "application/sgml": _SGML,
    "text/xml": _XML,
    "application/xml": _XML,
    "*/*+xml": _XML,
    "application/pdf": (*_EVERYWHERE, _PAGE),
    COLLECTION: (*_EVERYWHERE, _MEMBER),
    "application/mp4": _TIMED,
    "application/ogg": _TIMED,
    "image/*": (*_EVERYWHERE, _MEDIA),
    "audio/*": _TIMED,
    "video/*": _TIMED,
    "text/*": (*_EVERYWHERE, _PLAIN_TEXT, _DIRECTIVE),  # ruling: part-meaning
    "*/*": _EVERYWHERE,
}
"""What parts of each media type may be written in; the first entry that fits a type has it."""

FORMS: dict[type[Selected], tuple[str, ...]] = {
    Cells: ("row=", "col=", "cell="),
    ChildSequence: ("element()",),
    Css: ("selector(type=CssSelector)",),
    Destination: ("nameddest=",),
    ElementById: ("ID",),
    Embedded: ("ef=",),
    Instant: ("mp(/~time())",),
    Media: ("t=", "xywh=", "track=", "id="),
    Member: ("member=",),
    Octets: ("offset()",),
    Page: ("page=",),
    TextDirective: (":~:text=",),
    TextPosition: ("selector(type=TextPositionSelector)",),
    TextQuote: ("selector(type=TextQuoteSelector)",),
    TextRange: ("char=", "line="),
    Track: ("ffp()",),
    XPath: ("xpointer()",),
}
"""What can be selected outside of PDIs, by how it is written; see `perdure.parts.pdi.SCHEMES`."""


def syntaxes(media_type: str) -> tuple[Syntax, ...]:
    """The syntaxes of a media type, in the order in which they are asked."""
    essence = media_type.partition(";")[0].strip().lower()
    top, _, minor = essence.partition("/")
    suffix = minor.rpartition("+")[2] if "+" in minor else ""
    for kind in (essence, f"*/*+{suffix}", f"{top}/*"):
        if kind in SYNTAXES:
            return SYNTAXES[kind]
    return SYNTAXES["*/*"]


def parse(text: str, media_type: str) -> Selector:
    """The part that a fragment means on a resource of this media type, percent-escapes as written.

    Raises MalformedPart; PartNotSupported where the text is written in a syntax that another media
    type has, or names what is not cut here.
    """
    check(text, _RULE)
    try:
        return _read(text, syntaxes(media_type))
    except PartNotSupported as error:
        # a reader knows its syntax, not the document
        raise PartNotSupported(
            media_type=media_type,
            selector=error.selector,
            install=error.install,
            offered=error.offered,
        ) from None


_RULE = "RFC 3986 section 3.5"


def _read(text: str, own: Sequence[Syntax]) -> Selector:
    for seen in (text, decoded(text) or text):  # a mark may be escaped
        for syntax in own:
            if not syntax.mark.search(seen):
                continue
            if syntax is _ANNOTATION:  # a fragment in it is one of this media type
                others = [one for one in own if one is not _ANNOTATION]
                return annotation.read(text, partial(_read, own=others))
            return syntax.read(text)
    offered = tuple(syntax.name for syntax in own)
    foreign = {syntax for row in SYNTAXES.values() for syntax in row} - _IDS
    if any(syntax.mark.search(text) for syntax in foreign):
        raise PartNotSupported(selector=text, offered=offered)
    raise MalformedPart(text=text, at=0, expected="; ".join(offered), rule=_RULE)


def select(identifier: Identifier, media_type: str) -> Selector | None:
    """The part that an identifier names within its resource, which has this media type.

    None where it names the whole. Raises MalformedPart and PartNotSupported.

    >>> from perdure.ids import parse
    >>> select(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#37,51"), "text/plain")
    CharRange(start=37, end=51)
    >>> select(parse("urn:example:a#char=37,51"), "text/plain")
    TextRange(unit='char', start=37, end=51, checks=())
    """
    if isinstance(identifier, Pdi):
        fragment = identifier.fragment
        if fragment and fragment.scheme == member.SCHEME and media_type == COLLECTION:
            return member.read(fragment.text)
        return pdi.select(fragment) if fragment else None
    if isinstance(identifier, Urn) and identifier.f_component:
        return parse(identifier.f_component, media_type)
    return None
