"""Parts of resources: every syntax that points into a document, read into one union of selectors.

How it works: each syntax has a module with a `Syntax` (`perdure.parts.port`), which is an entry
point in the group `perdure.parts`; the selectors are in `perdure.parts.selectors`. The identifier
decides what a part text means (ruling: part-meaning): in a PDI, the PDI's rules apply
(`perdure.parts.pdi`), and for a fragment scheme that the PDI draft does not define, those of the
standard that does (ruling: pdi-other-schemes); on every other identifier, the fragment rules of its
media type apply. `syntaxes` returns these in the order in which their marks are searched. A syntax
is recognised by its mark, never by trying to read the text.

>>> parse_part("line=10,20", "text/plain")
TextRange(unit='line', start=10, end=20, checks=())
>>> parse_part("intro", "text/html"), parse_part("page=3", "application/pdf")
(ElementById(id='intro'), Page(number=3, view=None))
>>> str(parse_part("ffp(track_ID=101)*mp(/~time('npt','10','30'))", "video/mp4"))
"ffp(track_ID=101)*mp(/~time('npt','10','30'))"
>>> parse_part("t=10", "text/plain")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.parts.PartNotSupported: part 't=10' cannot be cut from 'text/plain'; ...

What must stay true: everything is pure; every `read` raises only MalformedPart, or PartNotSupported
if the text follows the grammar but selects nothing that perdure can cut, and takes linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from perdure.errors import MalformedPart, PartNotSupported
from perdure.ids import Identifier
from perdure.parts import annotation, pdi
from perdure.parts.grammar import check_text, decode_piece
from perdure.parts.installed import find_scheme, list_syntaxes, load_syntaxes
from perdure.parts.member import COLLECTION
from perdure.parts.port import Syntax
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
    PartSelector,
    Playback,
    PluginSelector,
    Rect,
    Rendering,
    Selector,
    TagRange,
    TextDirective,
    TextPosition,
    TextQuote,
    TextRange,
    Track,
    Units,
    View,
    Within,
    XPath,
)

__all__ = [
    "COLLECTION",
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
    "PartSelector",
    "Playback",
    "PluginSelector",
    "Rect",
    "Rendering",
    "Selector",
    "Syntax",
    "TagRange",
    "TextDirective",
    "TextPosition",
    "TextQuote",
    "TextRange",
    "Track",
    "Units",
    "View",
    "Within",
    "XPath",
    "list_syntaxes",
    "parse_part",
    "select_part",
    "spell_part",
]


def parse_part(text: str, media_type: str) -> Selector:
    """Read a fragment, with its percent-escapes, as a part of a resource of this media type.

    Raises MalformedPart; PartNotSupported if the text is in a syntax of another media type, or
    names a part that perdure cannot cut.
    """
    check_text(text, _RULE)
    try:
        return _read_part(text, list_syntaxes(media_type))
    except PartNotSupported as error:
        # a reader knows its syntax, but not the media type
        raise PartNotSupported(
            media_type=media_type,
            selector=error.selector,
            offered=error.offered,
        ) from None


_RULE = "RFC 3986 section 3.5"


def _read_part(text: str, own: Sequence[Syntax]) -> Selector:
    for seen in (text, decode_piece(text) or text):  # a mark may be escaped
        for syntax in own:
            if not syntax.mark.search(seen):
                continue
            if syntax is annotation.SYNTAX:  # its fragments are those of this media type
                others = [one for one in own if one is not annotation.SYNTAX]
                return annotation.read_annotation(text, partial(_read_part, own=others))
            return syntax.read(text)
    offered = tuple(syntax.name for syntax in own)
    if any(one.mark.search(text) for one in load_syntaxes() if not one.is_id):
        raise PartNotSupported(selector=text, offered=offered)
    raise MalformedPart(text=text, at=0, expected="; ".join(offered), rule=_RULE)


def select_part(identifier: Identifier, media_type: str) -> Selector | None:
    """Return the part of a resource of this media type that an identifier names.

    None if it names the complete resource. Raises MalformedPart and PartNotSupported.

    >>> from perdure.ids import parse
    >>> select_part(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#37,51"), "text/plain")
    CharRange(start=37, end=51)
    >>> select_part(parse("pdi://oma.eop.gov.us/1997/09/01/2.pdf.1#page=3"), "application/pdf")
    Page(number=3, view=None)
    >>> select_part(parse("urn:example:a#char=37,51"), "text/plain")
    TextRange(unit='char', start=37, end=51, checks=())
    """
    fragment = identifier.fragment
    if fragment is not None:
        selector = pdi.make_selector(fragment)
        if isinstance(selector, Extension):
            return _read_extension(fragment.text, selector, media_type)
        return selector
    if identifier.part is not None:
        return parse_part(identifier.part, media_type)
    return None


def spell_part(identifier: Identifier, selector: Selector) -> str:
    """Return the canonical text of the part that an identifier names, as its scheme writes it.

    >>> from perdure.ids import parse
    >>> pdi = parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#quote=a%20name")
    >>> spell_part(pdi, select_part(pdi, "text/plain"))
    'quote=a%20name'
    """
    fragment = identifier.fragment
    if fragment is None or isinstance(selector, tuple(pdi.SCHEMES)):
        return str(selector)
    return str(fragment.text)


def _read_extension(text: str, selector: Extension, media_type: str) -> Selector:
    """Read a fragment of a scheme that the PDI draft does not define.

    Its meaning is that of the standard that defines it.  # ruling: pdi-other-schemes
    """
    syntax = find_scheme(selector.scheme, media_type)
    if syntax is None:
        return selector
    return (syntax.read_scheme or syntax.read)(text.lower() if syntax.ignores_case else text)
