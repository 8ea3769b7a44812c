"""A mirror serves nothing that its origin closed, however far behind it is."""

from __future__ import annotations

import pytest
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, resource, text
from tests.upkeep.mirroring.conftest import MakeMirror, Mirror

from perdure.errors import Forbidden, NotFound
from perdure.ids import parse
from perdure.model.commands import Mint, Restrict
from perdure.model.queries import PUBLIC_READER, Fetch, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.storage.origin import FORESEEN
from perdure.upkeep.mirroring import following
from perdure.upkeep.mirroring.following import MirrorFollower


def restrict(origin: Deployment, about: str, access: Access = Access.CLOSED) -> None:
    rule = ReadingRule(about=about, access=access, lifted=access is Access.OPEN)
    origin.do(Restrict(rule=rule))


def ask(mirror: Mirror, name: str) -> str:
    """What everyone is told: `open`, `closed` or `unknown`."""
    try:
        query = Query(identifier=parse(name), reader=PUBLIC_READER)
        step = mirror.registry.reading.resolve(query).step
    except Forbidden:
        return "closed"
    except NotFound:
        return "unknown"
    assert isinstance(step, Fetch)
    return "open"


@pytest.mark.parametrize("scopes", [("*",), (SERIES,)])
def test_a_rule_is_obeyed_before_its_change_is_replayed(
    origin: Deployment,
    make_mirror: MakeMirror,
    monkeypatch: pytest.MonkeyPatch,
    scopes: tuple[str, ...],
) -> None:
    """ "Decided in the read door only, and so obeyed by every face and every derived thing:
    … mirrors": a document that was closed long ago is never open here."""
    monkeypatch.setattr(following, "PAGE", 2)
    secret = origin.token(f"late-{len(scopes[0])}", operations=("mirror",), authorities=scopes)
    names = [resource(origin.mint(text(b"secret %d" % number))) for number in range(3)]
    closed, once_closed, by_scope = names
    for name in (closed, once_closed):
        restrict(origin, name)
    for number in range(4):
        origin.mint(text(b"and more %d" % number))
    restrict(origin, once_closed, Access.OPEN)
    restrict(origin, f"{by_scope}*")
    mirror = make_mirror(origin.base, secret, scopes)
    seen = {name: {ask(mirror, name)} for name in names}
    with MirrorFollower(mirror.registry) as follower:
        for page in follower.catch_up():
            assert page.replayed <= 2
            for name in names:
                seen[name].add(ask(mirror, name))
    assert seen[closed] == seen[by_scope] == {"unknown", "closed"}
    assert ask(mirror, once_closed) == "open"
    assert not (mirror.root / FORESEEN).exists()
    again = make_mirror(origin.base, secret, scopes)
    with MirrorFollower(again.registry) as follower:
        follower.follow_once(wait=0)
    assert (again.root / FORESEEN).exists()
    again.registry.reading.rules.refresh()
    assert ask(again, by_scope) in ("unknown", "closed")


def test_a_mirror_of_a_series_has_the_rules_about_its_names(
    origin: Deployment, make_mirror: MakeMirror
) -> None:
    """ "a mirror gets nothing that is outside a scope of its token", and no closed document open"""
    names = [resource(origin.mint(text(b"of ours %d" % number))) for number in range(2)]
    other = resource(origin.mint(text(b"of others"), authority=OTHER_SERIES))
    for about in (names[0], other, OTHER_SERIES, "hdl:1839/*", f"{names[1]}.text.1#char=0,2"):
        restrict(origin, about)
    secret = origin.token("some", operations=("mirror",), authorities=(SERIES,))
    mirror = make_mirror(origin.base, secret, (SERIES,))
    mirror.catch_up()
    rules = {one.about for one in mirror.registry.records.list_rules(limit=1000)}
    assert {names[0], f"{names[1]}.text.1#char=0,2"} <= rules
    assert not {other, OTHER_SERIES, "hdl:1839/*"} & rules
    assert [ask(mirror, name) for name in names] == ["closed", "closed"]
    restrict(origin, "*")
    fresh = resource(origin.mint(text(b"new")))
    mirror.catch_up()
    assert ask(mirror, fresh) == "closed"
    restrict(origin, "*", Access.OPEN)
    mirror.catch_up()
    assert [ask(mirror, name) for name in (fresh, names[0])] == ["open", "closed"]


def test_only_mirrors_of_it_are_told_of_a_rule(origin: Deployment) -> None:
    ours, others = (
        resource(origin.do(Mint(authority=series, contents=(text(b"x"),))).identifier)
        for series in (SERIES, OTHER_SERIES)
    )
    for about in (ours, others):
        restrict(origin, about)
    for scope, told in ((SERIES, {ours}), (OTHER_SERIES, {others}), ("*", {ours, others})):
        secret = origin.token(f"told-{scope}", operations=("mirror",), authorities=(scope,))
        answer = origin.get("/restrictions?limit=1000", f"Authorization: Bearer {secret}")
        assert answer.status == 200
        assert {one for one in (ours, others) if one.encode() in answer.body} == told
    reader = origin.token("no-mirror", operations=("read",), authorities=("*",))
    assert origin.get("/restrictions", f"Authorization: Bearer {reader}").status == 403
