"""What is known about an identifier: the record as JSON, XML, HTML or, for ARKs, ERC.

How it works: `public` turns a record into the mapping that all forms show. It leaves out what is
nobody's business: where bytes lie here, and who made a revision.

What must stay true: members of the JSON form are added, never renamed nor removed; all forms say
the same.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # writes only; nothing foreign is parsed here
from http import HTTPStatus
from typing import Any

import msgspec

from perdure import parts
from perdure.errors import NotAcceptable
from perdure.ids import Identifier
from perdure.ids.ark import Ark
from perdure.model import Location, Record, Representation, Tombstone, Version
from perdure.parts import annotation
from perdure.rules import qualified
from perdure.server import pages
from perdure.server.answers import Answer, empty, link, links, plain
from perdure.server.conditions import has_already
from perdure.server.negotiate import choose
from perdure.server.request import Request
from perdure.server.targets import path_of

TYPES = ("application/json", "application/xml", "text/xml")
"""What an Accept field names that asks for the record instead of the thing."""
_OFFERS = ("application/json", "text/html", "application/xml", "text/xml", "text/plain")
_ERC_FIRST = ("text/plain", *_OFFERS[:-1])
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def describe(
    request: Request,
    identifier: Identifier,
    record: Record,
    *,
    fresh: int,
    status: int = HTTPStatus.OK,
) -> Answer:
    """The answer to `?info`, N2C, and whatever has nothing else to show.

    Raises NotAcceptable where none of our forms is welcome.
    """
    offers = _ERC_FIRST if isinstance(identifier, Ark) else _OFFERS
    kind = choose(request.accept, offers)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=str(identifier), asked=asked, offered=offers)
    tag = etag(record, kind)
    fields = [
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"vary", b"accept"),
        *links((link(f"{request.base}/{path_of(identifier)}", "describes"),)),
    ]
    if status == HTTPStatus.OK and has_already(request, tag):
        return empty(HTTPStatus.NOT_MODIFIED, *fields)
    shown = public(record, identifier, request.base)
    if kind == "text/html":
        return pages.page(status, pages.render("record.html", record=shown), *fields)
    if kind == "text/plain":
        return plain(status, "text/plain; charset=utf-8", erc(shown), *fields)
    if kind == "application/json":
        return plain(status, kind, msgspec.json.encode(shown), *fields)
    return plain(status, kind, xml(shown), *fields)


def etag(record: Record, kind: str) -> bytes:
    """The entity tag of one form of a revision; `If-Match` of a write reads the revision off it."""
    return f'"r{record.revision}-{kind.partition("/")[2]}"'.encode()


# the public form
# ---------------


def public(record: Record, identifier: Identifier, base: str) -> dict[str, Any]:
    """A record as everybody may see it."""
    selector = parts.select(identifier, "")
    part = {} if selector is None else {"selector": annotation.write(selector)}
    return part | {
        "identifier": str(identifier),
        "urn": identifier.urn,
        "url": f"{base}/{path_of(identifier)}",
        "scheme": identifier.kind,
        "status": status_of(record),
        "revision": record.revision,
        "at": record.at,
        "metadata": dict(record.metadata),
        "aliases": list(record.aliases),
        "versions": [_version(one, identifier, base) for one in record.versions],
        "locations": [_location(one) for one in record.locations],
        "tombstone": _tombstone(record.tombstone),
    }


def status_of(record: Record) -> str:
    """`withdrawn`, `held`, `located` or, where there is but the name, `reserved`."""
    if record.tombstone:
        return "withdrawn"
    if record.newest is not None:
        return "held"
    return "located" if record.locations else "withdrawn" if record.versions else "reserved"


def _version(version: Version, identifier: Identifier, base: str) -> dict[str, Any]:
    return {
        "number": version.number,
        "at": version.at,
        "representations": [
            _representation(one, qualified(identifier, version.number, one.format), base)
            for one in version.representations
        ],
        "tombstone": _tombstone(version.tombstone),
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
    }


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
}


def xml(shown: dict[str, Any]) -> bytes:
    """The public form as XML: members are elements, lists hold one element per entry."""
    root = ET.Element("record")
    _fill(root, shown)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _fill(parent: ET.Element, members: dict[str, Any]) -> None:
    for name, value in members.items():
        if value is None:
            continue
        element = ET.SubElement(parent, name)
        if name == "metadata":
            for key, text in value.items():
                entry = ET.SubElement(element, "entry", {"name": _in_xml(key)})
                entry.text = _in_xml(text)
        elif isinstance(value, dict):
            _fill(element, value)
        elif isinstance(value, list):
            for one in value:
                member = ET.SubElement(element, _ONE_OF[name])
                if isinstance(one, dict):
                    _fill(member, one)
                else:
                    member.text = _in_xml(one)
        else:
            element.text = _in_xml(value)


def _in_xml(value: object) -> str:
    return _NOT_IN_XML.sub("\ufffd", str(value))


def erc(shown: dict[str, Any]) -> bytes:
    """The Electronic Resource Citation that ARK inflections give: who, what, when, where."""
    about = shown["metadata"]
    answers = {
        "who": about.get("who") or about.get("creator"),
        "what": about.get("what") or about.get("title"),
        "when": about.get("when") or about.get("date"),
        "where": shown["url"],
    }
    # ERC's word for a value that nobody has given is (:unav)
    lines = [
        f"{name}: {' '.join(text.split()) if text else '(:unav)'}" for name, text in answers.items()
    ]
    return "\n".join(["erc:", *lines, ""]).encode()
