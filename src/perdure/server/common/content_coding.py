"""Content codings: pages, JSON and other computed text are sent compressed (RFC 9110, 8.4).

How it works: `agree_coding` marks an answer with the coding that its client prefers, before its
entity tag is compared with those of the client; `encode_answer` compresses the body behind that.
gzip is always available, zstd and br with the extra `compression`. A compressed answer is another
representation, so its strong entity tag differs: that of the plain answer and, behind a
semicolon, the coding (`"x;br"`). `strip_coding` leads back from it, for the conditions of writes.

What must stay true: deposited bytes and their parts are sent as they are, so their digests, ranges
and tags keep their meaning. An answer that no cache may store is not compressed either: only such
answers contain secrets, and the length of a compressed secret tells something about it (BREACH).
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from http import HTTPStatus
from types import MappingProxyType

from perdure.model.queries import Preference
from perdure.server.common.answers import Answer
from perdure.server.common.negotiate import read_preferences

Compress = Callable[[bytes], bytes]

SMALLEST = 1024
"""Bytes of the smallest body that is compressed: a shorter one fits into one packet anyway."""
_LARGE = 128 << 10  # bytes; a thread compresses more
_KEPT = 64  # compressed assets
_MARK = ";"
"""Separates the tag of the plain answer from the coding. No tag of ours contains it otherwise."""
_TYPES = frozenset(
    (
        "application/json",
        "application/javascript",
        "application/n-quads",
        "application/n-triples",
        "application/trig",
        "application/xml",
        "image/svg+xml",
    )
)
_BEGINNINGS = ("text/",)
_ENDINGS = ("+json", "+xml")
_NOT_COMPRESSED = frozenset(
    (
        b"accept-ranges",
        b"content-digest",
        b"content-encoding",
        b"content-range",
        b"repr-digest",
    )
)
"""Fields of stored bytes, of ranges, and of what is encoded already."""
_STATUSES = frozenset((HTTPStatus.OK, HTTPStatus.MULTIPLE_CHOICES, HTTPStatus.NOT_FOUND,
                       HTTPStatus.GONE))  # fmt: skip


@cache
def list_codings() -> Mapping[str, Compress]:
    """The codings that are available here, the best first."""
    found: dict[str, Compress] = {}
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        pass
    else:
        found["zstd"] = lambda data: bytes(zstandard.ZstdCompressor(level=6).compress(data))
    try:
        brotli = importlib.import_module("brotli")
    except ImportError:
        pass
    else:
        found["br"] = lambda data: bytes(
            brotli.compress(data, mode=brotli.MODE_TEXT, quality=5, lgwin=20)
        )
    found["gzip"] = lambda data: gzip.compress(data, compresslevel=6, mtime=0)
    return MappingProxyType(found)


def choose_coding(field: str, available: tuple[str, ...] | None = None) -> str:
    """Choose a coding by an Accept-Encoding field (RFC 9110 section 12.5.3); empty for none.

    >>> choose_coding("gzip, deflate, br, zstd", ("zstd", "br", "gzip"))
    'zstd'
    >>> choose_coding("br;q=0.5, gzip;q=0.8, *;q=0.1", ("zstd", "br", "gzip"))
    'gzip'
    >>> choose_coding("gzip;q=0, identity", ("gzip",)), choose_coding("", ("gzip",))
    ('', '')
    """
    if not field:
        return ""
    offered = tuple(list_codings()) if available is None else available
    return _choose_offered(field, offered)


@lru_cache(maxsize=256)
def _choose_offered(field: str, offered: tuple[str, ...]) -> str:
    accepted = read_preferences(field.lower())
    best = max(offered, key=lambda coding: _rate_coding(accepted, coding), default="")
    rated = _rate_coding(accepted, best)
    plain = next((one.quality for one in accepted if one.range == "identity"), 0.0)
    return best if rated > 0 and rated >= plain else ""


def _rate_coding(accepted: tuple[Preference, ...], coding: str) -> float:
    named = {one.range: one.quality for one in accepted}
    return named.get(coding, named.get("*", 0.0))


def agree_coding(answer: Answer, coding: str) -> None:
    """Mark an answer with the coding in which it will be sent, if it will be compressed.

    Then its Vary field says so. A plain answer may be reused for any client.
    """
    if not coding or not _is_compressible(answer):
        return
    _vary_by_coding(answer)
    answer.coding = coding
    suffix = f'{_MARK}{coding}"'.encode()
    answer.fields = [
        (name, value[:-1] + suffix) if name == b"etag" and value[:1] == b'"' else (name, value)
        for name, value in answer.fields
    ]


def strip_coding(tag: str) -> str:
    """Return the entity tag of the plain answer, without quotation marks.

    >>> strip_coding("4f0a;br"), strip_coding("4f0a")
    ('4f0a', '4f0a')
    """
    return tag.partition(_MARK)[0]


def _is_compressible(answer: Answer) -> bool:
    if answer.status not in _STATUSES or answer.stream is not None or answer.coding:
        return False
    if len(answer.body) < SMALLEST:
        return False
    fields = dict(answer.fields)
    kind = fields.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
    is_text = kind in _TYPES or kind.startswith(_BEGINNINGS) or kind.endswith(_ENDINGS)
    is_stored = not _NOT_COMPRESSED.isdisjoint(fields)
    return is_text and not is_stored and b"no-store" not in fields.get(b"cache-control", b"")


def _vary_by_coding(answer: Answer) -> None:
    name = b"accept-encoding"
    for at, (field, value) in enumerate(answer.fields):
        if field.lower() == b"vary":
            if name not in value.lower() and value.strip() != b"*":
                answer.fields[at] = (field, value + b", " + name)
            return
    answer.fields.append((b"vary", name))


async def encode_answer(answer: Answer) -> None:
    """Compress the body of an answer that is marked."""
    if not answer.coding:
        return
    work = _compress_asset if _is_immutable(answer) else _compress
    if len(answer.body) > _LARGE:
        answer.body = await asyncio.to_thread(work, answer.coding, answer.body)
    else:
        answer.body = work(answer.coding, answer.body)
    answer.fields = [
        (name, b"%d" % len(answer.body)) if name == b"content-length" else (name, value)
        for name, value in answer.fields
    ]
    answer.fields.append((b"content-encoding", answer.coding.encode()))


def _is_immutable(answer: Answer) -> bool:
    return any(name == b"cache-control" and b"immutable" in value for name, value in answer.fields)


def _compress(coding: str, body: bytes) -> bytes:
    return list_codings()[coding](body)


@lru_cache(maxsize=_KEPT)
def _compress_asset(coding: str, body: bytes) -> bytes:
    return _compress(coding, body)
