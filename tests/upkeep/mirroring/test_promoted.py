"""A mirror that was promoted: it goes on, and finds out if another registry does so, too."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.server.deployment import SERIES, deployed, problem, resource, text, wait_until
from tests.upkeep.mirroring.conftest import MakeMirror, Mirror
from tests.upkeep.mirroring.test_reading_rules import ask
from tests.upkeep.mirroring.test_served import served

from perdure.errors import RegistriesDivided
from perdure.errors.conflicts import SerialsHandedOver
from perdure.ids import parse
from perdure.model.commands import Mint, Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.registry import Registry, initialise, load_store, utc_now
from perdure.settings import load_settings
from perdure.storage.origin import FORESEEN, load_origin
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.mirroring import following
from perdure.upkeep.mirroring.client import RegistryClient
from perdure.upkeep.mirroring.following import MirrorFollower
from perdure.upkeep.mirroring.meeting import meet_registry
from perdure.upkeep.transfer.promoting import promote_copy


def promote(mirror: Mirror, highest: int) -> None:
    """Make a mirror the registry; numbers of today go on after the highest one."""
    mirror.close()
    root = mirror.root
    settings = load_settings(root, {})
    store = load_store(settings.store)
    now = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    promote_copy(root, store, settings, now=now)
    initialise(root, series=(SERIES,))
    promote_copy(root, store, load_settings(root, {}), now=now, highest={SERIES: highest})
    mirror.registry = Registry(root)


def mint(registry: Registry, data: bytes) -> str:
    command = Mint(authority=SERIES, contents=(text(data),))
    return registry.door.execute_command(command).identifier


def test_a_promoted_mirror_goes_on_and_is_no_mirror_any_more(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    with deployed(tmp_path / "origin") as origin:
        first = origin.mint(text(b"one"))
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        mirror.catch_up()
        head = mirror.registry.head()
    promote(mirror, 1)
    kept = load_origin(mirror.root)
    assert kept is not None
    assert kept.promoted
    name = mint(mirror.registry, b"two")
    assert name == first.replace("/1.text", "/2.text")
    assert mirror.registry.records.list_epochs()[-1].previous == head
    assert [one.problem for one in check_changes(mirror.registry.records) if one.problem] == []


def test_a_promoted_mirror_gives_no_number_of_today_unless_told(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    """Ruling copy-fence: it "gives out no serial of a day on which the predecessor may have given
    one, unless told the highest"."""
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"one"))
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        mirror.catch_up()
    mirror.close()
    settings = load_settings(mirror.root, {})
    now = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
    promote_copy(mirror.root, load_store(settings.store), settings, now=now)
    initialise(mirror.root, series=(SERIES,))
    with closing(Registry(mirror.root)) as opened, pytest.raises(SerialsHandedOver):
        mint(opened, b"two")


def test_two_promoted_copies_that_meet_are_told_and_fenced(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    """Issue of the network: "two promoted copies that meet again (told, fenced, none silently
    wins)"."""
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"one"))
        one = make_mirror(origin.base, origin.token("one", operations=("mirror",)))
        other = make_mirror(origin.base, origin.token("other", operations=("mirror",)))
        one.catch_up()
        other.catch_up()
        shared = one.registry.head()
    assert shared is not None
    promote(one, 1)
    promote(other, 1)
    mint(one.registry, b"two of the first")
    mint(other.registry, b"two of the other")
    with served(other.root) as site:
        client = RegistryClient(site.base)
        with pytest.raises(RegistriesDivided) as caught:
            meet_registry(one.registry, client)
        client.close()
        assert (caught.value.other, caught.value.mark) == (site.base, str(shared.mark))
        with pytest.raises(RegistriesDivided):
            mint(one.registry, b"three")
        assert any("both gone on" in sign for sign in one.registry.fence.list_signs())
    one.close()
    with closing(Registry(one.root)) as again, pytest.raises(RegistriesDivided):
        mint(again, b"three")
    promote(one, 2)
    assert mint(one.registry, b"three")


def test_a_served_registry_finds_out_by_itself(tmp_path: Path, make_mirror: MakeMirror) -> None:
    """Its origin was not lost, and goes on."""
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"one"))
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        mirror.catch_up()
        promote(mirror, 1)
        mint(mirror.registry, b"two of the mirror")
        mirror.close()
        with served(mirror.root) as site:
            token = site.token("a writer", operations=("mint",))
            assert site.get("/readyz").status == 200
            assert site.put(f"/pdi://{SERIES}/", b"three", token=token).status == 201
        origin.mint(text(b"two of the origin"))
        with served(mirror.root) as site:
            wait_until(lambda: site.get("/readyz").status == 503)
            problem(site.get("/readyz"), 503, "registries-divided")
            refused = site.put(f"/pdi://{SERIES}/", b"four", token=token)
            problem(refused, 503, "registries-divided")
            assert site.get(f"/pdi://{SERIES}/").status == 200


def test_registries_of_which_one_continues_the_other_are_left_alone(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"one"))
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        mirror.catch_up()
        promote(mirror, 1)
        client = RegistryClient(origin.base)
        meet_registry(mirror.registry, client)  # the origin has not gone on
        with deployed(tmp_path / "stranger") as stranger:
            stranger.mint(text(b"one"))
            other = RegistryClient(stranger.base)
            meet_registry(mirror.registry, other)
            other.close()
        client.close()
        assert mint(mirror.registry, b"two")


def test_a_mirror_that_is_promoted_while_it_is_behind_obeys_the_rules_that_it_foresaw(
    tmp_path: Path, make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "obeys them at once", also those whose changes it never got."""
    monkeypatch.setattr(following, "PAGE", 2)
    with deployed(tmp_path / "origin") as origin:
        closed, opened = (resource(origin.mint(text(data))) for data in (b"one", b"two"))
        for _ in range(4):
            origin.mint(text(b"more"))
        origin.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        with MirrorFollower(mirror.registry) as follower:
            while mirror.registry.records.find_record(parse(opened).key) is None:
                follower.follow_once(wait=0)
    assert mirror.registry.records.find_last_rule() == 0
    promote(mirror, 2)
    assert [ask(mirror, name) for name in (closed, opened)] == ["closed", "open"]
    assert not (mirror.root / FORESEEN).exists()
    (rule,) = mirror.registry.records.list_rules(limit=10)
    assert (rule.about, rule.access) == (closed, Access.CLOSED)
    assert [one.problem for one in check_changes(mirror.registry.records) if one.problem] == []
