"""The marks by which a composite document is recognised, in HTML and in XML. Pure.

It is a module of its own because every new document is asked, and few are composites: the parsers
that `perdure.model.composites` needs are loaded for these only.
"""

from __future__ import annotations

from perdure.formats.essence import strip_parameters

HTML = ("text/html",)
XML = ("text/xml", "application/xml", "application/xhtml+xml")
HTML_MARK = "<!-- perdure composite -->"
XML_MARK = "<?perdure composite?>"
MARKED = 1024
"""Bytes of a document in which its mark is."""


def is_composite(media_type: str, beginning: bytes) -> bool:
    """Return whether a document is a composite, by its type and its beginning."""
    essence = strip_parameters(media_type)
    if essence not in (*HTML, *XML):
        return False
    head = beginning[:MARKED]
    return HTML_MARK.encode() in head or XML_MARK.encode() in head
