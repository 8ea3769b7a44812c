"""Damage on either side, found by challenges and repaired from the other side."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.conftest import sha512
from tests.server.deployment import Deployment, problem, resource, text
from tests.upkeep.mirroring.conftest import MakeMirror, Mirror

from perdure.ids import parse
from perdure.model.commands import Erase, Withdraw
from perdure.model.records import Representation
from perdure.registry import Registry
from perdure.storage.segments.directory import find_path
from perdure.upkeep.mirroring.comparing import ComparedBytes, compare_bytes, is_sound, open_other

DAMAGE = b"?"


def held_of(registry: Registry, name: str) -> Representation:
    record = registry.records.find_record(parse(name).key)
    assert record is not None
    return record.versions[0].representations[0]


def damage(root: Path, held: Representation) -> None:
    with find_path(root, held.segment).open("r+b") as file:
        file.seek(held.offset + held.length // 2)
        file.write(DAMAGE)


def compare(mirror: Mirror, **chosen: object) -> ComparedBytes:
    other = open_other(mirror.registry, None, None)
    given = {"sample": None, "is_repairing": True} | chosen
    return compare_bytes(mirror.registry, other, **given)  # type: ignore[arg-type]


def found(done: ComparedBytes) -> list[tuple[str, str, str]]:
    return [(one.identifier, one.side, one.outcome) for one in done.damaged]


@pytest.fixture
def mirror(origin: Deployment, make_mirror: MakeMirror, request: pytest.FixtureRequest) -> Mirror:
    made = make_mirror(origin.base, origin.token(request.node.name, operations=("mirror",)))
    made.catch_up()
    return made


def test_equal_bytes_are_no_damage(origin: Deployment, mirror: Mirror) -> None:
    origin.mint(text(b"equal"))
    mirror.catch_up()
    done = compare(mirror)
    assert (done.compared > 0, done.damaged) == (True, ())
    assert compare(mirror, sample=1).compared == 1


def test_each_side_is_repaired_from_the_other(origin: Deployment, mirror: Mirror) -> None:
    here, there, lost = (origin.mint(text(b"document %d" % number * 9)) for number in range(3))
    mirror.catch_up()
    damage(mirror.root, held_of(mirror.registry, here))
    damage(origin.root, held_of(origin.registry, there))
    damage(mirror.root, held_of(mirror.registry, lost))
    damage(origin.root, held_of(origin.registry, lost))
    only_found = [(here, "here", "found"), (there, "there", "found"), (lost, "here", "found")]
    assert found(compare(mirror, is_repairing=False)) == only_found
    assert found(compare(mirror)) == [
        (here, "here", "repaired"),
        (there, "there", "repaired"),
        (lost, "here", "lost"),
    ]
    assert is_sound(mirror.registry.bytes, held_of(mirror.registry, here))
    assert is_sound(origin.registry.bytes, held_of(origin.registry, there))
    assert found(compare(mirror)) == [(lost, "here", "lost")]
    origin.do(Withdraw(identifier=parse(resource(lost)), reason="it is lost"))
    mirror.catch_up()


def test_what_was_withdrawn_or_erased_does_not_come_back(
    origin: Deployment, mirror: Mirror
) -> None:
    """Issue of the network: "never what was withdrawn or erased"."""
    names = [origin.mint(text(b"silent document %d" % number)) for number in range(2)]
    mirror.catch_up()
    origin.do(Withdraw(identifier=parse(resource(names[0])), reason="a mistake"))
    origin.do(Erase(identifier=parse(resource(names[1])), reason="the law"))
    done = compare(mirror)  # the mirror has not heard of it yet
    assert (done.damaged, done.skipped >= 2) == ((), True)
    mirror.catch_up()
    held = held_of(mirror.registry, names[0])
    damage(mirror.root, held)
    assert compare(mirror).damaged == ()
    assert not is_sound(mirror.registry.bytes, held)


def test_only_the_promised_bytes_mend_anything(origin: Deployment) -> None:
    token = origin.token("a liar", operations=("mirror",))
    name = origin.mint(text(b"promised"))
    key = parse(name).key
    held = held_of(origin.registry, name)
    damage(origin.root, held)
    target = f"/contents?key={key}&version=1&format=text"
    problem(origin.put(target, b"promised"), 401, "unauthenticated")
    problem(origin.put(target, b"promises", token=token), 400, "digest-mismatch")
    problem(origin.put(target, b"promise", token=token), 400, "incomplete")
    assert origin.put(target, b"promised and more", token=token).status in (400, 413)
    assert not is_sound(origin.registry.bytes, held)
    answer = origin.put(target, b"promised", token=token)
    assert (answer.status, json.loads(answer.body)) == (200, {"mended": True})
    again = origin.put(target, b"promised", token=token)
    assert json.loads(again.body) == {"mended": False}
    assert origin.get(f"/{name}").body == b"promised"
    for wrong in ("key=x&version=1&format=text", f"key={key}&version=2&format=text"):
        problem(origin.put(f"/contents?{wrong}", b"promised", token=token), 404, "not-found")
    assert sha512(b"promised") == held.sha512


def test_a_challenge_is_answered_only_by_reading_the_bytes(origin: Deployment) -> None:
    """The proof is SHA-256 of the nonce and the bytes (docs/reference/mirrors.md)."""
    token = origin.token("a challenger", operations=("mirror",))
    name = origin.mint(text(b"challenged"))
    asked = {"key": parse(name).key, "version": 1, "format": "text"}
    nonce = bytes(range(32))
    body = json.dumps(asked | {"nonce": nonce.hex()}).encode()
    bearer = f"Authorization: Bearer {token}"
    answer = origin.ask("POST", "/contents", bearer, body=body)
    proof = hashlib.sha256(nonce + b"challenged").hexdigest()
    assert json.loads(answer.body) == asked | {"proof": proof}
    for bad in (b"", b"{}", b"nonsense", json.dumps(asked | {"nonce": "00"}).encode()):
        length = f"Content-Length: {len(bad)}"
        refused = origin.ask("POST", "/contents", bearer, length, body=bad)
        problem(refused, 400, "invalid-request")
    many = (json.dumps(asked).encode() + b"\n") * 1001
    problem(origin.ask("POST", "/contents", bearer, body=many), 413, "too-large")
