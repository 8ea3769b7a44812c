"""Bytes held here, over HTTP: complete or in ranges, with the header fields that describe them.

How it works: `validators` makes the fields that every answer about a representation has, `about`
those that accompany its bytes, `span_fields` those that depend on the range that is sent. The fast
path (`perdure.server.fast.held`) uses the same three functions.

What must stay true: deposited bytes cannot run a script under the resolver's origin.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from http import HTTPStatus

from werkzeug.http import http_date

from perdure import formats
from perdure.ids import Identifier
from perdure.model.queries import Fetch
from perdure.model.records import Record, Representation
from perdure.reading.targets import path_of, uri_of
from perdure.server.common import bodies, digests, problems
from perdure.server.common.answers import Answer, Fields, link, links, token, uri
from perdure.server.common.conditions import Span, etag, is_unmodified, last_modified, ranges
from perdure.server.common.redirects import described_by
from perdure.server.common.request import Request
from perdure.storage.segments.directory import Segments

FOR_EVER = b"public, max-age=31536000, immutable"
_SAFE_NAME = re.compile(r"[^A-Za-z0-9.-]+")

# Media types that a browser shows without running anything. All others are shown in a sandbox:
# without scripts and forms, in a separate origin.
_PASSIVE = re.compile(
    r"text/(?:plain|csv)|application/(?:json|octet-stream|pdf)|audio/.+|video/.+|font/.+|"
    r"image/(?!svg).+"
)


def answer(
    request: Request, segments: Segments, step: Fetch, record: Record, *, fresh: int, chosen: bool
) -> Answer:
    """Answer GET or HEAD of a representation; the server drops the body for HEAD.

    The answer may be cached for `fresh` seconds, or without limit if the request named the version.
    `chosen`: the request did not name the format, so the answer depends on its header. Raises
    PreconditionFailed.
    """
    held = step.representation
    tag, modified = etag(held), last_modified(record, held)
    fields = validators(step, modified, request.base, fresh=fresh, chosen=chosen)
    if is_unmodified(request, tag, modified):
        return Answer(HTTPStatus.NOT_MODIFIED, fields)
    fields += about(step.identifier, held, digest=digests.is_wanted(request))
    spans = None
    if b"range" in request.fields and request.method == "GET":
        spans = ranges(request, held.length, tag, modified)
    if spans is None:
        whole = (0, held.length)
        fields += span_fields(held, whole)
        return bodies.body(HTTPStatus.OK, fields, segments, held, whole)
    if not spans:
        return problems.answer(problems.no_such_range(held.length), request)
    return _partial(fields, segments, held, spans)


def _partial(
    fields: Fields, segments: Segments, held: Representation, spans: Sequence[Span]
) -> Answer:
    if len(spans) == 1:
        fields += span_fields(held, spans[0], partial=True)
        return bodies.body(HTTPStatus.PARTIAL_CONTENT, fields, segments, held, spans[0])
    read = partial(bodies.read, segments, held)
    return byteranges(fields, content_type(held), held.length, spans, read)


def byteranges(
    fields: Fields,
    kind: bytes,
    length: int,
    spans: Sequence[Span],
    read: Callable[[Span], AsyncIterator[bytes]],
) -> Answer:
    """Answer with several ranges of `length` bytes, in one message (RFC 9110 section 14.6)."""
    found: list[bodies.Part] = []
    for start, stop in spans:
        head: Fields = [
            (b"content-type", kind),
            (b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, length)),
        ]
        found.append((head, stop - start, read((start, stop))))
    return bodies.multipart(HTTPStatus.PARTIAL_CONTENT, b"byteranges", fields, found)


# header fields
# -------------


def validators(step: Fetch, modified: datetime, base: str, *, fresh: int, chosen: bool) -> Fields:
    """Make the fields that a 304 has, too: version, date of change, and lifetime."""
    fields: Fields = [
        (b"etag", etag(step.representation)),
        (b"last-modified", _http_date(modified)),
        (b"content-location", uri(uri_of(step.identifier))),
        (b"cache-control", FOR_EVER if step.pinned else b"public, max-age=%d" % fresh),
        (b"accept-ranges", b"bytes"),
        *links(
            (
                link(f"{base}/{path_of(step.identifier)}", "cite-as"),
                described_by(step.identifier),
                *_back(step.identifier, base),
            )
        ),
    ]
    if chosen:
        fields.append((b"vary", b"accept, accept-language"))
    return fields


@lru_cache(maxsize=1024)
def _http_date(moment: datetime) -> bytes:
    return http_date(moment).encode()


def _back(identifier: Identifier, base: str) -> tuple[bytes, bytes]:
    """Link a content resource to its landing page and its linkset (FAIR Signposting)."""
    name = f"{base}/{path_of(identifier.resource)}"
    return (
        link(f"{name}?landing", "collection", type="text/html"),
        link(f"{name}?linkset", "linkset", type="application/linkset+json"),
    )


def about(identifier: Identifier, held: Representation, *, digest: bool) -> Fields:
    """Make the fields that describe the bytes and restrict what a browser does with them."""
    fields: Fields = [(b"x-content-type-options", b"nosniff")]
    if not _PASSIVE.match(held.media_type):
        fields.append((b"content-security-policy", b"sandbox"))
    if held.language:
        fields.append((b"content-language", token(held.language).encode()))
    if digest:
        fields.append((b"repr-digest", digests.of(held)))
    fields.append((b"content-disposition", _disposition(identifier, held)))
    return fields


def span_fields(held: Representation, span: Span, *, partial: bool = False) -> Fields:
    """Make the fields that depend on the bytes sent. A multipart message makes its own."""
    start, stop = span
    fields: Fields = [(b"content-length", b"%d" % (stop - start))]
    if partial:
        fields.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, held.length)))
    return [(b"content-type", content_type(held)), *fields]


def content_type(held: Representation) -> bytes:
    """Return the media type with its charset."""
    kind = held.media_type
    if held.charset and "charset=" not in kind:
        kind = f"{kind}; charset={held.charset}"
    # a bulk load may have stored a type that does not follow the grammar
    return "".join(one if " " <= one <= "~" else "_" for one in kind).encode("ascii")


def _disposition(identifier: Identifier, held: Representation) -> bytes:
    """Suggest a file name: letters, digits, dots, hyphens and underscores only."""
    name = _SAFE_NAME.sub("_", identifier.file_stem)[:128].strip("._")
    extension = _SAFE_NAME.sub("_", formats.extension(held.format))
    return f'inline; filename="{name}.{extension}"'.encode()
