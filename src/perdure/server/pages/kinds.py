"""Names in plain words what a document is: a picture, a sound recording, a table.

How it works: one word for each media type that readers know by another name, else one for its
family. The pages translate it (`perdure.server.pages.vocabulary`).
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.formats.essence import strip_parameters
from perdure.model.collection import MEDIA_TYPE as COLLECTION

_OTHER = "Document"
_TYPES = {
    COLLECTION: "Collection",
    "text/html": "Web page",
    "application/xhtml+xml": "Web page",
    "text/csv": "Table",
    "text/tab-separated-values": "Table",
    "application/pdf": "PDF document",
    "message/rfc822": "E-mail",
    "application/mbox": "E-mail",
    "application/zip": "Archive of files",
    "application/x-tar": "Archive of files",
    "application/gzip": "Archive of files",
    "application/warc": "Web archive",
}
_FAMILIES = {"text": "Text", "image": "Picture", "audio": "Sound recording", "video": "Film"}
WORDS = tuple(dict.fromkeys((*_TYPES.values(), *_FAMILIES.values(), _OTHER)))
"""All words, each once."""


def name_kind(media_type: str) -> str:
    """Name the kind of a media type.

    >>> name_kind("text/csv; header=present"), name_kind("image/png"), name_kind("application/x")
    ('Table', 'Picture', 'Document')
    """
    essence = strip_parameters(media_type)
    family = essence.partition("/")[0]
    return _TYPES.get(essence) or _FAMILIES.get(family, _OTHER)


def name_kinds(media_types: Iterable[str]) -> list[str]:
    """Name the kinds of several media types, each once."""
    return list(dict.fromkeys(map(name_kind, media_types)))
