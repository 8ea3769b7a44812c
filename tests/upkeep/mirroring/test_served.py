"""A mirror that is served: the same answers, writes led to the origin, and its lag; also killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.server.deployment import (
    SERIES,
    Deployment,
    deployed,
    problem,
    resource,
    start,
    text,
    wait_for,
    wait_until,
)
from tests.upkeep.mirroring.conftest import AT, FakeOrigin, MakeMirror

from perdure.errors import Forbidden
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.changes import ChangeMark
from perdure.model.commands import Bind, Describe, Restrict, Withdraw
from perdure.model.delegations import make_delegation, read_resolver
from perdure.model.queries import PUBLIC_READER, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location
from perdure.registry import Registry
from perdure.storage.mirror_marks import MirrorMarks
from perdure.upkeep import audit
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.delegating import delegate_names, revoke_delegation
from perdure.upkeep.mirroring.adding import add_mirror

ANSWERS = ("etag", "repr-digest", "content-type", "link", "content-location", "location")


@contextmanager
def served(root: Path) -> Iterator[Deployment]:
    process, port = start(root)
    running = Deployment(root, port, process)
    try:
        wait_for(running)
        yield running
    finally:
        running.registry.close()
        if process.poll() is None:
            running.stop()


def test_a_mirror_answers_as_its_origin_does(origin: Deployment, tmp_path: Path) -> None:
    root = tmp_path / "mirror"
    secret = origin.token("served", operations=("mirror",))
    base = origin.base
    add_mirror(
        root, base, secret=secret, scopes=("*",), sources=(), base_url="", backup=None, now=AT
    )
    held = origin.mint(text(b"read everywhere"))
    located = resource(origin.mint(format="html"))
    origin.bind(located, "https://a.example/there")
    gone = resource(origin.mint(text(b"withdrawn")))
    origin.do(Withdraw(identifier=parse(gone), reason="a mistake"))
    closed = origin.mint(text(b"closed to all"))
    origin.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    with served(root) as mirror:
        head = origin.registry.head()
        wait_until(lambda: mirror.registry.head() == head)
        for name in (held, located, gone, closed, resource(held)):
            for asked in (f"/{name}", f"/{name}?info", f"/uri-res/N2R?{name}"):
                ours, theirs = mirror.get(asked), origin.get(asked)
                assert ours.status == theirs.status, asked
                if "?info" not in asked:  # it tells the address of the server
                    assert ours.body.replace(mirror.base.encode(), base.encode()) == theirs.body
                    for field in ANSWERS:
                        mine = ours.headers.get(field, "").replace(mirror.base, base)
                        assert mine == theirs.headers.get(field, ""), (asked, field)
        later = origin.mint(text(b"later"))
        wait_until(lambda: mirror.get(f"/{later}").status == 200)
        ready = mirror.get("/readyz")
        assert ready.body.startswith(b"ready\r\nmirror: following\r\nbehind: 0\r\n")
        assert b"perdure_mirror_behind_changes 0.0" in mirror.get("/metrics").body
        assert b"perdure_mirror_stopped 0.0" in mirror.get("/metrics").body


def test_a_rule_made_later_reaches_the_mirror(origin: Deployment, tmp_path: Path) -> None:
    """Issue 17, G: decided "in the read door only, and so obeyed by every face and every derived
    thing: … exports, feeds, mirrors"."""
    root = tmp_path / "mirror"
    secret = origin.token("rules", operations=("mirror",))
    add_mirror(
        root, origin.base, secret=secret, scopes=("*",), sources=(), base_url="", backup=None,
        now=AT,
    )  # fmt: skip
    name = origin.mint(text(b"kryptn, an open part, zyxwv"))
    patch = b'{"titles": [{"value": "A qwertz title"}]}'
    origin.do(Describe(identifier=parse(resource(name)), patch=patch))
    hidden = (b"kryptn", b"zyxwv", b"qwertz")
    with served(root) as mirror:
        wait_until(lambda: mirror.get(f"/{name}").status == 200)
        assert b"qwertz" in mirror.get(f"/{name}?cite").body
        origin.do(
            Restrict(rule=ReadingRule(about=resource(name), access=Access.CLOSED, by_token=True))
        )
        wait_until(lambda: mirror.get(f"/{name}").status == 401)
        part = f"{name}#char=8,20"
        origin.do(Restrict(rule=ReadingRule(about=part, access=Access.OPEN)))
        path = f"/{name}%23char=11,20"
        wait_until(lambda: mirror.get(path).status == 200)
        assert mirror.get(path).body == b"open part"
        asked = ("", "?info", "?landing", "?cite", "?metadata", "?linkset", "?history", "?text")
        targets = [f"/{name}{one}" for one in asked] + [f"{path}{one}" for one in asked]
        for target in (*targets, "/changes?limit=1000", "/feed.atom", f"/pdi://{SERIES}/?info"):
            for ours in (mirror.get(target), mirror.get(target, "Accept: text/html")):
                assert [one for one in hidden if one in ours.body] == [], target
        for target in targets:
            assert mirror.get(target).status == origin.get(target).status, target
        origin.do(Restrict(rule=ReadingRule(about=resource(name), access=Access.OPEN, lifted=True)))
        wait_until(lambda: mirror.get(f"/{name}").status == 200)


