"""The links of a PWID that is not registered here: to itself, its page, its capture and others.

    GET <pwid>?linkset      all links, as JSON or text (RFC 9264)

How it works: the page about a PWID is `?info`. The links are those of other identifiers (FAIR
Signposting), and those of Memento (RFC 7089 section 2.2): the original, its TimeGate and TimeMaps,
and the capture, if it is kept here. For another archive, the item is the address at which that
archive plays the PWID back.

What must stay true: a PWID has one `cite-as`, the same in the header of every answer and in the
link set (RFC 8574 section 3).
"""

from __future__ import annotations

from perdure.archives.pwid.verdict import Judgement
from perdure.ids.pwid import Pwid
from perdure.reading.targets import append_question, spell_path
from perdure.server.apis import memento, memento_addresses
from perdure.server.common.answers import write_link
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import signposting
from perdure.server.resource.signposting import Signpost

_SCHEMA = "https://schema.org/"


def spell_url(request: Request, pwid: Pwid) -> str:
    """Return the address of a PWID at this resolver."""
    return f"{request.base_url}/{spell_path(pwid)}"


def link_name(request: Request, pwid: Pwid) -> list[bytes]:
    """Return the links that every answer about a PWID has."""
    name = spell_url(request, pwid)
    return [
        write_link(name, "cite-as"),
        write_link(append_question(name, "info"), "describedby"),
        write_link(append_question(name, "linkset"), "linkset", type=signposting.JSON),
    ]


def list_signposts(
    service: Service, request: Request, pwid: Pwid, judgement: Judgement, elsewhere: str = ""
) -> tuple[Signpost, ...]:
    """List all links of a PWID. `elsewhere` is its address in another archive, if it has one."""
    name = spell_url(request, pwid)
    page = append_question(name, "info")
    found = [
        Signpost(page, "cite-as", name),
        Signpost(page, "type", f"{_SCHEMA}AboutPage"),
        Signpost(page, "type", f"{_SCHEMA}WebPage"),
        *signposting.list_descriptions(page, name),
        Signpost(page, "describedby", page, "application/json"),
        Signpost(page, "linkset", append_question(name, "linkset"), signposting.JSON),
        Signpost(page, "original", pwid.item),
    ]
    if elsewhere:
        return (*found, Signpost(page, "item", elsewhere))
    for rel, place, kind in memento.list_timemaps(request, pwid.item):
        found.append(Signpost(page, rel, place, kind))
    capture = judgement.capture
    if capture is not None:
        time = memento.format_http_datetime(capture.time)
        kept = memento_addresses.write_memento_uri(service, request, capture)
        raw = f"{request.base_url}{memento_addresses.write_raw_path(capture)}"
        found += [
            Signpost(page, "memento", kept, datetime=time),
            Signpost(page, "item", raw, capture.media_type),
            Signpost(raw, "collection", page, "text/html"),
            Signpost(raw, "cite-as", name),
        ]
    return tuple(found)
