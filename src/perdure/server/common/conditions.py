"""Conditions and ranges of requests (RFC 9110 sections 13 and 14).

How it works: bytes that are held here have a tag that is known before they are read. An answer that
is computed and has no tag of its own gets one of its body and its media type (`add_entity_tag`),
and then `settle_conditions` compares it with those of the client. `Application` calls both for
every answer, so no handler can forget the conditions; a handler that knows its tag before it
computes the body may ask `has_already` first, to save the work.

What must stay true: an entity tag is strong. That of bytes is made of the SHA-512 and the format,
so it changes whenever one of them does, and with each correction of the media type, charset or
language.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from werkzeug.http import parse_date

from perdure.errors.conflicts import ModifiedSince, StateNotNamed
from perdure.model.records import Record, Representation
from perdure.policy.correcting import is_corrected, name_reading
from perdure.server.common.answers import Answer
from perdure.server.common.content_coding import strip_coding
from perdure.server.common.request import Request

CONDITIONS = frozenset(
    (b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")
)
Span = tuple[int, int]
"""First byte, counted from 0, and the byte after the last."""

_TAG = re.compile(r'(?:^|,)[ \t]*+(W/)?"([!#-~\x80-\xff]*+)"[ \t]*+(?=,|$)')
"""An element of the list in `If-Match` or `If-None-Match` (RFC 9110 section 8.8.3)."""
_RANGE = re.compile(r"([0-9]{1,99})-([0-9]{1,99})?|-([0-9]{1,99})", re.ASCII)
_MOST_RANGES = 32  # section 14.2: a server may ignore "many small ranges"


class EntityTags(NamedTuple):
    """The entity tags of a condition, without their quotation marks."""

    any: bool
    """True for `*`."""
    strong: frozenset[str]
    weak: frozenset[str]

    def names_strongly(self, tag: bytes) -> bool:
        """Compare strongly (RFC 9110 section 8.8.3.2), as `If-Match` does."""
        return self.any or tag.decode()[1:-1] in self.strong

    def names_weakly(self, tag: bytes) -> bool:
        """Compare weakly, as `If-None-Match` does."""
        return self.any or tag.decode()[1:-1] in self.strong | self.weak


def read_entity_tags(field: str) -> EntityTags:
    """Read the value of `If-Match` or `If-None-Match`.

    An element that is not a tag, such as one without quotation marks, names no state: it never
    matches, so that it neither hides an answer nor permits a write.

    >>> read_entity_tags('W/"a", "b,c", d').names_weakly(b'"d"')
    False
    """
    found = [(bool(one[1]), one[2]) for one in _TAG.finditer(field)]
    return EntityTags(
        field.strip(" \t") == "*",
        frozenset(text for is_weak, text in found if not is_weak),
        frozenset(text for is_weak, text in found if is_weak),
    )


def read_state_tags(field: str) -> EntityTags:
    """Read the tags of a condition of a write: a state has one name, whatever coding it came in.

    >>> sorted(read_state_tags('"r7;gzip", "r6"').strong)
    ['r6', 'r7']
    """
    found = read_entity_tags(field)
    return EntityTags(
        found.any,
        frozenset(map(strip_coding, found.strong)),
        frozenset(map(strip_coding, found.weak)),
    )


def make_etag(held: Representation) -> bytes:
    """Make the strong entity tag: 160 bits of the SHA-512, and the format, because two formats may
    have the same bytes. After a correction, it also has 32 bits of how they are read."""
    corrected = f"-{name_reading(held)}" if is_corrected(held) else ""
    return f'"{held.sha512[:40]}-{held.format}{corrected}"'.encode()


def find_last_modified(record: Record, held: Representation) -> datetime:
    """Return the time when the representation was committed."""
    at = held.at or next(
        version.at for version in record.versions if held in version.representations
    )
    return _read_moment(at)


@lru_cache(maxsize=1024)
def _read_moment(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


def is_unmodified(request: Request, tag: bytes, modified: datetime) -> bool:
    """Evaluate the conditions of the request: True if the answer is 304.

    The order is that of RFC 9110 section 13.2.2. Raises PreconditionFailed.
    """
    if b"if-match" in request.fields:
        _check_match(request, tag)
    elif b"if-unmodified-since" in request.fields:
        since = parse_date(request.read_field(b"if-unmodified-since"))
        if since is not None and modified > since:
            raise ModifiedSince(identifier=request.target.text, state=tag.decode())
    if b"if-none-match" in request.fields:
        return has_already(request, tag)
    if b"if-modified-since" in request.fields:
        since = parse_date(request.read_field(b"if-modified-since"))
        return since is not None and modified <= since
    return False


def has_already(request: Request, tag: bytes) -> bool:
    """Return True if the client already has this (`If-None-Match`)."""
    return read_entity_tags(request.read_field(b"if-none-match")).names_weakly(tag)


def _check_match(request: Request, tag: bytes) -> None:
    """Raise PreconditionFailed if `If-Match` names another state."""
    if not read_entity_tags(request.read_field(b"if-match")).names_strongly(tag):
        raise StateNotNamed(identifier=request.target.text, state=tag.decode())


# computed answers
# ----------------


def add_entity_tag(answer: Answer) -> Answer:
    """Give a computed answer a tag of its body and its media type, unless it has one.

    Answers that must not be stored get none.
    """
    if answer.status != HTTPStatus.OK or answer.stream is not None:
        return answer
    fields = dict(answer.fields)
    if b"etag" in fields or fields.get(b"cache-control") == b"no-store":
        return answer
    answer.fields.append((b"etag", make_body_tag(fields.get(b"content-type", b""), answer.body)))
    return answer


def make_body_tag(media_type: bytes, body: bytes) -> bytes:
    """Make the strong entity tag of a computed body."""
    digest = hashlib.sha256(b"%s\n%s" % (media_type, body)).hexdigest()
    return b'"%s"' % digest[:40].encode()


def settle_conditions(request: Request, answer: Answer) -> Answer:
    """Return the answer, or 304 without its body if the client already has it.

    Raises PreconditionFailed.
    """
    if answer.status != HTTPStatus.OK or answer.stream is not None:
        return answer
    tag = dict(answer.fields).get(b"etag")
    if tag is None:
        return answer
    if b"if-match" in request.fields:
        _check_match(request, tag)
    if b"if-none-match" not in request.fields or not has_already(request, tag):
        return answer
    kept = [one for one in answer.fields if _describes_unmodified(one[0])]
    return Answer(HTTPStatus.NOT_MODIFIED, kept)


def _describes_unmodified(name: bytes) -> bool:
    """Return True for a field that a 304 has, too (RFC 9110 section 15.4.5)."""
    return name == b"content-location" or not name.startswith(b"content-")


# ranges
# ------


def read_ranges(request: Request, length: int, tag: bytes, modified: datetime) -> list[Span] | None:
    """Return the requested ranges, empty if none is satisfiable, or None for the complete content.

    RFC 9110 section 14.2: a Range field is ignored if it is malformed, has another unit, comes with
    an If-Range that does not match, or asks for more than the complete content.
    """
    condition = request.fields.get(b"if-range")
    if condition is not None and condition != tag:
        since = None if condition[-1:] == b'"' else parse_date(condition.decode("latin-1"))
        if since != modified:
            return None
    spans = _read_satisfiable(request.read_field(b"range"), length)
    if spans is not None and len(spans) > 1 and sum(stop - start for start, stop in spans) > length:
        return None
    return spans


def _read_satisfiable(field: str, length: int) -> list[Span] | None:
    """Read the satisfiable ranges of a Range field, or None if it is invalid (section 14.1.2)."""
    unit, _, listed = field.partition("=")
    asked = [one.strip(" \t") for one in listed.split(",")]
    asked = [one for one in asked if one]  # section 5.6.1.2: elements may be empty
    if unit.lower() != "bytes" or not 0 < len(asked) <= _MOST_RANGES:
        return None
    spans = []
    for one in asked:
        found = _RANGE.fullmatch(one)
        if found is None:
            return None
        first, last, suffix = found.groups()
        if suffix is not None:
            start, stop = max(length - int(suffix), 0), length
        else:
            start, stop = int(first), int(last) + 1 if last else length
            if last and stop <= start:
                return None
        if start < min(stop, length):
            spans.append((start, min(stop, length)))
    return spans
