"""Renditions for browsers: sound and film that they can play, and pictures that pages show.

How it works: the document or the part is resolved and cut like any other, and its bytes are
converted, within the limits of parts. `?play` answers with sound or film
(`perdure.extractors.playback`), `?preview` with what a landing page shows: a waveform, a contact
sheet, a frame, or a page of a PDF.

What must stay true: a rendition is neither the document nor the part. It has an entity tag of its
own, no digest, no name to cite, and says in `Link` what it was made from.
"""

from __future__ import annotations

import hashlib
from functools import cache, partial
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version

from perdure.errors.cutting import PartElsewhere
from perdure.model.queries import Fetch, Gone
from perdure.model.records import Representation
from perdure.parts import Selector, Within
from perdure.policy.correcting import name_reading
from perdure.reading.resolved import Resolved
from perdure.server.common import asking, part_bodies, problems
from perdure.server.common.answers import Answer, Fields, join_links, make_empty_answer, write_link
from perdure.server.common.conditions import find_last_modified, has_already, is_unmodified
from perdure.server.common.negotiate import read_preferences
from perdure.server.common.part_bodies import CutPart
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held

MEDIA_FIRST = read_preferences("audio/*, video/*, image/*, application/pdf, */*;q=0.1")
_LIBRARIES = ("av", "pypdfium2", "pyvips-binary")
"""The libraries that make renditions."""
_EXTENSIONS = {
    "audio/wav": "wav",
    "video/webm": "webm",
    "image/svg+xml": "svg",
    "image/jpeg": "jpg",
    "image/png": "png",
}
_INERT = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")


async def answer_rendition(
    service: Service, request: Request, resolved: Resolved, selector: Selector
) -> Answer:
    """Answer GET or HEAD of a rendition. Raises the errors of resolving and cutting."""
    step = resolved.choose(accept=MEDIA_FIRST)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch):
        raise PartElsewhere(selector=str(selector))
    one, registry = step.representation, service.registry
    source = registry.documents.open_source(step.identifier, one)
    if resolved.inside is not None:
        outer = registry.documents.find_selector(resolved.identifier, source, resolved.part_beside)
        selector = Within(outer=outer, inner=selector)
    tag, modified = _make_tag(one, selector), find_last_modified(resolved.deciding_record, one)
    fields = _make_fields(service, request, resolved, tag)
    if b"if-match" not in request.fields and has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    cutting = partial(part_bodies.cut_at_hand, registry.parts.cut_view)
    found = await service.cut_part(cutting, source, selector)
    if is_unmodified(request, tag, modified):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    name = f"{step.identifier.file_stem}.{_EXTENSIONS[found.media_type]}"
    safe = "".join(one if one.isascii() and (one.isalnum() or one in ".-") else "_" for one in name)
    fields += [
        (b"x-content-type-options", b"nosniff"),
        _INERT,
        (b"content-disposition", f'inline; filename="rendition-{safe[-100:]}"'.encode()),
    ]
    cut = CutPart(
        found=found,
        tag=tag,
        source=source,
        selector=selector,
        representation=one,
        modified=modified,
        kind=found.media_type.encode("ascii"),
        has_digest=False,
    )
    return await part_bodies.answer_part_bytes(service, request, cut, fields)


def _make_tag(one: Representation, selector: Selector) -> bytes:
    """Make the entity tag. It changes with the libraries, whose encoders may change."""
    text = f"{one.sha512} {one.format} {name_reading(one)} {selector} {_list_libraries()}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:40]}-made"'.encode()


def _make_fields(service: Service, request: Request, resolved: Resolved, tag: bytes) -> Fields:
    source = f"{request.base_url}/{asking.spell_resolved(resolved)}"
    return [
        (b"etag", tag),
        (b"cache-control", held.write_lifetime(service.settings, pinned=False)),
        *join_links((write_link(source, "via"), *held.link_back(source))),
    ]


@cache
def _list_libraries() -> str:
    """The versions of the libraries that are installed."""
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
