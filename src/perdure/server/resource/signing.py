"""The signatures of a name over HTTP (`?signatures`): a list in JSON, each with its verdict."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.reading.resolve import Resolved
from perdure.reading.signatures import HeldSignature, describe_signature
from perdure.reading.targets import spell_path
from perdure.server.common import asking
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service


async def list_signatures(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the signatures of a name, or of an interval or a pattern itself.

    Raises NotFound, NoSuchVersion or NotAcceptable if the name names nothing.
    """
    if resolved.names is None:
        resolved.require_known()
    elif resolved.names.pattern is None:  # written like no identifier, such as a prefix of handles
        resolved.require_single()
    name, reader = resolved.identifier, resolved.query.reader
    found = await service.run_cutter(service.registry.signatures.list_signatures, name, reader)
    for one in found:
        for related in (one.identifier, one.signed.statement.identifier):
            asking.find_guard(service, request, related)  # so that no cache stores a closed one
    body = {
        "identifier": str(name),
        "signatures": [_show_signature(one, request.base_url) for one in found],
    }
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    encoded = msgspec.json.encode(body)
    return make_answer(HTTPStatus.OK, "application/json", encoded, (b"cache-control", fresh))


def _show_signature(held: HeldSignature, base: str) -> dict[str, object]:
    return describe_signature(held) | {"url": f"{base}/{spell_path(held.identifier)}"}
