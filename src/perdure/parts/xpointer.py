"""Elements of XML and HTML: an ID, `element(/1/2)`, `xpointer(//p[3])`.

Specifications: XPointer Framework, element() and xmlns() Schemes (W3C Recommendations, 2003),
xpointer() Scheme (Working Draft, 2002), restricted to XPath 1.0. IDs of HTML: the HTML standard,
section 7.4.6.3.

>>> read_elements("intro")
ElementById(id='intro')
>>> read_elements("xmlns(x=urn:x)xpointer(//x:p[text()='^)'])")
XPath(expression="//x:p[text()=')']", namespaces=(('x', 'urn:x'),))
>>> str(read_elements("bogus(1)element(/1/2)  element(intro)"))
'element(/1/2)element(intro)'
>>> read_elements("element(/1")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... at 10; expected ')' (XPointer Framework section 3.1)
>>> read_elements("bogus(1)")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.parts.PartNotSupported: ... of part: element(), xpath1(), xpointer()

How it works: `split_pointer` splits a pointer into schemes with their data, also for ISO/IEC
21000-17, which is built on the same framework. Pieces are alternatives: the first that selects
anything is the part. Unknown schemes are skipped; if no known one remains, the part is not
supported.

What must stay true: an accepted expression is small; its evaluation has limits of its own
(`perdure.extractors.confined`). EXSLT is never accepted: its regular expressions take exponential
time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from perdure.errors import MalformedPart, PartNotSupported
from perdure.formats.xml_characters import NOT_IN_XML
from perdure.parts.grammar import MOST, PartText, decode_text, read_number
from perdure.parts.port import LAST, MARKUP, SGML, XML, Syntax
from perdure.parts.selectors import (
    HTML,
    XPOINTER,
    ChildSequence,
    ElementById,
    First,
    Selector,
    XPath,
)

# XML Names section 3, XML 1.0 section 2.3
_START = (
    "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NCNAME = f"[{_START}][{_START}0-9.\u00b7\u0300-\u036f\u203f\u2040-]*+"
_WHITE_SPACE = " \t\r\n"

# SchemeBased ::= PointerPart (S? PointerPart)*
# PointerPart ::= SchemeName '(' SchemeData ')'
# SchemeName  ::= QName
# SchemeData  ::= EscapedData*
# EscapedData ::= NormalChar | '^(' | '^)' | '^^' | '(' SchemeData ')'
ANY_SCHEME = re.compile(r"^(?!offset\()[\w.:-]++\(")
"""Any scheme of the XPointer Framework, known or unknown."""
_FRAMEWORK = "XPointer Framework section 3.1"
_SPACE = re.compile(f"[{_WHITE_SPACE}]*+")
_DELIMITER = re.compile("[()^]")
_ESCAPED = re.compile(r"\^([()^])")


class PointerPart(NamedTuple):
    """A scheme with its data, without escaping circumflexes."""

    name: str
    data: str
    at: int
    """Index of the data in the plain text."""
    joined: bool
    """True if `*` precedes it: it then selects inside the part of the piece before it."""


def split_pointer(whole: PartText, *, joins: bool = False) -> list[PointerPart]:
    """Split a pointer into its schemes. Raises MalformedPart.

    `joins`: allow `*` between two schemes (ISO/IEC 21000-17).
    """
    found: list[PointerPart] = []
    plain, at, joined = whole.plain, 0, False
    while True:
        begin, opening = at, _find_name_end(plain, at)
        if opening > begin and plain.startswith(":", opening):
            begin, opening = opening + 1, _find_name_end(plain, opening + 1)
        if opening == begin or not plain.startswith("(", opening):
            raise whole.make_fault(opening, "the name of a scheme, '('", _FRAMEWORK)
        if len(found) == MOST:
            raise whole.make_fault(at, f"the end: a part has at most {MOST} schemes", _FRAMEWORK)
        end = _find_closing(whole, opening + 1)
        data = _ESCAPED.sub(r"\1", plain[opening + 1 : end])
        found.append(PointerPart(plain[at:opening], data, opening + 1, joined))
        at = end + 1
        if at == len(plain):
            return found
        joined = joins and plain[at] == "*"
        spaces = None if joined else _SPACE.match(plain, at)
        at = spaces.end() if spaces else at + 1


@cache
def _compile_ncname() -> re.Pattern[str]:
    """Compile the pattern of a name when it is first needed: this takes some milliseconds."""
    return re.compile(_NCNAME)


def _find_name_end(text: str, at: int) -> int:
    """Return the end of the name that begins at `at`, or `at` if there is no name."""
    name = _compile_ncname().match(text, at)
    return name.end() if name else at


def _find_closing(whole: PartText, at: int) -> int:
    """Return the index of the parenthesis that closes the data beginning at `at`."""
    depth = 1
    while found := _DELIMITER.search(whole.plain, at):
        at = found.end()
        if found[0] == "^":
            if whole.plain[at : at + 1] not in ("(", ")", "^"):
                raise whole.make_fault(at, "'(', ')' or '^' after '^'", _FRAMEWORK)
            at += 1
        elif found[0] == "(":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return found.start()
    raise whole.make_fault(len(whole.plain), "')'", _FRAMEWORK)


# schemes
# -------


def read_elements(text: str) -> Selector:
    """Read the elements that a pointer names.

    Raises MalformedPart, and PartNotSupported if it has no supported scheme.
    """
    whole = decode_text(text, _FRAMEWORK)
    refuse_noncharacters(whole)
    if _compile_ncname().fullmatch(whole.plain):
        return ElementById(whole.plain)
    namespaces: dict[str, str] = {}
    choices: list[Selector] = []
    for piece in split_pointer(whole):
        match piece.name:
            case "xmlns":
                _bind_namespace(whole, piece, namespaces)
            case "element":
                choices.append(_read_element(whole, piece))
            case "xpointer" | "xpath1":
                check_xpath(whole, piece.at, piece.data)
                choices.append(XPath(piece.data, tuple(namespaces.items())))
    if not choices:
        raise PartNotSupported(selector=text, offered=("element()", "xpath1()", "xpointer()"))
    return choices[0] if len(choices) == 1 else First(tuple(choices))


def make_pointer(text: str) -> str:
    """Make a pointer of one scheme from a PDI fragment, whose positions are the scheme's data.

    Raises MalformedPart if a parenthesis of the data would end it.  # ruling: pdi-other-schemes

    >>> make_pointer("xpointer=//p%5b3%5d")
    'xpointer(//p[3])'
    """
    whole = decode_text(text, _FRAMEWORK)
    scheme, _, data = whole.plain.partition("=")
    pointer = f"{scheme}({data})"
    at = len(scheme) + 1
    try:
        single = len(split_pointer(decode_text(pointer.replace("%", "%25"), _FRAMEWORK))) == 1
    except MalformedPart:
        single = False
    if not single:
        expected = "data whose parentheses are balanced, or escaped by '^'"
        raise whole.make_fault(at, expected, _FRAMEWORK)
    return pointer.replace("%", "%25")


def read_element_scheme(text: str) -> Selector:
    """Read a PDI's `element=/1/2` or `xpointer=//p%5b3%5d`. Raises MalformedPart.

    >>> read_element_scheme("element=intro/2")
    ChildSequence(id='intro', steps=(2,))
    """
    return read_elements(make_pointer(text))


def read_id(text: str) -> ElementById:
    """Read the element that a fragment of HTML names; any text without white space can be an ID.

    Raises MalformedPart.

    >>> read_id("add(int)")
    ElementById(id='add(int)')
    """
    rule = "HTML standard section 3.2.6"
    whole = decode_text(text, rule)
    refuse_noncharacters(whole)
    for at, character in enumerate(whole.plain):
        if character in " \t\n\r":
            raise whole.make_fault(at, "an ID without white space", rule)
    if not whole.plain:
        raise whole.make_fault(0, "an ID", rule)
    return ElementById(whole.plain)


def refuse_noncharacters(whole: PartText) -> None:
    """Raise MalformedPart if a text has a character that no XML document can contain."""
    if found := NOT_IN_XML.search(whole.plain):
        raise whole.make_fault(found.start(), "a character of XML", "XML 1.0 section 2.2")


def _bind_namespace(whole: PartText, piece: PointerPart, namespaces: dict[str, str]) -> None:
    """Bind a prefix for the pieces to the right (Framework section 3.4).

    An attempt to bind `xml` or `xmlns`, or one that is not understood, has no effect and is not an
    error.
    """
    # XmlnsSchemeData ::= NCName S? '=' S? EscapedNamespaceName
    name, equals, uri = piece.data.partition("=")
    name, uri = name.rstrip(_WHITE_SPACE), uri.lstrip(_WHITE_SPACE)
    if not equals or name in ("xml", "xmlns") or not _compile_ncname().fullmatch(name):
        return
    if uri.startswith(("http://exslt.org", "https://exslt.org")):
        expected = "a namespace other than EXSLT, whose functions take unbounded time"
        raise whole.make_fault(piece.at, expected, "XPath 1.0 section 3.2")
    namespaces[name] = uri


# ElementSchemeData ::= (NCName ChildSequence?) | ChildSequence
# ChildSequence     ::= ('/' [1-9] [0-9]*)+
_STEPS = re.compile("(?:/[1-9][0-9]*+)*", re.ASCII)
_ELEMENT_RULE = "XPointer element() Scheme section 3"


def _read_element(whole: PartText, piece: PointerPart) -> Selector:
    data = piece.data
    name_end = _find_name_end(data, 0)
    steps = _STEPS.match(data, name_end)
    end = steps.end() if steps else name_end
    if not data or end < len(data):
        at = min(piece.at + end, len(whole.plain))
        raise whole.make_fault(at, "an ID, or numbers that each follow a '/'", _ELEMENT_RULE)
    name = data[:name_end]
    if name_end == end:
        return ElementById(name)
    numbers = (
        read_number(whole, piece.at, step, _ELEMENT_RULE)
        for step in data[name_end + 1 :].split("/")
    )
    return ChildSequence(name or None, tuple(numbers))


# limits of an expression
# ------------------------

_LONGEST_XPATH = 1024  # octets
_MOST_DESCENTS = 3
_DESCENT = re.compile(
    r""""[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|(//|\b(?:descendant(?:-or-self)?|following|preceding)\s*+::)"""
)
_XPATH_RULE = "XPath 1.0 section 2, within the limits of perdure"


