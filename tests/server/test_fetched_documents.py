"""Documents in an object store over HTTP: fetched by threads, so that no other request waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from shutil import rmtree

import pytest
from tests.conftest import SERIES, text
from tests.server.deployment import Deployment, deployed
from tests.storage.faulty_proxy import Fault, FaultyProxy, open_proxy
from tests.storage.s3_server import make_address, start_server

from perdure.errors import Unavailable
from perdure.registry import initialise

TEXT = b"Dear Sir,\nyours\n"


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultyProxy]:
    with open_proxy(start_server().endpoint) as opened:
        yield opened


@pytest.fixture(scope="module")
def site(proxy: FaultyProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("fetched") / "registry"
    address = make_address(options="&timeout=2&retry=1")
    address = address.replace(start_server().endpoint, proxy.endpoint)
    initialise(root, "", address, series=(SERIES,))
    with deployed(root) as running:
        yield running


@pytest.fixture
def name(site: Deployment, proxy: FaultyProxy) -> str:
    """A document that is not in the cache."""
    proxy.find_fault = lambda method, path: None
    made = site.mint(text(TEXT.decode()))
    rmtree(site.root / "cache")
    (site.root / "cache").mkdir()
    return made


def test_a_document_and_its_parts_are_fetched(site: Deployment, name: str) -> None:
    assert site.get(f"/{name}").body == TEXT
    assert site.get(f"/{name}?part=char=0,4").body == b"Dear"
    assert site.get(f"/{name}", "Range: bytes=5-8").body == b"Sir,"


@pytest.mark.parametrize("target", ["?part=char=0,4", "?landing", "?text", ""])
def test_each_kind_of_answer_fetches_first(site: Deployment, name: str, target: str) -> None:
    assert site.get(f"/{name}{target}").status == 200


def test_other_requests_do_not_wait(site: Deployment, name: str, proxy: FaultyProxy) -> None:
    """The store answers only after the other request has its answer."""
    answered = threading.Event()

    def wait(method: str, path: str) -> Fault | None:
        if method == "GET" and ".warc" in path:
            answered.wait(10)
        return None

    proxy.find_fault = wait
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(site.get(f"/{name}").body))
    reader.start()
    assert site.get(f"/{name}?history").status == 200
    answered.set()
    reader.join()
    assert found == [TEXT]


def test_a_store_that_is_away_is_told(site: Deployment, name: str, proxy: FaultyProxy) -> None:
    proxy.find_fault = lambda method, path: Fault(status=503)
    answer = site.get(f"/{name}")
    assert answer.status == 503
    assert b"object store" in answer.body
    assert site.get(f"/{name}?history").status == 200
    proxy.find_fault = lambda method, path: None
    assert site.get(f"/{name}").body == TEXT


def test_other_writes_go_on_while_the_store_is_away(
    site: Deployment, name: str, proxy: FaultyProxy
) -> None:
    proxy.find_fault = lambda method, path: Fault(status=503)
    for _ in range(2):
        with pytest.raises(Unavailable, match="object store"):
            site.mint(text("refused"))
    assert site.bind(name, "https://example.org/1")
    proxy.find_fault = lambda method, path: None
    assert site.get(f"/{name}").body == TEXT
