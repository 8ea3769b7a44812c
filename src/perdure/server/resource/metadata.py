"""Metadata and citations over HTTP: `?metadata`, `?cite`, and the media types of both in Accept.

How it works: `?metadata=datacite` and `?cite=apa&locale=fr` are for people; programs send Accept.
In Accept, a format of metadata is one more representation: it is sent if its own media type has a
higher quality than any form of the resource itself. A wildcard never asks for metadata.
`perdure.server.resource.changing` takes metadata at the same address.

What must stay true: a name with a format means the resource and never its metadata, because that
answer never changes; a script inside a record never runs.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from http import HTTPStatus

from perdure import metadata
from perdure.errors import NotAcceptable
from perdure.formats import find_media_type
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.metadata import cmdi
from perdure.metadata.citing import write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.queries import Preference
from perdure.model.records import Record
from perdure.policy.naming import read_qualifiers
from perdure.policy.preference import media_quality
from perdure.policy.versions import find_held_version
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    Question,
    spell_part_path,
    spell_path,
)
from perdure.server.common.answers import (
    Answer,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.conditions import has_already
from perdure.server.common.negotiate import rate_named
from perdure.server.common.request import Request
from perdure.server.common.service import Service

BIBLIOGRAPHY = "text/x-bibliography"
"""One citation as text; `style` and `locale` are its parameters (as in DOI resolvers)."""
BIBLIOGRAPHIES = ("bibtex", "ris", "csl", "csl-json")
"""Formats of metadata in which a document can have many records."""
_MANY = 100  # values
_LONG = 20_000  # characters


@cache
def map_types() -> dict[str, str]:
    """Map each media type to the format that it asks for, or to "" for a citation."""
    formats = metadata.load_formats().values()
    return {
        **{kind: one.name for one in formats for kind in one.media_types},
        **dict.fromkeys(cmdi.MEDIA_TYPES, cmdi.NAME),
        BIBLIOGRAPHY: "",
    }


# Asking
# ------


def asks_for_metadata(question: Question) -> bool:
    """Return True if the address asks for metadata or a citation."""
    return question.metadata is not None or question.cite is not None


def asks_for_one(resolved: Resolved, question: Question) -> bool:
    """Return True if the address asks for the description of one version: `…/1.*.2?metadata`.

    The formats of a bibliography list the resource instead.  # ruling: version-metadata
    """
    asked = question.metadata
    return resolved.record is not None and asked is not None and asked not in BIBLIOGRAPHIES


async def answer_metadata(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer `?metadata`, `?metadata=<format>` and `?cite=<style>`.

    Raises NotFound, NotAcceptable if the attached record does not exist, InvalidRequest if the
    format, the style or the language is unknown.
    """
    resolved.require_citable()
    if question.metadata is not None:
        own = question.level is not None
        name = (
            question.metadata
            or map_types().get(_find_best_type(request.accept) or "")
            or ("json" if own else "datacite")
        )
        return await _give_metadata(service, request, resolved, name, own=own)
    style = question.cite or "apa"
    return await _give_citation(service, request, resolved, style, question.locale or "")


async def negotiate_metadata(
    service: Service, request: Request, resolved: Resolved
) -> Answer | None:
    """Answer with the metadata or citation that Accept asks for, or return None if it does not."""
    kind = _find_best_type(request.accept)
    identifier, record = resolved.identifier, resolved.record
    if kind is None or record is None or read_qualifiers(identifier)[1] is not None:
        return None
    if resolved.part_beside is None and rate_named(
        request.accept, (kind,)
    ) <= _find_resource_quality(request.accept, identifier, record):
        return None
    if kind == BIBLIOGRAPHY:
        style, locale = read_parameters(request.accept)
        return await _give_citation(service, request, resolved, style, locale)
    return await _give_metadata(service, request, resolved, map_types()[kind])


@lru_cache(maxsize=1024)
def _find_best_type(accept: tuple[Preference, ...]) -> str | None:
    """Return the metadata type that Accept names with the highest quality, or None."""
    named = [(one.quality, _strip_range(one)) for one in accept if one.quality > 0]
    ours = [(quality, kind) for quality, kind in named if kind in map_types()]
    return max(ours, key=lambda pair: pair[0])[1] if ours else None


def choose_format(accept: tuple[Preference, ...]) -> str:
    """Return the metadata format that Accept names with the highest quality, or an empty text."""
    return map_types().get(_find_best_type(accept) or "", "")


def list_types() -> tuple[str, ...]:
    """List the media types of metadata and citations that Accept can name."""
    return tuple(map_types())


def names_metadata(accept: tuple[Preference, ...]) -> bool:
    """Return True if Accept names a form of metadata, so that the usual answer may be wrong."""
    return _find_best_type(accept) is not None


def _strip_range(one: Preference) -> str:
    return strip_parameters(one.range)


def _find_resource_quality(
    accept: tuple[Preference, ...], identifier: Identifier, record: Record
) -> float:
    """Return the highest quality that Accept gives a form of the resource itself."""
    kinds = list_media_types(identifier, record)
    return max((media_quality(accept, kind) for kind in kinds), default=0.0)


