"""A registry with an index of words, and short ways to search it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Desk

from perdure.model.queries import PUBLIC_READER, Reader
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.found import FoundDocument
from perdure.upkeep.searching.updating import Search, Searching, update_index


class SearchDesk:
    """Searches a registry, whose index is brought up to date first."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def ask(
        self,
        words: str,
        reader: Reader = PUBLIC_READER,
        *,
        update: bool = True,
        limit: int = 10,
        before: int | None = None,
        **limits: Any,
    ) -> Search:
        if update:
            list(update_index(self.desk.registry))
        selection = make_selection(words, **limits)
        return Searching(self.desk.registry).search(selection, reader, limit=limit, before=before)

    def find(self, words: str, *reader: Reader, **asked: Any) -> list[FoundDocument]:
        return [*self.ask(words, *reader, **asked).page.documents]

    def names(self, words: str, *reader: Reader, **asked: Any) -> list[str]:
        """The names of what is found, without the day."""
        return [
            one.identifier.removeprefix("pdi://oma.eop.gov.us/2026/11/21/")
            for one in self.find(words, *reader, **asked)
        ]

    def count(self, words: str, *reader: Reader, **asked: Any) -> tuple[int, bool]:
        page = self.ask(words, *reader, **asked).page
        return page.count, page.is_more


@pytest.fixture
def searched(desk: Desk) -> SearchDesk:
    return SearchDesk(desk)
