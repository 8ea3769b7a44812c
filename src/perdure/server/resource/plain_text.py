"""The plain text of a document, of a part or of a capture over HTTP: `?text`.

How it works: `perdure.reading.plain_texts` reads the text in a thread. The answer is UTF-8 with an
entity tag that is a digest of the text, so it changes with the text and with nothing else. Ranges
and the digest of the answer are those of the text.

What must stay true: the text is neither the document nor a part. It has no name to cite, and `Link`
says what it was made from. A document without a text is an error with its reason.
"""

from __future__ import annotations

import hashlib

from perdure.archives.port import Capture
from perdure.archives.readable import ReadableArchive
from perdure.extractors.port import Part
from perdure.model.queries import Gone
from perdure.parts import Octets
from perdure.reading.plain_texts import choose_text, read_capture_text, read_plain_text
from perdure.reading.resolved import Resolved
from perdure.server.common import asking, part_bodies, problems
from perdure.server.common.answers import Answer, Fields, join_links, make_answer, write_link
from perdure.server.common.conditions import find_last_modified, has_already, is_unmodified
from perdure.server.common.part_bodies import CutPart
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held

_KIND = "text/plain; charset=utf-8"
_NOT_MODIFIED = 304


async def answer_text(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer GET or HEAD of a text. Raises the errors of resolving, cutting and reading."""
    step = choose_text(resolved)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    source, selector = service.registry.documents.find_text(resolved, step)
    text = await service.read_text(read_plain_text, source, selector)
    data, tag = await service.run_cutter(_encode_text, text)
    modified = find_last_modified(resolved.deciding_record, step.representation)
    there = f"{request.base_url}/{asking.spell_resolved(resolved)}"
    fields: Fields = [
        (b"etag", tag),
        (b"cache-control", held.write_lifetime(service.settings, pinned=False)),
        (b"x-content-type-options", b"nosniff"),
        *join_links((write_link(there, "via"), *held.link_back(there))),
    ]
    if is_unmodified(request, tag, modified):
        return Answer(_NOT_MODIFIED, fields)
    part = Part(selector=Octets(0, len(data)), media_type="text/plain", body=(data,))
    cut = CutPart(
        found=part,
        tag=tag,
        source=source,
        selector=part.selector,
        representation=step.representation,
        modified=modified,
        kind=_KIND.encode(),
    )
    return await part_bodies.answer_part_bytes(service, request, cut, fields)


async def answer_capture_text(
    service: Service,
    request: Request,
    archive: ReadableArchive,
    capture: Capture,
    fields: Fields,
) -> Answer:
    """Answer with the text of a capture. Raises the errors of opening and reading it."""
    registry = service.registry
    text = await service.run_cutter(read_capture_text, registry.parts, archive, capture)
    data, tag = await service.run_cutter(_encode_text, text)
    fields = [*fields, (b"etag", tag), (b"x-content-type-options", b"nosniff")]
    if has_already(request, tag):
        return Answer(_NOT_MODIFIED, fields)
    return make_answer(200, _KIND, data, *fields)


def _encode_text(text: str) -> tuple[bytes, bytes]:
    """Return a text in UTF-8, and its entity tag. A long one takes several milliseconds."""
    data = text.encode("utf-8", "replace")
    return data, f'"{hashlib.sha256(data).hexdigest()[:40]}-text"'.encode()
