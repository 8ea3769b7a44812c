"""Annotations at their addresses: how one is found, and the answer with it.

What must stay true: the reading rights are those of the PDI; a retracted annotation is gone (410).
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus

import msgspec

from perdure.errors import NotFound
from perdure.ids import Identifier
from perdure.model.assertions import MEDIA_TYPE
from perdure.model.queries import Gone
from perdure.reading.annotation_pages import find_address, write_annotation
from perdure.reading.assertions import HeldAssertion
from perdure.reading.resolved import Resolved
from perdure.server.common import asking, problems
from perdure.server.common.answers import Answer, escape_uri, join_links, make_answer
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.asserting import guard_assertions

OF_ANNOTATION = b"GET, HEAD, OPTIONS, PUT, DELETE"
_LINKS = join_links((b'<http://www.w3.org/ns/ldp#Resource>; rel="type"',))


async def find_annotation(
    service: Service, request: Request, name: Identifier
) -> HeldAssertion | Answer:
    """Return the assertion that a name names, or the answer that it is gone.

    Raises NotFound, and Forbidden or Unauthenticated if the reader may not have it.
    """
    resolved: Resolved = asking.resolve_name(service, request, str(name))
    step = resolved.choose(accept=())
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    reader = find_reader(service, request)
    held: HeldAssertion | None = await service.run_cutter(
        service.registry.assertions.find_assertion, name, reader
    )
    if held is None:
        raise NotFound(identifier=str(name))
    guard_assertions(service, request, (held,))
    if held.retracted_by:
        return problems.answer_problem(problems.make_retracted_problem(held), request)
    return held


def make_annotation_answer(
    request: Request, held: HeldAssertion, status: int = HTTPStatus.OK
) -> Answer:
    """Answer with an annotation."""
    base = request.base_url
    body = msgspec.json.encode(write_annotation(held, base))
    address = escape_uri(find_address(base, held.identifier))
    location = ((b"location", address),) if status == HTTPStatus.CREATED else ()
    return make_answer(
        status,
        MEDIA_TYPE,
        body,
        (b"etag", make_annotation_tag(held, base)),
        (b"allow", OF_ANNOTATION),
        (b"content-location", address),
        *location,
        *_LINKS,
    )


def make_annotation_tag(held: HeldAssertion, base: str) -> bytes:
    """Make the entity tag of an annotation at its address."""
    body = msgspec.json.encode(write_annotation(held, base))
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
