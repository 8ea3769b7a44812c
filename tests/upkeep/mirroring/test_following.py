"""A mirror of a real registry that is served: everything follows, silence too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.conftest import large
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, resource, text
from tests.upkeep.mirroring.conftest import FakeOrigin, MakeMirror, Mirror, serve_fake

from perdure.errors import MirrorReadOnly
from perdure.errors.mirroring import OriginContradicts
from perdure.ids import parse
from perdure.model.about import About
from perdure.model.changes import WITHHELD, attest_line
from perdure.model.commands import (
    Alias,
    Assign,
    Commit,
    Describe,
    Erase,
    Mint,
    Restrict,
    Withdraw,
)
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Blank, Location, Value
from perdure.registry import Registry
from perdure.upkeep import audit
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.mirroring import following

LONG = bytes(range(256)) * 40_000
"""More than stays in memory."""


def list_lines(registry: Registry) -> dict[str, str]:
    """Every record, without the places of its bytes."""
    found = registry.records.scan_lines("", None, limit=10_000)
    assert found is not None
    return {key: attest_line(line) for key, line in found}


def problems(registry: Registry) -> list[str]:
    digests = audit.verify_digests(registry.records, registry.bytes)
    found = [one.problem for one in digests if one.problem]
    return found + [one.problem for one in check_changes(registry.records) if one.problem]


def check_same(origin: Deployment, mirror: Mirror) -> None:
    """The mirror has the records, the history, the changes and the rules of its origin."""
    ours, theirs = mirror.registry, origin.registry
    assert ours.head() == theirs.head()
    assert list_lines(ours) == list_lines(theirs)
    for key in list_lines(ours):
        for mine, other in zip(
            ours.records.list_revisions(key), theirs.records.list_revisions(key), strict=True
        ):
            assert (mine.revision, mine.at, mine.locations) == (
                other.revision,
                other.at,
                other.locations,
            )
    for mine_change, their_change in zip(
        ours.changes(limit=10_000), theirs.changes(limit=10_000), strict=True
    ):
        if mine_change.act != WITHHELD:
            assert mine_change == their_change
    assert ours.records.list_rules(limit=100) == theirs.records.list_rules(limit=100)
    assert problems(ours) == []


def served(registry: Registry, name: str) -> bytes:
    record = registry.records.find_record(parse(name).key)
    assert record is not None
    held = record.versions[0].representations[0]
    return registry.bytes.read_bytes(held)


def test_everything_follows(origin: Deployment, make_mirror: MakeMirror) -> None:
    secret = origin.token("everything", operations=("mirror",))
    mirror = make_mirror(origin.base, secret)
    first = origin.mint(text(b"one"), by="press")
    origin.mint(text(b"<p>one</p>", "html", "text/html"), text(b"one", "text"))
    long = origin.mint(large(origin.registry, LONG))
    for _ in range(3):
        origin.mint(format="text")
    origin.bind("hdl:21.T14999/7", "https://a.example/7")
    mirror.catch_up()
    check_same(origin, mirror)
    assert (served(mirror.registry, first), served(mirror.registry, long)) == (b"one", LONG)
    name = resource(first)
    origin.commit(name, text(b"two"))
    origin.bind(name, Location(uri="https://a.example/1"))
    origin.do(Alias(identifier=parse(name), other=parse("hdl:21.T14999/other")))
    origin.do(Describe(identifier=parse(name), about=About(year="1997")))
    value = Value(index=300, type="HS_SECKEY", data="secret", format="string", permissions="1000")
    origin.do(Assign(identifier=parse("hdl:21.T14999/8"), values=(value,)))
    rule = ReadingRule(about=name, access=Access.CLOSED, reason="private")
    origin.do(Restrict(rule=rule))
    mirror.catch_up()
    check_same(origin, mirror)


def test_nothing_is_taken_over_twice(origin: Deployment, make_mirror: MakeMirror) -> None:
    mirror = make_mirror(origin.base, origin.token("twice", operations=("mirror",)))
    origin.mint(text(b"once"))
    assert mirror.catch_up() > 0
    before = sorted(path.stat().st_size for path in (mirror.root / "segments").glob("*.warc"))
    assert mirror.catch_up() == 0
    assert before == sorted(
        path.stat().st_size for path in (mirror.root / "segments").glob("*.warc")
    )


def test_what_is_withdrawn_or_erased_is_silent_in_the_mirror(
    origin: Deployment, make_mirror: MakeMirror
) -> None:
    """Ruling tombstone-silence: "Exports, feeds and mirrors carry the tombstone, not the bytes"."""
    mirror = make_mirror(origin.base, origin.token("silent", operations=("mirror",)))
    secrets = [b"Jane Doe, 12 Mill Lane %d" % number for number in range(4)]
    names = [resource(origin.mint(text(one))) for one in secrets]
    mirror.catch_up()
    origin.do(Withdraw(identifier=parse(names[0]), reason="a mistake"))
    origin.do(Erase(identifier=parse(names[1]), reason="the law"))
    blank = Blank(version=1, format="text", start=0, end=8)
    origin.do(Erase(identifier=parse(names[2]), reason="the law", version=1, blanks=(blank,)))
    origin.do(Erase(identifier=parse(names[3]), reason="the law", silent=True, keep_digest=True))
    mirror.catch_up()
    check_same(origin, mirror)
    stored = b"".join(path.read_bytes() for path in (mirror.root / "segments").glob("*.warc"))
    assert [one in stored for one in secrets] == [True, False, False, False]
    later = make_mirror(origin.base, origin.token("later", operations=("mirror",)))
    later.catch_up()
    check_same(origin, later)
    stored = b"".join(path.read_bytes() for path in (later.root / "segments").glob("*.warc"))
    assert not any(one in stored for one in secrets)


def test_a_mirror_of_one_series_has_nothing_of_the_others(
    origin: Deployment, make_mirror: MakeMirror
) -> None:
    secret = origin.token("one series", operations=("mirror",), authorities=(SERIES,))
    mirror = make_mirror(origin.base, secret, (SERIES,))
    ours = resource(origin.mint(text(b"ours")))
    theirs = resource(origin.mint(text(b"theirs"), authority=OTHER_SERIES))
    mirror.catch_up()
    assert mirror.registry.head() == origin.registry.head()
    assert mirror.record(parse(ours).key) is not None
    assert mirror.record(parse(theirs).key) is None
    assert all(key.startswith(SERIES) for key in list_lines(mirror.registry))
    assert problems(mirror.registry) == []


def test_a_mirror_of_a_mirror(origin: Deployment, make_mirror: MakeMirror, tmp_path: Path) -> None:
    """Its origin is a mirror, and has no tokens: nobody can follow it with a right."""
    mirror = make_mirror(origin.base, origin.token("chain", operations=("mirror",)))
    mirror.catch_up()
    with pytest.raises(MirrorReadOnly) as caught:
        mirror.registry.door.execute_command(Mint(authority=SERIES, contents=(text(b"x"),)))
    assert caught.value.origin == origin.base
    with pytest.raises(MirrorReadOnly):
        mirror.registry.door.execute_command(
            Commit(identifier=parse(f"pdi://{SERIES}/1997/09/01/1"), contents=(text(b"x"),))
        )


def test_the_secret_is_in_one_file_that_its_owner_reads(
    origin: Deployment, make_mirror: MakeMirror
) -> None:
    secret = origin.token("secret", operations=("mirror",))
    mirror = make_mirror(origin.base, secret)
    mirror.catch_up()
    having = [
        path.name
        for path in mirror.root.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert having == ["origin.token"]
    assert (mirror.root / "origin.token").stat().st_mode & 0o777 == 0o600
    assert secret not in json.dumps(str(mirror.registry.fence.list_signs()))


# Asking ahead
# ------------


@pytest.mark.parametrize("refuses", [False, True])
def test_a_mirror_asks_for_the_next_page_while_it_writes_one(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch, *, refuses: bool
) -> None:
    """Also if the origin does not answer what is asked ahead, nothing is missing or twice."""
    monkeypatch.setattr(following, "PAGE", 3)
    fake = FakeOrigin()
    fake.refuses_ahead = refuses
    fake.begin()
    for number in range(1, 12):
        fake.mint(number)
    with serve_fake(fake):
        mirror = make_mirror(fake.url)
        assert mirror.catch_up() == 12
    assert str(mirror.registry.head().mark) == "1.12"  # type: ignore[union-attr]
    ahead = [one for one in fake.asked if "have=" in one]
    assert [re.findall("(?:since|have)=([0-9.]+)", one) for one in ahead] == [
        ["1.6", "1.3"],
        ["1.9", "1.6"],
        ["1.12", "1.9"],
    ]
    assert "have=" not in fake.asked[-1]
    assert "since=1.12&" in fake.asked[-1]  # tells the origin what is durable here


def test_a_page_that_was_asked_for_ahead_may_lie(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PAGE", 2)
    fake = FakeOrigin()
    fake.begin()
    for number in (1, 2, 3, 4):
        fake.mint(number)
    fake.mint(2)
    with serve_fake(fake):
        mirror = make_mirror(fake.url)
        with pytest.raises(OriginContradicts):
            mirror.catch_up()
        assert str(mirror.registry.head().mark) == "1.4"  # type: ignore[union-attr]
