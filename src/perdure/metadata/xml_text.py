"""XML in and out: parsing of untrusted documents, and elements as text.

How it works: a document first passes expat, which stops at the first document type declaration: no
entity is ever declared, so none expands, internal or external. Then lxml parses it (no network, no
huge trees) and an XML Schema validates it; libxml2 ignores hints at the location of another schema,
because it was given one. Output is written as text, which is many times as fast as a tree.

What must stay true: only the given bytes are read; XSLT, XInclude and stylesheets are never run;
all output is well-formed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any
from xml.parsers import expat

from perdure.errors import InvalidMetadata
from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import DoctypeForbidden, quote_parser
from perdure.errors.unavailable import import_library
from perdure.metadata.port import LARGEST

_NOISE = re.compile(r"\{http[^}]*\}|\[facet '\w+'\] ")
"""Noise in the messages of libxml2: namespaces, and the facet of a type that was violated."""
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_CHARACTER = r"(?:[^\x00-\x1f#%?/:@\[\]\x7f]|%[0-9A-Fa-f]{2})"
_REFERENCE = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?=.)|(?![^/?#]*:))"
    rf"(?://(?:(?:{_CHARACTER}|:)*@)?(?:\[[0-9A-Fa-f:.]+\]|{_CHARACTER}*)(?::[0-9]{{1,5}})?"
    r"(?=[/?#]|$)|(?!//))"
    rf"(?:{_CHARACTER}|[/:@])*(?:\?(?:{_CHARACTER}|[/:@?])*)?(?:#(?:{_CHARACTER}|[/:@?])*)?"
)
"""A URI reference (RFC 3986 section 4.1), with the characters that XML Schema escapes itself."""
_SPECIAL = re.compile('[&<>"\r\n\t]').search
_IN_VALUE = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


# In
# --


def load_lxml() -> Any:
    """Import lxml. Raises MissingLibrary if it is not installed."""
    return import_library("lxml.etree", task="reading XML", extra="metadata")


def parse_xml(data: bytes, format: str) -> Any:
    """Parse a document and return its root. Raises InvalidMetadata (with the line) or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=format, limit=LARGEST)
    _check_document(data, format)
    etree = load_lxml()
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise quote_parser(format, "libxml2", error.msg, error.lineno) from None
    return root


def _check_document(data: bytes, format: str) -> None:
    """Raise InvalidMetadata if XML is not well-formed or has a document type declaration."""
    parser = expat.ParserCreate()

    def refuse_declaration(*_: object) -> None:
        raise DoctypeForbidden(format=format, line=parser.CurrentLineNumber)

    parser.StartDoctypeDeclHandler = refuse_declaration
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        fault = expat.ErrorString(error.code)
        raise quote_parser(format, "expat", fault, error.lineno) from None
    except InvalidMetadata:
        raise
    except (ValueError, LookupError) as error:  # an unknown encoding
        raise quote_parser(format, "expat", error, 1) from None


@cache
def load_schema(name: str) -> Any:
    """Load a schema of the package, ready to validate."""
    etree = load_lxml()
    with (files("perdure.metadata") / "schemas" / name).open("rb") as file:
        return etree.XMLSchema(etree.parse(file))


def validate_record(root: Any, format: str, schema_name: str) -> None:
    """Validate a record. Raises InvalidMetadata with line and reason of the first fault."""
    judge = load_schema(schema_name)
    if not judge.validate(root):
        fault = judge.error_log[0]
        raise quote_parser(format, "libxml2", _NOISE.sub("", fault.message), fault.line)


def strip_namespace(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def collect_text(element: Any) -> str:
    """Return the text of an element and of its descendants."""
    return "".join(element.itertext()).strip()


# Out
# ---


def write_element(name: str, content: str, /, **pairs: str) -> str:
    """Write an element with text; nothing if the text is empty. Empty attributes are left out.

    >>> write_element("title", "R & D", lang="en", kind="")
    '<title lang="en">R &amp; D</title>'
    """
    if not content:
        return ""
    shown = content.translate(_IN_TEXT) if _SPECIAL(content) else content
    return f"<{name}{_write_pairs(pairs) if pairs else ''}>{shown}</{name}>"


def wrap_elements(name: str, inner: Iterable[str], /, **pairs: str) -> str:
    """Write an element around others; nothing if there are none."""
    joined = "".join(inner)
    return f"<{name}{_write_pairs(pairs)}>{joined}</{name}>" if joined else ""


def escape_text(value: str) -> str:
    """Escape text for use between tags."""
    return value.translate(_IN_TEXT) if _SPECIAL(value) else value


def keep_valid_uri(value: str) -> str:
    """Return a value of type anyURI; for any other text empty, so that the attribute is left out.

    >>> (keep_valid_uri("https://a.example/?q#f"), keep_valid_uri("https://a.example/%zz"),
    ...  keep_valid_uri("510.1:2"))
    ('https://a.example/?q#f', '', '')
    """
    return value if _REFERENCE.fullmatch(value) else ""


def write_attributes(found: dict[str, str]) -> str:
    """Write attributes for a tag, each after a blank, without those that have no value."""
    shown = ""
    for name, value in found.items():
        if value:
            shown += f' {name}="{value.translate(_IN_VALUE) if _SPECIAL(value) else value}"'
    return shown


def _write_pairs(found: dict[str, str]) -> str:
    """Write keyword arguments as attributes; `xml__lang` means `xml:lang`."""
    if "xml__lang" in found:
        found["xml:lang"] = found.pop("xml__lang")
    return write_attributes(found) if found else ""