def check_xpath(whole: PartText, at: int, expression: str) -> None:
    """Raise MalformedPart at `at` if an expression is empty, too large, or descends too often."""
    if not expression.strip():
        raise whole.make_fault(at, "an expression", _XPATH_RULE)
    if len(expression.encode()) > _LONGEST_XPATH:
        raise whole.make_fault(at, f"an expression of at most {_LONGEST_XPATH} octets", _XPATH_RULE)
    if sum(bool(found[1]) for found in _DESCENT.finditer(expression)) > _MOST_DESCENTS:
        expected = f"'//' and axes of descendants at most {_MOST_DESCENTS} times"
        raise whole.make_fault(at, expected, _XPATH_RULE)


_SCHEMES = ("element", "xpointer")

SYNTAX = Syntax(
    name="element() and xpointer() (XPointer)",
    media_types=XML,
    except_types=MARKUP,
    mark=ANY_SCHEME,
    read=read_elements,
    forms={ChildSequence: ("element()",), XPath: ("xpointer()",)},
    specifications=(
        XPOINTER,
        "http://tools.ietf.org/rfc/rfc3023",
        "http://tools.ietf.org/rfc/rfc7303",  # obsoletes it
    ),
    schemes=_SCHEMES,
    read_scheme=read_element_scheme,
    turn=30,
)
IN_HTML = Syntax(
    name=SYNTAX.name,
    media_types=MARKUP,
    mark=re.compile(  # any other text may be an ID of HTML
        r"^(?:[\w.:-]++\(.*)?(?:xmlns|element|xpointer|xpath1)\(", re.DOTALL
    ),
    read=read_elements,
    schemes=_SCHEMES,
    read_scheme=read_element_scheme,
    turn=30,
)
_PLAIN_NAME = re.compile(r"^[^=(:]++\Z")
XML_ID = Syntax(
    name="IDs of XML",
    media_types=XML,
    except_types=MARKUP,
    mark=_PLAIN_NAME,
    read=read_elements,
    is_id=True,
    turn=35,
)
SGML_ID = Syntax(
    name="IDs of SGML",
    media_types=SGML,
    mark=_PLAIN_NAME,
    read=read_id,
    is_id=True,
    turn=35,
)
HTML_ID = Syntax(
    name="IDs of HTML",
    media_types=MARKUP,
    mark=re.compile(""),
    read=read_id,
    forms={ElementById: ("ID",)},
    specifications=(HTML,),
    is_id=True,
    turn=LAST,
)
