"""CMDI, the component metadata of CLARIN: accepted, stored and returned byte for byte.

Specification: ISO 24622-2 (CMDI 1.2, namespace `http://www.clarin.eu/cmd/1`) and CMDI 1.1
(`http://www.clarin.eu/cmd/`). Almost every project has a profile of its own, so such a record is
attached and not read into a description; only its structure (is it CMDI?) and its profile are read.

What must stay true: the bytes that are returned are the bytes that were stored.
"""

from __future__ import annotations

from perdure.errors.records import ElementsMissing, RootNotOfFormat
from perdure.metadata import xml_text
from perdure.metadata.port import Signature
from perdure.metadata.xml_text import collect_text, strip_namespace
from perdure.model.about import Attachment
from perdure.model.description_checks import is_safe_link

NAME = "cmdi"
MEDIA_TYPES = ("application/x-cmdi+xml", "application/vnd.clarin.cmdi+xml")
_NAMESPACES = ("http://www.clarin.eu/cmd/1", "http://www.clarin.eu/cmd/")
SIGNATURE = Signature(opening=(b"<",), marks=(b"http://www.clarin.eu/cmd/",))
_PARTS = ("Header", "Resources", "Components")


def replace_attachment(before: tuple[Attachment, ...], data: bytes) -> tuple[Attachment, ...]:
    """Replace the CMDI record among the attachments. Raises the same as `read_attachment`."""
    return (*(one for one in before if one.format != NAME), read_attachment(data))


def read_attachment(data: bytes) -> Attachment:
    """Read a record into an attachment. Raises InvalidMetadata with line and reason, TooLarge."""
    root = xml_text.parse_xml(data, NAME)
    namespace = str(root.tag).rpartition("}")[0].lstrip("{")
    if strip_namespace(root) != "CMD" or namespace not in _NAMESPACES:
        raise RootNotOfFormat(
            format=NAME,
            line=root.sourceline,
            root=str(root.tag),
            needed="CMD",
            namespace=_NAMESPACES[0],
        )
    found = {strip_namespace(one): one for one in root}
    missing = tuple(name for name in _PARTS if name not in found)
    if missing:
        raise ElementsMissing(format=NAME, line=root.sourceline, elements=missing)
    profiles = [collect_text(one) for one in found["Header"] if strip_namespace(one) == "MdProfile"]
    profile = profiles[0] if profiles and is_safe_link(profiles[0]) else ""
    return Attachment(format=NAME, media_type=MEDIA_TYPES[0], schema=profile, content=data)
