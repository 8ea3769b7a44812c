"""The record of an identifier as JSON, XML, HTML or, for ARKs, ERC.

How it works: `public` turns a record into the mapping that all forms show. It leaves out internal
facts: the place of the bytes in storage, and the author of a revision.

What must stay true: members of the JSON form are added, but never renamed or removed; all forms
have the same content.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from perdure import metadata
from perdure.errors import NotAcceptable
from perdure.ids import Identifier, scheme_of
from perdure.metadata import datacite
from perdure.metadata.xml_text import DECLARATION, attributes, text
from perdure.model import collection as members
from perdure.model.about import NOT_IN_XML, Attachment
from perdure.model.queries import Preference
from perdure.model.records import Location, Record, Representation, Tombstone, Version
from perdure.parts import Selector, annotation
from perdure.policy.naming import qualified
from perdure.reading.targets import part_path, path_of
from perdure.server import pages
from perdure.server.common.answers import Answer, empty, link, links, plain
from perdure.server.common.conditions import has_already
from perdure.server.common.negotiate import choose
from perdure.server.common.request import Request

TYPES = ("application/json", "application/xml", "text/xml")
"""Media types in an Accept field that ask for the record instead of the resource."""
_OFFERS = ("application/json", "text/html", "application/xml", "text/xml", "text/plain")
_ERC_FIRST = ("text/plain", *_OFFERS[:-1])


def describe(
    request: Request,
    identifier: Identifier,
    record: Record,
    *,
    fresh: int,
    status: int = HTTPStatus.OK,
    selector: Selector | None = None,
) -> Answer:
    """Answer `?info`, N2C, and requests for which there is nothing else to show.

    `selector` is the requested part. Raises NotAcceptable if the client accepts none of the forms.
    """
    offers = _ERC_FIRST if scheme_of(identifier).has_inflections else _OFFERS
    kind = _chosen(request.accept, offers)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=str(identifier), asked=asked, offered=offers)
    tag = etag(record, kind)
    shown = public(record, identifier, request.base, selector)
    fields = [
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"vary", b"accept"),
        *links((link(shown["url"], "describes"),)),
    ]
    if status == HTTPStatus.OK and has_already(request, tag):
        return empty(HTTPStatus.NOT_MODIFIED, *fields)
    if kind == "text/html":
        return pages.page(status, pages.render("record.html", record=shown), *fields)
    if kind == "text/plain":
        return plain(status, "text/plain; charset=utf-8", erc(shown), *fields)
    if kind == "application/json":
        return plain(status, kind, msgspec.json.encode(shown), *fields)
    said = ""
    if record.about is not None:
        said = datacite.resource(metadata.described(identifier, record, str(shown["url"])))
    return plain(status, kind, xml(shown, said), *fields)


def etag(record: Record, kind: str) -> bytes:
    """Make the entity tag of a form of a revision. `If-Match` of a write reads its revision."""
    return f'"r{record.revision}-{kind.partition("/")[2]}"'.encode()


@lru_cache(maxsize=1024)
def _chosen(accept: tuple[Preference, ...], offers: tuple[str, ...]) -> str | None:
    """Choose the preferred form. Cached, because clients repeat the same few Accept fields."""
    return choose(accept, offers)


# the public form
# ---------------


def public(
    record: Record, identifier: Identifier, base: str, selector: Selector | None = None
) -> dict[str, Any]:
    """Return the public members of a record, and the requested part of it."""
    path, part = path_of(identifier), {}
    if selector is not None:
        path = part_path(identifier.whole, str(selector))
        part = {"selector": annotation.write(selector)}
    return part | {
        "identifier": str(identifier),
        "urn": identifier.urn,
        "url": f"{base}/{path}",
        "scheme": identifier.kind,
        "status": status_of(record),
        "revision": record.revision,
        "at": record.at,
        "metadata": dict(record.metadata),
        "about": None if record.about is None else msgspec.to_builtins(record.about),
        "attached": [_attached(one) for one in record.attached],
        "aliases": list(record.aliases),
        "versions": [
            _version(one, record.unbound(one.number), identifier, base) for one in record.versions
        ],
        "locations": [_location(one) for one in record.locations],
        "tombstone": _tombstone(record.tombstone),
        "broken": _tombstone(record.unbound(None)),
    }


def status_of(record: Record) -> str:
    """Return `withdrawn`, `held` or `located`; `broken` if nothing is bound any more; `reserved` if
    nothing has been bound yet."""
    if record.tombstone:
        return "withdrawn"
    if record.newest is not None:
        return "held"
    if record.locations:
        return "located"
    if record.versions and record.versions[-1].tombstone:
        return "withdrawn"
    return "broken" if record.versions or record.unbound(None) else "reserved"


def _version(
    version: Version, broken: Tombstone | None, identifier: Identifier, base: str
) -> dict[str, Any]:
    return {
        "number": version.number,
        "at": version.at,
        "representations": [
            _representation(one, qualified(identifier, version.number, one.format), base)
            for one in version.representations
        ],
        "tombstone": _tombstone(version.tombstone),
        "broken": _tombstone(broken),
    }


def _representation(held: Representation, identifier: Identifier, base: str) -> dict[str, Any]:
    return {
        "identifier": str(identifier),
        "url": f"{base}/{path_of(identifier)}",
        "format": held.format,
        "media_type": held.media_type,
        "charset": held.charset,
        "language": held.language,
        "length": held.length,
        "sha512": held.sha512,
    } | _listed(held, identifier, base)


def _listed(held: Representation, identifier: Identifier, base: str) -> dict[str, str]:
    """Return the address of the list of members, if this is a collection."""
    if held.media_type != members.MEDIA_TYPE:
        return {}
    return {"members": f"{base}/{path_of(identifier)}?members"}


def _attached(one: Attachment) -> dict[str, str]:
    return {"format": one.format, "media_type": one.media_type, "schema": one.schema}


def _location(location: Location) -> dict[str, Any]:
    return {name: getattr(location, name) for name in Location.__struct_fields__}


def _tombstone(tombstone: Tombstone | None) -> dict[str, str] | None:
    if tombstone is None:
        return None
    return {"reason": tombstone.reason, "at": tombstone.at, "by": tombstone.by}


# XML and ERC
# -----------

_ONE_OF = {
    "aliases": "alias",
    "versions": "version",
    "representations": "representation",
    "locations": "location",
    "attached": "record",
}


def xml(shown: dict[str, Any], about: str = "") -> bytes:
    """Write the public form as XML: members are elements, lists have one element per entry.

    `about` is the description of the resource, as a DataCite element.
    """
    inner = "".join(_members(shown, "\n  "))
    if about:
        inner += f"\n  <about>{about}</about>"
    return f"{DECLARATION}<record>{inner}\n</record>\n".encode()


def _members(members: dict[str, Any], gap: str) -> Iterator[str]:
    """Yield the members of a mapping as elements, each on a new line that begins with `gap`."""
    for name, value in members.items():
        if value is None or name == "about":
            continue
        if name == "metadata":
            inner = "".join(
                f"{gap}  <entry{attributes({'name': _in_xml(key)})}>{text(_in_xml(one))}</entry>"
                for key, one in value.items()
            )
        elif isinstance(value, dict):
            inner = "".join(_members(value, f"{gap}  "))
        elif isinstance(value, list):
            inner = "".join(_entry(_ONE_OF[name], one, f"{gap}  ") for one in value)
        else:
            yield f"{gap}<{name}>{text(_in_xml(value))}</{name}>"
            continue
        yield f"{gap}<{name}>{inner}{gap}</{name}>" if inner else f"{gap}<{name}/>"


def _entry(name: str, one: Any, gap: str) -> str:
    if isinstance(one, dict):
        return f"{gap}<{name}>{''.join(_members(one, gap + '  '))}{gap}</{name}>"
    return f"{gap}<{name}>{text(_in_xml(one))}</{name}>"


def _in_xml(value: object) -> str:
    shown = str(value)
    return shown if shown.isprintable() else NOT_IN_XML.sub("\ufffd", shown)


def erc(shown: dict[str, Any]) -> bytes:
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
