"""The server's own pages: start, health, metrics, and the explanations of error codes.

What must stay true: `/healthz` shows that this worker runs. `/readyz` shows that it can do its
work: it can read the registry, and write to it unless a flush has failed; a mirror says how far it
is behind, and is not ready if it has stopped.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from http import HTTPStatus
from importlib.metadata import version
from urllib.parse import quote as escape

import msgspec

from perdure.errors import MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.mirroring import MirrorStopped
from perdure.ids import load_schemes
from perdure.reading.pasted import read_pasted
from perdure.reading.resolved_series import describe_series, list_resolved_series
from perdure.reading.targets import read_name, read_question, spell_name_path, spell_set_path
from perdure.server import pages
from perdure.server.apis import memento, memento_addresses
from perdure.server.common import lists, logs, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer, make_empty_answer
from perdure.server.common.metrics import CONTENT_TYPE
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.languages import COOKIE, LANGUAGES
from perdure.server.protocol.head import make_title
from perdure.server.resource import browsing
from perdure.upkeep.indexing import open_name_counts
from perdure.upkeep.mirroring.status import MirrorStatus, measure_mirror
from perdure.upkeep.status import measure_holdings

_NOT_STORED = (b"cache-control", b"no-store")
_ASSET = (
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
)
_YEAR = 31_536_000  # seconds
_DAY = (b"cache-control", b"public, max-age=86400")


async def show_start(service: Service, request: Request) -> Answer:
    """Introduce the resolver to people and programs; or redirect from its form to an identifier."""
    asked = request.parameters.get("identifier")
    if asked:
        text = asked.strip()
        if await asyncio.to_thread(memento.has_captures, service, request, text):
            place = escape_uri(f"/timemap/html/{memento_addresses.escape_for_path(text)}")
            return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", place))
        try:
            name = read_pasted(asked, read_name, lambda: (request.base_url,))
        except (MalformedIdentifier, UnknownScheme):
            if service.serves_captures() and text.startswith(("http://", "https://")):
                raise memento.make_not_captured(text) from None
            raise
        return make_empty_answer(
            HTTPStatus.SEE_OTHER, (b"location", escape_uri(f"/{spell_name_path(name)}"))
        )
    found = sorted(load_schemes().values(), key=lambda scheme: scheme.name)
    vary = (b"vary", b"accept")
    minted = service.registry.learn_authorities().series
    registry = service.registry
    resolved = await asyncio.to_thread(
        list_resolved_series, registry.listings, registry.delegations, minted
    )
    if choose_type(request.accept, ("application/json", "text/html")) == "text/html":
        latest = await service.read_list(browsing.list_latest, service, request)
        body = pages.render_page(
            request.frame,
            "start.html",
            resolved=resolved,
            counts=await asyncio.to_thread(browsing.count_series, service, resolved),
            entries=lists.show_entries(latest),
            schemes=found,
        )
        return pages.make_page(HTTPStatus.OK, body, vary)
    about = {
        "software": f"perdure {version('perdure')}",
        "series": [one.series for one in resolved],
        "minted": minted,
        "resolved": [describe_series(one) for one in resolved],
        "authorities": f"{request.base_url}/authorities",
        "schemes": {scheme.name: scheme.prefixes for scheme in found},
    }
    return make_answer(HTTPStatus.OK, "application/json", msgspec.json.encode(about), vary)


async def list_authorities(service: Service, request: Request) -> Answer:
    """List the authorities of all schemes whose identifiers are known here, page by page.

    Each is a set of identifiers, which can be listed itself.
    """
    question = read_question(request.target.question, verbs=())
    limit = min(question.limit or service.settings.page_size, service.settings.page_size)
    found, after = await asyncio.to_thread(
        service.listings.list_authorities, cursor=question.cursor, limit=limit
    )
    entries = [
        lists.ListEntry(str(one), f"{request.base_url}/{spell_set_path(one)}") for one in found
    ]
    counts = await asyncio.to_thread(browsing.count_names, service, list(found))
    following = None if after is None else f"?cursor={escape(after, safe='')}&limit={limit}"
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return lists.answer_list(
        request,
        "authorities",
        entries,
        fresh,
        following=following,
        told={"counts": counts},
        template="authorities.html",
        shown=counts,
    )


async def report_health(_service: Service, _request: Request) -> Answer:
    """Answer that this worker is alive."""
    return make_answer(HTTPStatus.OK, "text/plain; charset=us-ascii", b"ok\r\n", _NOT_STORED)


async def report_readiness(service: Service, _request: Request) -> Answer:
    """Answer that this worker can read and, as far as it knows, write; or raise the reason."""
    await asyncio.to_thread(service.registry.records.find_first_key, "", "\x7f")
    broken: PerdureError | None = service.registry.door.failure
    if broken is not None:
        raise broken.with_traceback(None)
    await asyncio.to_thread(service.registry.fence.check_undivided)
    mirror = await asyncio.to_thread(measure_mirror, service.registry)
    body = b"ready\r\n" + (_describe_mirror(mirror) if mirror else b"")
    return make_answer(HTTPStatus.OK, "text/plain; charset=us-ascii", body, _NOT_STORED)


def _describe_mirror(found: MirrorStatus) -> bytes:
    """Say how far a mirror is. Raises MirrorStopped if it has stopped."""
    stopped = found.contradiction
    if stopped is not None:
        raise MirrorStopped(origin=found.origin, mark=stopped.mark, fault=stopped.fault)
    behind = "unknown" if found.behind is None else str(found.behind)
    lag = "unknown" if found.lag is None else f"{found.lag:.1f}"
    return f"mirror: {found.verdict}\r\nbehind: {behind}\r\nlag: {lag}\r\n".encode("ascii")


async def report_metrics(service: Service, _request: Request) -> Answer:
    """Answer with the counters, and the figures of the registry as far as they can be read."""
    service.metrics.set_door_state(broken=service.registry.door.failure is not None)
    service.metrics.gather_counts()
    figures = await asyncio.to_thread(_measure_figures, service)
    body = await asyncio.to_thread(service.metrics.write_exposition, figures)
    return make_answer(HTTPStatus.OK, CONTENT_TYPE, body, _NOT_STORED)


def _measure_figures(service: Service) -> dict[str, float]:
    """The gauges of the registry; those that do not exist yet are left out."""
    try:
        found = measure_holdings(service.registry)
    except PerdureError as error:
        logs.get_log().error("no figures", code=error.code, detail=str(error))
        return {}
    figures: dict[str, float] = {
        "perdure_held_bytes": found.bytes,
        "perdure_segments": found.segments,
        "perdure_disk_free_bytes": found.disk_free,
        "perdure_disk_size_bytes": found.disk_size,
        "perdure_epoch": found.epoch,
        "perdure_is_copy": bool(found.signs),
    }
    figures |= _count_names(service)
    if found.backup is not None:
        figures["perdure_last_backup_seconds"] = _count_seconds(found.backup.at)
    if found.verification is not None:
        figures["perdure_last_verification_seconds"] = _count_seconds(found.verification.at)
        figures["perdure_last_verification_problems"] = found.verification.problems
    mirror = measure_mirror(service.registry)
    if mirror is not None:
        figures["perdure_mirror_stopped"] = mirror.contradiction is not None
        if mirror.behind is not None:
            figures["perdure_mirror_behind_changes"] = mirror.behind
        if mirror.lag is not None:
            figures["perdure_mirror_lag_seconds"] = mirror.lag
    return figures


def _count_names(service: Service) -> dict[str, float]:
    """The gauges of names, from the counts, which first take a page of unseen changes."""
    try:
        with open_name_counts(service.registry) as counts:
            uncounted = counts.take_few(service.registry.records)
            names = sum(counts.list_members("").values())
    except PerdureError:  # the directory of a copy may not be writable, for example
        return {}
    if uncounted is None:
        return {}
    return {"perdure_names": names, "perdure_names_uncounted_changes": uncounted}


def _count_seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


async def serve_asset(_service: Service, request: Request) -> Answer:
    """Answer with a file that pages use. Its address contains its digest, so it never changes."""
    found = request.frame.assets.get(f"/{request.target.text}")
    if found is None:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    policy = (b"content-security-policy", found.policy.encode("ascii"))
    return make_answer(HTTPStatus.OK, found.media_type, found.body, *_ASSET, policy)


async def set_language(_service: Service, request: Request) -> Answer:
    """Remember the language that a reader has chosen, and lead back to the page."""
    language = request.target.text.partition("/")[2]
    if language not in LANGUAGES:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    place = request.parameters.get("to") or "/"
    is_here = place.startswith("/") and not place.startswith(("//", "/\\"))
    secure = "; Secure" if request.base_url.startswith("https:") else ""
    cookie = f"{COOKIE}={language}; Path=/; Max-Age={_YEAR}; SameSite=Lax; HttpOnly{secure}"
    return make_empty_answer(
        HTTPStatus.SEE_OTHER,
        (b"location", escape_uri(place) if is_here else b"/"),
        (b"set-cookie", cookie.encode("ascii")),
        _NOT_STORED,
    )


async def show_patterns(_service: Service, request: Request) -> Answer:
    """Show each component of the pages, with the settings of this server and in each language."""
    body = pages.render_page(request.frame, "patterns.html", trail=[("pdi://example.us/", "/")])
    return pages.make_page(HTTPStatus.OK, body, _DAY)


async def explain_code(_service: Service, request: Request) -> Answer:
    """Explain an error code. The address of this page is the `type` of its problems."""
    code = request.target.text.partition("/")[2]
    found = problems.list_explanations().get(code)
    if found is None:
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    status, text = found
    body = pages.render_page(
        request.frame,
        "explanation.html",
        code=code,
        status=status,
        text=text,
        title=make_title(code),
    )
    return pages.make_page(HTTPStatus.OK, body, _DAY)
