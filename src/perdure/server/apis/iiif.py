"""IIIF Image API 2.1 and 3.0 over HTTP, level 2, for every image that is held here.

    GET /iiif/<2 or 3>/<identifier>                                         303 to info.json
    GET /iiif/<2 or 3>/<identifier>/info.json
    GET /iiif/<2 or 3>/<identifier>/<region>/<size>/<rotation>/<quality>.<format>

How it works: the path is split from the right, because an identifier can contain slashes, and a
proxy may have decoded them. `perdure.parts.iiif` reads the parameters, and
`perdure.extractors.image.rendering` makes the picture, in a process with bounds. An identifier
without a version means the highest version, as for the complete resource. If a resource has several
formats, images are preferred.

If a reading rule closes the image or a part of it, a region is answered like the rectangle of
stored pixels that it is cut from, and a reader of all but some part gets the information.

The entity tag of a picture is computed from its bytes, so a newer encoder changes it. Errors are
those of the API if it defines one (sections 7.2 and 7.3): 400 for a malformed request and for
regions and sizes that the image does not have, 404 for unknown or malformed identifiers, 501 for a
resource that is not an image.

What must stay true: pages of any origin may read every answer, errors too.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote as escape
from urllib.parse import unquote

import msgspec

from perdure.errors import (
    Forbidden,
    MalformedIdentifier,
    NotFound,
    PartOutOfRange,
    PerdureError,
    Unauthenticated,
    UnknownScheme,
)
from perdure.errors.cutting import PartElsewhere
from perdure.errors.delegations import AnsweredElsewhere
from perdure.extractors.port import Part, Source, iterate_body
from perdure.ids import Identifier
from perdure.model.queries import LOCAL_READER, Fetch, Gone, Query
from perdure.model.records import Record
from perdure.parts import Information, Rect, Rendering, Selector, iiif
from perdure.reading.resolved import (
    Resolved,
)
from perdure.reading.targets import read_identifier, spell_path
from perdure.server.common import asking, digests, problems
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_empty_answer,
    write_link,
)
from perdure.server.common.conditions import find_last_modified, is_unmodified
from perdure.server.common.negotiate import choose_type, read_preferences
from perdure.server.common.readers import find_reader
from perdure.server.common.redirects import link_description
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held

ROOT = "iiif"
_VERSIONS = {"2": 2, "3": 3}
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_IMAGES_FIRST = read_preferences("image/*, */*;q=0.1")
_PARAMETERS = 4

_JSON, _JSON_LD = "application/json", "application/ld+json"
_EXTRA_FORMATS = ("webp", "tif", "gif")
_BEYOND_LEVEL_2 = ("canonicalLinkHeader", "mirroring", "profileLinkHeader", "rotationArbitrary")
_EXIF = "http://www.w3.org/2003/12/exif/ns#"
_TILE = 512  # pixels
_SMALLEST = 64  # pixels of the longer side of an offered picture


class _ImageRequest(NamedTuple):
    """A request of the API, split into its parts."""

    version: int
    name: str
    """The identifier as it was written, with its escapes."""
    parameters: str
    """The rest of the path, or an empty string."""


class _Image(NamedTuple):
    """An image that a request is about."""

    step: Fetch
    record: Record
    source: Source


async def serve_image(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of anything below `/iiif/`."""
    found = await _answer_request(service, request)
    found.fields.append(_ANY_ORIGIN)
    return found


async def _answer_request(service: Service, request: Request) -> Answer:
    asked = _read_target(request.target.text)
    if asked is None:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    try:
        identifier = _read_identifier(asked.name)
        if not asked.parameters:
            information = f"{_write_base_uri(request, asked.version, asked.name)}/info.json"
            return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", escape_uri(information)))
        selector = iiif.read_picture(asked.parameters, asked.version)
        try:
            image = _open_image(service, request, identifier, selector)
        except (Forbidden, Unauthenticated):
            readable = await _open_readable(service, request, identifier, selector)
            if readable is None:
                raise
            image = readable
        if isinstance(image, Gone):
            return problems.answer_problem(problems.make_gone_problem(image), request)
        source = image.source
        part = await service.cut_part(service.registry.parts.cut_part, source, selector)
        made = _answer_information if isinstance(part.selector, Information) else _answer_picture
        return made(service, request, asked, image, part)
    except AnsweredElsewhere:
        raise
    except (MalformedIdentifier, UnknownScheme) as error:
        return _answer_error(request, error, HTTPStatus.NOT_FOUND)
    except PartOutOfRange as error:
        return _answer_error(request, error, HTTPStatus.BAD_REQUEST)
    except PerdureError as error:
        return _answer_error(request, error)


