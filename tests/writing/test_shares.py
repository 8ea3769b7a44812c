"""Quotas of series and shares of tokens: every command that gives a name counts, and no other."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from perdure.errors import ShareUsedUp, StorageFailed, UnknownAuthority
from perdure.errors.quotas import MintsUsedUp, SeriesQuotaUsedUp
from perdure.ids import parse
from perdure.model.commands import Alias, Answer, Assign, Bind, Command, Mint, Receipt, Register
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.settings import FILE
from perdure.storage.ports import JournalFull
from perdure.writing.door import Then, Turn
from perdure.writing.ledger import Ledger
from perdure.writing.shares import Shares

SERIES = "press.oma.eop.gov.us"
QUOTA = MINTS = 3
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
TODAY = f"pdi://{SERIES}/2026/11/23"
PLACE = (Location(uri="https://a.example/"),)


class Desk:
    """A registry whose clock stands still until it is moved."""

    def __init__(self, root: Path) -> None:
        self.now = NOON
        self.registry = Registry(root, clock=lambda: self.now)

    def do(self, command: Command) -> Receipt:
        return self.registry.door.execute_command(command)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "registry"
    initialise(root, series=(SERIES,), handle_prefixes=("21.T14999",), shoulders=("99999/fk4",))
    path = root / FILE
    end = "# end of the settings\n"
    limits = f'series_quotas = ["{SERIES}={QUOTA}"]\nmints_per_day = {MINTS}\n'
    path.write_text(path.read_text().removesuffix(end) + limits + end)
    found = Desk(root)
    with closing(found.registry):
        yield found


WAYS = [
    Mint(authority=SERIES),
    Mint(authority=SERIES, metadata={"title": "A letter"}),
    Mint(authority=SERIES, locations=PLACE),
    Mint(authority=SERIES, uid="a-letter"),
    Register(identifier=parse(f"{TODAY}/another-letter")),
    Bind(identifier=parse(f"{TODAY}/a-third-letter"), locations=PLACE, register=True),
    Assign(identifier=parse(f"{TODAY}/a-fourth-letter"), values=()),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda one: type(one).__name__)
def test_every_name_of_a_series_counts(desk: Desk, way: Command) -> None:
    """settings.md: "names that a series may give out on one day"."""
    for _ in range(QUOTA - 1):
        desk.do(Mint(authority=SERIES))
    desk.do(way)
    for other in WAYS:
        if other is not way or (isinstance(other, Mint) and other.uid is None):
            with pytest.raises(SeriesQuotaUsedUp):
                desk.do(other)
    desk.do(Mint(authority="99999/fk4"))  # no series
    desk.now += timedelta(days=1)
    desk.do(Mint(authority=SERIES))


def test_the_quota_survives_a_restart(desk: Desk) -> None:
    for number in range(QUOTA):
        desk.do(Mint(authority=SERIES, uid=f"letter-{number}"))
    again = Desk(desk.registry.root)
    desk.registry.close()
    with closing(again.registry), pytest.raises(SeriesQuotaUsedUp):
        again.do(Mint(authority=SERIES))


@pytest.mark.parametrize("key", [None, "key"])
def test_a_token_has_one_share_for_all_names(desk: Desk, key: str | None) -> None:
    ways: list[Command] = [
        Mint(authority="99999/fk4", bearer="a", once=key),
        Register(identifier=parse("doi:10.1000/1"), bearer="a", once=key and f"{key} 2"),
        Assign(identifier=parse("hdl:21.T14999/1"), values=(), bearer="a"),
    ]
    assert len(ways) == MINTS
    for way in ways:
        desk.do(way)
    with pytest.raises(MintsUsedUp) as refused:
        desk.do(Mint(authority="99999/fk4", bearer="a"))
    assert 0 < refused.value.wait <= 86_400 / MINTS
    for unaffected in (
        Mint(authority="99999/fk4", bearer="b"),
        Mint(authority="99999/fk4"),
        Bind(identifier=parse("doi:10.1000/1"), locations=PLACE, bearer="a"),
        Alias(identifier=parse("doi:10.1000/1"), other=parse("doi:10.1000/2"), bearer="a"),
    ):
        desk.do(unaffected)
    if key:
        assert desk.do(ways[0]).replayed
    desk.now += timedelta(seconds=refused.value.wait)
    desk.do(Mint(authority="99999/fk4", bearer="a"))


def test_names_that_are_not_given_cost_nothing(desk: Desk) -> None:
    for _ in range(2 * MINTS):
        with pytest.raises(UnknownAuthority):
            desk.do(Mint(authority="nobody.example.us", bearer="a"))
    answers = [desk.do(Mint(authority=SERIES, bearer="a")) for _ in range(MINTS)]
    assert len(answers) == MINTS
    with pytest.raises(ShareUsedUp):
        desk.do(Mint(authority=SERIES, bearer="a"))


@pytest.mark.parametrize("series", [SERIES, "99999/fk4"])
def test_names_that_are_asked_together_have_one_share(desk: Desk, series: str) -> None:
    desk.do(Mint(authority="99999/fk4", bearer="a"))  # the writer is open from now on
    committer = desk.registry.door.committer
    assert committer is not None
    answers: list[Answer] = []
    done = threading.Event()
    turn: Turn = [(Mint(authority=series, bearer="a"), answers.append)] * (MINTS + 1)
    committer.enqueue_turn(turn, lambda arrived: _deliver(arrived, done))
    assert done.wait(20)
    given = [one for one in answers if isinstance(one, Receipt)]
    refused = [one for one in answers if isinstance(one, MintsUsedUp)]
    assert (len(given), len(refused)) == (MINTS - 1, 2)


def _deliver(arrived: Iterable[tuple[Then, Answer]], done: Event) -> None:
    for then, answer in arrived:
        assert callable(then)
        then(answer)
    done.set()


def test_several_names_need_so_much_of_the_share() -> None:
    shares = Shares(3)
    shares.begin_batch(0.0)
    shares.check_share("a", 3)
    with pytest.raises(MintsUsedUp):
        shares.check_share("a", 4)
    shares.note_names("a", 2)
    shares.check_share("a", 1)
    with pytest.raises(MintsUsedUp):
        shares.check_share("a", 2)
    shares.check_share("b", 3)
    shares.check_share("", 99)


def test_a_batch_that_is_undone_gives_its_names_back() -> None:
    """shares.py: "a command that … is … undone with its batch" costs nothing."""
    shares = Shares(3)
    shares.begin_batch(0.0)
    shares.note_names("a", 1)
    shares.begin_batch(0.0)
    shares.note_names("a", 1)
    shares.note_names("a", 1)
    with pytest.raises(MintsUsedUp):
        shares.check_share("a")
    shares.undo_batch()  # of the second batch alone
    shares.check_share("a", 2)
    with pytest.raises(MintsUsedUp):
        shares.check_share("a", 3)
    shares.undo_batch()
    with pytest.raises(MintsUsedUp):
        shares.check_share("a", 3)


def test_a_batch_that_the_disk_refuses_costs_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.do(Mint(authority=SERIES))  # the writer is open from now on

    def refuse(_: Ledger) -> None:
        raise JournalFull("no space is left")

    for _ in range(2 * MINTS):
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "write_batch", refuse)
            with pytest.raises(StorageFailed):
                desk.do(Mint(authority="99999/fk4", bearer="a"))
    for _ in range(MINTS):
        desk.do(Mint(authority="99999/fk4", bearer="a"))
    with pytest.raises(MintsUsedUp):
        desk.do(Mint(authority="99999/fk4", bearer="a"))
