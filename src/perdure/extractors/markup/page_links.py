"""The addresses to which a page refers, in the attributes of its tags.

How it works: the tags are found as for parts (`perdure.extractors.markup.tags`), so comments and
scripts refer to nothing. A value without a colon is neither an identifier nor the address of one.

What must stay true: nothing is fetched, no entity is declared, and the time is linear.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from perdure.extractors.markup.tags import HTML, XML, read_attributes, scan_tags

LONGEST = 8192
"""Bytes of an address."""
_HOW = {b"cite": "cite", b"href": "href", b"src": "src", b"poster": "src", b"srcset": "src"}
_DECLARATION = b"xmlns"


def list_page_links(page: str, *, xhtml: bool) -> Iterator[tuple[str, str]]:
    """Yield how a page refers to something (`cite`, `href`, `src`, `data`), and the address.

    >>> list(list_page_links('<a href="doi:10.1000/1&amp;2" id="x">', xhtml=False))
    [('href', 'doi:10.1000/1&2')]
    """
    data = page.encode("utf-8", "replace")
    tags = scan_tags(data, XML if xhtml else HTML)
    for start, stop in zip(tags.starts, tags.stops, strict=True):
        if data.find(b":", start, stop) < 0:
            continue
        for attribute in read_attributes(data, start, stop):
            value = data[attribute.value]
            name = bytes(attribute.name).lower()
            if b":" not in value or len(value) > LONGEST or name.startswith(_DECLARATION):
                continue
            how = _HOW.get(name, "data")
            for address in _list_addresses(html.unescape(value.decode()), is_set=name == b"srcset"):
                yield how, address


def _list_addresses(value: str, *, is_set: bool) -> list[str]:
    """Return the address in a value, or those of a set of images (HTML Standard, `srcset`)."""
    if not is_set:
        return [value.strip()]
    return [words[0] for one in value.split(",") if (words := one.split())]