def _open_image(
    service: Service, request: Request, identifier: Identifier, selector: Selector
) -> _Image | Gone:
    """Open an image, all of which the reader may see.

    Raises Forbidden or Unauthenticated otherwise, NotFound, and PartElsewhere.
    """
    reader = find_reader(service, request)
    query = Query(identifier=identifier, accept=_IMAGES_FIRST, reader=reader)
    return _open_resolved(service, asking.resolve_query(service, request, query), selector)


def _open_resolved(service: Service, resolved: Resolved, selector: Selector) -> _Image | Gone:
    if resolved.inside is not None:
        raise NotFound(identifier=str(resolved.asked))
    step = resolved.step
    if isinstance(step, Gone):
        return step
    if not isinstance(step, Fetch):
        raise PartElsewhere(selector=str(selector), offered=())
    source = service.registry.documents.open_source(step.identifier, step.representation)
    return _Image(step, resolved.deciding_record, source)


# the part of a closed image
# --------------------------


async def _open_readable(
    service: Service, request: Request, identifier: Identifier, selector: Selector
) -> _Image | None:
    """Open an image of which the reader may not see everything, but what is requested.

    That is a region, if the reader may see the rectangle of stored pixels that it is cut from; or
    the information, if only a part of the image is closed. Returns None in all other cases, so
    that nothing else is said about the image.
    """
    query = Query(identifier=identifier, accept=_IMAGES_FIRST, reader=LOCAL_READER)
    try:
        found = _open_resolved(service, service.reading.resolve(query), selector)
        if isinstance(found, Gone):
            return None
        if isinstance(selector, Information):
            guard = asking.find_guard(service, request, found.step.identifier)
            return found if guard is None or guard.is_admitted() else None
        if not isinstance(selector, Rendering):
            return None
        rect = await _find_rectangle(service, found.source, selector)
        part = found.step.identifier.with_part(str(rect))
        if part is None:
            return None
        reader = find_reader(service, request)
        resolved = asking.resolve_query(service, request, Query(identifier=part, reader=reader))
        return found if isinstance(resolved.step, Fetch) else None
    except PerdureError:
        return None


async def _find_rectangle(service: Service, source: Source, picture: Rendering) -> Rect:
    """Return the rectangle of stored pixels that a region of the upright picture is cut from."""
    cut = service.registry.parts.cut_part
    described = await service.cut_part(cut, source, Information())
    known = msgspec.json.decode(b"".join(iterate_body(described.body, source)))
    left, top, right, bottom = iiif.settle_picture(picture, known["width"], known["height"]).box
    a, b, c, d, e, f = known.get("stored", {}).get("uprightToStored", (1, 0, 0, 1, 0, 0))
    corners = [(a * x + c * y + e, b * x + d * y + f) for x, y in ((left, top), (right, bottom))]
    across, down = sorted(x for x, _ in corners), sorted(y for _, y in corners)
    return Rect(across[0], down[0], across[1], down[1])


def _answer_error(
    request: Request, error: PerdureError, status: HTTPStatus | None = None
) -> Answer:
    problem = problems.make_problem(error)
    if status is not None:
        problem = msgspec.structs.replace(problem, status=status)
    return problems.answer_problem(problem, request)


# reading requests
# ----------------


