"""Of several locations, the fast path chooses the one that the plain way chooses, for each reader.

The bytes of both ways are compared over a socket for some records and readers, and in one process
for many: there, the plain way is `decide_step` and `make_redirect`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_several_locations import locations, records
from tests.server.both_ways import BothWays
from tests.server.deployment import SERIES, Deployment, deployed
from tests.server.test_fastpath import exchange

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model import stored
from perdure.model.commands import Assign, Bind
from perdure.model.queries import Query, Redirect
from perdure.model.records import Location, Record, Value
from perdure.policy.decide import decide_step
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.handles.values import find_alias
from perdure.policy.ordering import depends_on_reader
from perdure.policy.showing import show_to_readers
from perdure.registry import Registry, initialise
from perdure.server.common.answers import write_answer
from perdure.server.common.asking import current_day
from perdure.server.common.negotiate import read_preferences
from perdure.server.common.redirects import make_redirect
from perdure.server.fast import path
from perdure.server.fast.path import FastPath
from perdure.settings import Settings
from perdure.storage.generation import Generation
from perdure.upkeep.linkcheck.health import Health

HERE = "https://a.example/"
DAY = "1994-05-02"
REGION = "X-Region"
LOC = """<locations chooseby="{}">
<location id="0" href="https://a.example/0" country="gb" weight="0.5"/>
<location id="1" href="https://a.example/1" country="US" weight="2" {}/>
</locations>"""


def test_a_choice_takes_little_room(tmp_path: Path) -> None:
    """The pattern of the locations is shared: one entry, with the answer."""
    (tmp_path / "registry").mkdir()
    initialise(tmp_path / "registry", series=(SERIES,))
    ways = BothWays(tmp_path / "registry")
    places = Location(uri=HERE, region="eu"), Location(uri=f"{HERE}us", region="us")
    name = parse("urn:example:two")
    ways.desk.registry.door.execute_command(Bind(identifier=name, locations=places, register=True))
    answer = ways.ask_fast("/urn:example:two")
    assert answer is not None
    recent = ways.fast._recent
    assert len(recent._young) == 1
    assert recent._size < len(answer) + 1000
    ways.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("choices") / "registry"
    with deployed(root, region_header=REGION) as running:
        _bind_names(running)
        yield running


CHOICES = {
    "urn:example:weights": ({"weight": 1}, {"weight": 3}, {}),
    "urn:example:regions": ({"region": "eu"}, {"region": "US", "weight": 2}, {}),
    "urn:example:languages": ({"language": "de"}, {"language": "en-GB"}, {}),
    "urn:example:formats": ({"format": "html"}, {"format": "pdf"}, {"format": "html"}),
    "urn:example:days": (
        {"valid_until": "1994-05-01"},
        {"valid_from": "1994-05-01"},
        {"weight": 2, "valid_from": "2999-01-01"},
    ),
    "hdl:1/bound": ({"language": "x-y"}, {"region": "eu"}),
    "ark:99999/x6": ({"region": "eu"}, {}),
    f"pdi://{SERIES}/1997/09/01/7": ({"format": "html"}, {"format": "html", "region": "eu"}),
    f"pdi://{SERIES}/1997/09/01/8": ({"version": 1}, {"version": 2}, {"version": 2, "weight": 3}),
    "urn:example:many": tuple({"weight": number % 7} for number in range(40)),
}
VALUES = {
    "hdl:1/stated": [("URL", "https://a.example/1"), ("URL", " https://a.example/2 ")],
    "hdl:1/loc": [("10320/loc", LOC.format("locatt,country,weighted", ""))],
    "hdl:1/by-weight": [("10320/loc", LOC.format("weighted", ""))],
    "hdl:1/by-country": [("10320/loc", LOC.format("country", ""))],
    "hdl:1/conneg": [("10320/loc", LOC.format("country", 'http_role="conneg"'))],
    "hdl:1/both": [("10320/loc", LOC.format("country", "")), ("URL", "https://a.example/3")],
}
READERS = [
    "",
    "Accept: */*\r\n",
    "Accept: application/pdf\r\n",
    "Accept: text/html;q=0.5, application/pdf;q=0.7\r\n",
    "Accept-Language: de\r\n",
    "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n",
    "Accept-Language: fr\r\nAccept-Language: *\r\n",
    "X-Region: eu\r\n",
    "X-Region: us-ny\r\n",
    "X-Region:  EU \r\n",
    f"X-Region: {'e' * 65}\r\n",
    "X-Region: eu\r\nX-Region: us\r\n",
    "Accept: application/pdf\r\nAccept-Language: en\r\nX-Region: gb\r\n",
    f"Accept-Language: {','.join(f'x{number};q=0.{number:03}' for number in range(99))}, de\r\n",
]


def _bind_names(site: Deployment) -> None:
    for name, several in CHOICES.items():
        site.bind(
            name,
            *(
                Location(uri=f"{HERE}{number}", **fields)  # type: ignore[arg-type]
                for number, fields in enumerate(several)
            ),
        )
    for name, stated in VALUES.items():
        values = tuple(
            Value(index=index, type=kind, data=data, ttl=60 * index)
            for index, (kind, data) in enumerate(stated, 1)
        )
        site.do(Assign(identifier=parse(name), values=values))


TARGETS = [
    *CHOICES,
    *VALUES,
    "1/loc",
    "hdl:1/Loc",
    "hdl:1/l%6Fc",
    "urn:example:regions?region=eu",
    "hdl:1/loc?locatt=id:0",
    *(f"pdi://{SERIES}/1997/09/01/{rest}" for rest in ("7.html", "7.text", "7.html.2", "8.html.1")),
]


def test_both_ways_give_the_same_bytes(site: Deployment) -> None:
    ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    for target in TARGETS:
        for method in ("GET", "HEAD"):
            lines = [f"{method} /{target} HTTP/1.1\r\nHost: a\r\n{fields}" for fields in READERS]
            plain = [
                exchange(site, f"{one}Connection: close\r\n\r\n").replace(
                    b"connection: close\r\n", b""
                )
                for one in lines
            ]
            fast = exchange(site, "".join(f"{one}\r\n" for one in (*lines, *lines)) + ender)
            assert fast.startswith(b"".join((*plain, *plain))), (method, target)


def test_choices_are_made_without_asgi(site: Deployment) -> None:
    """Or the comparison proves nothing."""
    ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    usual = (*CHOICES, "1/loc", *(one for one in VALUES if not one.endswith("conneg")))
    for name in usual:
        before = _count_redirects(site)
        requests = [f"GET /{name} HTTP/1.1\r\nHost: a\r\n{fields}\r\n" for fields in READERS[3:]]
        site.send(("".join(requests) + ender).encode())
        assert _count_redirects(site) == before + len(requests), name


def _count_redirects(site: Deployment) -> float:
    for line in site.get("/metrics").body.decode().splitlines():
        if line.startswith('perdure_fast_answers_total{kind="redirect"}'):
            return float(line.rpartition(" ")[2])
    raise AssertionError


def test_no_choice_is_older_than_an_acknowledged_change(site: Deployment) -> None:
    name = site.bind("hdl:1/moving", Location(uri=HERE, region="eu"))
    for number in range(1, 9):
        new = Location(uri=f"{HERE}{number}", region="us", weight=number + 1)
        site.do(Bind(identifier=parse(name), locations=(new,)))
        requests = "".join(
            f"GET /{name} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"
            for fields in ("", "X-Region: eu\r\n", "Connection: close\r\n")
        )
        found = [one.headers["location"] for one in site.send(requests.encode())]
        assert found == [f"{HERE}{number}", HERE, f"{HERE}{number}"]


# in one process
# --------------


class Registered:
    """A registry with one record under every name, and the fast path over it."""

    def __init__(self, root: Path) -> None:
        self.record = Record()
        self.changed = False
        self.health = SimpleNamespace(dead=frozenset(), refresh=self._refresh)
        self.settings = Settings(region_header=REGION)
        lookup = SimpleNamespace(
            find_stored=lambda _key: stored.encode_stored(self.record).decode(),
            find_last_stored=None,
            find_referring=None,
            hold_state=lambda: None,
            release_state=lambda: None,
        )
        records = SimpleNamespace(open_lookup=lambda: lookup, open_turns=lambda: None)
        reading = SimpleNamespace(rules=SimpleNamespace(refresh=lambda: False))
        nothing = SimpleNamespace(has_hand_overs=False, held=())
        registry = SimpleNamespace(
            root=root,
            records=records,
            reading=reading,
            bytes=None,
            settings=self.settings,
            delegations=SimpleNamespace(load_index=lambda: nothing),
        )
        self.generation = Generation(root)
        self.fast = FastPath(
            cast("Registry", registry), self.generation, cast("Health", self.health)
        )

    def _refresh(self) -> bool:
        return self.changed

    def change(self, record: Record, dead: frozenset[str] = frozenset()) -> None:
        self.record, self.health.dead = record, dead
        self.generation.note_revision()

    def ask(self, name: str, *fields: str) -> bytes | None:
        lines = "".join(f"{one}\r\n" for one in ("", "Host: a", *fields, ""))

        async def answer() -> bytes | None:
            return self.fast.answer_request(b"GET", f"/{name}".encode(), lines.encode())

        return asyncio.run(answer())

    def ask_plainly(
        self, name: str, accept: str, languages: str, region: str | None
    ) -> bytes | None:
        """The redirect of the plain way, or None if it does anything else."""
        query = Query(
            identifier=parse(name),
            accept=read_preferences(accept),
            languages=read_preferences(languages),
            region=region,
            day=current_day(),
            dead=self.health.dead,
        )
        with contextlib.suppress(PerdureError):
            shown = show_to_readers(self.record)
            step = decide_step(query, shown)
            others = find_alias(shown) is not None or negotiates_elsewhere(shown.values)
            if isinstance(step, Redirect) and not others:
                several = depends_on_reader((step.location, *step.others))
                vary = b"accept, accept-language, x-region" if several else b"accept"
                fresh = self.settings.fresh_seconds
                return write_answer(make_redirect(step, fresh=fresh, base="", vary=vary))
        return None


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Registered:
    return Registered(tmp_path_factory.mktemp("registered"))


@given(
    st.sampled_from(["hdl:1/x", f"pdi://{SERIES}/1997/09/01/1.html", "hdl:1/%C3%A9"]),
    records | st.builds(Record, locations=st.lists(locations, min_size=2, max_size=4).map(tuple)),
    st.lists(
        st.tuples(
            st.sampled_from(["", "*/*", "application/pdf", "text/html;q=0.2, application/pdf"]),
            st.sampled_from(["", "en", "fr, en;q=0.5", "en-GB, *;q=0.1"]),
            st.sampled_from(["", "eu", "US-ny"]),
        ),
        min_size=1,
        max_size=5,
    ),
    st.frozensets(st.sampled_from([HERE, "https://b.example/"])),
)
def test_every_reader_gets_the_redirect_of_the_plain_way(
    registered: Registered,
    name: str,
    record: Record,
    readers: list[tuple[str, str, str]],
    dead: frozenset[str],
) -> None:
    """ "an answer from here is the same, byte for byte, as the plain way's" """
    registered.change(record, dead)
    for accept, languages, region in (*readers, *readers):
        fields = (f"Accept: {accept}", f"Accept-Language: {languages}", f"{REGION}: {region}")
        given_fields = [one for one in fields if not one.endswith(": ")]
        found = registered.ask(name, *given_fields)
        plain = registered.ask_plainly(name, accept, languages, region or None)
        if found is not None and found.startswith(b"HTTP/1.1 302"):
            assert found == plain


def test_a_choice_ends_with_its_day_and_with_the_health_of_links(
    registered: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = Location(uri=HERE, weight=2, valid_until=DAY)
    other = Location(uri="https://b.example/", region="eu")
    third = Location(uri="https://c.example/", region="us")
    registered.change(Record(locations=(ending, other, third)))
    for day, dead, place in (
        (DAY, frozenset(), HERE),
        ("1994-05-03", frozenset(), other.uri),
        ("1994-05-03", frozenset({other.uri}), third.uri),
        ("1994-05-03", frozenset(), other.uri),
    ):
        monkeypatch.setattr(path, "current_day", lambda day=day: day)
        registered.changed, registered.health.dead = dead != registered.health.dead, dead
        registered.fast.drop_outdated()
        for _ in range(2):
            found = registered.ask("hdl:1/x")
            assert found is not None
            assert f"location: {place}\r\n".encode() in found
