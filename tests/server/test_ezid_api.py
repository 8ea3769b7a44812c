"""EZID's API, asked as EZID's own client asks it.

The client is written after ezid3.py of CDLUC3/ezid-client-tools: urllib, a handler for Basic that
waits for the challenge of the realm EZID, ANVL in UTF-8 with percent escapes, a cookie after login.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.deployment import SHOULDER, Deployment, deployed
from tests.upkeep.exchange.samples import DATACITE

from perdure.errors.credentials import SessionEnded
from perdure.ids import parse
from perdure.model.commands import Alias, SaveToken, Withdraw
from perdure.model.records import Token
from perdure.policy.operations import OPERATIONS
from perdure.policy.tokens import digest_key
from perdure.registry import initialise
from perdure.server.common.sessions import Sessions

PREFIX = "10.5072"


def escape(value: str) -> str:
    """Escape a value as clients of EZID do."""
    return re.sub("[%\r\n]", lambda found: f"%{ord(found[0]):02X}", value)


class Client:
    """A client of EZID."""

    def __init__(self, base: str, password: str = "", cookie: str = "") -> None:
        self.base = base
        self.cookie = cookie
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        if password:
            handler = urllib.request.HTTPBasicAuthHandler()
            handler.add_password("EZID", base, "apitest", password)
            self.opener.add_handler(handler)

    def ask(self, method: str, path: str, data: str = "") -> tuple[int, str]:
        """The status and the body of an answer."""
        request = urllib.request.Request(f"{self.base}/{path}", method=method)
        if data:
            request.add_header("Content-Type", "text/plain; charset=UTF-8")
            request.data = data.encode()
        if self.cookie:
            request.add_header("Cookie", self.cookie)
        try:
            with self.opener.open(request, timeout=20) as answer:
                for name, value in answer.getheaders():
                    if name.lower() == "set-cookie":
                        self.cookie = value.split(";")[0]
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def write(self, method: str, path: str, **elements: str) -> str:
        """Write elements, as a client escapes them, and return the status line."""
        lines = [f"{name.replace('__', '.')}: {escape(value)}" for name, value in elements.items()]
        return self.ask(method, path, "\n".join(lines))[1]

    def view(self, identifier: str) -> dict[str, str]:
        status, text = self.ask("GET", f"id/{quote(identifier, ':/')}")
        assert status == 200, text
        first, *lines = text.splitlines()
        assert first == f"success: {identifier}"
        pairs = (line.split(": ", 1) for line in lines)
        return {
            name: re.sub("%(..)", lambda found: chr(int(found[1], 16)), value)
            for name, value in pairs
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("ezid") / "registry"
    initialise(root, shoulders=(SHOULDER,), handle_prefixes=(PREFIX,))
    settings = root / "perdure.toml"
    text = settings.read_text()
    text = text.replace('# basic_authentication = "https"', 'basic_authentication = "always"')
    settings.write_text(text.replace("# mutable_prefixes = []", 'mutable_prefixes = ["10.99999"]'))
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module")
def client(site: Deployment) -> Client:
    return Client(site.base, site.token("apitest"))


def test_an_identifier_is_minted_viewed_and_updated(site: Deployment, client: Client) -> None:
    data = {"_target": "https://a.example/", "erc__who": "Proust, Marcel", "erc__what": "50%\nÜ"}
    line = client.write("POST", f"shoulder/ark:/{SHOULDER}", **data)
    name = line.removeprefix("success: ")
    assert re.fullmatch(rf"ark:/{SHOULDER}[0-9a-z]+", name)
    shown = client.view(name)
    assert (shown["_target"], shown["_status"]) == ("https://a.example/", "public")
    assert (shown["erc.who"], shown["erc.what"]) == ("Proust, Marcel", "50%\nÜ")
    assert (shown["_owner"], shown["_export"], shown["_profile"]) == ("apitest", "yes", "erc")
    assert abs(int(shown["_created"]) - datetime.now(UTC).timestamp()) < 60
    assert site.get(f"/{name}").headers["location"] == "https://a.example/"
    line = client.write(
        "POST", f"id/{name}", erc__who="", erc__when="1922", _target="https://b.example/"
    )
    assert line == f"success: {name}"
    after = client.view(name)
    assert "erc.who" not in after
    assert (after["erc.when"], after["_target"]) == ("1922", "https://b.example/")
    assert after["_created"] == shown["_created"]
    assert site.get(f"/{name}").headers["location"] == "https://b.example/"


def test_states_follow_each_other_as_at_ezid(site: Deployment, client: Client) -> None:
    name = "ark:/99999/fk4states"
    path = f"id/{name}"
    line = client.write("PUT", path, _status="reserved", _target="https://a.example/")
    assert line == f"success: {name}"
    assert "location" not in site.get(f"/{name}").headers
    assert client.view(name)["_target"] == "https://a.example/"
    assert "cannot follow" in client.write("POST", path, _status="unavailable | x")
    assert client.write("POST", path, _status="public") == f"success: {name}"
    assert site.get(f"/{name}").headers["location"] == "https://a.example/"
    assert "cannot follow" in client.write("POST", path, _status="reserved")
    assert client.write("POST", path, _status="unavailable | lost") == f"success: {name}"
    gone = site.get(f"/{name}")
    assert (gone.status, b"lost" in gone.body) == (410, True)
    assert client.view(name)["_status"] == "unavailable | lost"
    client.write("POST", path, _status="public")
    client.write("POST", path, _status="unavailable | again")
    assert client.view(name)["_status"] == "unavailable | again"
    assert client.view(name)["_target"] == "https://a.example/"


def test_dois_are_created_and_minted_with_their_records(site: Deployment, client: Client) -> None:
    name = "doi:10.5072/FK2X"
    line = client.write("PUT", f"id/{name}", datacite=DATACITE, _target="https://a.example/")
    assert line == f"success: {name}"
    assert client.view(name)["datacite"] == DATACITE
    record = site.get(f"/{name}?metadata=json")
    assert b"Names & numbers" in record.body
    minted = client.write("POST", f"shoulder/doi:{PREFIX}/FK2")
    assert re.fullmatch(r"success: doi:10\.5072/FK2[0-9A-Z]{9}", minted)
    own = client.view(minted.removeprefix("success: "))["_target"]
    assert own == f"{site.base}/id/{minted.removeprefix('success: ')}"


def test_an_existing_identifier_is_changed_only_if_that_is_asked_for(client: Client) -> None:
    path = "id/ark:/99999/fk4twice"
    assert client.ask("PUT", path)[0] == 201
    status, text = client.ask("PUT", path, "erc.who: B")
    assert (status, text) == (400, "error: bad request - identifier already exists")
    assert client.ask("PUT", f"{path}?update_if_exists=yes", "erc.who: B")[0] == 200
    assert client.view("ark:/99999/fk4twice")["erc.who"] == "B"


def test_the_longest_identifier_is_found(client: Client) -> None:
    client.ask("PUT", "id/ark:/99999/fk4long", "_target: https://a.example/")
    status, text = client.ask("GET", "id/ark:/99999/fk4long/chapter1?prefix_match=yes")
    first = text.splitlines()[0]
    assert (status, first) == (
        200,
        "success: ark:/99999/fk4long in_lieu_of ark:/99999/fk4long/chapter1",
    )
    assert client.ask("GET", "id/ark:/99999/fk4lon")[0] == 400


def test_an_alias_answers_with_the_identifier_that_has_it(site: Deployment, client: Client) -> None:
    """architecture.md: "Every face gives the same answer." A redirect of `/ark:…` follows it."""
    client.ask("PUT", "id/ark:/99999/fk4main", "_target: https://a.example/")
    one, other = parse("ark:99999/fk4main"), parse("ark:99999/fk4second")
    site.do(Alias(identifier=one, other=other))
    status, text = client.ask("GET", "id/ark:/99999/fk4second")
    assert (status, text.splitlines()[0]) == (
        200,
        "success: ark:/99999/fk4main in_lieu_of ark:/99999/fk4second",
    )
    assert client.ask("POST", "id/ark:/99999/fk4second", "erc.who: B")[0] == 400  # as before


def test_a_session_stands_for_the_password(site: Deployment) -> None:
    token = site.token("session")
    client = Client(site.base, token)
    assert client.ask("GET", "login") == (200, "success: session cookie returned")
    assert token not in client.cookie
    visitor = Client(site.base, cookie=client.cookie)
    assert visitor.ask("PUT", "id/ark:/99999/fk4session")[0] == 201
    forged = client.cookie[:-1] + ("0" if client.cookie[-1] != "0" else "1")
    assert Client(site.base, cookie=forged).ask("PUT", "id/ark:/99999/fk4forged")[0] == 401
    assert client.ask("GET", "logout")[0] == 200
    assert client.cookie == "sessionid="


def test_what_is_public_of_a_key_makes_no_session(site: Deployment) -> None:
    """The digest of a token with a public key can be computed from its name and the key."""
    key = bytes(range(32))
    digest = digest_key("robot", key)
    scope: dict[str, Any] = {"operations": OPERATIONS, "authorities": ("*",)}
    site.do(
        SaveToken(
            token=Token(name="robot", digest=digest, key=base64.b64encode(key).decode(), **scope)
        )
    )
    name, ends = base64.urlsafe_b64encode(b"robot").decode().rstrip("="), "99999999999"
    for secret in (bytes.fromhex(digest), digest.encode()):
        for text in (f"session {name} {ends}", f"session {digest} {name} {ends}"):
            code = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
            visitor = Client(site.base, cookie=f"sessionid={name}.{ends}.{code}")
            assert visitor.ask("PUT", "id/ark:/99999/fk4forged")[0] == 401


def test_all_processes_of_a_registry_know_its_sessions(site: Deployment, tmp_path: Path) -> None:
    (tmp_path / "followers").mkdir()
    token = Token(name="clerk", digest="0" * 64, operations=(), authorities=())
    one, other, stranger = Sessions(tmp_path), Sessions(tmp_path), Sessions(tmp_path / "else")
    session = one.make_session(token, 2000)
    assert other.find_token(session, {"clerk": token}.get, 1999) == token
    assert (tmp_path / "followers" / "sessions.key").stat().st_mode & 0o777 == 0o600
    assert [one.name for one in (tmp_path / "followers").iterdir()] == ["sessions.key"]
    for reader, now in ((stranger, 1999), (other, 2001)):
        with pytest.raises(SessionEnded):
            reader.find_token(session, {"clerk": token}.get, now)


def test_status_is_up_and_names_subsystems(client: Client) -> None:
    assert client.ask("GET", "status") == (200, "success: EZID is up")
    assert client.ask("GET", "status?subsystems=*")[1].splitlines()[1:] == [
        "binder: up",
        "datacite: up",
        "search: up",
    ]
    assert client.ask("GET", "status?subsystems=x")[0] == 400


def test_an_address_with_accents_is_shown_as_it_was_sent(site: Deployment, client: Client) -> None:
    name = "ark:/99999/fk4accents"
    assert client.write("PUT", f"id/{name}", _target="https://a.example/caf\u00e9") == (
        f"success: {name}"
    )
    assert client.write("POST", f"id/{name}", erc__who="Proust") == f"success: {name}"
    assert client.view(name)["_target"] == "https://a.example/caf\u00e9"
    location = site.get("/ark:99999/fk4accents").headers["location"]
    assert location == "https://a.example/caf%C3%A9"
    assert client.write("POST", f"id/{name}", _target="https://b.example/") == f"success: {name}"
    assert client.view(name)["_target"] == "https://b.example/"


@pytest.mark.parametrize(
    ("method", "path", "data", "status", "words"),
    [
        ("GET", "id/ark:/99999/fk4nothing", "", 400, "error: bad request - no such identifier"),
        ("GET", "id/nonsense", "", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad", "no colon", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad", "_created: 1", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad", "_status: odd", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad", "_target: javascript:1", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad", "datacite: <half", 400, "error: bad request - "),
        ("PUT", "id/ark:/99999/fk4bad?x=1", "", 400, "error: bad request - "),
        ("PUT", "id/doi:10.1000/x", "", 403, "error: forbidden"),
        ("POST", "shoulder/ark:/12345/x1", "", 400, "error: bad request - "),
        ("DELETE", "id/ark:/99999/fk4twice", "", 405, "error: method not allowed"),
    ],
)
def test_errors_are_in_the_words_of_ezid(
    client: Client, method: str, path: str, data: str, status: int, words: str
) -> None:
    client.ask("PUT", "id/ark:/99999/fk4twice?update_if_exists=yes")
    found, text = client.ask(method, path, data)
    assert (found, text.startswith(words)) == (status, True), text
    assert "\n" not in text


def test_a_write_needs_a_password_with_the_right(site: Deployment) -> None:
    stranger = Client(site.base)
    assert stranger.ask("PUT", "id/ark:/99999/fk4no") == (401, "error: unauthorized")
    wrong = Client(site.base, "perdure_" + "x" * 43)
    assert wrong.ask("PUT", "id/ark:/99999/fk4no")[0] == 401
    narrow = Client(site.base, site.token("narrow", authorities=("ark:12345/*",)))
    assert narrow.ask("PUT", "id/ark:/99999/fk4no") == (403, "error: forbidden")
    assert stranger.ask("GET", "id/ark:/99999/fk4no")[0] == 400


def test_what_was_withdrawn_in_silence_shows_nothing(site: Deployment, client: Client) -> None:
    name = "ark:/99999/fk4silent"
    client.write("PUT", f"id/{name}", erc__who="A name", _target="https://a.example/")
    site.do(Withdraw(identifier=parse(name), reason="law", silent=True))
    _, text = client.ask("GET", f"id/{name}")
    assert "A name" not in text
