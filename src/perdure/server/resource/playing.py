"""Sound and film for a browser: `?play` answers with a rendition of a document, or of a part of it.

How it works: the document or the part is resolved and cut like any other, and its bytes are
converted (`perdure.extractors.playback`), within the limits of parts. The landing page plays the
rendition if the browser cannot play the bytes themselves.

What must stay true: a rendition is neither the document nor the part. It has an entity tag of its
own, no digest, no name to cite, and says in `Link` what it was made from.
"""

from __future__ import annotations

import hashlib
from functools import partial
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version

import msgspec

from perdure.errors import PerdureError
from perdure.errors.cutting import PartElsewhere
from perdure.formats.essence import strip_parameters
from perdure.model.queries import Fetch, Gone
from perdure.model.records import Representation
from perdure.parts import Playback, Selector, Within
from perdure.policy.correcting import name_reading
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question
from perdure.server.common import asking, part_bodies, problems
from perdure.server.common.answers import Answer, Fields, join_links, make_empty_answer, write_link
from perdure.server.common.conditions import find_last_modified, has_already, is_unmodified
from perdure.server.common.negotiate import read_preferences
from perdure.server.common.part_bodies import CutPart
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held

_MEDIA_FIRST = read_preferences("audio/*, video/*, */*;q=0.1")
_PLAYED_BY_BROWSERS = frozenset(
    [f"audio/{one}" for one in ("aac", "flac", "mp4", "mpeg", "ogg", "wav", "webm", "x-wav")]
    + ["video/mp4", "video/webm"]
)
"""Media types whose documents and parts a browser usually plays; if not, it plays the rendition."""
_EXTENSIONS = {"audio/wav": "wav", "video/webm": "webm"}


class Player(msgspec.Struct, frozen=True):
    """A player on a landing page."""

    is_film: bool
    sources: tuple[str, ...]
    """Addresses, of which the browser plays the first that it can."""


async def play_resource(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer GET or HEAD of a rendition. Raises the errors of resolving and cutting."""
    step = resolved.choose(accept=_MEDIA_FIRST)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch):
        raise PartElsewhere(selector=str(Playback()))
    one, registry = step.representation, service.registry
    source = registry.documents.open_source(step.identifier, one)
    selector: Selector = Playback()
    if resolved.inside is not None:
        outer = registry.documents.find_selector(resolved.identifier, source, resolved.part_beside)
        selector = Within(outer=outer, inner=selector)
    tag, modified = _make_tag(one, selector), find_last_modified(resolved.deciding_record, one)
    fields = _make_fields(service, request, resolved, tag)
    if b"if-match" not in request.fields and has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    cutting = partial(part_bodies.cut_at_hand, registry.parts.cut_part)
    found = await service.cut_part(cutting, source, selector)
    if is_unmodified(request, tag, modified):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    name = f"{step.identifier.file_stem}.{_EXTENSIONS[found.media_type]}"
    safe = "".join(one if one.isascii() and (one.isalnum() or one in ".-") else "_" for one in name)
    fields += [
        (b"x-content-type-options", b"nosniff"),
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
    """Make the entity tag. It changes with the library, whose encoders may change."""
    try:
        library = version("av")
    except PackageNotFoundError:
        library = ""
    text = f"{one.sha512} {one.format} {name_reading(one)} {selector} {library}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:40]}-play"'.encode()


def _make_fields(service: Service, request: Request, resolved: Resolved, tag: bytes) -> Fields:
    source = f"{request.base_url}/{asking.spell_resolved(resolved)}"
    return [
        (b"etag", tag),
        (b"cache-control", held.write_lifetime(service.settings, pinned=False)),
        *join_links((write_link(source, "via"), *held.link_back(source))),
    ]


def find_player(service: Service, resolved: Resolved) -> Player | None:
    """Return the player for the page of a sound or film that is held here, or of a part of one."""
    try:
        step = resolved.choose(accept=_MEDIA_FIRST)
    except PerdureError:  # the page itself reports what is wrong
        return None
    if not isinstance(step, Fetch):
        return None
    essence = strip_parameters(step.representation.media_type)
    if not service.registry.parts.can_play(essence):
        return None
    path = f"/{asking.spell_resolved(resolved)}"
    questions = ("bytes", "play") if essence in _PLAYED_BY_BROWSERS else ("play",)
    return Player(
        is_film=not essence.startswith("audio/") and essence != "application/ogg",
        sources=tuple(append_question(path, one) for one in questions),
    )
