"""From a request to a query: what a reader accepts, where he is, what day it is, what is alive.

How it works: the region is what `?region=` says, else what stands in the header field that the
operator names (`region_header`), which his proxy or CDN fills in. No address is looked up anywhere.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier
from perdure.model.queries import Query, Want
from perdure.reading.resolve import Resolved
from perdure.reading.targets import read_name
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_REGION = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)


def query(
    service: Service,
    request: Request,
    identifier: Identifier,
    want: Want = Want.RESOURCE,
    *,
    region: str | None = None,
    part: str | None = None,
    delimiter: str = "?part=",
    doubt: MalformedIdentifier | None = None,
) -> Query:
    """Everything that a request asks about one identifier. `region` is what its address says."""
    return Query(
        identifier=identifier,
        part=part,
        delimiter=delimiter,
        doubt=doubt,
        want=want,
        accept=request.accept,
        languages=request.languages,
        region=region or region_of(service, request),
        day=today(),
        dead=service.health.dead,
    )


def resolve(
    service: Service,
    request: Request,
    text: str,
    *,
    part: str | None = None,
    region: str | None = None,
) -> Resolved:
    """What the name in a target resolves to. `part` is one that was given beside it.

    Raises what reading the name and `ReadDoor.resolve` raise.
    """
    name = read_name(text, part)
    asked = query(
        service,
        request,
        name.identifier,
        region=region,
        part=name.part,
        delimiter="#" if part is None else "?part=",
        doubt=name.doubt,
    )
    return service.reading.resolve(asked)


def region_of(service: Service, request: Request) -> str | None:
    """The region that the operator's header field says; None where it says none."""
    name = service.settings.region_header
    text = request.text(name.lower().encode()).strip() if name else ""
    return text if _REGION.fullmatch(text) else None


def today() -> str:
    """The day in UTC, as `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


def varies(service: Service) -> bytes:
    """The `Vary` of an answer that was chosen among locations."""
    name = service.settings.region_header.lower()
    return b", ".join((b"accept", b"accept-language", *((name.encode(),) if name else ())))