def test_without_the_right_nothing_closed_is_mirrored(origin: Deployment) -> None:
    name = origin.mint(text(b"kryptn"))
    patch = b'{"titles": [{"value": "A qwertz title"}]}'
    origin.do(Describe(identifier=parse(resource(name)), patch=patch))
    origin.do(Restrict(rule=ReadingRule(about=resource(name), access=Access.CLOSED, by_token=True)))
    reader = f"Authorization: Bearer {origin.token('reads', operations=('read', 'mint'))}"
    mirror = f"Authorization: Bearer {origin.token('mirrors', operations=('mirror',))}"
    for full in ("full", "full=stored"):
        target = f"/changes?limit=1000&{full}"
        assert origin.get(target).status == 401
        assert origin.get(target, reader).status == 403
        assert b"qwertz" in origin.get(target, mirror).body
    for fields in ((), (reader,)):
        public = origin.get("/changes?limit=1000", *fields)
        assert public.status == 200
        assert b"qwertz" not in public.body


def test_a_running_mirror_follows_delegations(tmp_path: Path) -> None:
    """Its caches know of a delegation, and of its end, without a restart."""
    elsewhere = f"/pdi://{SERIES}/1993/01/20/1"
    with deployed(tmp_path / "origin") as origin:
        secret = origin.token("m", operations=("mirror",))
        root = tmp_path / "mirror"
        base = origin.base
        add_mirror(
            root, base, secret=secret, scopes=("*",), sources=(), base_url="", backup=None, now=AT
        )
        with served(root) as mirror:
            wait_until(lambda: mirror.registry.head() == origin.registry.head())
            assert mirror.get(elsewhere).status == 404
            to = (read_resolver("https://archives.example"),)
            made = make_delegation(read_set(f"pdi://{SERIES}/1993/"), to)
            receipt = delegate_names(origin.registry, made)
            wait_until(lambda: mirror.registry.head() == origin.registry.head())
            assert mirror.get(elsewhere).status == 307
            revoke_delegation(origin.registry, parse(receipt.identifier))
            wait_until(lambda: mirror.registry.head() == origin.registry.head())
            assert mirror.get(elsewhere).status == 404


