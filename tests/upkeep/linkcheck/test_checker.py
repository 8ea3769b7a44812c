"""Checks of locations at a server that does everything that servers do."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from typing import Any

import pytest
from tests.upkeep.linkcheck.conftest import World

from perdure.fetching import Cause, Exchange, Unreachable
from perdure.upkeep.linkcheck import LinkChecker, LinkFinding, LinkVerdict, Politeness
from perdure.upkeep.linkcheck.checker import Task
from perdure.upkeep.linkcheck.politeness import Host
from perdure.upkeep.linkcheck.verdict import ExpectedContent

LOOPBACK = ("127.0.0.0/8",)


async def _here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def checked(
    *tasks: Task | str,
    networks: tuple[str, ...] = LOOPBACK,
    patience: float | None = None,
    **how: Any,
) -> dict[str, LinkFinding]:
    """Findings by path."""

    async def run() -> list[LinkFinding]:
        polite = Politeness(**{"workers": 16, "per_host": 4, "seconds": 5.0} | how)
        checker = LinkChecker(networks=networks, politeness=polite, resolve=_here)
        todo = (Task(ExpectedContent(one)) if isinstance(one, str) else one for one in tasks)
        return [finding async for finding in checker.check_tasks(iter(todo))]

    found = asyncio.run(asyncio.wait_for(run(), patience))
    assert len(found) == len(tasks)
    return {"/" + one.uri.split("/", 3)[-1]: one for one in found}


def verdict(world: World, path: str, **expected: Any) -> LinkFinding:
    return next(iter(checked(Task(ExpectedContent(world.url(path), **expected))).values()))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/page/1", LinkVerdict.OK),
        ("/elsewhere/1", LinkVerdict.OK),
        ("/page/none", LinkVerdict.DEAD),
        ("/status/410", LinkVerdict.DEAD),
        ("/moved/1", LinkVerdict.MOVED),
        ("/moved/none", LinkVerdict.DEAD),
        ("/loop/1", LinkVerdict.DEAD),
        ("/circle", LinkVerdict.DEAD),
        ("/soft/anything.html", LinkVerdict.SOFT_404),
        ("/home/was/here.html", LinkVerdict.SOFT_404),
        ("/", LinkVerdict.OK),
        ("/status/500", LinkVerdict.UNREACHABLE),
        ("/status/401", LinkVerdict.REFUSED),
        ("/status/451", LinkVerdict.REFUSED),
    ],
)
def test_verdicts(world: World, path: str, expected: LinkVerdict) -> None:
    found = verdict(world, path)
    assert found.verdict is expected
    assert found.checked
    assert bool(found.reason) == (expected is not LinkVerdict.OK)


def test_where_something_moved(world: World) -> None:
    found = verdict(world, "/moved/7")
    assert (found.moved_to, found.reason) == (world.url("/page/7"), "it moved permanently")


def test_a_redirect_for_now_is_no_move(world: World) -> None:
    assert verdict(world, "/elsewhere/1").moved_to is None


def test_a_page_unlike_its_siblings_is_no_soft_404(world: World) -> None:
    found = checked(*(world.url(f"/page/{one}") for one in range(8)))
    assert {one.verdict for one in found.values()} == {LinkVerdict.OK}
    invented = [path for path in world.asked if "/perdure-" in path]
    assert len(invented) == 1, "a folder is asked for one invented name"


def test_redirect_loops_are_bounded(world: World) -> None:
    verdict(world, "/loop/1")
    assert sum(world.asked.values()) <= 13


class TestDrift:
    BYTES = b"%PDF-1.7 as it was bound"

    @pytest.mark.parametrize(
        ("bound", "expected"),
        [
            ({"sha512": hashlib.sha512(BYTES).hexdigest()}, LinkVerdict.OK),
            ({"sha512": hashlib.sha512(b"other").hexdigest()}, LinkVerdict.DRIFT),
            ({"size": len(BYTES)}, LinkVerdict.OK),
            ({"size": len(BYTES) + 1}, LinkVerdict.DRIFT),
        ],
    )
    def test_it_is_held_to_what_was_bound(
        self, world: World, bound: dict[str, Any], expected: LinkVerdict
    ) -> None:
        world.pages["/report.pdf"] = self.BYTES
        assert verdict(world, "/report.pdf", **bound).verdict is expected

    def test_a_size_is_compared_beyond_what_is_read(self, world: World) -> None:
        world.pages["/large.pdf"] = b"x" * 300_000
        assert verdict(world, "/large.pdf", size=300_000).verdict is LinkVerdict.OK
        assert verdict(world, "/large.pdf", size=300_001).verdict is LinkVerdict.DRIFT

    @pytest.mark.parametrize(
        ("coding", "sent", "size", "expected"),
        [
            ("gzip", gzip.compress(b"x" * 1000), 1000, LinkVerdict.OK),
            ("gzip", gzip.compress(b"x" * 999), 1000, LinkVerdict.DRIFT),
            ("gzip", gzip.compress(b"x" * 70_000), 70_000, LinkVerdict.OK),
            ("br", b"whatever", 1000, LinkVerdict.OK),
        ],
        ids=["the same", "another", "more than is read", "not to be undone"],
    )
    def test_a_coding_that_nobody_asked_for_is_no_drift(
        self, world: World, coding: str, sent: bytes, size: int, expected: LinkVerdict
    ) -> None:
        """RFC 9110 section 12.5.3: a server may send one though `identity` was wanted."""
        world.pages["/coded.pdf"], world.coding = sent, coding
        assert verdict(world, "/coded.pdf", size=size).verdict is expected


class TestPoliteness:
    def test_a_host_is_asked_over_few_connections(self, world: World) -> None:
        checked(*(world.url(f"/page/{one}") for one in range(20)), per_host=3)
        assert world.most_at_once <= 3

    def test_hosts_do_not_wait_for_each_other(self, world: World) -> None:
        hosts = [f"h{one}.example" for one in range(8)]
        checked(*(world.url("/page/1", host) for host in hosts), per_host=1)
        assert world.most_at_once > 1

    def test_robots_txt_is_heeded(self, world: World) -> None:
        world.robots = "User-agent: *\nDisallow: /page/2\n"
        found = checked(world.url("/page/1"), world.url("/page/2"))
        assert found["/page/1"].verdict is LinkVerdict.OK
        assert found["/page/2"].verdict is LinkVerdict.REFUSED
        assert world.asked["/page/2"] == 0
        assert world.asked["/robots.txt"] == 1

    def test_robots_txt_for_us_by_name(self, world: World) -> None:
        world.robots = "User-agent: perdure-linkcheck\nDisallow: /\n\nUser-agent: *\nAllow: /\n"
        assert verdict(world, "/page/1").verdict is LinkVerdict.REFUSED

    def test_robots_txt_is_heeded_where_redirects_lead(self, world: World) -> None:
        world.robots = "User-agent: *\nDisallow: /page/\n"
        assert verdict(world, "/away/1").verdict is LinkVerdict.REFUSED
        assert world.asked["/away/1"] == 1
        assert world.asked["/page/1"] == 0

    def test_a_host_that_many_lead_to_is_asked_over_few_connections(self, world: World) -> None:
        uris = [world.url("/away/1", f"h{one}.example") for one in range(12)]
        checked(*uris, per_host=2)
        assert world.most_at_once > 2
        assert world.most_at_host["other.example"] <= 2

    def test_who_says_later_is_asked_later(self, world: World) -> None:
        world.later["/page/1"] = 2
        assert verdict(world, "/page/1").verdict is LinkVerdict.OK
        assert world.asked["/page/1"] == 3

    def test_who_always_says_later_is_unreachable_not_dead(self, world: World) -> None:
        world.later["/page/1"] = 99
        assert verdict(world, "/page/1").verdict is LinkVerdict.UNREACHABLE
        assert world.asked["/page/1"] == 3

    def test_who_says_much_later_is_not_waited_for(self, world: World) -> None:
        """Nor by those who wait for their turn at that moment."""
        pages = [f"/page/{one}" for one in range(10)]
        world.later = dict.fromkeys(pages, 99)
        world.retry_after = "3600"
        found = checked(*map(world.url, pages), per_host=2, patience=15)
        assert {one.verdict for one in found.values()} == {LinkVerdict.UNREACHABLE}
        assert sum(world.asked[page] for page in pages) <= 4

    def test_who_goes_on_saying_later_is_given_up(self) -> None:
        """A server that is down for a week does not hold up a run for days: with pauses that
        double, 1 + 2 + ... + 64 seconds are more than two minutes."""
        moment = [0.0]
        host = Host("http://a.example", connections=1, now=lambda: moment[0])
        busy = Exchange(
            url="http://a.example/",
            address="192.0.2.1",
            began="2026-11-21T01:02:03Z",
            sent=b"",
            received=b"",
            head_length=0,
            status=503,
            reason="",
            headers=(),
            body=b"",
        )

        async def turns() -> None:
            while True:
                async with host.take_turn():
                    host.note_answer(busy)
                moment[0] += host.remaining_wait

        with pytest.raises(Unreachable, match="later"):
            asyncio.run(turns())
        assert moment[0] == 127

    def test_who_answers_nothing_is_given_up(self) -> None:
        """A server that stalls does not hold up a run for half a minute with each location."""
        moment = [0.0]
        host = Host("http://a.example", connections=1, now=lambda: moment[0])
        asked = 0

        async def turns() -> None:
            nonlocal asked
            while True:
                try:
                    async with host.take_turn():
                        asked += 1
                        moment[0] += 30
                        raise Unreachable(url="it", fault="stalls", cause=Cause.TIME.value)
                except Unreachable as error:
                    if error.reason != "stalls":
                        raise

        with pytest.raises(Unreachable, match="does not answer"):
            asyncio.run(turns())
        assert (asked, moment[0]) == (5, 150)

    def test_what_was_well_is_asked_for_conditionally(self, world: World) -> None:
        first = verdict(world, "/page/1")
        world.headers.clear()
        again = checked(Task(ExpectedContent(world.url("/page/1")), first))["/page/1"]
        assert again.verdict is LinkVerdict.OK
        assert again.status == 304
        assert again.etag == first.etag
        assert any(one.get("If-None-Match") == first.etag for one in world.headers)


@pytest.mark.parametrize(
    "uri", ["ftp://a.example/x", "http://[bad", "http://user:pass@a.example/", "x:y"]
)
def test_what_cannot_be_asked_is_refused(uri: str) -> None:
    assert next(iter(checked(uri).values())).verdict is LinkVerdict.REFUSED


def test_private_networks_are_not_asked(world: World) -> None:
    found = checked(world.url("/page/1"), networks=())["/page/1"]
    assert found.verdict is LinkVerdict.REFUSED
    assert "127.0.0.1" in found.reason
    assert not world.asked


def test_nobody_there() -> None:
    found = checked("http://127.0.0.1:9/x", "http://127.0.0.1:1024/x")
    assert {one.verdict for one in found.values()} <= {LinkVerdict.UNREACHABLE, LinkVerdict.REFUSED}


def test_failures_in_a_row_are_counted(world: World) -> None:
    found = None
    for _ in range(3):
        assert found is None or not found.is_lost
        task = Task(ExpectedContent(world.url("/status/503")), found)
        world.later.clear()
        found = checked(task, seconds=1.0)["/status/503"]
    assert found is not None
    assert found.failures == 3
    assert found.is_lost
