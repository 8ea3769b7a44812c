"""DataCite's REST API, also with the client `datacite` of inveniosoftware."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed
from tests.upkeep.exchange.samples import DATACITE

from perdure.registry import initialise

PREFIX = "10.5072"
PEERS = Path(__file__).parents[2] / ".peers"
METADATA: dict[str, Any] = {
    "creators": [{"name": "Mallery, John", "nameType": "Personal"}],
    "titles": [{"title": "Names"}],
    "publisher": "MIT",
    "publicationYear": 1994,
    "types": {"resourceTypeGeneral": "Dataset"},
}
REGISTERED = METADATA | {"event": "register"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("datacite") / "registry"
    initialise(root, handle_prefixes=(PREFIX, "10.5073"))
    settings = root / "perdure.toml"
    text = settings.read_text()
    text = text.replace('# basic_authentication = "https"', 'basic_authentication = "always"')
    settings.write_text(text.replace("# mutable_prefixes = []", 'mutable_prefixes = ["10.5073"]'))
    with deployed(root) as running:
        yield running


class Account:
    """A repository at DataCite."""

    def __init__(self, site: Deployment) -> None:
        self.site = site
        password = site.token("repository")
        text = base64.b64encode(f"REPO.ONE:{password}".encode()).decode()
        self.field = f"Authorization: Basic {text}"

    def ask(self, method: str, target: str, **attributes: Any) -> Answer:
        body = json.dumps({"data": {"type": "dois", "attributes": attributes}}).encode()
        fields = (self.field, "Content-Type: application/vnd.api+json")
        return self.site.ask(method, target, *fields, body=body if attributes else b"")

    def show(self, doi: str) -> dict[str, Any]:
        answer = self.ask("GET", f"/dois/{doi}")
        assert answer.status == 200, answer.body
        shown: dict[str, Any] = json.loads(answer.body)["data"]["attributes"]
        return shown


@pytest.fixture(scope="module")
def account(site: Deployment) -> Account:
    return Account(site)


def test_a_doi_goes_through_its_states(site: Deployment, account: Account) -> None:
    sent = {"doi": f"{PREFIX}/states", "url": "https://a.example/"} | METADATA
    made = account.ask("POST", "/dois", **sent)
    assert made.status == 201
    assert made.headers["content-type"].startswith("application/vnd.api+json")
    assert json.loads(made.body)["data"]["id"] == "10.5072/states"
    assert account.show("10.5072/states")["state"] == "draft"
    assert site.get("/dois/10.5072/states").status == 404
    assert "location" not in site.get("/doi:10.5072/states").headers
    states = {"register": "registered", "publish": "findable", "hide": "registered"}
    for event, state in states.items():
        assert account.ask("PUT", "/dois/10.5072/states", event=event).status == 200
        shown = account.show("10.5072/states")
        assert (shown["state"], shown["url"]) == (state, "https://a.example/")
        assert site.get("/doi:10.5072/states").headers["location"] == "https://a.example/"
    assert shown["titles"] == [{"title": "Names"}]
    assert shown["created"] <= shown["registered"] <= shown["updated"]


def test_attributes_that_are_not_sent_stay(account: Account) -> None:
    account.ask("POST", "/dois", doi=f"{PREFIX}/stay", url="https://a.example/", event="publish",
                container={"title": "X"}, **METADATA)  # fmt: skip
    account.ask("PUT", "/dois/10.5072/stay", titles=[{"title": "New"}])
    shown = account.show("10.5072/stay")
    assert (shown["titles"], shown["publisher"]) == ([{"title": "New"}], "MIT")
    assert shown["creators"][0]["name"] == "Mallery, John"


def test_a_record_in_xml_describes_a_doi(site: Deployment, account: Account) -> None:
    encoded = base64.b64encode(DATACITE.encode()).decode()
    sent = {"doi": f"{PREFIX}/FK2X", "xml": encoded, "url": "https://a.example/"}
    made = account.ask("POST", "/dois", event="publish", **sent)
    assert made.status == 201, made.body
    assert b"Names & numbers" in site.get("/doi:10.5072/fk2x?metadata=json").body


def test_a_random_doi_is_made_on_a_prefix(account: Account) -> None:
    made = json.loads(account.ask("POST", "/dois", prefix=PREFIX).body)["data"]["id"]
    assert made.startswith("10.5072/")
    assert len(made) == len("10.5072/abcd-1234")


@pytest.mark.parametrize(
    ("method", "target", "attributes", "status"),
    [
        ("GET", "/dois/10.5072/nothing", {}, 404),
        ("GET", "/dois/nonsense", {}, 404),
        ("POST", "/dois", {"doi": "10.5072/states2", "event": "publish"}, 422),
        ("POST", "/dois", {"titles": []}, 422),
        ("POST", "/dois", {"doi": "10.1000/x"}, 403),
        ("POST", "/dois", {"doi": "10.5072/bad", "event": "explode"}, 422),
        ("POST", "/dois", {"doi": "10.5072/bad", "titles": "text"}, 422),
        ("POST", "/dois", {"doi": "10.5072/bad", "url": "javascript:1", **REGISTERED}, 422),
        ("DELETE", "/dois/10.5072/nothing", {}, 404),
    ],
)
def test_errors_are_in_the_form_of_datacite(
    account: Account, method: str, target: str, attributes: dict[str, Any], status: int
) -> None:
    answer = account.ask(method, target, **attributes)
    assert answer.status == status, answer.body
    (error,) = json.loads(answer.body)["errors"]
    assert error["status"] == str(status)
    assert error["title"]


def test_a_doi_is_created_once(account: Account) -> None:
    assert account.ask("POST", "/dois", doi=f"{PREFIX}/once").status == 201
    again = account.ask("POST", "/dois", doi=f"{PREFIX}/once")
    assert (again.status, json.loads(again.body)["errors"][0]["source"]) == (422, "doi")


def test_only_drafts_of_prefixes_for_tests_are_deleted(account: Account) -> None:
    account.ask("POST", "/dois", doi=f"{PREFIX}/kept")
    assert account.ask("DELETE", "/dois/10.5072/kept").status == 405
    account.ask("POST", "/dois", doi="10.5073/test")
    assert account.ask("DELETE", "/dois/10.5073/test").status == 204
    account.ask("POST", "/dois", doi="10.5073/fixed", url="https://a.example/", **REGISTERED)
    assert account.ask("DELETE", "/dois/10.5073/fixed").status == 405


def test_a_write_needs_a_password(site: Deployment) -> None:
    answer = site.ask("POST", "/dois", "Content-Type: application/vnd.api+json", body=b"{}")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="DataCite"')


def test_dois_of_a_prefix_are_listed_in_pages(site: Deployment, account: Account) -> None:
    for number in range(3):
        account.ask("POST", "/dois", doi=f"10.5073/list{number}", url="https://a.example/",
                    event="publish", **METADATA)  # fmt: skip
    account.ask("POST", "/dois", doi="10.5073/listdraft")
    target, found = "/dois?prefix=10.5073&page[size]=2", []
    while target:
        page = json.loads(site.get(target).body)
        found += [one["id"] for one in page["data"]]
        target = page["links"].get("next", "").removeprefix(site.base)
    assert [one for one in found if "list" in one] == [f"10.5073/list{n}" for n in range(3)]
    assert site.get("/dois").status == 422


def test_dois_are_found_by_the_query_of_datacite(site: Deployment, account: Account) -> None:
    """DataCite Support, "API Queries and Filtering": words, fields, phrases, ranges of years."""
    for number, (title, creator, year) in enumerate(
        (("Zebra names", "Mallery, John", 1994), ("Zebra numbers", "Lovelace, Ada", 2001),
         ("Horse names", "Mallery, John", 2001))
    ):  # fmt: skip
        sent = METADATA | {
            "titles": [{"title": title}], "creators": [{"name": creator}], "publicationYear": year
        }  # fmt: skip
        made = account.ask("POST", "/dois", doi=f"10.5072/found{number}", url="https://a.example/",
                           event="publish", **sent)  # fmt: skip
        assert made.status == 201
    account.ask("POST", "/dois", doi="10.5072/found9", titles=[{"title": "Zebra draft"}])

    def find(query: str, **more: str) -> list[str]:
        answer = site.get(f"/dois?{urlencode({'query': query} | more)}")
        assert answer.status == 200, answer.body
        return sorted(one["id"].removeprefix("10.5072/") for one in json.loads(answer.body)["data"])

    deadline = time.monotonic() + 30
    while site.get("/dois?query=zebra").status == 503 and time.monotonic() < deadline:
        time.sleep(0.1)  # the index of words is not made yet
    while find("zebra") != ["found0", "found1"] and time.monotonic() < deadline:
        time.sleep(0.2)  # the index follows
    for query, expected in {
        "zebra": ["found0", "found1"],
        "zebra AND names": ["found0"],
        "zebra NOT names": ["found1"],
        "+zebra -numbers": ["found0"],
        "titles.title:zebra": ["found0", "found1"],
        "titles.title:(horse AND names)": ["found2"],
        '"horse names"': ["found2"],
        "hors*": ["found2"],
        "creators.name:Lovelace": ["found1"],
        'creators.name:"Mallery, John" titles.title:horse': ["found2"],
        "zebra publicationYear:2001": ["found1"],
        "titles.title:zebra AND publicationYear:[* TO 2000]": ["found0"],
    }.items():
        assert find(query) == expected, query
    assert find("zebra", prefix="10.5072") == ["found0", "found1"]
    assert find("zebra", prefix="10.5073") == []
    page = json.loads(site.get("/dois?query=zebra&page[size]=1&page[cursor]=1").body)
    assert [one["id"] for one in page["data"]] == ["10.5072/found1"]  # the draft leaves no gap
    following = json.loads(site.get(page["links"]["next"].removeprefix(site.base)).body)
    assert [one["id"] for one in following["data"]] == ["10.5072/found0"]
    assert (page["meta"], following["links"]) == ({"total": 1}, {})
    assert site.get("/dois?query=zebra&page[cursor]=x").status == 422


@pytest.mark.parametrize(
    "query",
    ["a OR b", "(a OR b)", "subjects.subject:x", "titles.title:a b", "publicationYear:[1 TO 2]",
     "publicationYear:x", "a?c", "*x", "/a.c/", "-titles.title:x", "NOT (a b)", 'a "b', "[1 TO 2]",
     "publicationYear:1990 publicationYear:1991", "a:b:c", "a~2", "a^3", "publicationYear:1994",
     "-a"],
)  # fmt: skip
def test_a_query_that_cannot_be_answered_is_refused(site: Deployment, query: str) -> None:
    answer = site.get(f"/dois?{urlencode({'query': query})}")
    assert answer.status == 422
    assert json.loads(answer.body)["errors"][0]["title"]


CLIENT = """
import sys, warnings
from datacite import DataCiteRESTClient
from datacite.errors import DataCiteError

