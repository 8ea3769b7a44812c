"""Harvesting by OAI-PMH: the pages of a list, one after the other, from where the last one ended.

How it works: a list begins with `from`, the time at which the last complete list began by the clock
of the repository, so nothing that changed meanwhile is missed. Each page names the next one by a
token. A token that the repository no longer knows begins the list again.

What must stay true: requests go to the address that was given, whatever an answer says; a
repository that repeats a token, or sends pages without records for ever, is left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from perdure.errors.harvesting import (
    AnswerUndated,
    AnswerUnread,
    PagesEmpty,
    RepositoryRefused,
    TokenRepeated,
)
from perdure.upkeep.harvesting.asking import RepositoryClient
from perdure.upkeep.harvesting.pages import OaiPage, PageMalformed, read_page
from perdure.upkeep.harvesting.state import HarvestState

_DAY = 10  # characters of a date
_SECOND = 20  # characters of a time: 2026-11-27T22:15:00Z
_MOST_EMPTY = 100
"""Pages without records, one after the other."""


class Repository(NamedTuple):
    """The facts that decide how a repository is asked."""

    granularity: int
    """Characters of its dates: those of a day or of a second."""
    lists_deleted: bool


class ListedPage(NamedTuple):
    """A page of a list, and the state of the harvest once it is taken."""

    page: OaiPage
    after: HarvestState


async def identify_repository(client: RepositoryClient, url: str) -> Repository:
    """Ask a repository what it is. Raises RepositoryRefused, Unavailable."""
    page = await _ask(client, url, verb="Identify")
    if page.error:
        raise RepositoryRefused(url=url, fault=f"{page.error}: {page.message}")
    length = _SECOND if len(page.granularity) == _SECOND else _DAY
    return Repository(length, page.deleted_record != "no")


async def walk_pages(
    client: RepositoryClient, repository: Repository, state: HarvestState
) -> AsyncIterator[ListedPage]:
    """Yield the pages of the list that is under way, or of a new one; the last one has no token.

    Raises RepositoryRefused or Unavailable.
    """
    empty, resumed = 0, bool(state.token)
    while True:
        asked = state.token
        page = await _ask(client, state.url, **_make_question(state, repository))
        if page.error == "badResumptionToken" and asked and resumed:
            state, resumed = msgspec.structs.replace(state, token="", begun=""), False
            continue
        if page.error not in ("", "noRecordsMatch"):
            raise RepositoryRefused(url=state.url, fault=f"{page.error}: {page.message}")
        if page.token and page.token == asked:
            raise TokenRepeated(url=state.url)
        empty = 0 if page.records else empty + 1
        if empty > _MOST_EMPTY:
            raise PagesEmpty(url=state.url)
        begun = state.begun or _read_time(page, state.url)
        state = msgspec.structs.replace(state, begun=begun, token=page.token)
        if not page.token:
            state = msgspec.structs.replace(state, begun="", finished=begun)
        yield ListedPage(page, state)
        if not page.token:
            return


def _make_question(state: HarvestState, repository: Repository) -> dict[str, str]:
    if state.token:
        return {"verb": "ListRecords", "resumptionToken": state.token}
    asked = {"verb": "ListRecords", "metadataPrefix": state.prefix}
    if state.names:
        asked["set"] = state.names
    if state.since:
        asked["from"] = spell_date(state.since, repository.granularity)
    return asked


def spell_date(text: str, length: int) -> str:
    """Spell a date with the granularity of a repository.

    >>> spell_date("2026-11-27T22:15:00Z", 10), spell_date("2026-11-27", 20)
    ('2026-11-27', '2026-11-27T00:00:00Z')
    """
    if length == _DAY:
        return text[:_DAY]
    return text if len(text) == _SECOND else f"{text}T00:00:00Z"


def _read_time(page: OaiPage, url: str) -> str:
    """Return the time of an answer. Raises AnswerUndated."""
    text = page.answered
    if len(text) != _SECOND or not (text[4] == text[7] == "-" and text[10] == "T"):
        raise AnswerUndated(url=url)
    return text


async def _ask(client: RepositoryClient, url: str, **asked: str) -> OaiPage:
    between = "&" if "?" in url else "?"
    address = f"{url}{between}{urlencode(asked)}"
    body = await client.fetch(address)
    try:
        return read_page(body)
    except PageMalformed as error:
        raise AnswerUnread(url=address, fault=str(error)) from None
