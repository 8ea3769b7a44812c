"""The read door: one road from a query to what it resolves to, for every face."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.conftest import SERIES, Desk, html, text

from perdure.errors import MalformedIdentifier, NotFound, PartNotSupported
from perdure.errors.delegations import AnsweredElsewhere
from perdure.ids import Identifier, parse
from perdure.ids.name_set import read_set
from perdure.ids.named_parts import split_part
from perdure.model.commands import Assign, Restrict
from perdure.model.delegations import make_delegation, read_resolver
from perdure.model.queries import (
    LOCAL_READER,
    PUBLIC_READER,
    Choices,
    Description,
    Elsewhere,
    Fetch,
    Gone,
    OtherResolver,
    Query,
    Redirect,
    Want,
)
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Value
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.server.application import Application
from perdure.server.common.bearers import Bearers
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.metrics import Metrics
from perdure.server.common.service import Service
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.protocol.http import EXTENSION
from perdure.storage.generation import Generation
from perdure.upkeep.delegating import delegate_names


def resolve(desk: Desk, name: str, **query: Any) -> Resolved:
    return desk.registry.reading.resolve(Query(identifier=parse(name), **query))


@pytest.fixture
def letter(desk: Desk) -> str:
    """A document with an alias, `hdl:1839/letter`."""
    name = desk.mint(text("Dear Sir,\nyours\n")).identifier
    desk.alias(name.removesuffix(".text.1"), "hdl:1839/letter")
    return name


def test_the_only_document_of_a_record_is_that_of_the_road(desk: Desk, letter: str) -> None:
    """`fetch_only` is a faster way to the same step, or None if anything else has a say."""
    door, names = desk.registry.reading, [letter, desk.mint(text("a")).identifier]
    desk.commit(names[1], text("b"))
    names += [desk.mint(text("c"), html("<p>c")).identifier, desk.mint(text("d")).identifier]
    desk.withdraw(names[3])
    names.append("hdl:1839/x")
    desk.bind(names[-1], "https://a.example/", register=True)
    found = []
    for one in names:
        name = parse(one).resource
        record = desk.registry.records.find_record(name.key)
        assert record is not None
        step = door.fetch_only(name, record, PUBLIC_READER)
        assert step in (None, door.resolve(Query(identifier=name)).step)
        of_document = door.fetch_only(parse(one), record, PUBLIC_READER)
        assert of_document in (None, door.resolve(Query(identifier=parse(one))).step)
        found.append((step is not None, of_document is not None))
        for near in (f"{name}.html.1", f"{name}.text.2", f"{name}.text.1#char=0,1"):
            if parse(one).kind == "pdi" and near != one:
                assert door.fetch_only(parse(near), record, PUBLIC_READER) is None
    assert found == [(True, True), (False, False), (False, False), (False, False), (False, False)]
    assert not door.has_exceptions(PUBLIC_READER)
    rule = ReadingRule(about=str(parse(names[1]).resource), access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))
    name = parse(letter).resource
    record = desk.registry.records.find_record(name.key)
    assert record is not None
    for other in (name, parse(letter)):
        assert door.fetch_only(other, record, PUBLIC_READER) is None
        assert door.fetch_only(other, record, LOCAL_READER) is not None
    assert (door.has_exceptions(PUBLIC_READER), door.has_exceptions(LOCAL_READER)) == (True, False)


# aliases
# -------


def test_an_alias_answers_with_the_record_that_gives_it(desk: Desk, letter: str) -> None:
    found = resolve(desk, "hdl:1839/letter")
    assert str(found.asked) == "hdl:1839/letter"
    assert str(found.via) == "hdl:1839/letter"
    assert f"{found.identifier}.text.1" == letter
    assert isinstance(found.step, Fetch)
    assert not found.is_registered


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("hdl:1839/letter#char=0,4", None),
        ("hdl:1839/letter", "char=0,4"),
    ],
)
def test_a_part_of_an_alias_is_a_part_of_what_it_names(
    desk: Desk, letter: str, name: str, part: str | None
) -> None:
    found = resolve(desk, name, part=part)
    assert str(found.identifier) == f"{letter.removesuffix('.text.1')}#char=0,4"
    assert (found.part, found.part_beside) == ("char=0,4", None)
    assert isinstance(found.step, Fetch)


def test_an_alias_that_names_a_version_leads_to_that_version(desk: Desk) -> None:
    first = desk.mint(text("one")).identifier
    resource = first.removesuffix(".text.1")
    desk.commit(resource, text("two"))
    desk.alias(resource, "pdi://older.example.us/1997/09/01/1")
    step = resolve(desk, "pdi://older.example.us/1997/09/01/1.text.1").step
    assert str(step.identifier) == first


def test_an_alias_of_two_records_answers_for_neither(desk: Desk, letter: str) -> None:
    other = desk.mint(text("another")).identifier.removesuffix(".text.1")
    desk.alias(other, "hdl:1839/letter")
    with pytest.raises(NotFound):
        resolve(desk, "hdl:1839/letter")


def test_a_record_of_its_own_comes_before_an_alias(desk: Desk, letter: str) -> None:
    desk.bind("hdl:1839/letter", "https://a.example/", register=True)
    found = resolve(desk, "hdl:1839/letter")
    assert found.via is None
    assert isinstance(found.step, Redirect)


# names that begin with another
# -----------------------------


def test_the_longest_beginning_answers(desk: Desk) -> None:
    desk.bind("hdl:1839/a", "https://a.example/a", register=True)
    desk.bind("hdl:1839/a@b", "https://a.example/b", register=True)
    found = resolve(desk, "hdl:1839/a@b#c@d")
    assert found.inside is not None
    assert (str(found.whole), found.inside.delimiter, found.part) == (
        "hdl:1839/a@b",
        "#",
        "c@d",
    )


def test_a_qualifier_of_an_ark_lies_elsewhere(desk: Desk) -> None:
    desk.bind("ark:/99999/x", "https://a.example/x", register=True)
    found = resolve(desk, "ark:/99999/x/page2")
    assert found.is_elsewhere
    assert (str(found.identifier), found.part_beside) == ("ark:99999/x/page2", None)
    assert found.record is None
    with pytest.raises(NotFound):
        _ = found.known
    step = found.step
    assert isinstance(step, Redirect)
    assert step.location.uri == "https://a.example/x/page2"


def test_nothing_but_its_place_is_known_of_a_qualifier(desk: Desk) -> None:
    desk.bind("ark:/99999/x", "https://a.example/x", register=True)
    found = resolve(desk, "ark:/99999/x/page2")
    places = found.choose(Want.LOCATIONS)
    assert isinstance(places, Choices)
    assert [one.uri for one in places.locations] == ["https://a.example/x/page2"]
    with pytest.raises(NotFound):
        found.choose(Want.NAMES)
    described = found.choose(Want.DESCRIPTION)  # that of the ARK
    assert isinstance(described, Description)
    assert described.identifier == parse("ark:/99999/x")
    with pytest.raises(NotFound):
        desk.registry.listings.list_resolved_names(found)


def test_a_qualifier_of_what_lies_nowhere_else_is_not_found(desk: Desk) -> None:
    desk.register("ark:/99999/y", text("held"))
    for want in (Want.RESOURCE, Want.RESOURCES, Want.LOCATION, Want.LOCATIONS):
        with pytest.raises(NotFound):
            resolve(desk, "ark:/99999/y/page2").choose(want)


def test_the_places_of_a_part_are_those_of_the_part(desk: Desk, letter: str) -> None:
    desk.bind(letter, "https://a.example/letter")
    found = resolve(desk, f"{letter}#char=0,4").choose(Want.LOCATIONS)
    assert isinstance(found, Choices)
    assert [str(one.identifier) for one in found.fetches] == [f"{letter}#char=0,4"]
    assert found.locations == ()  # nothing says where the part lies of what lies there


def test_a_part_is_cut_from_what_is_held_before_it_is_looked_for_elsewhere(desk: Desk) -> None:
    name = "hdl:1839/both"
    desk.register(name, text("held here, too"))
    values = (
        Value(index=1, type="URL", data="https://a.example/both"),
        Value(index=2, type="TEMPLATE", data="# {location}/{part}"),
    )
    desk.registry.door.execute_command(Assign(identifier=parse(name), values=values))
    found = resolve(desk, f"{name}#char=0,4")
    assert isinstance(found.step, Fetch)
    place = found.choose(Want.LOCATION)
    assert isinstance(place, Redirect)
    assert place.location.uri == "https://a.example/both/char%3D0,4"


def test_a_part_of_what_lies_elsewhere_never_leads_to_the_whole(desk: Desk) -> None:
    desk.bind("hdl:1839/book", "https://a.example/book", register=True)
    found = resolve(desk, "hdl:1839/book#page=3")
    with pytest.raises(PartNotSupported) as raised:
        _ = found.step
    assert raised.value.media_type is None  # nobody knows the type of what is there
    assert getattr(raised.value, "held_at", "") == "https://a.example/book"
    assert isinstance(found.choose(Want.LOCATION), Description)
    assert found.choose(Want.LOCATIONS) == Choices(identifier=parse("hdl:1839/book"))


def test_what_no_name_can_be_is_malformed_unless_its_beginning_is_known(desk: Desk) -> None:
    name = split_part("ark:/99999/x#page=2")
    query = Query(identifier=name.identifier, part=name.part, doubt=name.doubt)
    with pytest.raises(MalformedIdentifier):
        desk.registry.reading.resolve(query)
    desk.bind("ark:/99999/x", "https://a.example/x", register=True)
    assert desk.registry.reading.resolve(query).part == "page=2"


# delegations
# -----------


def test_another_resolver_is_asked_only_for_what_is_not_known(desk: Desk, letter: str) -> None:
    asked: list[str] = []

    def find_elsewhere(name: Identifier, part: str) -> Elsewhere | None:
        asked.append(str(name))
        there = OtherResolver(name="Other", address="https://other.example/")
        return Elsewhere(identifier=name, resolvers=(there,), is_followed=True)

    door = ReadDoor(desk.registry.records, find_elsewhere=find_elsewhere)
    assert isinstance(door.resolve(Query(identifier=parse(letter))).step, Fetch)
    step = door.resolve(Query(identifier=parse("hdl:20.1/elsewhere"), accepts_elsewhere=True)).step
    assert isinstance(step, Redirect)
    assert asked == ["hdl:20.1/elsewhere"]


def test_another_resolver_answers_only_for_what_is_not_known(desk: Desk, letter: str) -> None:
    """ "For reading, a record that is here wins" """
    delegate(desk, f"pdi://{SERIES}/", "resolver")
    door = desk.registry.reading
    assert isinstance(door.resolve(Query(identifier=parse(letter))).step, Fetch)
    with pytest.raises(AnsweredElsewhere) as caught:
        door.resolve(Query(identifier=parse(f"pdi://{SERIES}/1993/01/20/1.text.1")))
    assert caught.value.resolvers == ("https://other.example/",)
    with pytest.raises(NotFound) as unknown:
        door.resolve(Query(identifier=parse("hdl:20.1/elsewhere")))
    assert not isinstance(unknown.value, AnsweredElsewhere)


def test_a_successor_answers_for_what_is_still_here(desk: Desk, letter: str) -> None:
    """ "after a hand-over the delegation does" """
    delegate(desk, f"pdi://{SERIES}/", "successor")
    desk.clock.set("2026-12-01T00:00:00")
    door = desk.registry.reading
    with pytest.raises(AnsweredElsewhere):
        door.resolve(Query(identifier=parse(letter)))
    on_the_machine = Query(identifier=parse(letter), reader=LOCAL_READER)
    assert isinstance(door.resolve(on_the_machine).step, Fetch)


def test_a_citation_is_not_led_to_the_resolver_of_what_it_cites(desk: Desk, letter: str) -> None:
    """The citing document is here, so its citation is. The cited one may be there."""
    delegate(desk, "pdi://press.oma.eop.gov.us/1993/", "resolver")
    there = parse("pdi://press.oma.eop.gov.us/1993/01/20/1.text.1")
    door = desk.registry.reading
    found = door.resolve(Query(identifier=parse(f"{letter}@0={there}")))
    assert isinstance(found.sides[0], Fetch)
    assert found.sides[1] is None
    with pytest.raises(AnsweredElsewhere):
        door.resolve(Query(identifier=parse(f"{there}@0={letter}")))


def delegate(desk: Desk, names: str, role: str) -> None:
    resolver = read_resolver("https://other.example")
    delegate_names(desk.registry, make_delegation(read_set(names), (resolver,), role=role))


# one record, several questions
# -----------------------------


def test_one_resolution_answers_every_question(desk: Desk, letter: str) -> None:
    desk.bind(letter, "https://a.example/letter")
    found = resolve(desk, letter)
    everything = found.choose(Want.LOCATIONS)
    assert isinstance(everything, Choices)
    assert [one.uri for one in everything.locations] == ["https://a.example/letter"]
    assert isinstance(found.choose(Want.LOCATION), Redirect)
    assert isinstance(found.step, Fetch)


def test_what_was_withdrawn_is_gone_by_each_of_its_names(desk: Desk, letter: str) -> None:
    desk.withdraw(letter.removesuffix(".text.1"))
    for name in (letter, "hdl:1839/letter", f"{letter}#char=0,4"):
        assert isinstance(resolve(desk, name).step, Gone)


# counting
# --------


@contextmanager
def counting(desk: Desk) -> Iterator[list[str]]:
    """The keys of all records that are read inside."""
    read: list[str] = []
    records = desk.registry.records
    original = records.find_stored

    def raw(key: str) -> str | None:
        read.append(key)
        return original(key)

    records.find_stored = raw  # type: ignore[method-assign]
    try:
        yield read
    finally:
        del records.find_stored


def ask(desk: Desk, target: str, *fields: tuple[bytes, bytes]) -> int:
    """The status of the answer to GET, made without the fast path."""
    generation = Generation(desk.root)
    bearers = Bearers(desk.registry.records, generation)
    cold = ColdReads(desk.registry.records, desk.registry.reading)
    service = Service(desk.registry, bearers, Metrics())
    application = Application(service, cold, TasklessWrites(service, cold))
    answers: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # the client stays until it has its answer
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "http_version": "1.1",
        "path": target,
        "raw_path": target.encode("ascii").partition(b"?")[0],
        "query_string": target.encode("ascii").partition(b"?")[2],
        "headers": [(b"host", b"resolver.example"), *fields],
        "server": ("127.0.0.1", 80),
        "extensions": {EXTENSION: {"raw": target.encode("ascii")}},
    }
    try:
        asyncio.run(application(scope, receive, send))
    finally:
        generation.close()
    return int(answers[0]["status"])


PLAIN = [
    ("/{}", b"*/*"),
    ("/{}", b"application/json"),
    ("/{}", b"application/vnd.datacite.datacite+xml"),
    ("/{}", b"application/linkset+json"),
    ("/{}%23char=0,4", b"*/*"),
    ("/{}?part=char=0,4", b"*/*"),
    ("/{}?info", b"application/json"),
    ("/{}?info", b"text/html"),
    ("/{}?landing", b"*/*"),
    ("/{}?linkset", b"*/*"),
    ("/{}?locations", b"*/*"),
    ("/{}?cite=apa", b"*/*"),
    ("/{}?metadata=datacite", b"*/*"),
    ("/{}?quote=Dear", b"*/*"),
    ("/uri-res/N2L?{}", b"*/*"),
    ("/uri-res/N2Ls?{}", b"*/*"),
    ("/uri-res/N2R?{}", b"*/*"),
    ("/uri-res/N2R?{}%23char=0,4", b"*/*"),
    ("/uri-res/N2Rs?{}", b"*/*"),
    ("/uri-res/N2C?{}", b"*/*"),
]


@pytest.mark.parametrize(("target", "accept"), PLAIN)
def test_a_plain_request_reads_its_record_once(
    desk: Desk, letter: str, target: str, accept: bytes
) -> None:
    with counting(desk) as read:
        assert ask(desk, target.format(letter), (b"accept", accept)) < 400
    assert read == [parse(letter).key]


def test_a_followed_alias_reads_two_records(desk: Desk, letter: str) -> None:
    for target in ("/hdl:1839/letter", "/uri-res/N2R?hdl:1839/letter"):
        with counting(desk) as read:
            assert ask(desk, target) < 400
        assert read == [parse("hdl:1839/letter").key, parse(letter).key]


def test_a_record_that_the_caller_read_is_not_read_again(desk: Desk, letter: str) -> None:
    """Records are known by their keys: one that was read for another name is not taken."""
    name = parse(letter)
    record = desk.registry.records.find_record(name.key)
    assert record is not None
    known = {name.key: record}
    reading = desk.registry.reading
    with counting(desk) as read:
        found = reading.resolve(Query(identifier=name), known)
    assert read == []
    assert found == resolve(desk, letter)
    other = desk.mint(text("another")).identifier
    with counting(desk) as read:
        found = reading.resolve(Query(identifier=parse(other)), known)
    assert read == [parse(other).key]
    assert found == resolve(desk, other)


def test_an_unknown_name_is_looked_up_once_and_an_ark_once_for_each_beginning(desk: Desk) -> None:
    with counting(desk) as read:
        assert ask(desk, "/hdl:1839/unknown") == 300
    assert len(read) == 1
    with counting(desk) as read:
        assert ask(desk, "/ark:/99999/un/kn.own") == 404
    assert len(read) == 1 + len("un/kn.own") - len("/.") - 1  # each place but the delimiters


SERVICES_OF_NAMES = ("N2N", "N2Ns", "I2N", "I2Ns")


@pytest.mark.parametrize("service", SERVICES_OF_NAMES)
def test_the_names_of_a_thing_are_listed_with_one_reading_of_each_record(
    desk: Desk, letter: str, service: str
) -> None:
    name, alias = parse(letter).key, parse("hdl:1839/letter").key
    with counting(desk) as read:
        assert ask(desk, f"/uri-res/{service}?{letter}") == 200
    assert sorted(read) == sorted([name, alias])
    with counting(desk) as read:
        assert ask(desk, f"/uri-res/{service}?hdl:1839/letter") == 200
    assert sorted(read) == sorted([name, alias])


def test_a_name_without_others_is_read_once_for_its_names(desk: Desk) -> None:
    name = desk.mint(text("alone")).identifier
    with counting(desk) as read:
        assert ask(desk, f"/uri-res/N2Ns?{name}") == 200
    assert read == [parse(name).key]
