"""Sets of names: a series, a year, a pattern with wildcards, the beginning of names of any scheme.

How it works: a series, year or month lists the years, months or days in it that have identifiers.
A day, and every other set, lists identifiers, page by page. The same page answers other questions:
all locations (`?locations`, N2Ls), all descriptions (`?info`, N2C), all names (N2Ns), and a
bibliography (`?cite`). All of it runs in threads for lists, because a sparse pattern may read many
records, and a page has up to a thousand of them to describe.

What must stay true: following `next` from page to page lists every identifier once, whatever is
minted meanwhile; a set of which nothing is known is 404 for every question.
# ruling: pdi-patterns-everywhere
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

import msgspec

from perdure.errors import Forbidden, NotFound, NothingMatches, PartNotSupported, Unauthenticated
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.requests import ListNotPaged
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.queries import Gone, ListingInterval, ListingPage
from perdure.model.records import IdentifiedRecord, Record
from perdure.policy.showing import show_to_readers
from perdure.reading.targets import Question, append_question, spell_path, spell_uri
from perdure.server.common import asking, elsewhere, lists, logs
from perdure.server.common.answers import (
    Answer,
    make_answer,
)
from perdure.server.common.negotiate import names_first
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_set_trail
from perdure.server.resource import bibliographies, browsing
from perdure.server.resource.describing import make_public_record
from perdure.server.resource.locating import list_urls


async def list_set(
    service: Service,
    request: Request,
    names: NameSet,
    question: Question,
    *,
    operand: str | None = None,
) -> Answer:
    """Answer a question about all names of a set.

    If other resolvers answer for some of the names, the list says that it is incomplete, and where
    the rest is. `operand` is the set as a request to a resolution service spells it. Raises
    NotFound if nothing known belongs to it, AnsweredElsewhere if all of it is elsewhere,
    InvalidRequest if the cursor is not from this list.
    """
    _refuse_part(names)
    touching = service.registry.delegations.list_touching(names)
    sources = elsewhere.list_sources(touching, request)
    try:
        return await _list_known(service, request, names, question, operand, sources)
    except AnsweredElsewhere:
        raise
    except NotFound:
        if not touching:
            raise
        service.registry.delegations.require_undelegated_set(names)
        about = operand if operand is not None else str(names)
        fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
        return lists.answer_list(request, about, [], fresh, sources=sources)


async def _list_known(
    service: Service,
    request: Request,
    names: NameSet,
    question: Question,
    operand: str | None,
    sources: list[str],
) -> Answer:
    about = operand if operand is not None else str(names)
    if (
        names.is_divided
        and question.verb not in _ANSWERS
        and not bibliographies.asks_for_bibliography(question)
    ):
        return await _list_interval(service, request, names, question, about, sources)
    once = question.verb not in _ANSWERS  # those are about records  # ruling: urn93-duplicates
    page, limit = await _read_page(service, request, names, question, once=once)
    following = lists.write_following(request, page.cursor, limit, operand)
    written: Answer = await service.read_list(
        _write_page, service, request, names, question, about, page, following, sources
    )
    return written


def _write_page(
    service: Service,
    request: Request,
    names: NameSet,
    question: Question,
    about: str,
    page: ListingPage,
    following: str | None,
    sources: list[str],
) -> Answer:
    """Answer the question about the names of a page."""
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    damaged = [error.identifier for error in page.damaged]
    if damaged:
        fresh = (b"cache-control", b"no-store")
    if bibliographies.asks_for_bibliography(question):
        return bibliographies.write_bibliography(service, request, names, page, question, following)
    if question.verb == "info" and not names_first(request.accept, "text/html"):
        return _describe_page(service, request, about, page, fresh, following)
    if question.verb == "locations":
        entries = [lists.ListEntry(one) for one in _list_page_urls(service, request, page)]
    elif question.verb == "names":
        entries = _list_page_names(service, request, page)
    else:
        has_facts = lists.shows_facts(lists.choose_form(request))
        entries = _list_page(service, request, page, has_facts=has_facts)
    return lists.answer_list(
        request,
        about,
        entries,
        fresh,
        following=following,
        damaged=damaged,
        trail=make_set_trail(names),
        sources=sources,
    )


USUAL = 50
"""Names of a page for people, unless another limit is given."""
_ANSWERS = ("info", "locations", "names")


def _refuse_part(names: NameSet) -> None:
    """Raise PartNotSupported if a pattern has a part."""
    pattern = names.pattern
    if pattern is not None and pattern.whole is not pattern:
        part = str(pattern).removeprefix(str(pattern.whole))[1:]
        raise PartNotSupported(media_type="a listing", selector=part)


async def _list_interval(
    service: Service,
    request: Request,
    names: NameSet,
    question: Question,
    about: str,
    sources: list[str],
) -> Answer:
    """List the years, months or days of an interval. Raises NotFound."""
    if not service.listings.is_resolved(names.example):
        raise NothingMatches(identifier=str(names))
    if question.cursor:
        raise ListNotPaged(cursor=question.cursor)
    interval: ListingInterval = await service.read_list(service.listings.list_interval, names)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    shown: browsing.BrowsedInterval = await service.read_list(
        browsing.browse_interval, service, interval
    )
    return lists.answer_list(
        request,
        about,
        _make_entries(request, interval.members),
        fresh,
        trail=make_set_trail(names),
        sources=sources,
        told={"counts": shown.counts, "uncounted": shown.uncounted},
        template="interval.html",
        shown=shown,
    )


async def _read_page(
    service: Service, request: Request, names: NameSet, question: Question, *, once: bool
) -> tuple[ListingPage, int]:
    """Read a page, and return the number of lines that it may have.

    With `once`, it has one line for each thing, whatever its names.
    """
    usual = service.settings.page_size
    if names_first(request.accept, "text/html") and lists.is_page(lists.choose_form(request)):
        usual = min(usual, USUAL)
    limit = min(question.limit or usual, service.settings.page_size)
    read_page = partial(
        service.listings.list_page, names, cursor=question.cursor, limit=limit, once=once
    )
    page: ListingPage = await service.read_list(read_page)
    for error in page.damaged:
        logs.get_log().error("corrupt", detail=str(error))
    return page, limit


def _make_entries(request: Request, found: tuple[Identifier, ...]) -> list[lists.ListEntry]:
    return [
        lists.ListEntry(spell_uri(one), f"{request.base_url}/{spell_path(one)}") for one in found
    ]


# the questions
# -------------


def _list_page(
    service: Service, request: Request, page: ListingPage, *, has_facts: bool
) -> list[lists.ListEntry]:
    """List the names of a page with their landing pages, other names and, if wanted, facts."""
    records = {one.identifier.key: one.record for one in page.records}
    return [
        msgspec.structs.replace(
            entry,
            page=append_question(entry.href or entry.uri, "landing"),
            also=tuple(_make_entries(request, _list_also(service, request, page, one))),
            facts=browsing.describe_entry(service, request, one, records[one.key])
            if has_facts
            else None,
        )
        for one, entry in zip(
            page.identifiers, _make_entries(request, page.identifiers), strict=True
        )
    ]


def _show_record(service: Service, request: Request, found: IdentifiedRecord) -> Record:
    """A record as the reader may see it; only its name, if it is closed."""
    shown = show_to_readers(found.record)
    guard = asking.find_guard(service, request, found.identifier)
    if guard is None:
        return shown
    return guard.show(shown) if guard.is_admitted() else Record(name=shown.name)


def _describe_page(
    service: Service,
    request: Request,
    about: str,
    page: ListingPage,
    fresh: tuple[bytes, bytes],
    following: str | None,
) -> Answer:
    """Answer with the public records of a page, as JSON."""
    shown = [
        make_public_record(_show_record(service, request, one), one.identifier, request.base_url)
        for one in page.records
    ]
    body = msgspec.json.encode({"about": about, "records": shown, "next": following})
    fields = (fresh, (b"vary", b"accept"), *bibliographies.link_following(following))
    return make_answer(HTTPStatus.OK, "application/json", body, *fields)


def _list_page_urls(service: Service, request: Request, page: ListingPage) -> list[str]:
    """List the URLs of all names of a page, each once. Withdrawn resources have none."""
    found: dict[str, None] = {}
    for name in page.identifiers:
        try:
            urls = list_urls(request, asking.resolve_listed(service, request, name))
        except (Forbidden, Unauthenticated):  # closed to this reader
            continue
        if not isinstance(urls, Gone):
            found |= dict.fromkeys(urls)
    return list(found)


def _list_page_names(
    service: Service, request: Request, page: ListingPage
) -> list[lists.ListEntry]:
    """List all names of the resources of a page, as URNs if their scheme has that form."""
    names = {
        str(other): other
        for one in page.identifiers
        for other in (one, *_list_other_names(service, request, one.resource))
    }
    return [
        lists.ListEntry(
            write_urn(one), f"{request.base_url}/{spell_path(one)}", page=find_page(one)
        )
        for one in names.values()
    ]


def _list_also(
    service: Service, request: Request, page: ListingPage, name: Identifier
) -> tuple[Identifier, ...]:
    """List the other names of a line of a page; none that lead to anything closed to the reader."""
    others = page.also.get(str(name), ())
    if not others or not service.reading.rules.refresh():
        return others
    if not asking.is_admitted(service, request, name.resource):
        return ()
    return tuple(one for one in others if asking.resolve_open(service, request, one) is not None)


def _list_other_names(
    service: Service, request: Request, name: Identifier
) -> tuple[Identifier, ...]:
    """List the other names of a resource; none of one that is closed to the reader."""
    if not asking.is_admitted(service, request, name):
        return ()
    return service.listings.list_names(name)[1:]


def write_urn(identifier: Identifier) -> str:
    """Write a name as a URN if its scheme has that form, else as a URI."""
    return spell_uri(identifier) if identifier.urn == str(identifier) else identifier.urn