def list_media_types(identifier: Identifier, record: Record) -> set[str]:
    """List the media types in which a resource is held, or may be found at its locations."""
    version = find_held_version(identifier, record)
    kinds = {one.media_type for one in version.representations} if version else set()
    for location in record.locations:
        known = find_media_type(location.format) if location.format else None
        kinds.add(known.essence if known else "application/octet-stream")
    return kinds


def read_parameters(accept: tuple[Preference, ...]) -> tuple[str, str]:
    """Return the style and the locale of the requested citation."""
    range_ = next(one.range for one in accept if _strip_range(one) == BIBLIOGRAPHY)
    pairs = (piece.partition("=") for piece in range_.split(";")[1:])
    found = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
    return found.get("style", "apa"), found.get("locale", "")


# Giving
# ------


async def _give_metadata(
    service: Service, request: Request, resolved: Resolved, name: str, *, own: bool = False
) -> Answer:
    identifier, record = resolved.identifier, resolved.citable
    attached = resolved.find_attached(name.lower(), own=own)
    mark = "-own" if own else ""  # another entity tag
    if attached is not None:
        return _make_answer(
            service,
            request,
            identifier,
            record,
            name + mark,
            attached.media_type,
            attached.content,
        )
    if name.lower() == cmdi.NAME:
        offered = tuple(metadata.load_formats())
        raise NotAcceptable(identifier=str(identifier), asked=cmdi.NAME, offered=offered)
    form = metadata.find_format(name)
    what = await _describe_resource(service, request, resolved, own=own)
    asked = _list_accepted(request)
    kind = next((one for one in form.media_types if one in asked), form.media_types[0])
    if form.is_text:
        kind += "; charset=utf-8"
    body: bytes
    if form.is_slow or _is_long(what):
        body = await service.run_cutter(form.write, what)
    else:
        body = form.write(what)
    return _make_answer(service, request, identifier, record, form.name + mark, kind, body)


async def _give_citation(
    service: Service, request: Request, resolved: Resolved, style: str, locale: str
) -> Answer:
    if style.lower() in ("bibtex", "ris", "csl", "csl-json"):
        return await _give_metadata(service, request, resolved, style)
    identifier, record = resolved.identifier, resolved.citable
    what = await _describe_resource(service, request, resolved)
    language = locale or choose_language(request)
    text: str
    if _is_long(what):
        text = await service.run_cutter(write_citation, what, style, language)
    else:
        text = write_citation(what, style, language)
    kind = f"{BIBLIOGRAPHY}; charset=utf-8"
    name = f"{style}-{language}"
    found = _make_answer(service, request, identifier, record, name, kind, f"{text}\n".encode())
    found.fields.append((b"content-language", language.encode("ascii", "replace")))
    return found


def _is_long(what: DescribedResource) -> bool:
    """Return True if writing the description would delay other requests."""
    about = what.about
    lists = (about.creators, about.contributors, about.subjects, about.relations, about.titles)
    texts = (*about.titles, *about.descriptions)
    return sum(map(len, lists)) > _MANY or sum(len(one.value) for one in texts) > _LONG


def choose_language(request: Request) -> str:
    """Choose English, French or German by Accept-Language."""
    for one in request.languages:
        language = one.range.partition("-")[0].lower()
        if one.quality > 0 and language in ("en", "fr", "de"):
            return language
    return "en"


def _make_answer(
    service: Service,
    request: Request,
    identifier: Identifier,
    record: Record,
    name: str,
    kind: str,
    body: bytes,
) -> Answer:
    tag = f'"r{record.revision}-{_clean_name(name)}"'.encode()
    asked = _list_accepted(request)
    if "text/html" in asked and strip_parameters(kind) not in asked:
        kind = choose_viewable_type(kind)
    fields = [
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept, accept-language"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"x-content-type-options", b"nosniff"),
        *join_links((write_link(f"{request.base_url}/{spell_path(identifier)}", "describes"),)),
    ]
    if has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    return make_answer(HTTPStatus.OK, kind, body, *fields)


def _list_accepted(request: Request) -> frozenset[str]:
    """Return the media types that a request accepts by name."""
    return frozenset(_strip_range(one) for one in request.accept if one.quality > 0)


def choose_viewable_type(kind: str) -> str:
    """Choose the media type that makes a browser show the content instead of saving it."""
    essence = strip_parameters(kind)
    if essence.endswith("xml"):
        return "application/xml"
    return "application/json" if essence.endswith("json") else "text/plain; charset=utf-8"


def _clean_name(name: str) -> str:
    return "".join(one for one in name if one.isascii() and (one.isalnum() or one == "-"))


async def _describe_resource(
    service: Service, request: Request, resolved: Resolved, *, own: bool = False
) -> DescribedResource:
    """Return the description of the resource, or of the requested part of it."""
    identifier, part = resolved.identifier, resolved.part_beside
    path = spell_path(identifier) if part is None else spell_part_path(identifier, part)
    url = f"{request.base_url}/{path}"
    describe = partial(service.registry.documents.describe_resolved, own=own)
    if resolved.citable.about is not None and resolved.inside is None:
        return describe(resolved, url)
    found: DescribedResource = await service.run_cutter(describe, resolved, url)
    return found