def test_a_mirror_leads_writes_to_its_origin(origin: Deployment, tmp_path: Path) -> None:
    root = tmp_path / "mirror"
    secret = origin.token("writes", operations=("mirror",))
    token = origin.token("a writer", operations=("mint", "bind"))
    add_mirror(
        root,
        origin.base,
        secret=secret,
        scopes=("*",),
        sources=(),
        base_url="",
        backup=None,
        now=AT,
    )
    name = resource(origin.mint(text(b"here")))
    with served(root) as mirror:
        head = origin.registry.head()
        wait_until(lambda: mirror.registry.head() == head)
        for answer, target in (
            (mirror.put(f"/pdi://{SERIES}/", b"x", token=token), f"/pdi://{SERIES}/"),
            (mirror.put(f"/{name}", b"x", token=token), f"/{name}"),
            (mirror.post(f"/{name}?bind", {"uri": "https://a.example/"}, token=token), None),
            (mirror.put(f"/pdi://{SERIES}/", b"x"), None),
        ):
            found = problem(answer, 307, "mirror-read-only")
            assert found["origin"] == origin.base
            if target is not None:
                assert answer.headers["location"] == f"{origin.base}{target}"
        assert mirror.registry.head() == head


def test_a_mirror_that_stopped_serves_on_and_is_not_ready(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    fake.begin()
    fake.mint(1)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    fake.mint(3)
    with served(mirror.root) as site:
        wait_until(lambda: site.get("/readyz").status == 503)
        found = problem(site.get("/readyz"), 503, "unavailable")
        assert (found["mark"], found["origin"]) == ("1.3", fake.url)
        assert b"perdure_mirror_stopped 1.0" in site.get("/metrics").body
        assert site.get(f"/{SERIES_NAME}").status == 302


SERIES_NAME = "pdi://oma.eop.gov.us/2026/11/24/1"


# Killed
# ------


def follow(root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "perdure.cli", "mirror", "run", "-C", str(root)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_whole(origin: Registry, mirror: Registry) -> None:
    """Nothing twice, nothing lost."""
    assert mirror.head() == origin.head()
    for registry in (origin, mirror):
        digests = audit.verify_digests(registry.records, registry.bytes)
        assert [one.problem for one in digests if one.problem] == []
        assert [one.problem for one in check_changes(registry.records) if one.problem] == []
    held = sum(
        one.length for one in audit.verify_digests(mirror.records, mirror.bytes) if not one.problem
    )
    named = sum(
        one.length for one in audit.verify_digests(origin.records, origin.bytes) if not one.problem
    )
    assert held == named


@pytest.mark.timeout(180)
def test_a_mirror_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """Mirror and origin are killed in turn while documents are minted."""
    with deployed(tmp_path / "origin") as origin:
        root = tmp_path / "mirror"
        secret = origin.token("killed", operations=("mirror",))
        token = origin.token("a writer", operations=("mint",))
        add_mirror(
            root,
            origin.base,
            secret=secret,
            scopes=("*",),
            sources=(),
            base_url="",
            backup=None,
            now=AT,
        )
        origin.registry.door.close()  # the server writes
        running = origin
        for turn in range(8):
            follower = follow(root)
            minted = 0
            end = time.monotonic() + 0.6 + 0.13 * turn
            while time.monotonic() < end:
                body = b"document %d of turn %d " % (minted, turn) * 50
                assert running.put(f"/pdi://{SERIES}/", body, token=token).status == 201
                minted += 1
            os.kill(follower.pid, signal.SIGKILL)
            follower.wait()
            if turn % 2:
                running.process.kill()
                running.process.wait()
                running.process, _ = start(origin.root, port=origin.port)
                wait_for(running)
        last = follow(root)
        theirs = Registry(origin.root)
        ours = Registry(root)
        wait_until(lambda: ours.head() == theirs.head())
        last.terminate()
        last.wait()
        check_whole(theirs, ours)
        theirs.close()
        ours.close()


# Waiting for mirrors
# -------------------


def test_rules_about_captures_are_obeyed_without_the_id_of_the_archive(
    origin: Deployment, make_mirror: MakeMirror
) -> None:
    """A mirror has the rules of its origin and the records of PWIDs, but not `archive_id`."""
    closed = parse("pwid:arc.example:2014-01-26T20.07.00Z:page:http://closed.example/secret")
    open_ = parse("pwid:arc.example:2014-01-26T20.07.00Z:page:http://open.example/")
    for name in (closed, open_):
        place = (Location(uri="https://a.example/secret"),)
        origin.do(Bind(identifier=name, locations=place, register=True))
    rule = ReadingRule(about="http://closed.example/", match="prefix", access=Access.CLOSED)
    origin.do(Restrict(rule=rule))
    mirror = make_mirror(origin.base, origin.token("captures", operations=("mirror",)))
    mirror.catch_up()
    assert mirror.record(closed.key) is not None
    reading = mirror.registry.reading
    with pytest.raises(Forbidden):
        reading.resolve(Query(identifier=closed))
    guard = reading.find_guard(closed, PUBLIC_READER)
    assert guard is not None
    assert not guard.is_admitted()
    assert reading.governs_name(closed)
    assert reading.resolve(Query(identifier=open_)).record is not None


def test_a_write_waits_for_mirrors(origin: Deployment, make_mirror: MakeMirror) -> None:
    """Issue of the network: "An origin can wait for k mirrors (`Prefer: mirrored=2`)"."""
    token = origin.token("a patient writer", operations=("mint",))
    names = ("first to wait for", "second to wait for")
    mirrors = [make_mirror(origin.base, origin.token(one, operations=("mirror",))) for one in names]
    partial = origin.token("a part", operations=("mirror",), authorities=(SERIES,))
    target = f"/pdi://{SERIES}/"
    alone = origin.put(target, b"one", "Prefer: mirrored=1, wait=0", token=token)
    assert (alone.status, alone.headers.get("preference-applied")) == (201, None)
    followers = [follow(one.root) for one in mirrors]
    try:
        head = origin.registry.head()
        wait_until(lambda: all(one.registry.head() == head for one in mirrors))
        both = origin.put(target, b"two", "Prefer: mirrored=2", token=token)
        assert (both.status, both.headers["preference-applied"]) == (201, "mirrored=2")
        head = origin.registry.head()
        assert [one.registry.head() for one in mirrors] == [head, head]
        more = origin.put(target, b"three", 'Prefer: mirrored="3"; wait=1', token=token)
        assert (more.status, more.headers.get("preference-applied")) == (201, None)
    finally:
        for one in followers:
            one.terminate()
            one.wait()
    mark = f"{head.epoch}.{head.number}" if head else ""
    bearer = f"Authorization: Bearer {partial}"
    assert origin.get(f"/changes?since={mark}&full", bearer).status == 200
    after = origin.put(target, b"four", "Prefer: mirrored=1, wait=0", token=token)
    assert after.headers.get("preference-applied") is None


def test_what_a_mirror_asks_ahead_of_is_not_what_it_has(origin: Deployment) -> None:
    """A mirror that dies now has only what it says in `have`."""
    mirror = f"Authorization: Bearer {origin.token('one ahead', operations=('mirror',))}"
    origin.put(f"/pdi://{SERIES}/", b"five", token=origin.token("a writer", operations=("mint",)))
    marks = MirrorMarks(origin.root)
    head = origin.registry.head()
    assert head is not None
    for have in ("1.1", str(ChangeMark(head.epoch, head.number - 1))):
        asked = origin.get(f"/changes?since={head.mark}&have={have}&full=stored", mirror)
        assert asked.status == 200
        assert marks.count_mirrors(head.mark) == 0
        assert marks.count_mirrors(ChangeMark(1, 1)) > 0
    assert origin.get(f"/changes?since={head.mark}&have=x&full", mirror).status == 400
    later = f"/changes?since=1.1&have={head.mark}&full"  # more than it asks after
    assert origin.get(later, mirror).status == 200
    assert marks.count_mirrors(head.mark) == 0
    assert origin.get(f"/changes?since={head.mark}&full", mirror).status == 200
    assert marks.count_mirrors(head.mark) == 1
