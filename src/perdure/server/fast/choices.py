"""Redirects to one of several locations, by the reader's wishes.

How it works: the candidates of a name are the same for all readers, and only their order differs.
`OpenChoice` writes the redirect for one order. Readers for whom the order is the same get the same
answer, so the answers for a target are remembered by their orders (`ChosenAnswers`). There are no
more answers than orders, whatever the readers send, and at most `MOST_ORDERS` for a target.

What must stay true: an answer from here is the same, byte for byte, as the plain way's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from perdure.ids import parse
from perdure.model.queries import Redirect
from perdure.model.records import Location
from perdure.policy.ordering import LocationPattern, Order, ReaderWishes
from perdure.policy.several_locations import Candidates
from perdure.reading.targets import spell_uri
from perdure.server.common.answers import escape_uri, write_answer
from perdure.server.common.redirects import link_alternates, make_redirect

_MOST_FRAMES = 64  # there is one for each time to live
MOST_ORDERS = 16
"""The most answers that are remembered for a target."""


class ChosenAnswers:
    """The answers for a name whose location the readers choose."""

    __slots__ = ("_answers", "pattern")

    def __init__(self, pattern: LocationPattern) -> None:
        self.pattern = pattern
        self._answers: dict[Order, bytes] = {}

    def find_answer(self, wishes: ReaderWishes) -> bytes | None:
        """Return the answer for a reader, if it is remembered."""
        return self._answers.get(self.pattern.find_order(wishes))

    def add_answer(self, order: Order, answer: bytes) -> None:
        """Remember an answer, in the place of all others if there are too many."""
        if len(self._answers) >= MOST_ORDERS:
            self._answers.clear()
        self._answers[order] = answer

    def list_answers(self) -> list[bytes]:
        """List the answers that are remembered."""
        return list(self._answers.values())


class OpenChoice(NamedTuple):
    """A name with several locations, before it is known who asks."""

    candidates: Candidates
    pattern: LocationPattern
    path: bytes
    """The path of the name."""
    fresh: int
    """The seconds for which a redirect may be cached, if no value says so."""
    base: str
    """The setting `base_url`."""
    vary: bytes
    """The request fields on which the choice depends."""

    def write_redirect(self, order: Order) -> bytes:
        """Write the redirect to the first location of an order, with links to the others."""
        (locations, ttls), path = self.candidates, self.path
        first = locations[order[0]]
        ttl = ttls.get(first.uri, self.fresh) if ttls else self.fresh
        before, behind_place, around = _make_frame(ttl, self.base, self.vary)
        alternates = link_alternates([locations[index] for index in order[1:]])
        links = b", ".join((*alternates, b""))  # others follow
        place = escape_uri(first.uri)
        return b"".join((before, place, behind_place, links, path.join(around)))


@lru_cache(_MOST_FRAMES)
def _make_frame(fresh: int, base: str, vary: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """Return the text of a redirect without its location, its alternates and its name.

    These are the text before the location, the text behind it, up to the alternates, and the texts
    around each place of the name.
    """
    name, location = parse("urn:x-example:name"), Location(uri="x:location")
    others = (Location(uri="x:other"),)
    step = Redirect(identifier=name, location=location, others=others)
    example = write_answer(make_redirect(step, fresh=fresh, base=base, vary=vary))
    before, _, rest = example.partition(escape_uri(location.uri))
    (alternate,) = link_alternates(others)
    behind_place, _, rest = rest.partition(alternate + b", ")
    return before, behind_place, rest.split(escape_uri(spell_uri(name)))