base, password = sys.argv[1:]
client = DataCiteRESTClient("REPO.ONE", password, "10.5072", url=base)
metadata = {
    "creators": [{"name": "Mallery, John"}], "titles": [{"title": "T"}], "publisher": "MIT",
    "publicationYear": 1994, "types": {"resourceTypeGeneral": "Dataset"},
}
draft = client.draft_doi(dict(metadata))
assert draft.startswith("10.5072/")
name = client.public_doi(dict(metadata), "https://c.example/x", "10.5072/client")
assert (name, client.get_doi(name)) == ("10.5072/client", "https://c.example/x")
assert client.update_url(name, "https://d.example/y") == "https://d.example/y"
assert client.hide_doi(name)["state"] == "registered"
assert client.show_doi(name)["state"] == "findable"
assert client.update_doi(name, {"titles": [{"title": "New"}]})["titles"] == [{"title": "New"}]
assert client.get_metadata(name)["publisher"] == "MIT"
private = client.private_doi(dict(metadata), "https://e.example/", "10.5072/private")
assert private == "10.5072/private"
try:
    client.delete_doi(name)
except DataCiteError:
    print("kept")
"""


def test_the_client_of_datacite_works(site: Deployment) -> None:
    if not list(PEERS.glob("lib/python3*/site-packages/datacite")):
        pytest.skip("the package datacite is not installed (make unit)")
    done = subprocess.run(
        [PEERS / "bin/python", "-c", CLIENT, site.base, site.token("client")],
        env=os.environ | {"NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("kept\n", 0), done.stderr
