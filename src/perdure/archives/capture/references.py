"""Find or replace the addresses in an archived HTML document or style sheet.

How it works: the project's own tokenizer finds tags and their attributes in the bytes as they are.
In style sheets, one pattern finds `url(…)` and `@import`. Every address is passed to a function
that returns its replacement. To list addresses only, that function returns them unchanged.

What must stay true: all bytes other than addresses stay as they are; a document whose encoding is
not a superset of ASCII is not changed, nor is any script; every address is escaped when it is
written into the document.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urljoin

import msgspec

from perdure import formats
from perdure.extractors.markup.tags import HTML, Attribute, read_attributes, read_tag, scan_tags

_HEAD = 1024  # bytes in which HTML looks for a charset
MOST_TAGS = 100_000  # of a document; whatever follows them stays unchanged
_LONGEST = 8192  # characters of an address
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_ALL_VISIBLE = re.compile("[!-~]*")


class Address(NamedTuple):
    """An address found in a document."""

    uri: str
    """Absolute."""
    role: str
    """`link` leads elsewhere; `frame`, `style` and `resource` belong to the page."""


Replace = Callable[[Address], str]
_Span = tuple[int, int, bytes]

_ROLES = {
    b"background": "resource",
    b"data": "resource",
    b"poster": "resource",
    b"src": "resource",
    b"lowsrc": "resource",
    b"dynsrc": "resource",
    b"manifest": "resource",
    b"classid": "resource",
    b"codebase": "link",
    b"href": "link",
    b"xlink:href": "link",
    b"action": "link",
    b"formaction": "link",
    b"cite": "link",
    b"longdesc": "link",
    b"profile": "link",
}
_FRAMES = frozenset((b"frame", b"iframe"))
_DRAWN = frozenset((b"image", b"use", b"feimage", b"script"))  # their `href` is fetched
_FETCHED_RELS = frozenset(
    ("icon", "apple-touch-icon", "apple-touch-icon-precomposed", "manifest", "mask-icon",
     "modulepreload", "preload")
)  # fmt: skip
_SETS = frozenset((b"srcset", b"imagesrcset"))
_REFRESH = re.compile(
    r"\s*+[0-9.]*+\s*+[;,]?+\s*+url\s*+=\s*+([\"']?+)(.*)", re.IGNORECASE | re.DOTALL
)
_CSS = re.compile(
    r"""
      /\*.*?(?:\*/|\Z)
    | url\(\s*+ (?: "(?P<double>(?:[^"\\\n]|\\.){1,8192})" | '(?P<single>(?:[^'\\\n]|\\.){1,8192})'
                  | (?P<bare>(?:[^"'()\s\\]|\\[^\n]){1,8192}) ) \s*+\)
    | @import\s++(?P<mark>["'])(?P<import>[^"'\\\n]{1,8192})(?P=mark)
    | (?P<edge>["'])(?P<set>[^"'\\\n]{1,2048})(?P=edge)(?=\s++[0-9.]++(?:x|dppx|dpi|dpcm)\b)
    """,  # the last: a candidate of image-set()
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_CSS_ESCAPE = re.compile(
    r"\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?|\r?\n|(.))", re.IGNORECASE | re.DOTALL
)
_CANDIDATE = re.compile(r"\s*,*\s*(?P<url>[^\s,][^\s]{0,8191})(?P<rest>[^,]*)")


_FOREIGN = re.compile(rb"</?(?:svg|math)[\s/>]", re.IGNORECASE)
_EMPTY = re.compile(
    rb"<(?:script|style|title|textarea|xmp|iframe|noembed|noframes)(?:\s.*)?/>",
    re.IGNORECASE | re.DOTALL,
)
_MOST_BEGINNINGS = 16  # a document is searched from at most this many places


class _Document(msgspec.Struct, frozen=True):
    base: str
    replace: Replace
    codec: str = "utf-8"
    """Codec of its text, as Python names it."""
    is_within: bool = False
    """Whether it is the value of an attribute of another document (`srcdoc`)."""

    def replace_address(self, written: str, role: str) -> str:
        """Return the replacement of an address, or the address itself if it is a fragment."""
        uri = resolve_address(self.base, written, self.codec)
        return written if uri is None else self.replace(Address(uri, role))


def resolve_address(base: str, written: str, codec: str = "utf-8") -> str | None:
    """Return the address that a text in a document means; None if it is within the document.

    A text that is not an address becomes `about:blank`. Bytes that are not UTF-8 are characters in
    the codec of the document: a path is converted to UTF-8, a query keeps them as they are (URL
    Standard section 4.4, "percent-encode after encoding").

    >>> resolve_address("http://a.dk/b/c", " ../d?x=1 ")
    'http://a.dk/d?x=1'
    >>> resolve_address("http://a.dk/", "#top"), resolve_address("http://a.dk/", "http://[")
    (None, 'about:blank')
    """
    text = re.sub(r"[\t\n\r]", "", written).strip("\x00\x0c \x1f")
    if not text or text.startswith("#"):
        return None
    if len(text) > _LONGEST:
        return "about:blank"
    try:
        joined = urljoin(base, text)
        if _ALL_VISIBLE.fullmatch(joined):
            return joined
        place, mark, question = joined.partition("?")
        place = _decode_text(place, codec)
        return quote(f"{place}{mark}{question}", safe=_ASCII, errors="surrogateescape")
    except ValueError:
        return "about:blank"


def _decode_text(text: str, codec: str) -> str:
    """Decode a text again in its own codec if it is not UTF-8."""
    with suppress(UnicodeEncodeError):
        text.encode("utf-8")
        return text
    with suppress(UnicodeError):
        return text.encode("utf-8", "surrogateescape").decode(codec)
    return text


def _choose_codec(data: bytes, charset: str | None) -> str:
    said = charset or formats.find_declared_charset(data[:_HEAD])
    return (said and formats.find_python_codec(said)) or "utf-8"


def replace_in_html(data: bytes, base: str, replace: Replace, charset: str | None = None) -> bytes:
    """Replace the addresses in an HTML document. `charset` is the one that the server gave."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data
    return _splice_spans(
        data, _find_html_spans(data, _Document(base, replace, _choose_codec(data, charset)))
    )


def replace_in_css(data: bytes, base: str, replace: Replace, charset: str | None = None) -> bytes:
    """Replace the addresses in a style sheet."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data
    text = data.decode("utf-8", "surrogateescape")
    document = _Document(base, replace, _choose_codec(b"", charset))
    return _replace_in_style(text, document).encode("utf-8", "surrogateescape")


def find_addresses(
    data: bytes, base: str, *, css: bool, charset: str | None = None
) -> Iterator[Address]:
    """Return the addresses in a document, in order, each once."""
    found: dict[Address, None] = {}
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode()

    def note_address(address: Address) -> str:
        found[address] = None
        return address.uri

    (replace_in_css if css else replace_in_html)(data, base, note_address, charset)
    return iter(found)


def _splice_spans(data: bytes, spans: Iterator[_Span]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for start, stop, other in spans:
        pieces += (data[at:start], other)
        at = stop
    pieces.append(data[at:])
    return b"".join(pieces)


def _find_html_spans(data: bytes, document: _Document) -> Iterator[_Span]:
    base = document.base
    style = 0  # where the text of a style element begins
    based = False
    for start, stop, empty in _find_tags(data):
        tag = read_tag(data, start, stop)
        name = tag.name.lower()
        if name == b"style" and not empty:
            if tag.closing and style:
                text = data[style:start].decode("utf-8", "surrogateescape")
                yield (
                    style,
                    start,
                    _replace_in_style(text, document).encode("utf-8", "surrogateescape"),
                )
            style = 0 if tag.closing else stop
            continue
        if tag.closing:
            continue
        found = list(read_attributes(data, start, stop))
        if name == b"base":
            for one in found:
                if one.name.lower() == b"href" and not based:
                    uri = resolve_address(base, _read_value(data, one), document.codec)
                    document, based = msgspec.structs.replace(document, base=uri or base), True
                    yield one.start, one.stop, b""
            continue
        firsts: dict[bytes, Attribute] = {}
        for one in found:
            firsts.setdefault(one.name.lower(), one)  # a repeated attribute has no effect
        values = {key: _read_value(data, one) for key, one in firsts.items()}
        for key, one in firsts.items():
            other = _replace_attribute(name, key, values, document)
            if other is None or one.value.start == one.value.stop:
                continue
            if other == "":
                yield one.start, one.stop, b""
            else:
                yield one.start, one.stop, one.name + b'="%s"' % _escape_value(other)


def _find_tags(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield the start and end of each tag, and whether it is a complete raw text element.

    In SVG and MathML, `<title/>` and `<script/>` have no text (HTML Standard section 13.2.6.5).
    Markup follows them, so the search starts again after them.
    """
    at, depth = 0, 0
    for left in reversed(range(_MOST_BEGINNINGS)):
        tags = scan_tags(data[at:], HTML, MOST_TAGS)
        for start, stop in zip(tags.starts, tags.stops, strict=True):
            text = data[at + start : at + stop]
            if _FOREIGN.match(text):
                depth = max(0, depth + (-1 if text[1:2] == b"/" else not text.endswith(b"/>")))
            empty = depth > 0 and _EMPTY.fullmatch(text) is not None
            yield at + start, at + stop, empty
            if empty and left:
                at += stop
                break
        else:
            return


def _read_value(data: bytes, one: Attribute) -> str:
    return html.unescape(data[one.value].decode("utf-8", "surrogateescape"))


def _escape_value(text: str) -> bytes:
    return html.escape(text).encode("utf-8", "surrogateescape")


def _replace_attribute(
    tag: bytes, name: bytes, values: dict[bytes, str], document: _Document
) -> str | None:
    """Return the new value of an attribute: None to keep it, empty to remove it."""
    value = values[name]
    if name in _SETS:
        return _replace_in_set(value, document)
    if name == b"style":
        return _replace_in_style(value, document)
    if name == b"srcdoc" and tag == b"iframe":
        return _replace_within(value, document)
    if name in (b"integrity", b"ping", b"nonce"):
        return ""
    if tag == b"meta":
        return _replace_in_meta(name, values, document)
    role = _ROLES.get(name)
    if role is None or (name == b"data" and tag != b"object"):
        return None
    if tag in _FRAMES and name == b"src":
        role = "frame"
    elif name in (b"href", b"xlink:href"):
        if tag == b"link":
            role = _find_role(values.get(b"rel", ""))
        elif tag in _DRAWN:
            role = "resource"
    return document.replace_address(value, role)


def _replace_within(value: str, document: _Document) -> str:
    """Replace the addresses in a document that an attribute holds, but not one level deeper."""
    if document.is_within:
        return value
    data = value.encode("utf-8", "surrogateescape")
    inner = msgspec.structs.replace(document, is_within=True)
    return _splice_spans(data, _find_html_spans(data, inner)).decode("utf-8", "surrogateescape")


def _find_role(rel: str) -> str:
    words = set(rel.lower().split())
    if "stylesheet" in words:
        return "style"
    return "resource" if words & _FETCHED_RELS else "link"


def _replace_in_meta(name: bytes, values: dict[bytes, str], document: _Document) -> str | None:
    """Replace the address of a refresh, and disable the document's own rules for the browser."""
    kind = values.get(b"http-equiv", "").strip().lower()
    if name == b"http-equiv" and kind in (
        "content-security-policy",
        "set-cookie",
        "x-dns-prefetch-control",
    ):
        return "x-archived"
    if name != b"content" or kind != "refresh":
        return None
    found = _REFRESH.fullmatch(values[name])
    if found is None:
        return None
    target = found[2].partition(found[1])[0] if found[1] else found[2]
    return values[name][: found.start(1)] + document.replace_address(target, "link")


def _replace_in_set(value: str, document: _Document) -> str:
    """Replace the addresses of the candidates in a `srcset`."""
    made = []
    for found in _CANDIDATE.finditer(value):
        url = found["url"]
        bare = url.rstrip(",")
        rest = "" if bare != url else found["rest"].strip()
        made.append(f"{document.replace_address(bare, 'resource')} {rest}".strip())
    return ", ".join(made)


def _replace_in_style(text: str, document: _Document) -> str:
    def replace_match(found: re.Match[str]) -> str:
        written = found["double"] or found["single"] or found["bare"]
        if written is not None:
            before = text[max(0, found.start() - 16) : found.start()].rstrip().lower()
            role = "style" if before.endswith("@import") else "resource"
            return (
                f'url("{_escape_for_css(document.replace_address(_unescape_css(written), role))}")'
            )
        if found["import"] is not None:
            return (
                f'@import "{_escape_for_css(document.replace_address(found["import"], "style"))}"'
            )
        if found["set"] is not None:
            return f'"{_escape_for_css(document.replace_address(found["set"], "resource"))}"'
        return found[0]

    return _CSS.sub(replace_match, text)


def _unescape_css(text: str) -> str:
    """Decode the escapes of CSS (CSS Syntax section 4.3.7)."""

    def unescape_match(found: re.Match[str]) -> str:
        if not found[1]:
            return found[2] or ""
        code = int(found[1], 16)
        is_character = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
        return chr(code) if is_character else "\ufffd"

    return _CSS_ESCAPE.sub(unescape_match, text) if "\\" in text else text


def _escape_for_css(uri: str) -> str:
    return re.sub(r"[\"\\\n<]", lambda mark: f"%{ord(mark[0]):02X}", uri)
