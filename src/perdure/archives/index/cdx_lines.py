"""Format captures as lines of the CDX server API. Pure.

How it works: the names of fields are those of pywb, with those of the Internet Archive's server as
aliases. `choose_writer` is chosen once for a query and formats each capture as a line.

What must stay true: every line break and space in a line is a separator; if the client chooses no
fields, a line of CDXJ is the same as from cdxj-indexer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from perdure.archives.index.cdxj import make_exchanged_key
from perdure.archives.index.revisits import ResolvedCapture
from perdure.archives.port import Capture

# fields
# ------

FIELDS: dict[str, Callable[[Capture], str]] = {
    "urlkey": make_exchanged_key,
    "timestamp": lambda one: one.time,
    "url": lambda one: one.uri,
    "mime": lambda one: _choose_mime(one),
    "status": lambda one: _format_status(one),
    "digest": lambda one: one.digest,
    "redirect": lambda _: "",
    "robotflags": lambda _: "",
    "length": lambda one: str(one.length),
    "offset": lambda one: str(one.offset),
    "filename": lambda one: one.file,
    "date": lambda one: one.date,
    "kind": lambda one: one.kind,
    "method": lambda one: one.method,
    "requestBody": lambda one: one.request_body,
    "orig.length": lambda one: _original_value(one, lambda its: str(its.length)),
    "orig.offset": lambda one: _original_value(one, lambda its: str(its.offset)),
    "orig.filename": lambda one: _original_value(one, lambda its: its.file),
}
"""The value of each field of a capture; empty if the capture does not have it."""
ALIASES = {
    "original": "url",
    "mimetype": "mime",
    "statuscode": "status",
    "file": "filename",
    "compressedsize": "length",
    "compressedoffset": "offset",
    "redirecturl": "redirect",
}
"""Aliases of fields."""
_TEXT = "urlkey timestamp url mime status digest redirect robotflags length offset filename"
_TEXT_FIELDS = tuple(_TEXT.split())
_OF_ORIGINALS = ("orig.length", "orig.offset", "orig.filename")  # pywb's names, in its order
_OBJECT_FIELDS = (
    "url",
    "mime",
    "status",
    "digest",
    "length",
    "offset",
    "filename",
    "method",
    "requestBody",
)


def _choose_mime(one: Capture) -> str:
    """Return the media type; for a resolved revisit that of its original, as in pywb."""
    if one.kind != "revisit":
        return one.media_type
    its = one.original if isinstance(one, ResolvedCapture) else None
    return its.media_type if its else "warc/revisit"


def _format_status(one: Capture) -> str:
    its = one.original if isinstance(one, ResolvedCapture) else None
    status = its.status if its else one.status
    return "" if status is None else str(status)


def _original_value(one: Capture, value: Callable[[Capture], str]) -> str:
    its = one.original if isinstance(one, ResolvedCapture) else None
    return value(its) if its else "-"


# forms of output
# ---------------

Writer = Callable[[Capture], bytes]
_encode = msgspec.json.Encoder().encode
_BREAKS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")


def choose_writer(
    output: str, fields: tuple[str, ...], names: tuple[str, ...], *, resolves: bool
) -> Writer:
    """Return the function that formats a capture as a line.

    `fields` are names of `FIELDS`, and `names` those that the client uses; if they are empty, the
    output has its default fields. `resolves`: revisits come with their originals.
    """
    if resolves and output == "text" and not fields:
        fields = (*_TEXT_FIELDS, *_OF_ORIGINALS)
    return WRITERS[output](fields, names)


def _make_encoder(fields: tuple[str, ...], names: tuple[str, ...]) -> Callable[[Capture], bytes]:
    if not fields:
        return lambda one: _encode(_select_essentials(one))
    pairs = [(name, FIELDS[field]) for field, name in zip(fields, names, strict=True)]
    return lambda one: _encode({name: value(one) for name, value in pairs})


def _select_essentials(one: Capture) -> dict[str, str]:
    """Return the fields that cdxj-indexer writes for a record, without empty ones."""
    found = {name: value for name in _OBJECT_FIELDS if (value := FIELDS[name](one))}
    if not one.length:
        found.pop("length", None)
    if isinstance(one, ResolvedCapture):
        found |= {name: FIELDS[name](one) for name in _OF_ORIGINALS}
    return found


def _make_cdxj_writer(fields: tuple[str, ...], names: tuple[str, ...]) -> Writer:
    body = _make_encoder(fields, names)
    return lambda one: f"{make_exchanged_key(one)} {one.time} ".encode() + body(one) + b"\n"


def _make_json_writer(fields: tuple[str, ...], names: tuple[str, ...]) -> Writer:
    if fields:
        body = _make_encoder(fields, names)
        return lambda one: body(one) + b"\n"
    return lambda one: (
        _encode(
            {"urlkey": make_exchanged_key(one), "timestamp": one.time} | _select_essentials(one)
        )
        + b"\n"
    )


def _make_text_writer(fields: tuple[str, ...], _names: tuple[str, ...]) -> Writer:
    values = [FIELDS[field] for field in fields or _TEXT_FIELDS]
    return lambda one: (" ".join(_escape_word(value(one)) for value in values) + "\n").encode()


def _escape_word(value: str) -> str:
    """Return a value without spaces, or a hyphen if it is empty."""
    return _BREAKS.sub(lambda mark: f"%{ord(mark[0]):02X}", value) or "-"


WRITERS: dict[str, Callable[[tuple[str, ...], tuple[str, ...]], Writer]] = {
    "cdxj": _make_cdxj_writer,
    "json": _make_json_writer,
    "text": _make_text_writer,
}
MEDIA_TYPES = {
    "cdxj": "text/x-cdxj; charset=utf-8",
    "json": "text/x-ndjson; charset=utf-8",
    "text": "text/plain; charset=utf-8",
}
