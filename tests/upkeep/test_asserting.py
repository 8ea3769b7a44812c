"""Assertions in a registry: stored, found, retracted, closed and rebuilt."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest
from tests.conftest import TODAY, Desk, text

from perdure.errors import InvalidRequest, NoSuchVersion, NotFound, PartOutOfRange
from perdure.errors.assertions import ConjunctionMalformed, RetractionForeign
from perdure.ids import parse
from perdure.model.assertions import MEDIA_TYPE, write_assertion
from perdure.model.commands import Alias, Restrict
from perdure.model.queries import LOCAL_READER, Fetch, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.policy import remaining
from perdure.reading import assertions
from perdure.reading.assertions import AssertionQuery, HeldAssertion
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.asserting import (
    conjoin_parts,
    make_assertion_content,
    retract_assertion,
    store_assertion,
    store_assertions,
)
from perdure.upkeep.transfer.importing import ImportSource, import_lines
from perdure.upkeep.transfer.renewal import rebuild_registry

NAME = f"{TODAY}/1"
PART = f"{NAME}.text.1#char=0,4"


@pytest.fixture
def letter(desk: Desk) -> Desk:
    desk.mint(text("Dear Madam"))
    return desk


def list_about(desk: Desk, name: str) -> list[HeldAssertion]:
    return desk.registry.assertions.list_assertions(parse(name))


def find_names(desk: Desk, name: str) -> list[str]:
    return [str(one.identifier) for one in list_about(desk, name)]


def store(desk: Desk, *targets: str, by: str = "ann") -> str:
    data = write_assertion(targets, ("commenting",), body="Out of context.")
    return store_assertion(desk.registry, data, by=by).identifier


def test_an_assertion_is_a_document_found_by_what_it_is_about(letter: Desk) -> None:
    before = letter.record(NAME)
    whole, part = store(letter, NAME), store(letter, PART)
    assert whole == f"{TODAY}/2.jsonld.1"
    about_both = store(letter, f"{TODAY}/2", "hdl:1839/x")
    assert find_names(letter, NAME) == [whole, part]
    assert find_names(letter, PART) == [whole, part]
    assert [str(one.scope) for one in list_about(letter, PART)] == ["whole", "same"]
    assert find_names(letter, f"{TODAY}/2") == find_names(letter, "hdl:1839/x") == [about_both]
    assert letter.record(NAME) == before
    assert [(one.by, one.retracted_by) for one in list_about(letter, PART)] == [("ann", ())] * 2


def test_an_assertion_about_an_alias_is_about_the_resource_and_the_reverse(letter: Desk) -> None:
    other = "hdl:1839/letter"
    early = store(letter, other)  # before it is an alias
    whole, part = store(letter, NAME), store(letter, PART)
    assert find_names(letter, other) == [early]
    letter.registry.door.execute_command(Alias(identifier=parse(NAME), other=parse(other)))
    for name in (NAME, other):
        assert find_names(letter, name) == [early, whole, part]
        assert [str(one.scope) for one in list_about(letter, name)] == ["same", "same", "part"]
    assert [str(one.scope) for one in list_about(letter, f"{NAME}.text.1")] == [
        "whole",
        "whole",
        "part",
    ]
    rule = ReadingRule(about=other, access=Access.CLOSED)
    letter.registry.door.execute_command(Restrict(rule=rule))
    assert find_names(letter, NAME) == [whole, part], "it tells nothing of what is closed"


def test_the_actor_is_the_one_who_committed_the_bytes(letter: Desk) -> None:
    """ "The actor is the one who committed the version that is served", also as a later format."""
    minted = letter.mint(text("a page", format="html"), by="ann").identifier
    data = write_assertion((NAME,), ("commenting",), body="Out of context.")
    letter.commit(minted, make_assertion_content(data), version=1, by="eve")
    rule = ReadingRule(about=f"{minted.removesuffix('.html.1')}.html", access=Access.CLOSED)
    letter.registry.door.execute_command(Restrict(rule=rule, by="bob"))
    assert [(one.by, str(one.identifier)) for one in list_about(letter, NAME)] == [
        ("eve", minted.replace(".html.", ".jsonld."))
    ]


def test_a_retraction_by_the_same_actor_marks_an_assertion(letter: Desk) -> None:
    name = store(letter, NAME)
    with pytest.raises(RetractionForeign):
        retract_assertion(letter.registry, parse(name), "not mine", by="bob")
    data = write_assertion((name,), ("retracts",))  # as anybody can assert
    store_assertion(letter.registry, data, by="bob")
    assert list_about(letter, NAME)[0].retracted_by == ()
    retraction = retract_assertion(letter.registry, parse(name), "I was wrong", by="ann")
    (held,) = list_about(letter, NAME)
    assert list(map(str, held.retracted_by)) == [retraction.identifier]


def test_an_assertion_about_something_unknown_is_refused(letter: Desk) -> None:
    with pytest.raises(NotFound):
        store(letter, f"{TODAY}/99")
    assert letter.mint(text("next")).identifier == f"{TODAY}/2.text.1"


def test_withdrawn_assertions_and_those_about_closed_documents_are_not_listed(
    letter: Desk,
) -> None:
    first, second = store(letter, NAME), store(letter, NAME)
    letter.withdraw(first.partition(".jsonld")[0])
    assert find_names(letter, NAME) == [second]
    rule = ReadingRule(about=NAME, access=Access.CLOSED)
    letter.registry.door.execute_command(Restrict(rule=rule))
    assert find_names(letter, NAME) == []


def test_assertions_are_found_after_a_rebuild_from_the_segments_alone(letter: Desk) -> None:
    name = store(letter, PART, "hdl:1839/x")
    letter.registry.close()
    (letter.root / FILE).unlink()
    list(rebuild_registry(letter.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
    letter.reopen()
    assert find_names(letter, NAME) == find_names(letter, "hdl:1839/x") == [name]


@pytest.mark.parametrize("about", ["char=2,6", "char=0,100", "char=3,4"])
def test_assertions_about_a_part_are_found_by_any_part_that_overlaps_it(
    desk: Desk, about: str
) -> None:
    desk.mint(text("x" * 500))
    name = store(desk, f"{NAME}.text.1#{about}")
    assert find_names(desk, f"{NAME}.text.1#char=3,5") == [name]
    assert find_names(desk, f"{NAME}.text.1#char=100,300") == []
    assert find_names(desk, f"{NAME}.text.1#char=0,500") == [name]
    assert find_names(desk, f"{NAME}.text.1#byte=3,5") == []


def test_the_scopes_of_an_answer_can_be_chosen(letter: Desk) -> None:
    whole, part = store(letter, NAME), store(letter, f"{NAME}.text.1#char=2,6")
    of_day = store(letter, f"{TODAY}/")
    found = {str(one.identifier): str(one.scope) for one in list_about(letter, PART)}
    assert found == {whole: "whole", part: "overlapping", of_day: "set"}
    query = AssertionQuery(name=parse(PART), scopes=frozenset(("overlapping",)))  # type: ignore[arg-type]
    page = letter.registry.assertions.list_page(query, limit=9)
    assert [str(one.identifier) for one in page.assertions] == [part]


def test_pages_by_actor_and_motivation(letter: Desk) -> None:
    names = [store(letter, NAME, by="ann" if at % 2 else "bob") for at in range(5)]
    everything = letter.registry.assertions
    query = AssertionQuery(name=parse(NAME), by="ann")
    assert [str(one.identifier) for one in everything.walk_assertions(query)] == names[1::2]
    first = everything.list_page(AssertionQuery(name=parse(NAME)), limit=3)
    assert first.after is not None
    second = everything.list_page(AssertionQuery(name=parse(NAME), after=first.after), limit=3)
    assert [str(one.identifier) for one in (*first.assertions, *second.assertions)] == names
    assert second.after is None
    disputing = AssertionQuery(name=parse(NAME), motivation="http://purl.org/spar/cito/disputes")
    assert list(everything.walk_assertions(disputing)) == []
    retract_assertion(letter.registry, parse(names[1]), by="ann")
    standing = AssertionQuery(name=parse(NAME), is_standing=True)
    assert len(list(everything.walk_assertions(standing))) == 4


@pytest.mark.parametrize(
    ("about", "error"),
    [
        (f"{NAME}.text.2", NoSuchVersion),
        (f"{NAME}.text.1#char=3,99", PartOutOfRange),
        (f"{TODAY}/9.text.1@1={NAME}.text.1", NotFound),
        (f"{NAME}.text.1@99={NAME}.text.1#char=0,3", PartOutOfRange),
        (f"{NAME}.text.1@0={NAME}.text.1#char=0,99", PartOutOfRange),
        (f"{NAME}.text.1@(0,0)={NAME}.text.1", InvalidRequest),
        ("pdi://oma.eop.gov.us/1999/*/*/1", NotFound),
    ],
)
def test_an_assertion_about_something_that_cannot_be_is_refused(
    letter: Desk, about: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        store(letter, about)
    assert letter.mint(text("next")).identifier == f"{TODAY}/2.text.1"


def test_a_million_assertions_do_not_hide_a_signature(letter: Desk) -> None:
    """Signatures and assertions are found by references of their own."""
    name = store(letter, NAME)
    assert [
        str(one.identifier) for one in letter.registry.listings.walk_targeting(parse(NAME))
    ] == []
    assert letter.record(name).targets == (NAME,)


@pytest.mark.parametrize("way", ["mint", "commit", "register", "import", "rebuild"])
def test_every_way_into_the_registry_finds_the_targets_in_the_bytes(
    letter: Desk, way: str, tmp_path: Path
) -> None:
    data = write_assertion((PART,), ("commenting",))
    content = make_assertion_content(data)
    name = f"{TODAY}/2"
    if way == "commit":
        letter.mint(text("{}"))
        letter.commit(name, content)
    elif way == "register":
        name = "hdl:1839/note"
        letter.register(name, content)
    elif way == "import":
        name = "pdi://oma.eop.gov.us/2020/01/01/5"
        line = {"id": f"{name}.jsonld.1", "content": {"text": data.decode(), "type": MEDIA_TYPE}}
        source = ImportSource(io.BytesIO(json.dumps(line).encode()), tmp_path)
        list(import_lines(letter.registry, source))
    else:
        letter.mint(content)
    if way == "rebuild":
        letter.registry.close()
        (letter.root / FILE).unlink()
        list(rebuild_registry(letter.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
        letter.reopen()
    assert letter.record(name).targets == (PART,)
    (held,) = letter.registry.assertions.list_assertions(parse(PART))
    assert held.identifier.resource == parse(name)
    assert held == letter.registry.assertions.find_assertion(parse(name), LOCAL_READER)


def test_the_one_who_commits_a_version_asserts_it(letter: Desk) -> None:
    name = store(letter, NAME, by="ann")
    data = write_assertion((NAME,), ("commenting",), body="Other words.")
    letter.commit(name.removesuffix(".jsonld.1"), make_assertion_content(data), by="bob")
    (held,) = list_about(letter, NAME)
    assert (held.by, held.assertion.body_text) == ("bob", "Other words.")
    assert str(held.identifier).endswith(".jsonld.2")


def test_lines_are_stored_together_and_refused_alone(letter: Desk) -> None:
    lines = [write_assertion((NAME,), body=f"{at}").replace(b"\n", b"") for at in range(450)]
    lines[7] = b"{}"
    lines[8] = b""
    lines[9] = write_assertion((f"{TODAY}/99",)).replace(b"\n", b"")
    stored = list(store_assertions(letter.registry, lines, by="ann"))
    assert [one.number for one in stored if one.receipt is None] == [8, 10]
    assert len(stored) == 449
    assert [one.number for one in stored] == sorted(one.number for one in stored)
    assert len(list_about(letter, NAME)) == 447


def test_what_is_withdrawn_names_the_assertions_about_it(letter: Desk) -> None:
    name = store(letter, PART)
    assert letter.withdraw(NAME).written_about == (name.removesuffix(".jsonld.1"),)


def test_a_withdrawal_names_a_bounded_number_of_documents(
    letter: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are looked for while other commands wait; the receipt says that there are more."""
    monkeypatch.setattr(remaining, "MOST_LISTED", 2)
    about = [store(letter, NAME, by=name) for name in ("ann", "bob")]
    for name, content in ((f"{TODAY}/4", b"Dear Madam"), (f"{TODAY}/5", b"Dear Sir")):
        assert letter.mint(text(content)).identifier.startswith(name)
    receipt = letter.withdraw(NAME)
    assert (receipt.is_list_cut, "is_list_cut" in receipt.remarks) == (False, False)
    assert (receipt.copies, len(receipt.written_about)) == ((f"{TODAY}/4.text.1",), 2)
    about += [store(letter, f"{TODAY}/5", by=name) for name in ("ann", "bob", "cy")]
    receipt = letter.withdraw(f"{TODAY}/5")
    assert len(receipt.written_about) == 2
    assert receipt.remarks["is_list_cut"] is True


