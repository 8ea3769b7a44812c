"""A mirror turns to the registry that goes on where its origin ended, and to no other."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest
from tests.server.deployment import (
    OTHER_SERIES,
    SERIES,
    Deployment,
    deployed,
    start,
    text,
    wait_for,
)
from tests.upkeep.mirroring.conftest import AT, FakeOrigin, MakeMirror, Mirror, serve_fake
from tests.upkeep.mirroring.test_promoted import promote
from tests.upkeep.mirroring.test_served import served

from perdure.errors.mirroring import NotMirror, OriginContradicts, OriginUnrelated
from perdure.errors.processes import HasWriter
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.delegations import make_delegation, read_resolver
from perdure.model.queries import PUBLIC_READER, Query
from perdure.policy.replaying import REBOUND
from perdure.registry import Registry, initialise
from perdure.storage.origin import load_origin, load_secret, load_state
from perdure.upkeep.mirroring.following import MirrorFollower
from perdure.upkeep.mirroring.turning import turn_mirror
from perdure.upkeep.succession.fetching import fetch_package
from perdure.upkeep.succession.handing import hand_over
from perdure.upkeep.succession.taking import take_over


def turn(mirror: Mirror, site: Deployment, secret: str) -> bool:
    """Turn a mirror, and open it again. Return whether it goes on with what it has."""
    mirror.close()
    try:
        return turn_mirror(mirror.root, site.base, secret=secret, now=AT).continues
    finally:
        mirror.registry = Registry(mirror.root)


def make_token(site: Deployment) -> str:
    return site.token("mirrors", operations=("mirror",))


def test_a_mirror_goes_on_with_a_promoted_one_and_never_back(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    """A new epoch follows the last change of the old one; later rows of that are refused."""
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"one"))
        secret = make_token(origin)
        heir, mirror = make_mirror(origin.base, secret), make_mirror(origin.base, secret)
        heir.catch_up()
        mirror.catch_up()
        promote(heir, 1)
        with served(heir.root) as site:
            second = site.mint(text(b"two"))
            assert turn(mirror, site, make_token(site))
            mirror.catch_up()
            assert mirror.registry.head() == site.registry.head()
            assert [one.epoch for one in mirror.registry.records.list_epochs()] == [1, 2]
        head = mirror.registry.head()
        assert origin.mint(text(b"another two")) == second  # it does not know of its heir
        with pytest.raises(OriginUnrelated, match=r"lacks change 2\."):
            turn(mirror, origin, secret)
        kept = load_origin(mirror.root)
        assert kept is not None
        assert (kept.url, kept.former) == (site.base, (origin.base,))
        assert mirror.registry.head() == head


def test_a_mirror_starts_again_with_the_successor_of_its_origin(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    heir = tmp_path / "archives"
    initialise(heir, series=(OTHER_SERIES,))
    settings = heir / "perdure.toml"
    settings.write_text(settings.read_text().replace('# base_url = ""', f'base_url = "{base}"'))
    with deployed(tmp_path / "origin") as origin:
        name = origin.mint(text(b"one"))
        secret = make_token(origin)
        mirror = make_mirror(origin.base, secret)
        mirror.catch_up()
        process, _ = start(heir, port=port)
        site = Deployment(heir, port, process)
        try:
            wait_for(site)
            with pytest.raises(OriginUnrelated):
                turn(mirror, site, "")
            assert load_secret(mirror.root) == secret
            successor = (read_resolver(base),)
            made = make_delegation(read_set(f"pdi://{SERIES}/"), successor, role="successor")
            hand_over(origin.registry, made)
            mirror.catch_up()
            with closing(Registry(heir)) as registry:
                package = fetch_package(registry, origin.base, secret)
            take_over(heir, package, key=None, may_be_unsigned=True)
            assert not turn(mirror, site, site.token("m", operations=("mirror",)))
            mirror.catch_up()
            assert mirror.registry.head() == site.registry.head()
            query = Query(identifier=parse(name), reader=PUBLIC_READER)
            assert mirror.registry.reading.resolve(query).record is not None  # no AnsweredElsewhere
            with pytest.raises(OriginUnrelated):
                turn(mirror, origin, secret)
        finally:
            site.registry.close()
            site.stop()
    assert len(list((mirror.root / "aside").glob("before-*"))) == 1


def test_a_contradiction_of_the_former_origin_is_kept(
    fake: FakeOrigin, make_mirror: MakeMirror
) -> None:
    fake.begin()
    fake.mint(1)
    mirror = make_mirror(fake.url)
    mirror.catch_up()
    fake.mint(1)
    with pytest.raises(OriginContradicts):
        mirror.catch_up()
    with serve_fake(FakeOrigin()) as heir:
        heir.pages = fake.pages[:-1]
        mirror.close()
        assert turn_mirror(mirror.root, heir.url, secret="", now=AT).continues
        mirror.registry = Registry(mirror.root)
        assert mirror.catch_up() == 0
    state = load_state(mirror.root)
    assert state is not None
    assert (state.verdict, state.contradiction) == ("following", None)
    assert [one.rule for one in state.evidence] == [REBOUND]


def test_a_mirror_that_is_followed_or_is_none_does_not_turn(
    fake: FakeOrigin, make_mirror: MakeMirror, tmp_path: Path
) -> None:
    fake.begin()
    mirror = make_mirror(fake.url)
    with MirrorFollower(mirror.registry), pytest.raises(HasWriter):
        turn_mirror(mirror.root, fake.url, secret="", now=AT)
    with pytest.raises(NotMirror):
        turn_mirror(tmp_path / "nothing", fake.url, secret="", now=AT)
