"""Names that lead to others: the fast path answers as the plain way does, in every scheme.

`LEADS` are answered fast; the other names of the registry, and all that Hypothesis makes of pieces
of names, may be left to the plain way, but must not be answered otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, Clock, Desk, text
from tests.server.both_ways import BothWays
from tests.server.deployment import Deployment, deployed
from tests.server.test_fastpath import FIELDS, exchange

from perdure.ids import parse
from perdure.model.commands import Alias, Assign, Command, Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Value
from perdure.registry import initialise

DAY = f"pdi://{SERIES}/1997/09/01"
PLACE = "https://a.example/x"
TEMPLATES = (
    "hdl:1/ # {location}?part={part}",
    "hdl:1/ @ {location}#t={time}",
    "doi:10.1/ # {location}/{part}",
    "urn:example:a # {location}?part={part}",
    "ark:99999/templated * {location}?part={part}",
    "ark:99999/ # {location}?hash={part}",
)
NAMESPACE = (
    '<namespace><template delimiter="@"><foreach><if value="type" test="equals" expression="URL">'
    '<value data="${data}?part=${extension}"/></if></foreach></template></namespace>'
)
OWNERS = {
    f"{DAY}/1": "hdl:1/alias-of-pdi",
    "hdl:1/A": "doi:10.1/alias-of-handle",
    "doi:10.1/abc": "ark:99999/alias-of-doi",
    "ark:99999/x6": "urn:example:alias-of-ark",
    "urn:example:a": "URN:IANA:42117::alias:::",
    "URN:IANA:42117::opaque-1:::": "pwid:archive.org:2016-01-22T11.20.29Z:page:http://alias.dk/",
    "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/": f"{DAY}/alias-of-pwid",
}
"""A name in each scheme with one location, and its alias in another scheme."""
LEADS = (
    *OWNERS.values(),
    *["1/alias-of-pdi", "10.1/ALIAS-of-handle", "ark:/99999/alias-of-doi"],
    *f"{DAY}/of-letter {DAY}/of-letter.text.1".split(),
    *["hdl:1/of-values", "1/OF-VALUES", "hdl:1/to-values", "hdl:1/of-gone"],
    *["hdl:1/at-last", "hdl:1/to-doi", "hdl:1/to-letter"],
    *["ark:99999/x6/c3/s5.v7.xsl", "ark:99999/x6.pdf", "ark:/99999/x-6-tail", "ark:99999/x6/c"],
    *["ark:99999/templated/part", "ark:99999/x6%23hash", "ark:99999/described/y"],
    *["hdl:1/A%23z", "1/A%23z", "hdl:1/a@time(100s,200s)", "doi:10.1/ABC%23Z", "urn:example:a%23z"],
    *["hdl:2/own%23z", "hdl:2/spaced@box(1,2)", "hdl:1/valued%23z"],
)
OTHERS = (
    *[
        "hdl:1/of-two",
        "hdl:1/of-nothing",
        "hdl:1/loop",
        "hdl:1/chain",
        "hdl:1/away",
        "hdl:1/secret",
    ],
    *["hdl:1/of-pdi", "hdl:1/of-A", "hdl:1/of-A%23z", "hdl:1/of-A@time(1s,2s)", "hdl:1/gone%23z"],
    *["ark:99999/here/y", "ark:99999/several/y", "ark:99999/gone/y", "ark:99998/x", "ark:99999/"],
    *["ark:99999/x6/./y", "ark:99999/x6/", "ark:99999/x6/%", "ark:99999/x6/%20", "ark:99999/x6*"],
    *["ark:99999/x6%23", "ark:99999/x6@y", "ark:99999/x6/y?info", "ark:99999/x6/y?"],
    *(f"ark:99999/x6{rest}" for rest in (f"/{'y' * 64}", "y" * 64, "y" * 65)),
    *(f"ark:99999/x6{rest}" for rest in ("/y" * 15, "/y" * 16, ".y" * 40)),
    *["hdl:1/A@z", "hdl:1/A%23a%26b", "hdl:1/A%23y%23z", "hdl:1/A@y%23z", "hdl:1/unknown%23z"],
    *["hdl:1/held%23char=0,3", "hdl:1/A?part=z", "hdl:1/%41%23z", "hdl:3/none%23z"],
    *["hdl:1/A%23", "hdl:1/A@", "URN:IANA:42117::opaque-1:::%23z", "urn:example:b%23z"],
    *f"{DAY}/1%23z {DAY}/1.text%23z {DAY}/2 {DAY}/of-letter.text.2 {DAY}/of-letter.text".split(),
    *("12345678901234/x", "1/", ""),
)


def _make_values(*values: tuple[str, ...]) -> tuple[Value, ...]:
    """Values from their types, their data and, if they are not public, their permissions."""
    return tuple(
        Value(index=index, type=kind, data=data, permissions=(*more, "1110")[0])
        for index, (kind, data, *more) in enumerate(values, 1)
    )


def _fill_registry(desk: Desk) -> None:
    def do(command: Command) -> None:
        desk.registry.door.execute_command(command)

    for number, (name, alias) in enumerate(OWNERS.items()):
        desk.bind(name, f"{PLACE}{number}?q={number}#there", register=True)
        desk.alias(name, alias)
    letter = desk.mint(text(b"0123456789")).identifier.removesuffix(".text.1")
    desk.alias(letter, f"{DAY}/of-letter")
    for name in ("hdl:1/two", "hdl:1/other"):
        desk.bind(name, PLACE, register=True)
        do(Alias(identifier=parse(name), other=parse("hdl:1/of-two")))
    desk.alias("hdl:1/A", "hdl:1/of-A")
    for name in ("hdl:1/gone", "ark:99999/gone"):
        desk.bind(name, PLACE, register=True)
        desk.alias(name, name.replace("gone", "of-gone"))
        desk.withdraw(name)
    desk.register("hdl:1/held", text(b"0123456789"))
    desk.register("ark:99999/here", text(b"0123456789"))
    desk.bind("ark:99999/several", PLACE, f"{PLACE}y", register=True)
    desk.bind("ark:99999/templated", f"{PLACE}?a=b", register=True)
    desk.bind("ark:99999/x6/c3", f"{PLACE}/c3", register=True)
    desk.bind("ark:99999/x6/b", Location(uri=f"{PLACE}/b", version=3), register=True)
    desk.bind("ark:99999/described", PLACE, register=True)
    desk.bind("hdl:12345678901234/x", PLACE, register=True)
    desk.bind("doi:10.1/letter", PLACE, register=True)
    valued: dict[str, list[tuple[str, ...]]] = {
        "hdl:1/valued": [("URL", PLACE), ("EMAIL", "a@b.example")],
        "hdl:1/of-values": [("HS_ALIAS", "1/valued")],
        "hdl:1/to-values": [("EMAIL", "a@b.example"), ("HS_ALIAS", " hdl:1/A ")],
        "hdl:1/loop": [("HS_ALIAS", "1/loop")],
        "hdl:1/chain": [("HS_ALIAS", "1/of-values")],
        "hdl:1/away": [("HS_ALIAS", "1839/elsewhere")],
        "hdl:1/secret": [("HS_ALIAS", "1/A", "1100"), ("URL", PLACE)],
        "hdl:1/of-nothing": [("HS_ALIAS", "not a handle")],
        "hdl:1/at-last": [("HS_ALIAS", "not a handle"), ("HS_ALIAS", "1/A")],
        "hdl:1/to-doi": [("HS_ALIAS", "10.1/LETTER")],
        "hdl:1/to-letter": [("HS_ALIAS", f"pdi/{letter.removeprefix('pdi://')}")],
        "hdl:2/own": [("URL", PLACE), ("TEMPLATE", "# {location}/{part}")],
        "hdl:2/spaced": [("URL", PLACE)],
        "hdl:0.NA/2": [("HS_NAMESPACE", NAMESPACE)],
        "hdl:3/none": [("URL", PLACE)],
    }
    for name, values in valued.items():
        do(Assign(identifier=parse(name), values=_make_values(*values)))


def _initialise(root: Path) -> None:
    initialise(root, templates=TEMPLATES, handle_prefixes=("1", "2", "3"), series=(SERIES,))


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothWays]:
    root = tmp_path_factory.mktemp("leads") / "registry"
    _initialise(root)
    made = BothWays(root)
    _fill_registry(made.desk)
    yield made
    made.close()


BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("name", LEADS)
def test_a_lead_is_answered_fast_and_like_the_plain_way(ways: BothWays, name: str) -> None:
    for fields in ((), ("Accept: */*",), (BROWSER,), ("Range: bytes=0-3",), ("Host: b.example",)):
        for method in ("GET", "HEAD"):
            plain = ways.ask_plainly(f"/{name}", *fields, method=method)
            assert plain.startswith(b"HTTP/1.1 302 ")
            for _ in range(2):
                assert ways.ask_fast(f"/{name}", *fields, method=method) == plain


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_name_is_left_to_the_plain_way_or_answered_like_it(
    ways: BothWays, name: str
) -> None:
    for fields in ((), (BROWSER,)):
        plain = ways.ask_plainly(f"/{name}", *fields)
        for _ in range(2):
            assert ways.ask_fast(f"/{name}", *fields) in (None, plain)


pieces = st.sampled_from(
    [
        *("x6", "x6/c3", "x", "6", "/", ".", "-", "%23", "%2523", "@", "c3", "b", "gone", "here"),
        *(
            "several",
            "templated",
            "described",
            "A",
            "abc",
            "a",
            "z",
            "time(1s,2s)",
            "of-A",
            "*",
            "1",
        ),
        *("alias-of-doi", ":", "%C3%A9", "%41", "opaque-1:::", "valued", "own", "_"),
    ]
)
beginnings = st.sampled_from(
    [
        *("ark:99999/", "ark:/99999/x6", "ARK:99999/x6", "ark:99999/x6", "ark:99999/described", ""),
        *("hdl:1/", "hdl:1/A", "hdl:2/own", "hdl:2/spaced@", "1/A", "doi:10.1/abc", "10.1/ABC%23"),
        *("urn:example:a", "URN:EXAMPLE:a", "URN:IANA:42117::", f"{DAY}/", "hdl:0.NA/", "hdl:1/A@"),
    ]
)


@given(beginnings, st.lists(pieces, min_size=1, max_size=6).map("".join))
def test_whatever_is_asked_both_ways_give_the_same_bytes(
    ways: BothWays, beginning: str, rest: str
) -> None:
    """ "an answer from here is the same, byte for byte, as the plain way's" """
    target = f"/{beginning}{rest}"
    fast = ways.ask_fast(target)
    if fast is not None:
        assert fast == ways.ask_plainly(target)


def test_the_server_gives_the_same_bytes(tmp_path: Path) -> None:
    """The same request is sent to be kept open, which the fast path may answer, and to be closed,
    which it never does."""
    root = tmp_path / "registry"
    _initialise(root)
    with deployed(root) as site:
        desk = Desk(root, Clock())
        _fill_registry(desk)
        desk.registry.close()
        for name in ("hdl:1/alias-of-pdi", "ark:99999/x6/c3/s5", "hdl:1/A%23z"):
            _compare_ways(site, name)


def _compare_ways(site: Deployment, name: str) -> None:
    for fields in FIELDS:
        line = f"GET /{name} HTTP/1.1\r\nHost: id.example\r\n{fields}"
        closing = exchange(site, f"{line}Connection: close\r\n\r\n")
        plain = closing.replace(b"connection: close\r\n", b"")
        ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        both = exchange(site, f"{line}\r\n{ender}")
        assert both[: both.rindex(b"HTTP/1.1 200 OK")] == plain, (name, fields)


# changes
# -------


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[BothWays]:
    _initialise(tmp_path / "registry")
    made = BothWays(tmp_path / "registry")
    yield made
    made.close()


def test_a_lead_ends_when_the_name_gets_a_record_of_its_own(fresh: BothWays) -> None:
    """ "new records raise only the second count": a lead rests on a missing one."""
    desk = fresh.desk
    desk.bind("ark:99999/x6", PLACE, register=True)
    target = "/ark:99999/x6/c3/s5"
    for name in ("ark:99999/x6/c", "ark:99999/x6/c3", "ark:99999/x6/c3/s5", "ark:99999/x6/c4"):
        before = fresh.ask_fast(target)
        assert before == fresh.ask_plainly(target)
        desk.bind(name, f"{PLACE}/{name[-2:]}", register=True)
        after = fresh.ask_fast(target)
        assert after == fresh.ask_plainly(target)
        assert (after == before) is (name == "ark:99999/x6/c4")


def test_a_lead_ends_when_its_alias_gets_a_second_owner(fresh: BothWays) -> None:
    desk = fresh.desk
    for name in ("hdl:1/one", "hdl:1/two"):
        desk.bind(name, PLACE, register=True)
    desk.alias("hdl:1/one", "hdl:1/other")
    assert fresh.ask_fast("/hdl:1/other") == fresh.ask_plainly("/hdl:1/other")
    assert fresh.ask_fast("/hdl:1/other") is not None
    desk.alias("hdl:1/two", "hdl:1/other")
    assert fresh.ask_fast("/hdl:1/other") is None


def test_a_record_that_was_added_in_the_same_turn_is_seen(fresh: BothWays) -> None:
    """The state that look-ups see is held for one turn of the event loop."""
    desk = fresh.desk
    desk.bind("hdl:1/owner", PLACE, register=True)
    desk.alias("hdl:1/owner", "hdl:1/other")

    def ask(target: bytes) -> bytes | None:
        return fresh.fast.answer_request(b"GET", target, b"\r\nHost: a\r\n\r\n")

    async def run() -> tuple[bytes | None, bytes | None]:
        known = ask(b"/hdl:1/owner")
        assert known is not None
        desk.bind("ark:99999/x6", PLACE, register=True)
        first = ask(b"/ark:99999/x6/c3")
        desk.bind("ark:99999/x6/c3", f"{PLACE}/c3", register=True)
        return first, ask(b"/ark:99999/x6/c3")

    first, second = asyncio.run(run())
    assert first is not None
    assert b"\r\nlocation: https://a.example/x/c3\r\n" in first
    assert second in (None, fresh.ask_plainly("/ark:99999/x6/c3", "Host: a"))


# reading rules
# -------------

GOVERNED = {
    "hdl:1/A": "closed by a rule about the owner of an alias, a target and a whole",
    "hdl:1/alias-of-pdi": "closed by a rule about the alias itself",
    "ark:99999/x6": "closed by a rule about the whole of a suffix",
    "urn:example:a": "a part of it is closed",
    "hdl:2/*": "closed by a scope",
}
"""Names with reading rules."""
CLOSED = (
    *["hdl:1/alias-of-pdi", "1/alias-of-pdi", "doi:10.1/alias-of-handle"],
    *["10.1/ALIAS-of-handle", "urn:example:alias-of-ark", "URN:IANA:42117::alias:::"],
    *["hdl:1/to-values", "hdl:1/at-last", "hdl:1/A%23z", "1/A%23z", "hdl:1/a@time(100s,200s)"],
    *[
        "ark:99999/x6.pdf",
        "ark:/99999/x-6-tail",
        "ark:99999/x6%23hash",
    ],
    *["urn:example:a%23z", "hdl:2/own%23z", "hdl:2/spaced@box(1,2)"],
    *["ark:99999/x6/c"],
)
"""The leads about which, or about whose owner or whole, there is a rule."""


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothWays]:
    root = tmp_path_factory.mktemp("governed") / "registry"
    _initialise(root)
    made = BothWays(root)
    _fill_registry(made.desk)
    for about in GOVERNED:
        part = "z" if about.startswith("urn:") else ""
        rule = ReadingRule(about=about, part=part, access=Access.CLOSED)
        made.desk.registry.door.execute_command(Restrict(rule=rule))
    yield made
    made.close()


@pytest.mark.parametrize("name", [*LEADS, *OTHERS])
def test_rules_leave_other_leads_on_the_fast_way(governed: BothWays, name: str) -> None:
    plain = governed.ask_plainly(f"/{name}")
    for _ in range(2):
        fast = governed.ask_fast(f"/{name}")
        assert fast in (None, plain)
        assert (fast is None) or name not in CLOSED
        assert (fast is not None) or name in (*CLOSED, *OTHERS)


def test_a_rule_ends_remembered_leads(fresh: BothWays) -> None:
    fresh.desk.bind("hdl:1/owner", PLACE, register=True)
    fresh.desk.alias("hdl:1/owner", "hdl:1/other")
    assert fresh.ask_fast("/hdl:1/other") == fresh.ask_plainly("/hdl:1/other")
    rule = ReadingRule(about="hdl:1/owner", access=Access.CLOSED)
    fresh.desk.registry.door.execute_command(Restrict(rule=rule))
    assert fresh.ask_fast("/hdl:1/other") is None
    assert fresh.ask_plainly("/hdl:1/other").startswith(b"HTTP/1.1 403 ")


def test_a_rule_that_refuses_nobody_leaves_a_name_on_the_fast_way(fresh: BothWays) -> None:
    def restrict(access: Access, until: str = "") -> None:
        rule = ReadingRule(about="hdl:1/owner", access=access, until=until)
        fresh.desk.registry.door.execute_command(Restrict(rule=rule))

    fresh.desk.bind("hdl:1/owner", PLACE, register=True)
    for access, until, is_fast in (
        (Access.OPEN, "", True),
        (Access.CLOSED, "", False),
        (Access.CLOSED, "2000-01-01", True),
        (Access.CLOSED, "9000-01-01", False),
        (Access.UNAVAILABLE, "", False),
        (Access.OPEN, "", True),
    ):
        restrict(access, until)
        plain = fresh.ask_plainly("/hdl:1/owner")
        for _ in range(2):
            assert fresh.ask_fast("/hdl:1/owner") == (plain if is_fast else None)
        assert plain.startswith(b"HTTP/1.1 302 ") == is_fast