def test_an_address_of_a_name_is_the_name(letter: Desk) -> None:
    about = f"https://pid.example/{NAME}.text.1%23char=0,4"
    name = store(letter, about)
    assert find_names(letter, PART) == [name]


def test_an_assertion_about_an_address_only_is_stored(letter: Desk) -> None:
    name = store(letter, "https://a.example/")
    assert letter.record(name).targets == ()
    assert letter.registry.assertions.find_assertion(parse(name)) is not None


def test_a_page_reads_no_more_than_it_may(letter: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assertions, "MOST_READ", 3)
    names = [store(letter, NAME, by="ann" if at == 4 else "bob") for at in range(5)]
    query = AssertionQuery(name=parse(NAME), by="ann")
    first = letter.registry.assertions.list_page(query, limit=9)
    assert (first.assertions, first.after is None) == ((), False)
    query = AssertionQuery(name=parse(NAME), by="ann", after=first.after or "")
    second = letter.registry.assertions.list_page(query, limit=9)
    assert [str(one.identifier) for one in second.assertions] == names[4:]
    assert second.after is None


# conjunctions
# ------------


def test_a_conjunction_is_a_new_name_that_says_what_it_stands_for(letter: Desk) -> None:
    """ "creating a new PDI and asserting that it is the conjunction of some fragments" (3.2.3)"""
    parts = [parse(PART), parse(f"{NAME}.text.1#char=5,10")]
    receipt = conjoin_parts(letter.registry, parts, body="Both address her.", by="ann")
    assert receipt.identifier == f"{TODAY}/2.jsonld.1"
    assert letter.record(f"{TODAY}/2").targets == tuple(map(str, parts))
    assert find_names(letter, PART) == find_names(letter, str(parts[1])) == [receipt.identifier]
    step = letter.registry.reading.resolve(Query(identifier=parse(receipt.identifier))).step
    assert isinstance(step, Fetch)
    found = letter.registry.provenance.read_pieces(step)
    data = letter.served(f"{TODAY}/2", format="jsonld")
    for one, words in zip(found, (b"Dear", b"Madam"), strict=True):
        assert (one.element, one.verdict, one.is_sound) == ("conjunct", "referenced", True)
        assert (one.date, one.length) == ("2026-11-21", len(words))
        assert one.sha512 == hashlib.sha512(words).hexdigest()
        start, stop = map(int, one.place.removeprefix("char=").split(","))
        canonical = data.decode().replace("\n", "\r\n")
        assert canonical[start:stop] == str(one.identifier)


