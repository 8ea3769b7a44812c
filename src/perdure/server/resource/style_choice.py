"""The form with which a reader chooses the style of a citation. Pure.

How it works: it sends `?cite=<style>`, and so works without a script; a script shows the answer in
the place of the citation on the page. A form replaces the query of its address, so the pairs of
that query are fields of the form.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import msgspec

STYLES = (
    ("apa", "APA"),
    ("chicago-author-date", "Chicago (author-date)"),
    ("chicago-notes-bibliography", "Chicago (notes)"),
    ("harvard-cite-them-right", "Harvard"),
    ("ieee", "IEEE"),
    ("iso690", "ISO 690 (author-date)"),
    ("iso690-numeric", "ISO 690 (numeric)"),
    ("mla", "MLA"),
    ("nature", "Nature"),
    ("nlm-citation-sequence", "Vancouver (NLM)"),
)
"""The styles to choose from, each with the name that its users know. `?cite=` has all of CSL."""
EXPORTS = (("bibtex", "BibTeX"), ("ris", "RIS"), ("csl", "CSL-JSON"))
"""What programs that keep references read."""
FIRST = "apa"
"""The style of the citation that a page shows first."""


class StyleForm(msgspec.Struct, frozen=True):
    """The address of the form, and the names and values of its fields without a choice."""

    address: str
    action: str
    fields: tuple[tuple[str, str], ...]
    styles: tuple[tuple[str, str], ...] = STYLES
    exports: tuple[tuple[str, str], ...] = EXPORTS
    chosen: str = FIRST


def make_style_form(path: str, language: str) -> StyleForm:
    """Make the form for the resource at a path, which may have a query.

    >>> make_style_form("/hdl:1/x?part=t%3D5", "da").fields
    (('part', 't=5'), ('locale', 'da'))
    """
    address = urlsplit(path)
    pairs = parse_qsl(address.query, keep_blank_values=True)
    return StyleForm(path, address.path, (*pairs, ("locale", language)))
