"""The XML of sitemaps and of ResourceSync (sitemaps.org; ANSI/NISO Z39.99-2017 section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import quote

from perdure.formats.xml_characters import replace_not_xml
from perdure.metadata.xml_text import DECLARATION, write_attributes, write_element
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.service import Service

XML = "application/xml"
_MAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SYNC = "http://www.openarchives.org/rs/terms/"
_IN_ADDRESS = "!$&'()*+,/:;=?@%-._~#[]"


def make_xml(service: Service, root: str, head: str, rows: Iterable[str]) -> Answer:
    """Make an answer of a document, whose root is `urlset` or `sitemapindex`."""
    body = write_document(root, head, rows)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return make_answer(HTTPStatus.OK, XML, body, fresh)


def write_document(root: str, head: str, rows: Iterable[str]) -> bytes:
    """Write a document: its head, then its entries."""
    start = f'{DECLARATION}<{root} xmlns="{_MAP}" xmlns:rs="{_SYNC}">\n'
    return "".join((start, head, *rows, f"</{root}>\n")).encode()


def write_entry(address: str, at: str, **said: str) -> str:
    """Write an entry of a `urlset`, with the attributes of its `rs:md`."""
    location = write_element("loc", replace_not_xml(quote(address, safe=_IN_ADDRESS)))
    date = write_element("lastmod", at) if at else ""
    return f"<url>{location}{date}{write_md(**said) if said else ''}</url>\n"


def write_part(address: str) -> str:
    """Write an entry of a `sitemapindex`."""
    return f"<sitemap>{write_element('loc', address)}</sitemap>\n"


def write_md(**said: str) -> str:
    """Write facts about a document or an entry."""
    return f"<rs:md{write_attributes(said)}/>\n"


def write_ln(**said: str) -> str:
    """Write a link."""
    return f"<rs:ln{write_attributes(said)}/>\n"
