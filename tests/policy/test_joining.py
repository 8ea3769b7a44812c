"""Joining two records of one identifier: what is taken over, and what contradicts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.conftest import sha512

from perdure.errors.conflicts import (
    BytesBound,
    IndexTaken,
    LanguageContradicted,
    LocationBoundOtherwise,
    NameWithdrawn,
    WithdrawalContradicted,
)
from perdure.ids import parse
from perdure.model.about import About
from perdure.model.commands import Joining
from perdure.model.records import Location, Record, Representation, Tombstone, Value, Version
from perdure.policy.joining import join_records

AT = "2026-11-21T12:00:00Z"
NAME = parse("pdi://oma.eop.gov.us/1997/09/01/1")
GONE = Tombstone(reason="a court said so", at=AT, by="oma")


def held_bytes(data: bytes, format: str = "text", language: str | None = None) -> Representation:
    return Representation(
        format=format,
        media_type="text/plain" if format == "text" else "text/html",
        length=len(data),
        sha512=sha512(data),
        segment=1,
        offset=0,
        language=language,
    )


def holding(*representations: Representation, tombstone: Tombstone | None = None) -> Record:
    version = Version(number=1, at=AT, representations=tuple(representations), tombstone=tombstone)
    return Record(at=AT, versions=(version,))


def test_another_format_of_a_version_is_added() -> None:
    text, page = held_bytes(b"one"), held_bytes(b"<p>one", "html")
    joined = join_records(NAME, holding(text), holding(text, page))
    assert joined == holding(text, page)
    assert join_records(NAME, joined, holding(page)) == joined


@pytest.mark.parametrize("how", Joining)
def test_other_bytes_are_refused_in_every_way_of_joining(how: Joining) -> None:
    """Section 2.1: a version stays bound to its bytes."""
    with pytest.raises(BytesBound) as refused:
        join_records(NAME, holding(held_bytes(b"one")), holding(held_bytes(b"two")), how)
    assert refused.value.identifier == f"{NAME}.text.1"
    assert refused.value.current == f"sha512 {sha512(b'one')}"


def test_another_language_of_the_same_bytes_is_refused() -> None:
    with pytest.raises(LanguageContradicted) as refused:
        join_records(
            NAME,
            holding(held_bytes(b"one", language="en")),
            holding(held_bytes(b"one", language="da")),
        )
    assert refused.value.current == "en"


def test_withdrawn_resources_take_no_bytes() -> None:
    with pytest.raises(NameWithdrawn):
        join_records(NAME, Record(at=AT, tombstone=GONE), holding(held_bytes(b"one")))
    with pytest.raises(NameWithdrawn):
        join_records(NAME, holding(tombstone=GONE), holding(held_bytes(b"one")))


def test_the_reason_of_a_withdrawal_stays() -> None:
    other = Tombstone(reason="a mistake", at=AT, by="oma")
    record = Record(at=AT, tombstone=GONE)
    assert join_records(NAME, record, Record(at=AT)).tombstone == GONE
    assert join_records(NAME, Record(at=AT), record).tombstone == GONE
    for held, more in (
        (record, Record(at=AT, tombstone=other)),
        (holding(tombstone=GONE), holding(tombstone=other)),
    ):
        with pytest.raises(WithdrawalContradicted) as refused:
            join_records(NAME, held, more)
        assert refused.value.current == "a court said so"


def test_bytes_must_be_those_that_a_location_promised() -> None:
    promised = Location(uri="https://a.example/1", version=1, format="text", sha512=sha512(b"one"))
    record = Record(at=AT, locations=(promised,))
    assert join_records(NAME, record, holding(held_bytes(b"one"))).locations == (promised,)
    with pytest.raises(LocationBoundOtherwise) as refused:
        join_records(NAME, record, holding(held_bytes(b"two")))
    assert refused.value.uri == "https://a.example/1"


def test_values_are_replaced_only_where_a_line_gives_them() -> None:
    one, two = (Value(index=at, type="DESC", data=f"{at}") for at in (1, 2))
    held, more = Record(at=AT, values=(one,)), Record(at=AT, values=(two,))
    name = parse("hdl:21.T14999/a")
    given = frozenset({"values"})
    for how, fields, line, left in (
        (Joining.REPLACE, given, more, [2]),
        (Joining.REPLACE, given, Record(at=AT), []),
        (Joining.REPLACE, frozenset[str](), more, [1, 2]),
        (Joining.REPLACE, frozenset[str](), Record(at=AT), [1]),
        (Joining.MERGE, given, more, [1, 2]),
        (Joining.MERGE, given, Record(at=AT), [1]),
    ):
        joined = join_records(name, held, line, how, fields)
        assert sorted(value.index for value in joined.values) == left


def test_targets_stay() -> None:
    held, more = (Record(at=AT, targets=targets) for targets in (("hdl:1/1",), ("hdl:1/2",)))
    joined = join_records(NAME, held, more)
    assert joined.targets == ("hdl:1/1", "hdl:1/2")
    assert join_records(NAME, joined, held, Joining.REPLACE) == joined


def test_a_value_is_contradicted_only_where_one_says_so() -> None:
    name = parse("hdl:21.T14999/a")
    held, more = (
        Record(at=AT, values=(Value(index=1, type="DESC", data=data),)) for data in ("old", "new")
    )
    with pytest.raises(IndexTaken):
        join_records(name, held, more)
    assert [one.data for one in join_records(name, held, more, Joining.MERGE).values] == ["new"]
    assert join_records(name, held, Record(at=AT)) == held


@pytest.mark.parametrize("how", Joining)
@pytest.mark.parametrize("giver", ["", "clerk"])
def test_a_secret_that_comes_back_still_depends_on_its_token(how: Joining, giver: str) -> None:
    """A file that undoes an import, or an earlier export, gives no revoked token its password
    back."""
    handle = parse("hdl:1839/1")
    secret = Value(
        index=300, type="HS_SECKEY", format="sealed", data="scrypt$1$2", granted_by="clerk"
    )
    row = Record(at=AT, values=(replace(secret, granted_by=giver),))
    joined = join_records(handle, Record(at=AT, values=(secret,)), row, how, frozenset({"values"}))
    assert [one.granted_by for one in joined.values] == ["clerk"]


@pytest.mark.parametrize("how", Joining)
def test_a_secret_that_comes_from_a_file_depends_on_the_token_that_the_file_says(
    how: Joining,
) -> None:
    handle = parse("hdl:1839/1")
    secret = Value(
        index=300, type="HS_SECKEY", format="sealed", data="scrypt$1$2", granted_by="clerk"
    )
    row = Record(at=AT, values=(secret,))
    joined = join_records(handle, Record(at=AT), row, how, frozenset({"values"}))
    assert [one.granted_by for one in joined.values] == ["clerk"]


def test_an_update_replaces_locations_and_merges_the_rest() -> None:
    """joining.py: "`UPDATE` replaces locations and merges all other data"."""
    held = Record(
        at="2026-11-21T12:00:00Z",
        locations=(
            Location(uri="https://a.example/", weight=3),
            Location(uri="https://b.example/"),
        ),
        metadata={"title": "Old", "shelf": "7"},
        about=About(year="1997", version="2"),
    )
    more = Record(
        at="2026-11-22T12:00:00Z",
        locations=(Location(uri="https://a.example/"),),
        metadata={"title": "New"},
        about=About(year="1998"),
    )
    joined = join_records(NAME, held, more, Joining.UPDATE, frozenset(("locations", "metadata")))
    assert joined.locations == (Location(uri="https://a.example/", weight=3),)
    assert joined.metadata == {"title": "New", "shelf": "7"}
    assert joined.about == About(year="1998", version="2")
    without = replace(more, locations=())
    kept = join_records(NAME, held, without, Joining.UPDATE, frozenset(("metadata",)))
    assert kept.locations == held.locations


def test_an_update_merges_values() -> None:
    url = Value(index=1, type="URL", data="https://a.example/")
    mail = Value(index=2, type="EMAIL", data="a@a.example")
    handle = parse("hdl:1839/a")
    held = Record(locations=(Location(uri="https://a.example/"),), values=(url, mail))
    new = replace(mail, data="b@a.example")
    joined = join_records(handle, held, Record(values=(new,)), Joining.UPDATE, frozenset())
    assert [one.data for one in joined.values] == ["https://a.example/", "b@a.example"]
