"""The operator's page: `/operator`.

    GET  /operator   what was minted, storage, verification, backup, lost locations, traffic

How it works: `perdure.upkeep.activity` reads the figures of the registry, and
`perdure.server.common.traffic` those of the requests of the last day. A page shows them as plots,
each with its table; a program gets the same as JSON. A person signs in; a program sends a token.

The address is not `/status`: EZID's clients and monitors ask there, without a token and with any
`Accept` field, and a form to sign in would tell them nothing.

What must stay true: only a token with the right `administer` for everything sees the figures;
their cost does not depend on the size of the registry.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec

from perdure.model.records import Token
from perdure.server.common import auth
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.traffic import TrafficStep
from perdure.server.desk.menu import show_desk_page
from perdure.server.desk.signing_in import require_depositor
from perdure.server.pages.calendars import make_bars
from perdure.server.pages.plots import Plot, plot_columns, plot_lines
from perdure.upkeep.activity import MOST_COUNTED, NameCount, measure_activity
from perdure.upkeep.milestones import Milestone

_HTML, _JSON = "text/html", "application/json"
_VARY = (b"vary", b"accept, authorization, cookie")
_FIELDS = ((b"cache-control", b"no-store"), _VARY)
_DAY = 86_400  # seconds


async def show_figures(service: Service, request: Request) -> Answer:
    """Answer with the figures that an operator watches. Raises Unauthenticated or Forbidden."""
    is_page = choose_type(request.accept, (_JSON, _HTML)) == _HTML
    token = await find_operator(service, request, is_page=is_page)
    if isinstance(token, Answer):
        return token
    found = await asyncio.to_thread(measure_activity, service.registry)
    service.metrics.gather_counts()
    now = await asyncio.to_thread(service.metrics.read_traffic, time.time())
    steps = service.traffic.list_steps(now)
    if not is_page:
        document = msgspec.to_builtins(found) | {"traffic": [_describe_step(one) for one in steps]}
        return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(document), *_FIELDS)
    holdings, minted, lost = found.holdings, found.minted, found.lost
    used = holdings.disk_size - holdings.disk_free
    return show_desk_page(
        request,
        token,
        "operator.html",
        _VARY,
        found=found,
        days=plot_columns(_read_rows(minted.days)) if minted else None,
        months=plot_columns(_read_rows(minted.months)) if minted else None,
        authorities=make_bars([(one.of, "", one.names) for one in minted.authorities])
        if minted
        else (),
        storage=make_bars(
            [
                ("held", "", holdings.bytes),
                ("other files", "", max(used - holdings.bytes, 0)),
                ("free", "", holdings.disk_free),
            ]
        ),
        ages=_list_ages(found.at, holdings.backup, holdings.verification),
        verdicts=make_bars([(one, "", count) for one, count in lost.verdicts.items()])
        if lost
        else (),
        lost_count=sum(lost.verdicts.values()) if lost else 0,
        most_counted=MOST_COUNTED,
        rates=_plot_rates(steps),
        times=_plot_times(steps),
    )


async def find_operator(service: Service, request: Request, *, is_page: bool) -> Token | Answer:
    """Return the token of a request or of its session, or the answer that leads to the form.

    Raises Unauthenticated, or Forbidden if it does not administer everything.
    """
    has_token = request.signer is not None or b"authorization" in request.fields
    if has_token or not is_page:
        token = auth.find_bearer(service, request)
    else:
        found = await require_depositor(service, request)
        if isinstance(found, Answer):
            return found
        token = found
    auth.check_operating(service, token)
    return token


def _read_rows(counts: tuple[NameCount, ...]) -> list[tuple[str, int]]:
    return [(one.of, one.names) for one in counts]


def _list_ages(now: str, *ended: Milestone | None) -> list[tuple[str, Milestone | None, float]]:
    """Return each kind of work with its last end, and its age in days."""
    moment = datetime.fromisoformat(now)
    return [
        (name, one, (moment - datetime.fromisoformat(one.at)).total_seconds() / _DAY if one else 0)
        for name, one in zip(("Backup", "Verification"), ended, strict=True)
    ]


def _plot_rates(steps: list[TrafficStep]) -> Plot:
    labels = [_write_time(one.ends) for one in steps]
    return plot_lines(
        labels,
        [
            ("answered", [one.rate for one in steps]),
            ("failed", [one.failed / max(one.ends - one.begins, 1) for one in steps]),
        ],
    )


def _plot_times(steps: list[TrafficStep]) -> Plot:
    labels = [_write_time(one.ends) for one in steps]
    return plot_lines(
        labels,
        [
            ("half of all", [_count_milliseconds(one.median) for one in steps]),
            ("95 of 100", [_count_milliseconds(one.slowest) for one in steps]),
        ],
    )


def _count_milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _write_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M}"


def _describe_step(step: TrafficStep) -> dict[str, object]:
    return {
        "begins": round(step.begins, 3),
        "ends": round(step.ends, 3),
        "requests": step.requests,
        "failed": step.failed,
        "median_seconds": step.median,
        "p95_seconds": step.slowest,
    }