def _read_target(text: str) -> _ImageRequest | None:
    """Read a target. Returns None if it is not a request of the API.

    >>> _read_target("iiif/3/ark:%2F99999%2Ffk4/full/max/0/default.jpg")
    _ImageRequest(version=3, name='ark:%2F99999%2Ffk4', parameters='full/max/0/default.jpg')
    >>> _read_target("iiif/2/ark:/99999/fk4/info.json")
    _ImageRequest(version=2, name='ark:/99999/fk4', parameters='info.json')
    """
    _, _, rest = text.partition("/")
    number, _, rest = rest.partition("/")
    version = _VERSIONS.get(number)
    if version is None or not rest:
        return None
    name, slash, last = rest.rpartition("/")
    if slash and last == "info.json":
        return _ImageRequest(version, name, last)
    pieces = rest.rsplit("/", _PARAMETERS)
    if len(pieces) <= _PARAMETERS:
        return _ImageRequest(version, rest, "")
    return _ImageRequest(version, pieces[0], "/".join(pieces[1:]))


def _read_identifier(name: str) -> Identifier:
    """Read an identifier. Raises NotFound if it cannot have an image of its own."""
    identifier = read_identifier(unquote(name, errors="replace"))
    if identifier.is_pattern or identifier.whole is not identifier:
        raise NotFound(identifier=str(identifier))
    return identifier


def _write_base_uri(request: Request, version: int, name: str) -> str:
    """The base URI of an image, which ends in its name."""
    return f"{request.base_url}/{ROOT}/{version}/{name}"


def _write_canonical_uri(request: Request, version: int, image: _Image) -> str:
    return _write_base_uri(request, version, escape(spell_path(image.step.identifier), safe=""))


# answering
# ---------


def _answer_picture(
    service: Service, request: Request, asked: _ImageRequest, image: _Image, part: Part
) -> Answer:
    canonical = f"{_write_canonical_uri(request, asked.version, image)}/{part.selector}"
    fields: Fields = [
        *join_links(
            (
                write_link(canonical, "canonical"),
                write_link(f"{request.base_url}/{spell_path(image.step.identifier)}", "up"),
                _link_profile(asked.version),
                link_description(image.step.identifier),
            )
        ),
    ]
    name = _name_file(image, part)
    more: Fields = [(b"content-disposition", b'inline; filename="%s"' % name.encode())]
    return _finish_answer(service, request, image, part, part.media_type, fields, more)


def _answer_information(
    service: Service, request: Request, asked: _ImageRequest, image: _Image, part: Part
) -> Answer:
    known: dict[str, Any] = msgspec.json.decode(_join_body(part, image))
    described = _describe_2 if asked.version == 2 else _describe_3
    base = _write_base_uri(request, asked.version, asked.name)
    document = described(base, known["width"], known["height"], colours=bool(known["color"]))
    if "stored" in known:
        name = f"{request.base_url}/{spell_path(image.step.identifier)}"
        document["service"] = _describe_stored(name, known["stored"], asked.version)
    kind = _choose_json_type(request, asked.version)
    body = msgspec.structs.replace(part, body=(msgspec.json.encode(document),))
    fields: Fields = [
        *join_links((_link_profile(asked.version), link_description(image.step.identifier))),
        (b"vary", b"accept"),
    ]
    return _finish_answer(service, request, image, body, kind, fields, [])


