"""The promises of the port `Follower`, checked on every follower there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.conftest import SERIES, TODAY, Clock, Desk, html, text
from tests.storage.registries import unpack_registry

import perdure
from perdure.model.assertions import write_assertion
from perdure.model.collection import Collection, CollectionMember, write_collection
from perdure.model.queries import LOCAL_READER
from perdure.registry import Registry
from perdure.upkeep.asserting import store_assertion
from perdure.upkeep.changes.counts import Counts
from perdure.upkeep.changes.following import Follower, catch_up
from perdure.upkeep.changes.name_counts import NameCounts
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.collection.membership_index import MembershipIndex
from perdure.upkeep.forgetting import forget_withdrawn
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.indexing import WordIndex
from perdure.upkeep.searching.updating import Searching

pytest.importorskip("numpy")
pytest.importorskip("pyoxigraph")
from perdure.upkeep.quotations.passage_index import PassageIndex
from perdure.upkeep.triples.triple_index import TripleIndex

SOURCES = Path(perdure.__file__).parent
LONG = "It is a truth universally acknowledged, that a single man in possession of a fortune. "


class Kind(NamedTuple):
    """A follower, and how its result is read."""

    open: Callable[[Registry], Any]
    read: Callable[[Any, Registry], object]
    is_filled: Callable[[Any], bool] = bool
    """Whether a result has something in it."""
    only_counts: bool = False
    """True if it keeps nothing that a record says, so that it need not forget at once."""


HALVES = {"ChangeTable", "RecordIndex", "DocumentIndex"}
"""The common halves of followers."""


def find_words(_: WordIndex, registry: Registry) -> list[object]:
    found: list[object] = []
    for words in ("fortune", "Dear", "withdrawn"):
        page = Searching(registry).search(make_selection(words), LOCAL_READER, limit=10).page
        found.append(sorted(one.identifier for one in page.documents))
    return found


def list_quads(index: TripleIndex, _: Registry) -> list[str]:
    with index.open_store() as store:
        quads = (re.sub("_:[0-9a-f]+", "_:", str(quad)) for quad in store)
        return [*sorted(index.list_names()), *sorted(quads)]


def list_citations(index: CitationIndex, _: Registry) -> object:
    documents = [(key, name) for key, _, name in index.list_documents("", "~")]
    return (index.count_rows(), [*index.list_targets("", "~")], documents)


KINDS = {
    "Counts": Kind(
        lambda registry: Counts(registry.root),
        lambda one, _: list(one.list_counts()),
        only_counts=True,
    ),
    "NameCounts": Kind(
        lambda registry: NameCounts(registry.root),
        lambda one, _: one.list_members(""),
        only_counts=True,
    ),
    "MembershipIndex": Kind(
        MembershipIndex,
        lambda one, _: [
            (key, one.find_title(key), one.list_members(key, "", limit=9))
            for key in one.list_collections("", limit=9)
        ],
    ),
    "CitationIndex": Kind(CitationIndex, list_citations, lambda found: found[0] > 0),
    "PassageIndex": Kind(
        PassageIndex, lambda one, _: sorted(found[1:] for found in one.list_documents())
    ),
    "WordIndex": Kind(WordIndex, find_words, any),
    "TripleIndex": Kind(TripleIndex, list_quads),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def full(desk: Desk) -> Desk:
    """Documents that each kind of follower keeps something of, in several changes."""
    fill_registry(desk)
    return desk


def fill_registry(desk: Desk) -> None:
    desk.mint(text(LONG * 3))
    desk.mint(html(f'<p>Dear reader, see <a href="{TODAY}/1">this</a>. {LONG}'))
    members = (CollectionMember(identifier=f"{TODAY}/1"),)
    collection = write_collection(Collection(title="Both", members=members))
    desk.mint(text(collection, "json", "application/vnd.perdure.collection+json"))
    assertion = write_assertion((f"{TODAY}/1",), ("highlighting",))
    store_assertion(desk.registry, assertion, series=SERIES)
    desk.mint(text("withdrawn " * 30))
    desk.withdraw(f"{TODAY}/5")


@contextmanager
def opened(kind: Kind, registry: Registry) -> Iterator[Any]:
    follower = kind.open(registry)
    try:
        yield follower
    finally:
        getattr(follower, "close", lambda: None)()


def follow(kind: Kind, registry: Registry) -> object:
    """What a follower has when it has taken all changes."""
    with opened(kind, registry) as follower:
        list(catch_up(registry.records, follower))
        return kind.read(follower, registry)


def test_a_new_one_has_taken_nothing(full: Desk, kind: Kind) -> None:
    with opened(kind, full.registry) as follower:
        assert follower.last_head() is None
        assert not kind.is_filled(kind.read(follower, full.registry))


def test_it_remembers_the_head_that_it_saw_last(full: Desk, kind: Kind) -> None:
    """ "A follower remembers its position as the head that it saw last." """
    assert kind.is_filled(follow(kind, full.registry))
    with opened(kind, full.registry) as follower:
        assert follower.last_head() == full.registry.records.find_head()
        assert list(catch_up(full.registry.records, follower)) == []


def test_the_size_of_a_page_makes_no_difference(full: Desk, kind: Kind) -> None:
    """ "Take the next changes. Save the last one together with the result." """
    records = full.registry.records
    changes = records.list_changes(limit=100)
    assert len(changes) > 5
    follower: Follower
    for change in changes:  # each by a process of its own
        with opened(kind, full.registry) as follower:
            follower.take_changes([change], records)
            assert follower.last_head() == change.head
    with opened(kind, full.registry) as follower:
        slowly = kind.read(follower, full.registry)
        follower.reset()
    assert slowly == follow(kind, full.registry)


def test_after_a_reset_it_computes_the_same_again(full: Desk, kind: Kind) -> None:
    """ "You may delete what a follower keeps; `catch_up` computes the same again." """
    before = follow(kind, full.registry)
    with opened(kind, full.registry) as follower:
        follower.reset()
        assert follower.last_head() is None
        assert not kind.is_filled(kind.read(follower, full.registry))
    assert follow(kind, full.registry) == before


def test_what_was_withdrawn_is_forgotten(full: Desk, kind: Kind) -> None:
    follow(kind, full.registry)
    for number in (1, 2, 3, 4):
        full.withdraw(f"{TODAY}/{number}")
    after = follow(kind, full.registry)
    with opened(kind, full.registry) as follower:
        follower.reset()
    assert follow(kind, full.registry) == after  # as if it had never been there


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.only_counts])
def test_a_withdrawal_is_forgotten_before_it_is_answered(name: str, full: Desk) -> None:
    """forgetting: "indexes this one record again, out of its turn, before it answers"."""
    kind = KINDS[name]
    before = follow(kind, full.registry)
    forget_withdrawn(full.registry)
    for number in (1, 2, 3, 4):
        full.withdraw(f"{TODAY}/{number}")
    with opened(kind, full.registry) as follower:  # it has not taken these changes
        at_once = kind.read(follower, full.registry)
    assert at_once != before
    assert at_once == follow(kind, full.registry)


def test_another_past_is_forgotten(place: Path, clock: Clock, kind: Kind) -> None:
    """ "If the registry was restored or rewritten […] it starts again from nothing." """
    desks = []
    for number in (1, 2):
        (place / str(number)).mkdir()
        clock.set("2026-11-21T12:00:00")
        desks.append(Desk(unpack_registry(1, place / str(number)), clock))
    first, second = desks
    fill_registry(first)
    second.mint(text("Dear me, " + LONG))
    with opened(kind, first.registry) as follower:
        list(catch_up(first.registry.records, follower))
        list(catch_up(second.registry.records, follower))
        assert follower.last_head() == second.registry.records.find_head()
    for desk in desks:
        desk.registry.close()


def test_every_follower_is_here() -> None:
    """Those that derive from a common half, and those that say themselves where they are."""
    bases: set[str] = set()
    found: set[str] = set()
    for path in SOURCES.rglob("*.py"):
        source = path.read_text("utf-8")
        if not any(word in source for word in (*HALVES, "last_head")):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                parents = {one.id for one in node.bases if isinstance(one, ast.Name)}
                methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                halves = parents & HALVES
                if halves or {"last_head", "take_changes", "reset"} <= methods:
                    found.add(node.name)
                    bases |= halves
    assert found - bases - {"Follower"} == set(KINDS)
