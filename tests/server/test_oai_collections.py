"""Collections as sets of OAI-PMH 2.0: their members, headers, dates, and silence.

Sections are those of The Open Archives Initiative Protocol for Metadata Harvesting 2.0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Desk
from tests.conftest import text as plain
from tests.server.deployment import SERIES, Deployment, deployed
from tests.server.test_oai import OAI, Repository, mint, name_of

from perdure.ids import parse
from perdure.model import collection
from perdure.model.changes import ChangeMark
from perdure.model.collection import Collection, CollectionMember
from perdure.model.commands import Commit, Content, Mint, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.server.apis.oai import sets
from perdure.upkeep.collection.membership_index import FILE, MembershipIndex
from perdure.upkeep.forgetting import forget_withdrawn


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("oai") / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def repository(site: Deployment) -> Repository:
    return Repository(site)


def write(*names: str, title: str = "") -> Content:
    members = tuple(CollectionMember(identifier=one) for one in names)
    data = collection.write_collection(Collection(title=title, members=members))
    return plain(data, collection.FORMAT, collection.MEDIA_TYPE)


def collect(site: Deployment, *names: str, title: str = "") -> str:
    """Mint a collection of some names, and return its own."""
    return str(parse(site.mint(write(*names, title=title))).resource)


def list_sets_of(header: Any) -> set[str]:
    return {one.text for one in header.iter(f"{OAI}setSpec")}


def list_names(repository: Repository, **arguments: str) -> list[str]:
    return [name_of(one) for one in repository.list_headers(**arguments)]


def name_set(name: str) -> str:
    return sets.name_collection(parse(name))


def test_a_collection_is_a_set_of_its_members(repository: Repository) -> None:
    site = repository.site
    names = [mint(site, f"member {number}") for number in range(3)]
    other = mint(site, "not a member")
    site.bind("doi:10.9999/member", "https://example.org/member")
    mine = collect(
        site, f"{names[0]}.text.1", names[1], "doi:10.9999/member", title="A <short> one"
    )
    second = collect(site, names[1], names[2])
    listed = repository.ask(verb="ListSets")
    titles = {
        one.find(f"{OAI}setSpec").text: one.find(f"{OAI}setName").text
        for one in listed.iter(f"{OAI}set")
    }
    assert titles[name_set(mine)] == "A <short> one"
    assert titles[name_set(second)] == second
    assert list(titles).index("collection") < list(titles).index(name_set(mine))
    dublin_core = "{http://purl.org/dc/elements/1.1/}identifier"
    described = listed.findall(f".//{OAI}setDescription//{dublin_core}")
    assert {mine, second} <= {one.text for one in described}
    assert sorted(list_names(repository, set=name_set(mine))) == sorted(
        [*names[:2], "doi:10.9999/member"]
    )
    everything = {name_of(one): list_sets_of(one) for one in repository.list_headers()}
    in_year = f"pdi:{SERIES}:{parse(names[0]).assigned_on[:4]}"  # type: ignore[index]
    assert everything[names[0]] == {in_year, name_set(mine)}
    assert everything[names[1]] == {in_year, name_set(mine), name_set(second)}
    assert everything[other] == {in_year}
    assert set(list_names(repository, set="collection")) >= {*names, "doi:10.9999/member"}
    assert other not in list_names(repository, set="collection")
    got = repository.ask(verb="GetRecord", identifier=names[1], metadataPrefix="oai_dc")
    assert list_sets_of(got) == everything[names[1]]


def test_a_set_has_the_members_of_the_newest_version(repository: Repository) -> None:
    """Who asks `from` the last visit learns of a new member, as of each change (section 2.7)."""
    site = repository.site
    before, after, late = (mint(site, f"in versions {number}") for number in range(3))
    mine = collect(site, before, late)
    (first,) = [one for one in repository.list_headers() if name_of(one) == after]
    time.sleep(1.1)
    site.commit(mine, write(after, late))
    assert sorted(list_names(repository, set=name_set(mine))) == sorted([after, late])
    headers = {name_of(one): one for one in repository.list_headers()}
    assert name_set(mine) not in list_sets_of(headers[before])
    joined = headers[after].find(f"{OAI}datestamp").text
    assert joined > first.find(f"{OAI}datestamp").text
    assert joined == headers[mine].find(f"{OAI}datestamp").text
    got = repository.ask(verb="GetRecord", identifier=after, metadataPrefix="oai_dc")
    assert got.find(f".//{OAI}datestamp").text == joined
    assert list_names(repository, set=name_set(mine), **{"from": joined}) == [after]
    since = list_names(repository, **{"from": joined})
    assert {after, mine} <= set(since)
    assert late not in since
    every = list_names(repository)
    assert len(every) == len(set(every))


def test_closed_and_withdrawn_collections_are_no_sets(repository: Repository) -> None:
    site = repository.site
    member = mint(site, "a member of two")
    (before,) = [one for one in repository.list_headers() if name_of(one) == member]
    time.sleep(1.1)
    closed = collect(site, member, title="Closed collection")
    gone = collect(site, member, title="Withdrawn collection")
    index = site.root / FILE
    assert len(list_sets_of(repository.ask(
        verb="GetRecord", identifier=member, metadataPrefix="oai_dc"))) == 3  # fmt: skip
    assert parse(gone).key.encode() in _read_all(index)
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    forget_withdrawn(site.registry)  # as each command does that opens a registry for writing
    site.do(Withdraw(identifier=parse(gone), reason="a mistake"))
    assert parse(gone).key.encode() not in _read_all(index)
    listed = repository.ask(verb="ListSets")
    specs = [one.text for one in listed.iter(f"{OAI}setSpec")]
    for name in (closed, gone):
        assert name_set(name) not in specs
        asked = {"verb": "ListRecords", "metadataPrefix": "oai_dc", "set": name_set(name)}
        assert repository.fail(**asked) == "noRecordsMatch"
    (after,) = [one for one in repository.list_headers() if name_of(one) == member]
    assert list_sets_of(after) == list_sets_of(before)
    assert after.find(f"{OAI}datestamp").text == before.find(f"{OAI}datestamp").text
    assert member not in list_names(repository, set="collection")


def _read_all(file: Path) -> bytes:
    return b"".join(one.read_bytes() for one in file.parent.glob(f"{file.name}*"))


def test_closed_members_are_not_told_and_withdrawn_ones_are_deleted(
    repository: Repository,
) -> None:
    site = repository.site
    closed, gone, left = (mint(site, f"another member {number}") for number in range(3))
    mine = collect(site, closed, gone, left, "doi:10.9999/elsewhere")
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(gone), reason="a mistake"))
    headers = {name_of(one): one for one in repository.list_headers(set=name_set(mine))}
    assert set(headers) == {gone, left}
    assert headers[gone].get("status") == "deleted"


@pytest.mark.parametrize(
    "name",
    ["collection:", "collection:x", "collection:pdi!3a!2F!2Fa.us", "collection:!ff", "collections"],
)
def test_names_of_no_collection_are_no_sets(repository: Repository, name: str) -> None:
    mint(repository.site, "something")
    code = repository.fail(verb="ListRecords", metadataPrefix="oai_dc", set=name)
    assert code in ("noRecordsMatch", "badArgument")


def test_pages_of_members_give_each_once(site: Deployment, repository: Repository) -> None:
    """The incomplete lists together are the complete list (section 3.5)."""
    names = [mint(site, f"one of many {number}") for number in range(3)]
    mine = collect(site, *names, *(f"pdi://{SERIES}/1993/01/02/{at}" for at in range(1, 1300)))
    assert sorted(list_names(repository, set=name_set(mine))) == sorted(names)


# laws of the index
# -----------------

_NAMES = [f"pdi://{SERIES}/2026/01/02/{number}" for number in range(1, 5)]
_CHOSEN = st.lists(st.sampled_from(_NAMES), max_size=4, unique=True)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    acts=st.lists(st.tuples(st.integers(0, 1), _CHOSEN | st.none()), min_size=1, max_size=6),
    stops=st.sets(st.integers(0, 6)),
)
def test_the_index_is_that_of_the_newest_versions(
    acts: list[tuple[int, list[str] | None]], stops: set[int], desk: Desk
) -> None:
    """ "If the file is made again, members have the last change of their collection; that may be
    later than before, never earlier." None is an act of withdrawal.
    """
    (desk.root / FILE).unlink(missing_ok=True)
    made: dict[int, str] = {}
    expected: dict[str, set[str]] = {}
    with closing(MembershipIndex(desk.registry)) as index:
        for at, (which, names) in enumerate(acts):
            if at in stops:
                list(index.take_all(desk.registry.records))
            do = desk.registry.door.execute_command
            if names is None:
                if which in made:
                    do(Withdraw(identifier=parse(made.pop(which)), reason="a test"))
                continue
            if which in made:
                do(Commit(identifier=parse(made[which]), contents=(write(*names, title=str(at)),)))
            else:
                receipt = do(Mint(authority=SERIES, contents=(write(*names, title=str(at)),)))
                made[which] = str(parse(receipt.identifier).resource)
            expected[made[which]] = set(names)
        list(index.take_all(desk.registry.records))
        incremental = _list_rows(index)
        index.reset()
        list(index.take_all(desk.registry.records))
        again = _list_rows(index)
    alive = {(parse(one).key, parse(name).key) for name in made.values() for one in expected[name]}
    ours = {parse(name).key for name in expected}
    assert {one for one in incremental if one[1] in ours} == alive
    assert incremental.keys() == again.keys()
    assert all(mark <= again[row] for row, mark in incremental.items())


def _list_rows(index: MembershipIndex) -> dict[tuple[str, str], ChangeMark]:
    return {
        (key, one): mark
        for key in index.list_members(None, "", limit=10_000)
        for one, mark in index.list_collections_of(key)
    }