def _finish_answer(
    service: Service,
    request: Request,
    image: _Image,
    part: Part,
    kind: str,
    fields: Fields,
    more: Fields,
) -> Answer:
    """Answer with a body, or without one if the client has it already."""
    body = _join_body(part, image)
    digest = hashlib.sha512(body + kind.encode())
    tag = f'"{digest.hexdigest()[:40]}-iiif"'.encode()
    modified = find_last_modified(image.record, image.step.representation)
    fields += [
        (b"etag", tag),
        (b"cache-control", held.write_lifetime(service.settings, pinned=image.step.pinned)),
    ]
    if is_unmodified(request, tag, modified):
        return Answer(HTTPStatus.NOT_MODIFIED, fields)
    algorithm = digests.choose_algorithm(request, digests.ALGORITHMS)
    if algorithm is not None:
        of_body = digests.start_hash(algorithm, body).digest()
        more.append((b"repr-digest", digests.write_digest(of_body, algorithm)))
    fields += [
        (b"content-type", kind.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        *more,
    ]
    return Answer(HTTPStatus.OK, fields, body)


def _join_body(part: Part, image: _Image) -> bytes:
    return b"".join(iterate_body(part.body, image.source))


def _name_file(image: _Image, part: Part) -> str:
    text = f"{spell_path(image.step.identifier)}.{part.selector}".replace("%5e", "")
    return "".join(one if one.isascii() and (one.isalnum() or one in ".-") else "_" for one in text)


def _link_profile(version: int) -> bytes:
    return write_link(f"http://iiif.io/api/image/{version}/level2.json", "profile")


# info.json
# ---------


def _choose_json_type(request: Request, version: int) -> str:
    """JSON-LD if 2.1 clients ask for it (section 5.1), and unless 3.0 clients ask for JSON."""
    offers = (_JSON, _JSON_LD) if version == 2 else (_JSON_LD, _JSON)
    kind = choose_type(request.accept, offers) or offers[0]
    if kind == _JSON_LD and version > 2:
        return f'{kind};profile="http://iiif.io/api/image/3/context.json"'
    return kind


def _describe_2(base: str, width: int, height: int, *, colours: bool) -> dict[str, object]:
    """The document of 2.1, section 5.2."""
    return {
        "@context": "http://iiif.io/api/image/2/context.json",
        "@id": base,
        "@type": "iiif:Image",
        "protocol": "http://iiif.io/api/image",
        "width": width,
        "height": height,
        **_list_scales(width, height),
        "profile": [
            "http://iiif.io/api/image/2/level2.json",
            {
                "formats": ["jpg", "png", *_EXTRA_FORMATS],
                "qualities": _list_qualities(colours=colours),
                "supports": sorted((*_BEYOND_LEVEL_2, "regionSquare", "sizeAboveFull")),
                **_list_limits(),
            },
        ],
    }


def _describe_3(base: str, width: int, height: int, *, colours: bool) -> dict[str, object]:
    """The document of 3.0, sections 5.2 to 5.7."""
    return {
        "@context": "http://iiif.io/api/image/3/context.json",
        "id": base,
        "type": "ImageService3",
        "protocol": "http://iiif.io/api/image",
        "profile": "level2",
        "width": width,
        "height": height,
        **_list_limits(),
        **_list_scales(width, height),
        "extraFormats": _EXTRA_FORMATS,
        "extraQualities": _list_qualities(colours=colours)[1:],
        "extraFeatures": sorted((*_BEYOND_LEVEL_2, "sizeUpscaling")),
    }


def _describe_stored(name: str, stored: dict[str, Any], version: int) -> list[dict[str, object]]:
    """The service that relates the upright picture to the pixels as stored, on which parts of the
    document count. It is named by the vocabulary of the orientation (3.0 section 5.8, 2.1 section
    5.5).  # ruling: rect-frame
    """
    if version == 2:
        return [{"@context": _EXIF, "@id": name, "profile": _EXIF, **stored}]
    return [{"id": name, "type": "StoredPixels", "profile": _EXIF, **stored}]


def _list_qualities(*, colours: bool) -> tuple[str, ...]:
    return ("default", *(("color",) if colours else ()), "gray", "bitonal")


def _list_limits() -> dict[str, int]:
    return {
        "maxWidth": iiif.LONGEST_SIDE,
        "maxHeight": iiif.LONGEST_SIDE,
        "maxArea": iiif.LARGEST_AREA,
    }


def list_sizes(width: int, height: int) -> list[tuple[int, int]]:
    """Sizes of the complete image that are offered, the smallest first, each half of the next."""
    sizes = []
    for factor in reversed(_list_factors(width, height)):
        size = -(-width // factor), -(-height // factor)
        allowed = size[0] * size[1] <= iiif.LARGEST_AREA and max(size) <= iiif.LONGEST_SIDE
        if allowed and max(size) >= _SMALLEST:
            sizes.append(size)
    return sizes


def _list_factors(width: int, height: int) -> list[int]:
    factors = [1]
    while max(width, height) > factors[-1] * _TILE:
        factors.append(factors[-1] * 2)
    return factors


def _list_scales(width: int, height: int) -> dict[str, object]:
    """Sizes of the complete image, and tiles at the same scales."""
    return {
        "sizes": [{"width": one, "height": other} for one, other in list_sizes(width, height)],
        "tiles": [{"width": _TILE, "scaleFactors": _list_factors(width, height)}],
    }
