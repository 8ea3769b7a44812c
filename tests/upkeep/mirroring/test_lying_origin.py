"""Origins that lie: they bind a name twice, drop, reorder, fork, rewrite, send other bytes.

The rows of these origins continue the chain and have right digests, whatever they say, so that only
the rules can tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest
from tests.upkeep.mirroring.conftest import (
    AT,
    DAY,
    FakeOrigin,
    MakeMirror,
    Mirror,
    encode,
    serial_key,
    serve_fake,
)

from perdure.errors.mirroring import (
    NothingToAccept,
    OriginAlters,
    OriginContradicts,
    OriginUnusable,
)
from perdure.policy import replaying
from perdure.policy.replaying import (
    CHAIN,
    DIGEST,
    FORK,
    MISSING,
    PROMISE,
    REBOUND,
    REVISION,
    SERIAL,
    UNREADABLE,
)
from perdure.storage.origin import load_state
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.mirroring.adding import accept_contradiction

LINE = "2026-11-24T12:00:00Z - - https://a.example/"
OTHER = "2026-11-24T12:00:00Z - - https://b.example/"
HELLO = b"hello"
SHA512 = hashlib.sha512(HELLO).hexdigest()


def document(sha512: str = SHA512, length: int = 5) -> str:
    return f"={AT} press text - - {length} {sha512} 0 0 text/plain"


def revised(revision: int = 2, **fields: object) -> str:
    """A record with two versions in JSON, as a commit leaves it."""
    held = {"format": "text", "media_type": "text/plain", "length": 5, "sha512": SHA512}
    place = {"segment": 0, "offset": 0}
    versions = [{"number": 1, "at": AT, "representations": [held | place]}]
    said = {"revision": revision, "at": AT, "by": "press", "versions": versions} | fields
    return json.dumps(said, separators=(",", ":"))


def begun(fake: FakeOrigin) -> None:
    """An origin that is honest so far."""
    fake.begin()
    fake.mint(1)
    fake.add((serial_key(2), document()))
    fake.contents[serial_key(2), 1, "text"] = HELLO


def rebind(fake: FakeOrigin) -> None:
    fake.add((serial_key(1), OTHER))


def rebind_in_a_run(fake: FakeOrigin) -> None:
    fake.add((serial_key(1), OTHER), (serial_key(9), OTHER), act="import")


def drop_a_number(fake: FakeOrigin) -> None:
    fake.mint(4)


def go_back(fake: FakeOrigin) -> None:
    fake.add((f"{DAY}/~a", LINE), act="register")
    fake.mint(3)
    fake.add((serial_key(9), LINE), act="register")
    fake.mint(8)


def mint_another_day(fake: FakeOrigin) -> None:
    fake.add(("oma.eop.gov.us/20261123/a1", LINE))


def mint_tomorrow(fake: FakeOrigin) -> None:
    fake.add(("oma.eop.gov.us/20261125/a1", LINE), act="retrospect")


def skip_a_revision(fake: FakeOrigin) -> None:
    fake.add((serial_key(2), revised(3)), act="commit", revision=3)


def revise_the_unknown(fake: FakeOrigin) -> None:
    fake.add((serial_key(7), revised()), act="commit", revision=2)


def change_bytes(fake: FakeOrigin) -> None:
    fake.add((serial_key(2), revised().replace(SHA512, "0" * 128)), act="commit", revision=2)


def drop_bytes(fake: FakeOrigin) -> None:
    fake.add((serial_key(2), revised(versions=[])), act="commit", revision=2)


def bring_back(fake: FakeOrigin) -> None:
    tombstone = {"reason": "law", "at": AT, "by": "press"}
    fake.add((serial_key(2), revised(tombstone=tombstone)), act="withdraw", revision=2)
    fake.add((serial_key(2), revised(3)), act="commit", revision=3)


def drop_a_line(fake: FakeOrigin) -> None:
    fake.mint(3, 4)
    change, lines = fake.pages[-1]
    fake.pages[-1] = change, lines[:-1]


def alter_a_line(fake: FakeOrigin) -> None:
    fake.mint(3)
    change, (row, line) = fake.pages[-1]
    fake.pages[-1] = change, [row, line.replace(b"a.example", b"b.example")]


def withhold(fake: FakeOrigin) -> None:
    fake.mint(3)
    change, (row, _) = fake.pages[-1]
    public = {
        name: value for name, value in json.loads(row).items() if name not in ("actor", "salt")
    }
    fake.pages[-1] = change, [encode(public)]


def reorder(fake: FakeOrigin) -> None:
    fake.mint(3)
    fake.mint(4)
    fake.pages[-2:] = reversed(fake.pages[-2:])


def skip(fake: FakeOrigin) -> None:
    fake.mint(3)
    fake.mint(4)
    del fake.pages[-2]


def send_places(fake: FakeOrigin) -> None:
    """Bytes of another document, which the mirror would serve under this name."""
    fake.add((serial_key(3), document().replace(" 0 0 ", " 1 5000 ")))
    fake.contents[serial_key(3), 1, "text"] = HELLO


def send_another_name(fake: FakeOrigin) -> None:
    fake.add(("hdl:1/1", revised(1, name="hdl:1/2")), act="register")


def send_nonsense(fake: FakeOrigin) -> None:
    fake.add((serial_key(3), "{}x"))


LIES: list[tuple[Callable[[FakeOrigin], None], str]] = [
    (rebind, REBOUND),
    (rebind_in_a_run, REBOUND),
    (drop_a_number, SERIAL),
    (go_back, SERIAL),
    (mint_another_day, replaying.DAY),
    (mint_tomorrow, replaying.DAY),
    (skip_a_revision, REVISION),
    (revise_the_unknown, REVISION),
    (change_bytes, REBOUND),
    (drop_bytes, PROMISE),
    (bring_back, PROMISE),
    (drop_a_line, MISSING),
    (alter_a_line, DIGEST),
    (withhold, MISSING),
    (reorder, CHAIN),
    (skip, CHAIN),
    (send_places, UNREADABLE),
    (send_another_name, UNREADABLE),
    (send_nonsense, UNREADABLE),
]


def stopped(mirror: Mirror) -> OriginContradicts:
    with pytest.raises(OriginContradicts) as caught:
        mirror.catch_up()
    return caught.value


@pytest.mark.parametrize(("lie", "rule"), LIES, ids=[lie.__name__ for lie, _ in LIES])
def test_a_mirror_stops_at_a_lie_and_keeps_the_evidence(
    fake: FakeOrigin, make_mirror: MakeMirror, lie: Callable[[FakeOrigin], None], rule: str
) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    honest = mirror.registry.head()
    lie(fake)
    error = stopped(mirror)
    found = load_state(mirror.root)
    assert found is not None
    assert found.contradiction is not None
    assert (found.verdict, found.contradiction.mark) == ("stopped", error.mark)
    assert found.contradiction.rule == (FORK if rule == CHAIN else rule)
    head = mirror.registry.head()
    assert head is not None
    assert honest is not None
    assert head.number >= honest.number
    assert [one.problem for one in check_changes(mirror.registry.records) if one.problem] == []
    asked = len(fake.asked)
    stopped(mirror)
    assert len(fake.asked) == asked  # it does not ask again


def test_an_honest_origin_may_have_gaps_after_a_promotion(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    """Architecture: "Serials never go backwards; a gap stands only where a change declares it"."""
    begun(fake)
    head = fake.pages[-1][0].head
    fake.begin("promotion", previous=head)
    fake.mint(10)
    fake.mint(11)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    assert mirror.registry.head() == fake.pages[-1][0].head
    fake.add(("oma.eop.gov.us/20261125/a2", LINE), at="2026-11-25T00:00:00Z")
    assert "declares the gap" in stopped(mirror).fault


def test_a_fork_is_found_at_the_first_change_that_differs(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    begun(fake)
    for number in range(3, 20):
        fake.mint(number)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    with serve_fake(FakeOrigin()) as other:
        begun(other)
        for number in range(3, 8):
            other.mint(number)
        for number in range(8, 30):
            other.mint(number, at="2026-11-24T13:00:00Z")
        fake.pages = other.pages
        error = stopped(mirror)
    assert error.mark == "1.9"
    found = load_state(mirror.root)
    assert found is not None
    assert found.contradiction is not None
    ours, theirs = found.contradiction.ours, found.contradiction.theirs
    assert ours is not None
    assert theirs is not None
    assert (ours["number"], theirs["number"]) == (9, 9)
    assert (ours["at"], theirs["at"]) == (AT, "2026-11-24T13:00:00Z")


def test_an_origin_that_lost_changes_is_not_followed(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    """It was restored to an earlier state: what the mirror has does not go away."""
    begun(fake)
    fake.mint(3)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    del fake.pages[-2:]
    assert "no longer has this change" in stopped(mirror).fault
    assert mirror.record(serial_key(3)) is not None


def test_other_bytes_than_promised_are_not_kept(fake: FakeOrigin, make_mirror: MakeMirror) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    fake.add((serial_key(3), document()))
    fake.contents[serial_key(3), 1, "text"] = b"jello"
    with pytest.raises(OriginAlters, match="other bytes"):
        mirror.catch_up()
    assert mirror.record(serial_key(3)) is None
    fake.contents[serial_key(3), 1, "text"] = HELLO
    mirror.catch_up()
    record = mirror.record(serial_key(3))
    assert record is not None
    assert mirror.registry.bytes.read_bytes(record.versions[0].representations[0]) == HELLO


def test_bytes_that_could_not_be_had_are_fetched_later(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    """They are damaged in the origin, and are repaired there."""
    begun(fake)
    fake.add((serial_key(3), revised(1, minted="text")))
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    state = load_state(mirror.root)
    assert (state.missing if state else 0) == 1
    fake.contents[serial_key(3), 1, "text"] = HELLO
    mirror.catch_up()
    state = load_state(mirror.root)
    assert (state.missing if state else 1) == 0
    record = mirror.record(serial_key(3))
    assert record is not None
    assert mirror.registry.bytes.read_bytes(record.versions[0].representations[0]) == HELLO
    assert [one.problem for one in check_changes(mirror.registry.records) if one.problem] == []


def test_an_accepted_gap_passes_and_no_other(fake: FakeOrigin, make_mirror: MakeMirror) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    with pytest.raises(NothingToAccept):
        accept_contradiction(mirror.root, "nothing", AT)
    fake.mint(5)
    assert stopped(mirror).mark == "1.4"
    state = accept_contradiction(mirror.root, "the keeper of the press told why", AT)
    assert [one.rule for one in state.evidence] == [SERIAL]
    mirror.catch_up()
    assert mirror.record(serial_key(5)) is not None
    fake.mint(9)
    assert stopped(mirror).mark == "1.5"


def test_after_an_accepted_rebinding_the_mirror_keeps_what_it_has(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    rebind(fake)
    stopped(mirror)
    accept_contradiction(mirror.root, "a bug of the origin", AT)
    mirror.catch_up()
    record = mirror.record(serial_key(1))
    assert record is not None
    assert record.locations[0].uri == "https://a.example/"
    assert mirror.registry.head() == fake.pages[-1][0].head
    assert [one.problem for one in check_changes(mirror.registry.records) if one.problem] == []


def test_after_an_accepted_rewriting_the_mirror_starts_again(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    with serve_fake(FakeOrigin()) as other:
        other.begin(at="2026-11-24T13:00:00Z")
        other.mint(1)
        fake.pages = other.pages
        stopped(mirror)
        mirror.close()
        accept_contradiction(mirror.root, "it was restored", AT)
        again = Mirror(mirror.root)
        again.catch_up()
        assert again.registry.head() == other.pages[-1][0].head
        again.close()
    assert list((mirror.root / "aside").glob("before-*/registry.sqlite"))


def test_half_an_answer_changes_nothing(fake: FakeOrigin, make_mirror: MakeMirror) -> None:
    begun(fake)
    mirror = make_mirror(fake.url)
    change, lines = fake.pages[1]
    fake.pages[1] = change, [lines[0], lines[1][:-10]]
    with pytest.raises(OriginUnusable, match="cannot be read"):
        mirror.catch_up()
    assert mirror.registry.head() is None
    fake.pages[1] = change, lines
    mirror.catch_up()
    assert mirror.registry.head() == fake.pages[-1][0].head
