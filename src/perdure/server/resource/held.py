"""Bytes held here, over HTTP: the header fields that say what they are, whole or in ranges.

How it works: `validators` are the fields that every answer about a representation has, `about`
those that go with its bytes, `span_fields` those that depend on which of them are sent. The fast
path (`perdure.server.fast.held`) puts its answers together from the same three.

What must stay true: bytes that others have deposited can run no script in our name.
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

# What a browser shows without running anything in it. All else is shown in a sandbox: no script,
# no form, an origin of its own.
_PASSIVE = re.compile(
    r"text/(?:plain|csv)|application/(?:json|octet-stream|pdf)|audio/.+|video/.+|font/.+|"
    r"image/(?!svg).+"
)


def answer(
    request: Request, segments: Segments, step: Fetch, record: Record, *, fresh: int, chosen: bool
) -> Answer:
    """The answer to GET of a representation; of HEAD too, whose body nobody sends.

    It may be kept for `fresh` seconds, if not for ever. `chosen`: the format was not named in the
    request, so another header might have had another answer. Raises PreconditionFailed.
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
    """Several ranges of what is `length` bytes long, in one message (RFC 9110 section 14.6)."""
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
    """What a 304 says as well: which version this is, since when, and for how long."""
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
    """FAIR Signposting of a content resource: its landing page, and where all links are."""
    name = f"{base}/{path_of(identifier.resource)}"
    return (
        link(f"{name}?landing", "collection", type="text/html"),
        link(f"{name}?linkset", "linkset", type="application/linkset+json"),
    )


def about(identifier: Identifier, held: Representation, *, digest: bool) -> Fields:
    """What the bytes are, and what a browser may do with them."""
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
    """What depends on the bytes that are sent; a multipart message has its own."""
    start, stop = span
    fields: Fields = [(b"content-length", b"%d" % (stop - start))]
    if partial:
        fields.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, held.length)))
    return [(b"content-type", content_type(held)), *fields]


def content_type(held: Representation) -> bytes:
    """The media type with its charset."""
    kind = held.media_type
    if held.charset and "charset=" not in kind:
        kind = f"{kind}; charset={held.charset}"
    # of our own grammars, whatever a bulk load may have brought in
    return "".join(one if " " <= one <= "~" else "_" for one in kind).encode("ascii")


def _disposition(identifier: Identifier, held: Representation) -> bytes:
    """A file name for who saves it: letters, digits, dots, hyphens and underscores only."""
    name = _SAFE_NAME.sub("_", identifier.file_stem)[:128].strip("._")
    extension = _SAFE_NAME.sub("_", formats.extension(held.format))
    return f'inline; filename="{name}.{extension}"'.encode()
