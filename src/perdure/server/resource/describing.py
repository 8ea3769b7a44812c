"""The record of an identifier as JSON, XML, HTML or, for ARKs, ERC.

How it works: `make_public_record` turns a record into the mapping that all forms show. It leaves
out internal facts: the place of the bytes in storage, and the author of a revision.

What must stay true: members of the JSON form are added, but never renamed or removed; all forms
have the same content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from perdure.errors import NotAcceptable
from perdure.formats.xml_characters import replace_not_xml
from perdure.ids import Identifier, scheme_of
from perdure.metadata.datacite_writing import write_resource
from perdure.metadata.xml_text import DECLARATION, escape_text, write_attributes
from perdure.model import collection as members
from perdure.model.about import Attachment
from perdure.model.queries import Preference
from perdure.model.records import (
    Location,
    NarrowDescription,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.parts import Selector, annotation, spell_part
from perdure.policy.handles.values import is_public
from perdure.policy.levels import (
    describe_level,
    find_level,
    is_described,
    name_level,
    pin_part,
    spell_level,
)
from perdure.policy.naming import list_reading_aliases, qualify_identifier
from perdure.policy.proposals import find_standing
from perdure.reading.described import describe_resource
from perdure.reading.targets import spell_part_path, spell_path
from perdure.server import pages
from perdure.server.common.answers import (
    Answer,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.conditions import has_already
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.pages.trail import make_trail

TYPES = ("application/json", "application/xml", "text/xml")
"""Media types in an Accept field that ask for the record instead of the resource."""
_OFFERS = ("application/json", "text/html", "application/xml", "text/xml", "text/plain")
_ERC_FIRST = ("text/plain", *_OFFERS[:-1])


def describe_record(
    request: Request,
    identifier: Identifier,
    record: Record,
    *,
    fresh: int,
    status: int = HTTPStatus.OK,
    selector: Selector | None = None,
    part: str | None = None,
    stored: Mapping[str, object] | None = None,
    signatures: list[dict[str, object]] | None = None,
) -> Answer:
    """Answer `?info`, N2C, and requests for which there is nothing else to show.

    `selector` is the requested part, `part` its text if the identifier does not include it;
    `stored` describes the pixels on which it counts; `signatures` are shown as they are. Raises
    NotAcceptable if the client accepts none of the forms.
    """
    offers = _ERC_FIRST if scheme_of(identifier).has_inflections else _OFFERS
    kind = _choose_form(request.accept, offers)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=str(identifier), asked=asked, offered=offers)
    tag = tag_shown(make_record_etag(record, kind), signatures or [])
    tag = pages.tag_page(tag, request.frame) if kind == "text/html" else tag
    shown = make_public_record(record, identifier, request.base_url, selector)
    if signatures:
        shown["signatures"] = signatures
    level = pin_part(identifier, record, find_level(identifier, part))
    if is_described(record, level):
        shown["about"] = msgspec.to_builtins(describe_level(record, level))
    if stored is not None:
        shown = {"storedPixels": dict(stored)} | shown
    fields = [
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"vary", pages.VARY if kind == "text/html" else b"accept"),
        *join_links((write_link(shown["url"], "describes"),)),
    ]
    if status == HTTPStatus.OK and has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    if kind == "text/html":
        body = pages.render_page(
            request.frame, "record.html", record=shown, trail=make_trail(identifier)
        )
        return pages.make_page(status, body, *fields)
    if kind == "text/plain":
        return make_answer(status, "text/plain; charset=utf-8", write_erc(shown), *fields)
    if kind == "application/json":
        return make_answer(status, kind, msgspec.json.encode(shown), *fields)
    said = ""
    if shown["about"] is not None:
        what = describe_resource(identifier, record, str(shown["url"]), part=part)
        said = write_resource(what)
    for entry, one in zip(shown["narrower"], record.narrower, strict=True):
        name = name_level(identifier, one.level)
        url = f"{request.base_url}/{spell_path(name)}"
        what = describe_resource(name, record, url, part=one.part or None)
        entry["about"] = write_resource(what)
    return make_answer(status, kind, write_xml(shown, said), *fields)


def tag_shown(tag: bytes, shown: list[dict[str, object]]) -> bytes:
    """Return an entity tag that changes with the signatures that are shown, too."""
    if not shown:
        return tag
    digest = hashlib.sha256(msgspec.json.encode(shown)).hexdigest()
    return tag[:-1] + f"-{digest[:8]}".encode() + tag[-1:]


def make_record_etag(record: Record, kind: str) -> bytes:
    """Make the entity tag of a form of a revision. `If-Match` of a write reads its revision."""
    return f'"r{record.revision}-{kind.partition("/")[2]}"'.encode()


@lru_cache(maxsize=1024)
def _choose_form(accept: tuple[Preference, ...], offers: tuple[str, ...]) -> str | None:
    """Choose the preferred form. Cached, because clients repeat the same few Accept fields."""
    return choose_type(accept, offers)


# the public form
# ---------------


def make_public_record(
    record: Record, identifier: Identifier, base: str, selector: Selector | None = None
) -> dict[str, Any]:
    """Return the public members of a record, and the requested part of it."""
    path, part = spell_path(identifier), {}
    if selector is not None:
        path = spell_part_path(identifier.whole, spell_part(identifier, selector))
        part = {"selector": annotation.write_annotation(selector)}
    return (
        part
        | {
            "identifier": str(identifier),
            "urn": identifier.urn,
            "url": f"{base}/{path}",
            "scheme": identifier.kind,
            "status": status_of(record),
            "revision": record.revision,
            "at": record.at,
            "metadata": dict(record.metadata),
            "about": None if record.about is None else msgspec.to_builtins(record.about),
            "attached": [_show_attached(one) for one in record.attached],
            "narrower": [_show_narrower(one, identifier) for one in record.narrower],
            "aliases": list(record.aliases),
            "targets": list(record.targets),
            "versions": [
                _show_version(one, record.unbound(one.number), identifier, base)
                for one in record.versions
            ],
            "locations": [_show_location(one) for one in record.locations],
            "drifted": [msgspec.structs.asdict(one) for one in record.drifted],
            "tombstone": _show_tombstone(record.tombstone),
            "broken": _show_tombstone(record.unbound(None)),
        }
        | _show_proposal(record)
    )


def status_of(record: Record) -> str:
    """Return the status of what a reader may see of a record.

    It is `withdrawn`, `held` or `located`; `described` if a handle has public values, but no
    location; `broken` if nothing is bound any more; `closed` if there are versions, but nothing of
    them is for this reader; `reserved` if nothing has been bound yet.
    """
    if record.tombstone:
        return "withdrawn"
    if record.newest is not None:
        return "held"
    if record.locations:
        return "located"
    if record.versions and record.versions[-1].tombstone:
        return "withdrawn"
    if any(record.unbound(one) for one in (None, *(each.number for each in record.versions))):
        return "broken"
    if record.versions:
        return "closed"
    return "described" if any(map(is_public, record.values)) else "reserved"


def _show_version(
    version: Version, broken: Tombstone | None, identifier: Identifier, base: str
) -> dict[str, Any]:
    return {
        "number": version.number,
        "at": version.at,
        "representations": [
            _show_representation(
                one, qualify_identifier(identifier, version.number, one.format), base
            )
            for one in version.representations
        ],
        "tombstone": _show_tombstone(version.tombstone),
        "broken": _show_tombstone(broken),
    }


def _show_representation(held: Representation, identifier: Identifier, base: str) -> dict[str, Any]:
    return (
        {
            "identifier": str(identifier),
            "url": f"{base}/{spell_path(identifier)}",
            "format": held.format,
            "media_type": held.media_type,
            "charset": held.charset,
            "language": held.language,
            "length": held.length if held.is_shown else None,
            "sha512": held.sha512 or None,
        }
        | _show_corrections(held)
        | _link_members(held, identifier, base)
    )


def _show_corrections(held: Representation) -> dict[str, Any]:
    """Return the earlier readings of bytes, without the author, who is in the history."""
    if not held.corrections:
        return {}
    shown = [
        {"at": one.at, "reason": one.reason}
        | {"before": msgspec.to_builtins(one.before), "after": msgspec.to_builtins(one.after)}
        for one in held.corrections
    ]
    return {"corrections": shown, "reading_aliases": list(list_reading_aliases(held))}


def _link_members(held: Representation, identifier: Identifier, base: str) -> dict[str, str]:
    """Return the address of the list of members, if this is a collection."""
    if held.media_type != members.MEDIA_TYPE:
        return {}
    return {"members": f"{base}/{spell_path(identifier)}?members"}


def _show_attached(one: Attachment) -> dict[str, str]:
    return {"format": one.format, "media_type": one.media_type, "schema": one.schema}


def _show_narrower(one: NarrowDescription, identifier: Identifier) -> dict[str, Any]:
    """Show the description of one version, format or part."""
    return {
        "identifier": spell_level(identifier, one.level),
        "version": one.version,
        "format": one.format,
        "part": one.part or None,
        "about": None if one.about is None else msgspec.to_builtins(one.about),
        "attached": [_show_attached(each) for each in one.attached],
    }


def _show_location(location: Location) -> dict[str, Any]:
    return {name: getattr(location, name) for name in Location.__struct_fields__}


def _show_tombstone(tombstone: Tombstone | None) -> dict[str, str] | None:
    if tombstone is None:
        return None
    shown = {"reason": tombstone.reason, "at": tombstone.at, "by": tombstone.by}
    return shown | ({"erased": tombstone.erased} if tombstone.erased else {})


def _show_proposal(record: Record) -> dict[str, dict[str, Any]]:
    """Show that a withdrawal is proposed, without its author, whom only other holders of the right
    to withdraw see."""
    one = find_standing(record)
    if one is None:
        return {}
    shown = {
        "act": one.act,
        "reason": one.reason,
        "at": one.at,
        "until": one.until,
        "version": one.version,
    }
    return {"proposal": shown}


# XML and ERC
# -----------

_ONE_OF = {
    "principals": "principal",
    "signatures": "signature",
    "aliases": "alias",
    "targets": "target",
    "versions": "version",
    "representations": "representation",
    "locations": "location",
    "attached": "record",
    "narrower": "description",
    "drifted": "drift",
    "corrections": "correction",
    "reading_aliases": "format",
    "uprightToStored": "number",
    "storedToUpright": "number",
}


def write_xml(shown: dict[str, Any], about: str = "") -> bytes:
    """Write the public form as XML: members are elements, lists have one element per entry.

    `about` is the description of the resource, as a DataCite element.
    """
    inner = "".join(_write_members(shown, "\n  "))
    if about:
        inner += f"\n  <about>{about}</about>"
    return f"{DECLARATION}<record>{inner}\n</record>\n".encode()


def _write_pair(key: str, text: str, gap: str) -> str:
    """Write one name with its value as an element, on a line of its own."""
    attributes = write_attributes({"name": replace_not_xml(str(key))})
    return f"{gap}  <entry{attributes}>{escape_text(replace_not_xml(str(text)))}</entry>"


def _write_members(members: dict[str, Any], gap: str) -> Iterator[str]:
    """Yield the members of a mapping as elements, each on a new line that begins with `gap`."""
    for name, value in members.items():
        if value is None or name == "about":
            if isinstance(value, str):  # XML already
                yield f"{gap}<about>{value}</about>"
            continue
        if name == "metadata":
            inner = "".join(_write_pair(key, text, gap) for key, text in value.items())
        elif isinstance(value, dict):
            inner = "".join(_write_members(value, f"{gap}  "))
        elif isinstance(value, list):
            inner = "".join(_write_entry(_ONE_OF[name], one, f"{gap}  ") for one in value)
        else:
            yield f"{gap}<{name}>{escape_text(replace_not_xml(str(value)))}</{name}>"
            continue
        yield f"{gap}<{name}>{inner}{gap}</{name}>" if inner else f"{gap}<{name}/>"


def _write_entry(name: str, one: Any, gap: str) -> str:
    if isinstance(one, dict):
        return f"{gap}<{name}>{''.join(_write_members(one, gap + '  '))}{gap}</{name}>"
    return f"{gap}<{name}>{escape_text(replace_not_xml(str(one)))}</{name}>"


def write_erc(shown: dict[str, Any]) -> bytes:
    """Write the Electronic Resource Citation of an ARK: who, what, when, where."""
    about = shown["metadata"]
    answers = {
        "who": about.get("who") or about.get("creator"),
        "what": about.get("what") or about.get("title"),
        "when": about.get("when") or about.get("date"),
        "where": shown["url"],
    }
    # (:unav) is the ERC code for a value that is not available
    lines = [
        f"{name}: {' '.join(text.split()) if text else '(:unav)'}" for name, text in answers.items()
    ]
    return "\n".join(["erc:", *lines, ""]).encode()
