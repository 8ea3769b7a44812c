"""The decoded form of a PDF page: the objects that it consists of, however they are packed.

Specification: ISO 32000, 7.3 (objects) and 7.4 (filters).

How it works: the look of a page depends on the renderer, so pixels are not a form on which all
readers agree. They agree on the instructions for drawing. So the form is the page and every object
that can be reached from it, in the order in which they are found, with the page as number 0:

    form       = *( number "0 obj" value [ "stream" octets "endstream" ] "endobj" )
    array      = "[" *value "]"
    dictionary = "<<" *( name value ) ">>"
    reference  = number "0 R"

with a space after each of these words and values. Everything that depends only on the program that
wrote the file is left out: its own numbers of objects, whether a value other than an array,
dictionary or stream is an object of its own, the order of keys, compression. Numbers are decimal,
without superfluous zeros. Strings are hexadecimal in `<>`. In names, all characters but the regular
ones are `#hh`. Keys are in the order of their octets, without `Length`, and for the page without
`Parent`. The octets of a stream are unpacked, and `Filter` and `DecodeParms` left out, if all its
filters are among FlateDecode, LZWDecode, RunLengthDecode, ASCII85Decode and ASCIIHexDecode. If the
stream has another filter, as photographs do, its octets stay as they are stored.

What must stay true: the same page has the same form, whichever program wrote the file. A damaged
page has no form, nor does one that inflates to gigabytes; finding that out takes bounded memory and
time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pikepdf

from perdure.extractors.port import Decoded

_MOST = 256 << 20  # octets of a form
_IRREGULAR = re.compile(rb"[^!-~]|[#%()<>\[\]{}/]")  # 7.2.3
_NONE = frozenset[str]()
_OF_A_PAGE = frozenset(("/Parent",))
_OF_A_STREAM = frozenset(("/Length",))
_OF_THE_UNPACKED = frozenset(("/Length", "/Filter", "/DecodeParms"))
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")


def digest_page(page: pikepdf.Page) -> Decoded | None:
    """Return the digest of a page's form, or None if the form is too long or cannot be unpacked."""
    pikepdf.settings.set_qpdf_limits(flate_max_memory=_MOST, run_length_max_memory=_MOST)
    objects = _Objects(page.obj)
    sha512 = hashlib.sha512()
    left = _MOST
    try:
        for piece in objects.write_objects():
            left -= len(piece)
            if left < 0:
                return None
            sha512.update(piece)
    except (pikepdf.DataDecodingError, pikepdf.QpdfRuntimeError, MemoryError):
        return None
    form = f"pdf {_describe_size(page.obj)}{objects.count} objects"
    return Decoded(form=form, sha512=sha512.hexdigest())


def _describe_size(page: Any) -> str:
    """Return the visible width and height of a page, or nothing if the page does not state them."""
    box = page.get("/CropBox", page.get("/MediaBox"))
    sides: list[Any] = list(box) if isinstance(box, pikepdf.Array) else []
    match [Decimal(one) for one in sides if isinstance(one, (int, Decimal))]:
        case [left, bottom, right, top]:
            return f"{_write_number(abs(right - left))}x{_write_number(abs(top - bottom))} "
    return ""


class _Objects:
    """A page and the objects that can be reached from it."""

    def __init__(self, page: pikepdf.Object) -> None:
        self._numbers = {page.objgen: 0}
        self._met = [page]

    @property
    def count(self) -> int:
        return len(self._met)

    def write_objects(self) -> Iterator[bytes]:
        for number, one in enumerate(self._met):  # the list grows meanwhile
            yield b"%d 0 obj " % number
            if isinstance(one, pikepdf.Stream):
                octets, left_out = _unpack_stream(one)
                yield from self._write_value(one, left_out)
                yield from (b"stream ", octets, b" endstream ")
            else:
                yield from self._write_value(one, _NONE if number else _OF_A_PAGE)
            yield b"endobj "

    def _write_value(self, top: pikepdf.Object, left_out: frozenset[str]) -> Iterator[bytes]:
        """Yield an object without recursion, because a hostile file may nest values to
        any depth.
        """
        rest = _list_inside(top, left_out)
        while rest:
            one = rest.pop()
            if isinstance(one, bytes):
                yield one + b" "
            elif not isinstance(one, (pikepdf.Array, pikepdf.Dictionary, pikepdf.Stream)):
                yield _write_scalar(one) + b" "
            elif one.is_indirect:
                yield b"%d 0 R " % self._assign_number(one)
            else:
                rest += _list_inside(one, _NONE)

    def _assign_number(self, one: pikepdf.Object) -> int:
        if one.objgen not in self._numbers:
            self._numbers[one.objgen] = len(self._met)
            self._met.append(one)
        return self._numbers[one.objgen]


def _list_inside(one: Any, left_out: frozenset[str]) -> list[Any]:
    """Return the words and values of an array, a dictionary or a stream's dictionary,
    last first.
    """
    if isinstance(one, pikepdf.Array):
        return [b"]", *reversed(list(one)), b"["]
    written = {_write_name(key): value for key, value in one.items() if key not in left_out}
    pairs = (word for key in sorted(written, reverse=True) for word in (written[key], key))
    return [b">>", *pairs, b"<<"]


def _unpack_stream(stream: pikepdf.Object) -> tuple[bytes, frozenset[str]]:
    """Return the octets of a stream, and the keys to leave out of its dictionary."""
    try:
        return stream.read_bytes(pikepdf.StreamDecodeLevel.specialized), _OF_THE_UNPACKED
    except pikepdf.DataDecodingError:
        raise
    except pikepdf.PdfError:  # there is another filter
        return stream.read_raw_bytes(), _OF_A_STREAM


def _write_scalar(one: Any) -> bytes:
    """Return a value other than an array, a dictionary or a stream."""
    match one:
        case None:
            return b"null"
        case bool():
            return b"true" if one else b"false"
        case int() | Decimal():
            return _write_number(Decimal(one)).encode()
        case pikepdf.String():
            return b"<%s>" % bytes(one).hex().encode()
    return _write_name(
        _ESCAPED.sub(_unescape_octet, one.unparse(resolved=True)).decode("utf-8", "surrogateescape")
    )


def _write_number(value: Decimal) -> str:
    return f"{value.normalize() + 0:f}"  # + 0 turns a negative zero into zero


def _write_name(name: str) -> bytes:
    octets = name.removeprefix("/").encode("utf-8", "surrogateescape")
    return b"/" + _IRREGULAR.sub(lambda one: b"#%02x" % one[0][0], octets)


def _unescape_octet(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode())
