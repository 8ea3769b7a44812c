"""Names that go to another resolver with all that they name: a mirror that takes over."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, start, text, wait_for
from tests.upkeep.mirroring.conftest import MakeMirror, Mirror
from tests.upkeep.mirroring.test_promoted import promote

from perdure.errors import RegistriesDivided
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.mirroring import OriginContradicts
from perdure.ids.name_set import read_set
from perdure.model.changes import Deed
from perdure.model.commands import Mint
from perdure.model.delegations import make_delegation, read_resolver
from perdure.policy.replaying import CLOSED
from perdure.registry import Registry, initialise, load_store, utc_now
from perdure.settings import load_settings
from perdure.storage.origin import load_state
from perdure.upkeep.delegating import delegate_names
from perdure.upkeep.mirroring.client import RegistryClient
from perdure.upkeep.mirroring.meeting import meet_registry
from perdure.upkeep.transfer.promoting import promote_copy

PAST = f"pdi://{SERIES}/1993/"
OLD = f"{PAST}09/01/1"


def hand_over(registry: Registry, successor: str) -> None:
    """The names of 1993 go to another resolver."""
    made = make_delegation(read_set(PAST), (read_resolver(successor),), role="successor")
    delegate_names(registry, made)


def follow_links(url: str) -> tuple[int, str]:
    """Status and target at the end of redirects between the two registries."""
    for _ in range(5):
        parts = urlsplit(url)
        assert parts.hostname is not None
        with closing(http.client.HTTPConnection(parts.hostname, parts.port)) as connection:
            connection.request("GET", parts.path)
            answer = connection.getresponse()
            location = answer.headers.get("Location", "")
            if answer.status != 307:
                return answer.status, location
            url = location
    raise AssertionError("too many redirects")


def test_no_link_breaks_when_names_are_handed_over(tmp_path: Path, make_mirror: MakeMirror) -> None:
    """The White House's names go to the National Archives: the old address refers, for ever."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with deployed(tmp_path / "origin") as origin:
        origin.bind(OLD, "https://clinton.archives.example/1")
        held = origin.mint(text(b"of today"))
        secret = origin.token("archives", operations=("mirror",))
        mirror = make_mirror(origin.base, secret, base_url=base)
        mirror.catch_up()
        hand_over(origin.registry, f"{base}/")
        mirror.catch_up()
        promote(mirror, 2)
        mirror.close()
        process, _ = start(mirror.root, port=port)
        site = Deployment(mirror.root, port, process)
        try:
            wait_for(site)
            bound = (302, "https://clinton.archives.example/1")
            assert follow_links(f"{base}/{OLD}") == bound
            assert origin.get(f"/{OLD}").status == 307
            assert follow_links(f"{origin.base}/{OLD}") == bound
            assert origin.get(f"/{held}").body == b"of today"
            with pytest.raises(AnsweredElsewhere):
                origin.do(Mint(authority=SERIES, day="1993/09/01", contents=(text(b"late"),)))
        finally:
            site.registry.close()
            site.stop()


def test_later_rows_of_the_predecessor_are_refused(tmp_path: Path, make_mirror: MakeMirror) -> None:
    """Issue of the network: "later rows of the old one are refused everywhere"."""
    with deployed(tmp_path / "origin") as origin:
        mirror = make_mirror(origin.base, origin.token("m", operations=("mirror",)))
        hand_over(origin.registry, "https://archives.example/")
        mirror.catch_up()
        origin.registry.close()
        origin.stop()
        with closing(origin.registry.store.open_journal(origin.root)) as journal:
            key = f"{SERIES}/19930901/a1"
            line = "2026-11-24T12:00:00Z - - https://elsewhere.example/"
            journal.begin_batch()
            journal.add_records([(key, line)], Deed("retrospect", now(), "local"))
            journal.commit_batch()
        process, _ = start(origin.root, port=origin.port)
        again = Deployment(origin.root, origin.port, process)
        try:
            wait_for(again)
            with pytest.raises(OriginContradicts, match="handed over"):
                mirror.catch_up()
        finally:
            again.registry.close()
            again.stop()
    state = load_state(mirror.root)
    assert state is not None
    assert state.contradiction is not None
    assert state.contradiction.rule == CLOSED
    assert mirror.record(key) is None


def now() -> str:
    return utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_predecessor_may_go_on_with_the_rest(tmp_path: Path, make_mirror: MakeMirror) -> None:
    """The successor gives out no name that is not its own, so none is given out twice."""
    base = "http://archives.example"
    with deployed(tmp_path / "origin") as origin:
        origin.mint(text(b"of today"))
        secret = origin.token("m", operations=("mirror",))
        mirror = make_mirror(origin.base, secret, base_url=base)
        hand_over(origin.registry, f"{base}/")
        mirror.catch_up()
        promote_alone(mirror)
        origin.mint(text(b"of the predecessor"))
        with closing(RegistryClient(origin.base)) as client:
            meet_registry(mirror.registry, client)
            initialise(mirror.root, series=("archives.nara.gov.us",))
            with closing(Registry(mirror.root)) as again:
                meet_registry(again, client)
            initialise(mirror.root, series=(SERIES,))
            with closing(Registry(mirror.root)) as again, pytest.raises(RegistriesDivided):
                meet_registry(again, client)


def promote_alone(mirror: Mirror) -> None:
    """Make a mirror a registry that gives out no names of today."""
    mirror.close()
    settings = load_settings(mirror.root, {})
    promote_copy(mirror.root, load_store(settings.store), settings, now=now())
    mirror.registry = Registry(mirror.root)
