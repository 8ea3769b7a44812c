"""Equal names of encapsulated identifiers.  # ruling: pdi-foreign-equal"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Clock, Desk, text
from tests.writing.registrars import open_registrar

from perdure.errors.conflicts import NameTaken
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.commands import Load, LoadRow, Mint, Receipt
from perdure.model.queries import Fetch, Query
from perdure.model.records import Record
from perdure.model.references import list_references
from perdure.model.stored import encode_stored
from perdure.policy.equality import spell_alike
from perdure.storage.reference_hashes import reference_hash

# RFC 3986 section 6.2.3; RFC 3187 and 8141 section 3.1; DOI Handbook section 2.4; PDI section 3.6.4
EQUAL = [
    ("http://www.whitehouse.gov/", "http://www.whitehouse.gov"),
    ("http://www.whitehouse.gov/", "HTTP://WWW.WhiteHouse.GOV:80/"),
    ("https://a.example:443/%7Eb", "https://a.example/~b"),
    ("https://a.example:/x", "https://a.example/x"),
    ("http://a.example?q", "http://a.example/?q"),
    ("doi:10.1000/ABC", "DOI:10.1000/abc"),
    ("doi:10.1000/ABC", "hdl:10.1000/abc"),
    ("URN:ISBN:0451450523", "urn:isbn:0451450523"),
    ("ark:/12345/x-6", "ark:12345/x6"),
    ("pdi://a.us/1999/9/1/1.TEXT.1", "urn:pdi://A.us/1999/09/01/1.text.1"),
]
UNEQUAL = [
    ("http://a.example:8080/", "http://a.example/"),
    ("http://a.example:443/", "http://a.example/"),
    ("https://a.example/A", "https://a.example/a"),
    ("https://a.example/x/", "https://a.example/x"),
    ("http://a.example/", "https://a.example/"),
    ("doi:10.1000/a", "doi:10.1000/b"),
    ("pdi://a.us/1999/09/01/1.text.1", "pdi://a.us/1999/09/01/1.html.1"),
    ("pdi://a.us/1999/09/01/1.text.1#0,3", "pdi://a.us/1999/09/01/1.text.1#0,4"),
    ("ftp://a.example/A", "ftp://a.example/a"),
]


def spell(foreign: str, end: str = "") -> str:
    return f"{TODAY}/{Pdi.encapsulate(foreign)}{end}"


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_one_name_for_all_spellings(desk: Desk, one: str, other: str) -> None:
    """ "An encapsulated identifier of a scheme that perdure reads is canonicalised by that scheme;
    http(s) URLs by RFC 3986 section 6.2.2 and 6.2.3. A name equal to one that exists is refused
    when minted; look-ups of one spelling find the other." """
    for first, second in ((one, other), (other, one)):
        desk.clock.advance(days=1)
        day = desk.mint().identifier.rpartition("/")[0]
        name = desk.mint(text("a"), uid=first).identifier
        asked = f"{day}/{Pdi.encapsulate(second)}"
        with pytest.raises(NameTaken) as refused:
            desk.mint(text("b"), uid=second)
        assert refused.value.identifier == name.removesuffix(".text.1")
        for end in ("", ".text", ".text.1"):
            step = desk.resolve(asked + end)
            assert isinstance(step, Fetch)
            assert str(step.identifier) == name
        assert desk.commit(asked, text("c")).identifier == name.replace(".text.1", ".text.2")
        assert desk.register(asked).identifier == name.removesuffix(".text.1")
        assert desk.registry.listings.find_record(parse(asked)) == desk.record(name)
        assert desk.problems() == []


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_different_identifiers_have_names_of_their_own(desk: Desk, one: str, other: str) -> None:
    desk.mint(text("a"), uid=one)
    desk.mint(text("b"), uid=other)
    assert desk.resolve(spell(one)) != desk.resolve(spell(other))


def test_names_of_other_days_are_not_equal(desk: Desk) -> None:
    desk.mint(uid="doi:10.1000/ABC")
    desk.clock.advance(days=1)
    assert desk.mint(uid="doi:10.1000/abc").identifier.endswith("/doi:10%2e1000%2fabc")


def test_two_of_one_batch(root: Path, clock: Clock) -> None:
    with closing(open_registrar(root, clock)) as registrar:
        mints = [Mint(authority=SERIES, uid=f"doi:10.1000/{one}") for one in ("A", "a", "b")]
        answers = registrar.execute_commands(mints)
    assert [type(one) for one in answers] == [Receipt, NameTaken, Receipt]


TWO = [spell("http://a.example"), spell("HTTP://a.example:80/")]


def _load(desk: Desk, *names: str, at: str = "2026-11-21T00:00:00Z") -> None:
    rows = []
    for name in sorted(names, key=lambda one: parse(one).key):
        record = Record(name=name, at=at)
        refers = tuple(map(reference_hash, sorted(list_references(record))))
        rows.append(LoadRow(parse(name).key, encode_stored(record), 1, refers))
    desk.registry.door.execute_command(Load(rows=tuple(rows), last=True))


def test_two_that_were_minted_stay_two_and_the_older_one_answers(desk: Desk) -> None:
    """ "Names that were minted as two stay two, the older one is what the canonical form finds"."""
    _load(desk, TWO[1])
    _load(desk, TWO[0], at="2026-11-22T00:00:00Z")
    for name in TWO:
        assert str(desk.registry.reading.resolve(_ask(name)).identifier) == name
    third = spell("http://A.example/")
    assert desk.registry.reading.resolve(_ask(third)).identifier.key == parse(TWO[1]).key
    fourth = desk.registry.reading.resolve(_ask(spell("http://a.example:80")))
    assert str(fourth.identifier) == TWO[1]


def test_opening_an_older_registry_lists_them(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    _load(desk, *TWO)
    desk.mint(text("a"), uid="doi:10.1000/ABC")
    desk.registry.close()
    with sqlite3.connect(desk.root / "registry.sqlite") as older:  # it has no such references
        older.execute("DELETE FROM refers")
        older.execute("DELETE FROM recent_references")
    with caplog.at_level(logging.WARNING):
        desk.reopen()
        desk.mint()
    assert [one.getMessage() for one in caplog.records] == [
        f"equal names that were minted as several: {TWO[0]}, {TWO[1]}"
    ]
    assert isinstance(desk.resolve(spell("doi:10.1000/abc")), Fetch)
    caplog.clear()
    desk.reopen()
    desk.mint()
    assert not caplog.records  # once


def test_a_known_name_is_asked_for_in_its_own_spelling() -> None:
    name, found = parse(f"{spell('doi:10.1/A')}.text.2"), parse(spell("doi:10.1/a"))
    assert str(spell_alike(name, found)) == f"{found}.text.2"
    assert spell_alike(name, name) == name
    assert spell_alike(name.resource, found) == found


def _ask(name: str) -> Query:
    return Query(identifier=parse(name))
