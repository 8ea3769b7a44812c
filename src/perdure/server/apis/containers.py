"""The Web Annotation Protocol: each series is a container of assertions, `/annotations/<series>/`.

    GET    /annotations/<series>/                  the container, and its pages
    POST   /annotations/<series>/                  mints an assertion; JSON Lines mint many
    GET    /annotations/<series>/2026/11/21/4      the assertion pdi://<series>/2026/11/21/4
    PUT    /annotations/<series>/2026/11/21/4      its next version
    DELETE /annotations/<series>/2026/11/21/4      retracts it; then it answers 410 here
           /annotations/<series>/proposals/<id>    see perdure.server.apis.proposing

Specification: Web Annotation Protocol (W3C Recommendation, 2017), sections 4 and 5.

How it works: one handler answers every method, because the two kinds of targets allow different
ones. An annotation is the stored document, with the `id` of its address. Writes are in
`perdure.server.apis.annotating`.

What must stay true: nothing is deleted. The PDI of a retracted assertion answers as before, and
DELETE of a PDI itself is not allowed  # ruling: http-405
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from perdure.errors import MalformedIdentifier, NotAcceptable, NotFound, PerdureError
from perdure.errors.delegations import AnsweredElsewhere
from perdure.ids import Identifier, parse
from perdure.model.assertions import CONTEXT, MEDIA_TYPE
from perdure.model.parameters import read_number
from perdure.reading.annotation_pages import LEAD, find_container, write_annotation
from perdure.reading.assertions import HeldAssertion
from perdure.server.apis import annotating, proposing
from perdure.server.apis.annotation_answers import (
    OF_ANNOTATION,
    find_annotation,
    make_annotation_answer,
)
from perdure.server.common import problems
from perdure.server.common.answers import (
    Answer,
    escape_uri,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.negotiate import choose_type
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.asserting import guard_assertions
from perdure.upkeep.triples.nanopublications import write_nanopublication
from perdure.upkeep.triples.quads import TRIG

OF_CONTAINER = b"GET, HEAD, OPTIONS, POST"
LISTED = 100_000
"""If the registry has more assertions, containers have no numbered pages and no total."""
_FORMS = ("application/ld+json", "application/json", TRIG)
_LDP = "http://www.w3.org/ns/ldp#"
_MINIMAL, _IRIS = f"{_LDP}PreferMinimalContainer", f"{_LDP}PreferContainedIRIs"
_LINKS = join_links(
    (
        write_link("http://www.w3.org/ns/ldp#BasicContainer", "type"),
        write_link("http://www.w3.org/TR/annotation-protocol/", f"{_LDP}constrainedBy"),
    )
)
_ACCEPTED = (
    b"accept-post",
    b'application/ld+json; profile="%s", application/jsonl, application/trig' % CONTEXT.encode(),
)
_CROSS_ORIGIN = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"ETag, Allow, Vary, Link, Location, Content-Location, Accept-Post",
    ),
)
_PREFLIGHT = (
    (
        b"access-control-allow-headers",
        b"Authorization, Accept, Content-Type, If-Match, If-None-Match, Idempotency-Key, Prefer",
    ),
    (b"access-control-max-age", b"86400"),
)
_LAST_PAGE = 10**9
_ESCAPED = re.compile("[0-9]+%2F", re.IGNORECASE)
"""The beginning of a name whose slashes a client has escaped; no name begins so."""


async def answer_annotations(service: Service, request: Request) -> Answer:
    """Answer every request for a container or an annotation."""
    try:
        answer = await _answer_target(service, request)
    except AnsweredElsewhere:
        raise
    except PerdureError as error:
        answer = problems.answer_problem(problems.log_problem(error, request.method), request)
    names = {name for name, _ in answer.fields}
    answer.fields = [
        *(field for field in answer.fields if field[0] != b"vary"),
        *_CROSS_ORIGIN,
        (b"vary", b"accept, prefer"),
        *([] if b"cache-control" in names else [(b"cache-control", b"no-cache")]),
    ]
    return answer


def _lead_elsewhere(service: Service, request: Request, series: str, rest: str) -> None:
    """Raise AnsweredElsewhere if another resolver answers for a series that is unknown here."""
    with suppress(MalformedIdentifier):
        name = parse(f"pdi://{series}/{unquote(rest)}")
        delegations = service.registry.delegations
        if request.method in ("GET", "HEAD"):
            delegations.require_undelegated(name)
        else:
            delegations.require_written_here(name)


async def _answer_target(service: Service, request: Request) -> Answer:
    series, _, rest = request.target.text.removeprefix(f"{LEAD}/").partition("/")
    if service.settings.find_authority(series) is None:
        service.registry.learn_authorities()
    if not series or series not in service.settings.series:
        _lead_elsewhere(service, request, series, rest)
        raise NotFound(identifier=request.target.text[:200])
    word, _, proposal = rest.partition("/")
    if word == proposing.WORD:
        return await proposing.answer_proposals(service, request, series, proposal)
    allow = OF_ANNOTATION if rest else OF_CONTAINER
    if request.method == "OPTIONS":
        accepted = () if rest else (_ACCEPTED,)
        methods = (b"access-control-allow-methods", allow)
        return make_empty_answer(HTTPStatus.OK, (b"allow", allow), methods, *_PREFLIGHT, *accepted)
    method = request.method.replace("HEAD", "GET")
    handler = _OF_ANNOTATION.get(method) if rest else _OF_CONTAINER.get(method)
    if handler is None:
        return problems.answer_problem(problems.not_allowed(request.method, allow), request)
    if not rest:
        return await handler(service, request, series)
    name = parse(f"pdi://{series}/{unquote(rest) if _ESCAPED.match(rest) else rest}")
    if name.is_pattern or name.fragment is not None or name.is_citation:
        raise NotFound(identifier=request.target.text[:200])
    return await handler(service, request, name.resource)


# one annotation
# --------------


async def show_annotation(service: Service, request: Request, name: Identifier) -> Answer:
    """Answer with an annotation or a nanopublication; 410 if it was retracted or withdrawn.

    Raises NotFound or NotAcceptable.
    """
    found = await find_annotation(service, request, name)
    if isinstance(found, Answer):
        return found
    kind = choose_type(request.accept, _FORMS)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=str(name), asked=asked, offered=_FORMS)
    if kind != TRIG:
        return make_annotation_answer(request, found)
    data = await service.run_cutter(write_nanopublication, found, request.base_url)
    return make_answer(HTTPStatus.OK, TRIG, data, (b"allow", OF_ANNOTATION))


# containers
# ----------


async def show_container(service: Service, request: Request, series: str) -> Answer:
    """Answer with a container, or with a page of it. Raises InvalidRequest."""
    asked = request.parameters
    prefer = request.read_field(b"prefer")
    with_iris = asked.get("iris") == "1" or ("iris" not in asked and _IRIS in prefer)
    minimal = "iris" not in asked and _MINIMAL in prefer and not with_iris
    number = read_number("page", asked["page"], 0, _LAST_PAGE) if "page" in asked else None
    view = _View(service, request, series, with_iris=with_iris)
    if number is not None or "after" in asked:
        body = await service.read_list(view.write_page, number, asked.get("after", ""))
    else:
        body = await service.read_list(view.write_container, minimal)
    guard_assertions(service, request, view.shown)
    return make_answer(
        HTTPStatus.OK,
        MEDIA_TYPE,
        msgspec.json.encode(body),
        (b"allow", OF_CONTAINER),
        (b"content-location", escape_uri(body["id"])),
        _ACCEPTED,
        *_LINKS,
    )


class _View:
    """A container as one request sees it; only for the thread that writes it."""

    def __init__(self, service: Service, request: Request, series: str, *, with_iris: bool) -> None:
        self._assertions = service.registry.assertions
        self._reader = find_reader(service, request)
        self._series = series
        self._size = service.settings.page_size
        self._base = request.base_url
        self._with_iris = with_iris
        self._address = find_container(request.base_url, series)
        self._keys = self._assertions.list_keys(series, most=LISTED)
        self.shown: list[HeldAssertion] = []

    @property
    def _view_address(self) -> str:
        return f"{self._address}?iris={int(self._with_iris)}"

    def write_container(self, minimal: bool) -> dict[str, Any]:
        """Write the container with its first page, or only with its address."""
        first: object = self._name_page(0)
        if not minimal:
            first = self.write_page(0, "")
            del first["@context"]
        container: dict[str, Any] = {
            "@context": [CONTEXT, "http://www.w3.org/ns/ldp.jsonld"],
            "id": self._address if minimal else self._view_address,
            "type": ["BasicContainer", "AnnotationCollection"],
            "label": f"Assertions of {self._series}",
            "first": first,
        }
        if self._keys is not None:
            container |= {"total": len(self._keys), "last": self._name_page(self._last)}
        return container

    @property
    def _last(self) -> int:
        return max(0, (len(self._keys or ()) - 1) // self._size)

    def write_page(self, number: int | None, after: str) -> dict[str, Any]:
        """Write a page by its number or, of a large container, by the key before it."""
        if self._keys is None or number is None:
            return self._write_scanned(after)
        begin = number * self._size
        found = list(
            self._assertions.read_keys(self._keys[begin : begin + self._size], self._reader)
        )
        page = self._write_items(self._name_page(number), found)
        page["partOf"]["total"] = len(self._keys)
        page["startIndex"] = begin
        if number:
            page["prev"] = self._name_page(min(number, self._last + 1) - 1)
        if number < self._last:
            page["next"] = self._name_page(number + 1)
        return page

    def _write_scanned(self, after: str) -> dict[str, Any]:
        found, following = self._assertions.scan_series(
            self._series, after, self._reader, limit=self._size
        )
        here = f"{self._view_address}&after={quote(after, safe='')}"
        page = self._write_items(here, found)
        if following is not None:
            page["next"] = f"{self._view_address}&after={quote(following, safe='')}"
        return page

    def _name_page(self, number: int) -> str:
        if self._keys is None:
            return f"{self._view_address}&after="
        return f"{self._view_address}&page={number}"

    def _write_items(self, address: str, found: list[HeldAssertion]) -> dict[str, Any]:
        self.shown += found
        whole = [write_annotation(held, self._base) for held in found]
        items: list[Any] = [one["id"] for one in whole] if self._with_iris else whole
        return {
            "@context": CONTEXT,
            "id": address,
            "type": "AnnotationPage",
            "partOf": {"id": self._view_address},
            "items": items,
        }


_Handler = Callable[[Service, Request, Any], Awaitable[Answer]]
_OF_CONTAINER: dict[str, _Handler] = {
    "GET": show_container,
    "POST": annotating.create_annotations,
}
_OF_ANNOTATION: dict[str, _Handler] = {
    "GET": show_annotation,
    "PUT": annotating.replace_annotation,
    "DELETE": annotating.delete_annotation,
}
