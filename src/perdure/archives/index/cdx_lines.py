"""Lines of the CDX server API: what a capture says under which name, and in which form. Pure.

How it works: names are those of pywb, and those of the Internet Archive's server stand for them.
`writer` is chosen once for a query and makes a line of each capture.

What must stay true: a line has no line break or blank in it that is not a separator; without a
choice of fields a line of CDXJ is what cdxj-indexer writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from perdure.archives.index.revisits import Resolved
from perdure.archives.port import Capture

# fields
# ------

FIELDS: dict[str, Callable[[Capture], str]] = {
    "urlkey": lambda one: one.key,
    "timestamp": lambda one: one.time,
    "url": lambda one: one.uri,
    "mime": lambda one: _mime(one),
    "status": lambda one: _status(one),
    "digest": lambda one: one.digest,
    "redirect": lambda _: "",
    "robotflags": lambda _: "",
    "length": lambda one: str(one.length),
    "offset": lambda one: str(one.offset),
    "filename": lambda one: one.file,
    "date": lambda one: one.date,
    "kind": lambda one: one.kind,
    "orig.length": lambda one: _of_original(one, lambda its: str(its.length)),
    "orig.offset": lambda one: _of_original(one, lambda its: str(its.offset)),
    "orig.filename": lambda one: _of_original(one, lambda its: its.file),
}
"""What a capture says under each name; empty where it says nothing."""
ALIASES = {
    "original": "url",
    "mimetype": "mime",
    "statuscode": "status",
    "file": "filename",
    "compressedsize": "length",
    "compressedoffset": "offset",
    "redirecturl": "redirect",
}
"""Other names for the same."""
_TEXT = "urlkey timestamp url mime status digest redirect robotflags length offset filename"
_TEXT_FIELDS = tuple(_TEXT.split())
_OF_ORIGINALS = ("orig.length", "orig.offset", "orig.filename")  # pywb's names, in its order
_OBJECT_FIELDS = ("url", "mime", "status", "digest", "length", "offset", "filename")


def _mime(one: Capture) -> str:
    """Of a revisit that was resolved that of its original, as with pywb."""
    if one.kind != "revisit":
        return one.media_type
    its = one.original if isinstance(one, Resolved) else None
    return its.media_type if its else "warc/revisit"


def _status(one: Capture) -> str:
    its = one.original if isinstance(one, Resolved) else None
    status = its.status if its else one.status
    return "" if status is None else str(status)


def _of_original(one: Capture, value: Callable[[Capture], str]) -> str:
    its = one.original if isinstance(one, Resolved) else None
    return value(its) if its else "-"


# how it is written
# -----------------

Writer = Callable[[Capture], bytes]
_encode = msgspec.json.Encoder().encode
_BREAKS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")


def writer(
    output: str, fields: tuple[str, ...], names: tuple[str, ...], *, resolves: bool
) -> Writer:
    """What writes a capture as a line.

    `fields` as in `FIELDS`, and `names` as the client calls them; empty: what the form has by
    itself. `resolves`: revisits have their originals with them.
    """
    if resolves and output == "text" and not fields:
        fields = (*_TEXT_FIELDS, *_OF_ORIGINALS)
    return WRITERS[output](fields, names)


def _as_object(fields: tuple[str, ...], names: tuple[str, ...]) -> Callable[[Capture], bytes]:
    if not fields:
        return lambda one: _encode(_essentials(one))
    pairs = [(name, FIELDS[field]) for field, name in zip(fields, names, strict=True)]
    return lambda one: _encode({name: value(one) for name, value in pairs})


def _essentials(one: Capture) -> dict[str, str]:
    """What cdxj-indexer says of a record: fields that it does not have are left out."""
    found = {name: value for name in _OBJECT_FIELDS if (value := FIELDS[name](one))}
    if not one.length:
        found.pop("length", None)
    if isinstance(one, Resolved):
        found |= {name: FIELDS[name](one) for name in _OF_ORIGINALS}
    return found


def _cdxj(fields: tuple[str, ...], names: tuple[str, ...]) -> Writer:
    body = _as_object(fields, names)
    return lambda one: f"{one.key} {one.time} ".encode() + body(one) + b"\n"


def _json(fields: tuple[str, ...], names: tuple[str, ...]) -> Writer:
    if fields:
        body = _as_object(fields, names)
        return lambda one: body(one) + b"\n"
    return lambda one: (
        _encode({"urlkey": one.key, "timestamp": one.time} | _essentials(one)) + b"\n"
    )


def _text(fields: tuple[str, ...], _names: tuple[str, ...]) -> Writer:
    values = [FIELDS[field] for field in fields or _TEXT_FIELDS]
    return lambda one: (" ".join(_word(value(one)) for value in values) + "\n").encode()


def _word(value: str) -> str:
    """A field between blanks; a hyphen where there is nothing to say."""
    return _BREAKS.sub(lambda mark: f"%{ord(mark[0]):02X}", value) or "-"


WRITERS: dict[str, Callable[[tuple[str, ...], tuple[str, ...]], Writer]] = {
    "cdxj": _cdxj,
    "json": _json,
    "text": _text,
}
MEDIA_TYPES = {
    "cdxj": "text/x-cdxj; charset=utf-8",
    "json": "text/x-ndjson; charset=utf-8",
    "text": "text/plain; charset=utf-8",
}
