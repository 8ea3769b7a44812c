"""Bytes held here, over HTTP: complete or in ranges, with the header fields that describe them.

How it works: `make_validators` makes the fields that every answer about a representation has,
`describe_bytes` those that accompany its bytes, `make_span_fields` those that depend on the range
that is sent. The fast path (`perdure.server.fast.held`) uses the same three functions.

What must stay true: deposited bytes cannot run a script under the resolver's origin, and a browser
that shows them sends no request to another server: an archive does not tell others who reads.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from http import HTTPStatus

from werkzeug.http import http_date

from perdure import formats
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.queries import Fetch
from perdure.model.records import Record, Representation
from perdure.policy.naming import read_qualifiers
from perdure.policy.versions import list_relations
from perdure.reading.targets import append_question, spell_path, spell_uri
from perdure.server.common import bodies, digests, problems
from perdure.server.common.answers import (
    Answer,
    Fields,
    clean_value,
    escape_uri,
    join_links,
    write_link,
)
from perdure.server.common.conditions import (
    Span,
    find_last_modified,
    is_unmodified,
    make_etag,
    read_ranges,
)
from perdure.server.common.redirects import link_description
from perdure.server.common.request import Request
from perdure.settings import Settings
from perdure.storage.byte_ports import Bytes

_SAFE_NAME = re.compile(r"[^A-Za-z0-9.-]+")

# Media types that a browser shows without running or fetching anything (a playlist fetches what it
# lists). All others are shown in a sandbox: without scripts and forms, in a separate origin, with
# nothing but their own bytes.
_PASSIVE = re.compile(
    r"text/(?:plain|csv)|application/(?:json|octet-stream|pdf)|font/.+|image/(?!svg).+|"
    r"(?:audio|video)/(?!.*(?:mpegurl|scpls)).+"
)
SANDBOX = (
    b"sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    b"media-src data:; form-action 'none'; base-uri 'none'"
)
"""The policy under which a deposited page opens: it runs nothing, and makes no request."""


def answer_representation(
    request: Request, source: Bytes, step: Fetch, record: Record, *, lifetime: bytes, vary: bytes
) -> Answer:
    """Answer GET or HEAD of a representation; the server drops the body for HEAD.

    `lifetime` is the value of Cache-Control, from `write_lifetime`.
    `vary` names the request fields that the choice of this answer depends on; see `write_vary`.
    Raises PreconditionFailed.
    """
    held = step.representation
    tag, modified = make_etag(held), find_last_modified(record, held)
    fields = make_validators(step, modified, request.base_url, lifetime=lifetime, vary=vary)
    if is_unmodified(request, tag, modified):
        return Answer(HTTPStatus.NOT_MODIFIED, fields)
    fields += describe_bytes(step.identifier, held, digest=digests.is_wanted(request))
    spans = None
    if b"range" in request.fields and request.method == "GET":
        spans = read_ranges(request, held.length, tag, modified)
    if spans is None:
        whole = (0, held.length)
        fields += make_span_fields(held, whole)
        return bodies.answer_span(HTTPStatus.OK, fields, source, held, whole)
    if not spans:
        return problems.answer_problem(problems.no_such_range(held.length), request)
    return _answer_ranges(fields, source, held, spans)


def _answer_ranges(
    fields: Fields, source: Bytes, held: Representation, spans: Sequence[Span]
) -> Answer:
    if len(spans) == 1:
        fields += make_span_fields(held, spans[0], partial=True)
        return bodies.answer_span(HTTPStatus.PARTIAL_CONTENT, fields, source, held, spans[0])
    read = partial(bodies.read_span, source, held)
    return answer_byteranges(fields, write_content_type(held), held.length, spans, read)


def answer_byteranges(
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
    return bodies.answer_multipart(HTTPStatus.PARTIAL_CONTENT, b"byteranges", fields, found)


# header fields
# -------------


def write_lifetime(settings: Settings, *, pinned: bool) -> bytes:
    """Write the value of Cache-Control for bytes held here.

    Bytes of a named version never change, but they can be withdrawn, so caches ask again after a
    bounded time.  # ruling: tombstone-silence
    """
    if pinned:
        return b"public, max-age=%d, immutable" % settings.pinned_seconds
    return b"public, max-age=%d" % settings.fresh_seconds


def make_validators(
    step: Fetch, modified: datetime, base: str, *, lifetime: bytes, vary: bytes
) -> Fields:
    """Make the fields that a 304 has, too: version, date of change, and lifetime."""
    fields: Fields = [
        (b"etag", make_etag(step.representation)),
        (b"last-modified", _write_http_date(modified)),
        (b"content-location", escape_uri(spell_uri(step.identifier))),
        (b"cache-control", lifetime),
        (b"accept-ranges", b"bytes"),
        *join_links(
            (
                write_link(f"{base}/{spell_path(step.identifier)}", "cite-as"),
                link_description(step.identifier),
                *link_back(f"{base}/{spell_path(step.identifier.resource)}"),
                *link_versions(step, base),
            )
        ),
    ]
    if vary:
        fields.append((b"vary", vary))
    return fields


def write_vary(identifier: Identifier, held: Representation, pages: str) -> bytes:
    """Write the `Vary` field of bytes. `pages` is the setting.

    For a name with a format, the only alternative is the page of a document that has another type
    than HTML  # ruling: page-or-thing
    """
    if read_qualifiers(identifier)[1] is None:
        return b"accept, accept-language"
    has_page = pages == "always" or (pages != "never" and not is_html(held))
    return b"accept" if has_page else b""


def is_html(held: Representation) -> bool:
    """Return True if a browser shows these bytes as a page."""
    return strip_parameters(held.media_type) in ("text/html", "application/xhtml+xml")


@lru_cache(maxsize=1024)
def _write_http_date(moment: datetime) -> bytes:
    return http_date(moment).encode()


def link_back(url: str) -> tuple[bytes, bytes]:
    """Link a content resource to its landing page and its linkset (FAIR Signposting)."""
    return (
        write_link(append_question(url, "landing"), "collection", type="text/html"),
        write_link(append_question(url, "linkset"), "linkset", type="application/linkset+json"),
    )


def link_versions(step: Fetch, base: str, anchor: str = "") -> tuple[bytes, ...]:
    """Link the versions before and after one, and the latest if it is another (RFC 5829).

    `anchor` is the address of the document if the answer is a part of it.
    # ruling: pdi-format-without-version
    """
    more = {"anchor": escape_uri(anchor).decode()} if anchor else {}
    return tuple(
        write_link(f"{base}/{spell_path(one)}", relation, **more)
        for relation, one in list_relations(step.neighbours)
    )


def describe_bytes(identifier: Identifier, held: Representation, *, digest: bool) -> Fields:
    """Make the fields that describe the bytes and restrict what a browser does with them."""
    fields = confine_type(held.media_type)
    if held.language:
        fields.append((b"content-language", clean_value(held.language).encode()))
    if digest:
        fields.append((b"repr-digest", digests.write_whole_digest(held)))
    fields.append((b"content-disposition", _write_disposition(identifier, held)))
    return fields


def confine_type(media_type: str) -> Fields:
    """Make the fields that keep a browser from running a document of this type."""
    fields: Fields = [(b"x-content-type-options", b"nosniff")]
    if not _PASSIVE.match(media_type):
        fields.append((b"content-security-policy", SANDBOX))
    return fields


def make_span_fields(held: Representation, span: Span, *, partial: bool = False) -> Fields:
    """Make the fields that depend on the bytes sent. A multipart message makes its own."""
    start, stop = span
    fields: Fields = [(b"content-length", b"%d" % (stop - start))]
    if partial:
        fields.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, held.length)))
    return [(b"content-type", write_content_type(held)), *fields]


def write_content_type(held: Representation) -> bytes:
    """Return the media type with its charset."""
    kind = held.media_type
    if held.charset and "charset=" not in kind:
        kind = f"{kind}; charset={held.charset}"
    # a bulk load may have stored a type that does not follow the grammar
    return "".join(one if " " <= one <= "~" else "_" for one in kind).encode("ascii")


def _write_disposition(identifier: Identifier, held: Representation) -> bytes:
    return f'inline; filename="{suggest_file_name(identifier, held.format)}"'.encode()


def suggest_file_name(identifier: Identifier, format: str) -> str:
    """Suggest a file name: letters, digits, dots, hyphens and underscores only."""
    name = _SAFE_NAME.sub("_", identifier.file_stem)[:128].strip("._-")
    return f"{name}.{_SAFE_NAME.sub('_', formats.find_extension(format))}"