def test_what_is_said_of_a_conjunction_is_not_said_of_each_part(letter: Desk) -> None:
    """ "a source of ambiguity when assertions are made about PDIs" (section 3.2.3)"""
    parts = [parse(PART), parse(f"{NAME}.text.1#char=5,10")]
    name = conjoin_parts(letter.registry, parts).identifier
    about = store(letter, name)
    assert find_names(letter, name) == [about]
    assert find_names(letter, PART) == [name]


def test_a_withdrawn_part_of_a_conjunction_shows_its_tombstone(letter: Desk) -> None:
    letter.mint(text("Yours"))
    parts = [parse(PART), parse(f"{TODAY}/2.text.1#char=0,5")]
    name = parse(conjoin_parts(letter.registry, parts).identifier)
    letter.withdraw(f"{TODAY}/2", "a court said so")
    step = letter.registry.reading.resolve(Query(identifier=name)).step
    assert isinstance(step, Fetch)
    one, gone = letter.registry.provenance.read_pieces(step)
    assert (one.verdict, gone.verdict, gone.is_sound) == ("referenced", "gone", False)
    assert gone.tombstone is not None
    assert gone.tombstone.reason == "a court said so"


@pytest.mark.parametrize(
    ("part", "error"),
    [
        (f"{NAME}.text.1", ConjunctionMalformed),
        (f"{NAME}#char=0,1", ConjunctionMalformed),
        (f"{NAME}.text.1#char=5,50", PartOutOfRange),
        (f"{TODAY}/9.text.1#char=0,1", NotFound),
        (f"{NAME}.text.2#char=0,1", NoSuchVersion),
    ],
)
def test_nothing_of_a_refused_conjunction_is_kept(
    letter: Desk, part: str, error: type[Exception]
) -> None:
    before = letter.registry.records.find_head()
    with pytest.raises(error):
        conjoin_parts(letter.registry, [parse(PART), parse(part)])
    assert letter.registry.records.find_head() == before
