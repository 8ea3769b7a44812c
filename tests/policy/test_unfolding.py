"""Names that were not registered, as parts of names that are: which whole, and where it leads."""

from __future__ import annotations

import contextlib
from typing import cast

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, MalformedIdentifier, NotFound, PartNotSupported
from perdure.errors.limits import ExpressionsTooCostly
from perdure.ids import parse
from perdure.ids.ark import Ark
from perdure.ids.named_parts import join_part, split_part
from perdure.ids.plain_names import read_plain_part
from perdure.ids.scheme import PlainName
from perdure.model.queries import Query, Redirect, Want
from perdure.model.records import Location, Record, Tombstone, Value
from perdure.policy.unfolding import NameBeginning, find_beginnings, find_cut
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.reading.targets import read_identifier
from perdure.storage.ports import Records
from perdure.testing import ark as arks

PLACE = "https://a.example/x"
HERE = Record(locations=(Location(uri=PLACE),))
NAMESPACE = (
    '<namespace><template delimiter="@"><foreach><if value="type" test="equals" expression="URL">'
    '<value data="${data}?part=${extension}"/></if></foreach></template></namespace>'
)


class Known:
    """The part of a store that the read door asks, over a dictionary."""

    def __init__(self, records: dict[str, Record]) -> None:
        self._records = {parse(name).key: record for name, record in records.items()}

    def hold_snapshot(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def find_record(self, key: str) -> Record | None:
        return self._records.get(key)

    def find_referring(self, _reference: str) -> list[str]:
        return []

    def find_last_rule(self) -> int:
        return 0


def unfolding(records: dict[str, Record], *templates: str) -> ReadDoor:
    return ReadDoor(cast("Records", Known(records)), templates)


def unfold(door: ReadDoor, name: str) -> Resolved | None:
    """What a name is a part of; None if it is known itself, or a part of nothing."""
    try:
        resolved = door.resolve(Query(identifier=parse(name)))
    except NotFound:
        return None
    return resolved if resolved.inside is not None else None


def location(door: ReadDoor, name: str) -> str | None:
    found = unfold(door, name)
    try:
        step = None if found is None else found.choose(Want.LOCATION)
    except (NotFound, PartNotSupported):
        return None
    return step.location.uri if isinstance(step, Redirect) else None


# A part in the text of a name
# ----------------------------


@pytest.mark.parametrize(
    ("text", "whole", "part"),
    [
        ("ark:/99999/x#page=2", "ark:99999/x", "page=2"),
        ("ark:/99999/x#a%20b#c", "ark:99999/x", "a b#c"),
        ("hdl:21.T14999/x#part", "hdl:21.T14999/x#part", None),  # a handle may have a # in it
        ("ark:/99999/x", "ark:99999/x", None),
    ],
)
def test_a_part_is_behind_a_hash_that_the_name_cannot_have(
    text: str, whole: str, part: str | None
) -> None:
    name = split_part(text)
    assert (name.identifier, name.part) == (parse(whole), part)


@pytest.mark.parametrize("text", ["", "ark:#page=2", "hdl:#a", "pdi://a.example.us/x.text#1"])
def test_no_part_makes_a_text_an_identifier(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        split_part(text)


def test_a_part_of_an_unknown_name_is_no_part() -> None:
    name = split_part("ark:/99999/x#page=2")
    query = Query(identifier=name.identifier, part=name.part, doubt=name.doubt)
    with pytest.raises(MalformedIdentifier):
        unfolding({}).resolve(query)
    assert unfolding({"ark:/99999/x": HERE}).resolve(query).part == "page=2"


def test_a_part_stands_in_a_pdi_and_beside_every_other_name() -> None:
    """Ruling part-meaning."""
    pdi, ark = parse("pdi://a.example.us/2026/11/21/1.text.1"), parse("ark:/99999/x")
    assert join_part(pdi, None) == (pdi, None)
    assert join_part(ark, "page=2") == (ark, "page=2")
    assert join_part(pdi, "1,2") == (parse(f"{pdi}#char=1,2"), None)
    with pytest.raises(MalformedIdentifier):
        join_part(parse(f"{pdi}#char=1,2"), "1,2")


# Which whole
# -----------


@pytest.mark.parametrize(
    ("name", "whole", "delimiter", "part"),
    [
        ("hdl:1/a@b", "hdl:1/a", "@", "b"),
        ("hdl:1/a#b", "hdl:1/a", "#", "b"),
        ("ark:/99999/a/b", "ark:/99999/a", "/", "b"),
        ("ark:/99999/a.b", "ark:/99999/a", ".", "b"),
        ("ark:/99999/a%23b-c", "ark:/99999/a", "#", "b-c"),
        ("urn:x-test:a%23b", "urn:x-test:a", "#", "b"),
    ],
)
def test_the_registered_beginning_of_a_name(
    name: str, whole: str, delimiter: str, part: str
) -> None:
    found = unfold(unfolding({whole: HERE}), name)
    assert found is not None
    assert found.inside == NameBeginning(parse(whole), delimiter, part)
    assert found.holder is HERE


def test_the_longest_registered_beginning_counts() -> None:
    longer = msgspec.structs.replace(HERE, revision=2)
    known = unfolding({"ark:/99999/a": HERE, "ark:/99999/a/b": longer})
    found = unfold(known, "ark:/99999/a/b/c")
    assert found is not None
    assert (found.holder, found.part) == (longer, "c")


@pytest.mark.parametrize("name", ["hdl:1/b@c", "hdl:1/ab", "hdl:1/a/b", "hdl:1/a@", "urn:x-test:a"])
def test_names_that_are_a_part_of_nothing(name: str) -> None:
    assert unfold(unfolding({"hdl:1/a": HERE}), name) is None
    assert location(unfolding({"hdl:1/a": HERE}), name) is None


# Where the part lies
# -------------------


def test_what_follows_an_ark_follows_its_location() -> None:
    known = unfolding({"ark:/99999/a": HERE})
    assert location(known, "ark:/99999/a/b c".replace(" ", "%20")) == f"{PLACE}/b%20c"
    assert location(known, "ark:/99999/a.v2") == f"{PLACE}.v2"


def test_a_template_of_the_settings() -> None:
    known = unfolding({"hdl:1/a": HERE}, "hdl:1/ @ {location}?part={part}")
    assert location(known, "hdl:1/a@b/c") == f"{PLACE}?part=b/c"
    assert location(known, "hdl:1/a#b") is None


def test_a_template_of_the_record_comes_before_one_of_the_settings() -> None:
    own = Value(index=1, type="TEMPLATE", data="@ {location}?own={part}")
    bad = Value(index=2, type="TEMPLATE", data="@ no target")
    record = msgspec.structs.replace(HERE, values=(bad, own))
    known = unfolding({"hdl:1/a": record}, "hdl:1/ @ {location}?part={part}")
    assert location(known, "hdl:1/a@b") == f"{PLACE}?own=b"


def test_the_templates_of_a_record_share_a_budget() -> None:
    """However many a record has: the last one is not tried any more."""
    slow = tuple(
        Value(index=index, type="TEMPLATE", data=f"@ /{'.*' * 80}b/ {{location}}?slow={{part}}")
        for index in range(1, 100)
    )
    last = Value(index=100, type="TEMPLATE", data="@ /a+/ {location}?last={part}")
    name = f"hdl:1/a@{'a' * 400}"
    many = msgspec.structs.replace(HERE, values=(*slow, last))
    with pytest.raises(ExpressionsTooCostly, match="5000 steps"):
        location(unfolding({"hdl:1/a": many}), name)
    alone = msgspec.structs.replace(HERE, values=(last,))
    assert location(unfolding({"hdl:1/a": alone}), name) == f"{PLACE}?last={'a' * 400}"


def test_a_template_of_the_handle_system_lies_with_the_handle_or_its_prefix() -> None:
    value = Value(index=1, type="HS_NAMESPACE", data=NAMESPACE)
    bad = Value(index=2, type="HS_NAMESPACE", data="<namespace")
    expected = f"{PLACE}?part=b"
    own = msgspec.structs.replace(HERE, values=(bad, value))
    assert location(unfolding({"hdl:1/a": own}), "hdl:1/a@b") == expected
    of_prefix = {"hdl:1/a": HERE, "hdl:0.NA/1": Record(values=(value,))}
    assert location(unfolding(of_prefix), "hdl:1/a@b") == expected
    assert location(unfolding(of_prefix), "hdl:1/a#b") is None
    assert location(unfolding({"hdl:1/a": HERE}), "hdl:1/a@b") is None


@pytest.mark.parametrize(
    "record",
    [Record(), Record(tombstone=Tombstone(reason="it was", at="2026-11-21T01:02:03Z", by="ann"))],
    ids=["reserved", "withdrawn"],
)
def test_a_part_of_what_leads_nowhere_leads_nowhere(record: Record) -> None:
    assert location(unfolding({"ark:/99999/a": record}), "ark:/99999/a/b") is None


def test_a_location_that_nothing_can_follow_is_refused() -> None:
    known = unfolding({"hdl:1/a": HERE}, "hdl:1/ @ {location}?part={part}")
    found = unfold(known, "hdl:1/a@b")
    assert found is not None
    with pytest.raises(InvalidRequest):
        found.locate_part("javascript:alert(1)")


def test_only_what_is_not_registered_is_sent_on_as_a_part() -> None:
    known = unfolding({"ark:/99999/a": HERE, "ark:/99999/a/c": HERE})
    found = unfold(known, "ark:/99999/a/b")
    assert found is not None
    step = found.choose(Want.LOCATION)
    assert isinstance(step, Redirect)
    assert (step.identifier, step.location.uri) == (parse("ark:/99999/a"), f"{PLACE}/b")
    assert unfold(known, "ark:/99999/a/c") is None
    assert unfold(known, "ark:/99999/z/c") is None


def test_an_ark_is_cut_at_every_character_of_its_end() -> None:
    """The resolver of ARKs passes on whatever follows the longest name that it knows; 64 cuts are
    tried, so that a long name costs no more."""
    short = [str(one.whole) for one in find_beginnings(parse("ark:12345/x5ab"))]
    assert short == [f"ark:12345/{name}" for name in ("x5a", "x5", "x")]
    long = [str(one.whole) for one in find_beginnings(parse(f"ark:12345/{'x' * 200}"))]
    assert long == [f"ark:12345/{'x' * count}" for count in range(199, 135, -1)]


@given(arks.values().map(lambda one: cast("Ark", parse(str(one).replace("%", "x")))))
@example(cast("Ark", parse(f"ark:99999/x6{'/y' * 15}")))
@example(cast("Ark", parse(f"ark:99999/x6{'/y' * 16}")))
@example(cast("Ark", parse(f"ark:99999/x6{'y' * 70}")))
def test_a_cut_is_the_beginning_that_is_tried_first(name: Ark) -> None:
    """ "The delimiter and the part of a name, if the name with the key `whole` is its
    beginning." Usual names have no escapes."""
    tried: dict[str, tuple[str, str]] = {}
    for one in find_beginnings(name):
        tried.setdefault(one.whole.key, (one.delimiter, one.part))
        assert name.key.startswith(one.whole.key)
    for length in range(name.key.index("/") + 2, len(name.key)):
        whole = name.key[:length]
        cut = find_cut(name.key, whole)
        if cut is not None and parse(whole).key == whole:
            assert tried[whole] == cut


@pytest.mark.parametrize(
    ("rest", "cut"),
    [
        ("/c", ("/", "c")),
        (".v1", (".", "v1")),
        ("c", ("", "c")),
        ("c" * 64, ("", "c" * 64)),
        ("c" * 65, None),
        ("/a" * 15, ("/", "a" + "/a" * 14)),  # 16 delimiters, with that after the number
        ("/a" * 16, None),
    ],
)
def test_a_cut_is_found_unless_it_may_not_be_tried(rest: str, cut: tuple[str, str] | None) -> None:
    """ "the longest first: at most 17, for an ARK 81" """
    assert find_cut(f"ark:99999/x6{rest}", "ark:99999/x6") == cut


@given(
    st.sampled_from(
        ["hdl:1/A", "doi:10.1/ab", "ark:99999/x6", "ark:/99999/x-6/c", "urn:example:a"]
    ),
    st.sampled_from(["@", "%23"]),
    st.text("azAZ09._~:;,=+!$()/-@%#?*", max_size=8),
)
@example("ark:99999/x6", "%23", "a//b-c")
@example("doi:10.1/ab", "@", "Time(1s)")
def test_a_part_of_a_usual_name_is_the_first_that_is_tried(name: str, mark: str, part: str) -> None:
    """ "Return the name and the part in a target" """
    text = f"{name}{mark}{part}"
    try:
        plain = read_plain_part(text)
    except MalformedIdentifier:
        with pytest.raises(MalformedIdentifier):
            read_identifier(text)
        return
    if plain is not None:
        asked = read_identifier(text)
        first = next(find_beginnings(asked))
        assert (plain.key, plain.delimiter, plain.part) == (asked.key, first.delimiter, first.part)
        assert plain.whole == PlainName(first.whole.key, first.whole.path)
        assert plain.whole.path == str(first.whole)
