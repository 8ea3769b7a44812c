"""Proposed assertions: kept aside, shown to few, accepted or deleted."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, text

from perdure.errors.tokens import ReservedTokenName
from perdure.model.assertions import CONTEXT

CONTAINER = f"/annotations/{SERIES}/"
PROPOSALS = f"{CONTAINER}proposals"
HOME = "https://id.example"
LD_JSON = "Content-Type: application/ld+json"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("site") / "registry"
    with deployed(root, assertions="tokens") as running:
        yield running


@pytest.fixture(scope="module")
def owner(site: Deployment) -> str:
    return site.token("owner", operations=("assert",), authorities=(SERIES,))


@pytest.fixture(scope="module")
def stranger(site: Deployment) -> str:
    return site.token("stranger", operations=("mint",), authorities=("99999/fk4",))


@pytest.fixture
def name(site: Deployment) -> str:
    return site.mint(text(b"to whom it may concern"))


def annotate(target: str, **more: object) -> dict[str, object]:
    return {"@context": CONTEXT, "type": "Annotation", "target": target} | more


def propose(site: Deployment, token: str, name: str, **more: object) -> str:
    answer = site.post(CONTAINER, annotate(name, **more), LD_JSON, token=token)
    assert answer.status == 202, answer.body
    path = answer.headers["location"].removeprefix(site.base)
    assert path == f"{PROPOSALS}/{json.loads(answer.body)['id']}"
    return path


def ask(site: Deployment, method: str, path: str, token: str) -> Answer:
    return site.ask(method, path, f"Authorization: Bearer {token}")


def list_ids(site: Deployment, token: str) -> list[str]:
    return [one["id"] for one in json.loads(ask(site, "GET", PROPOSALS, token).body)["proposals"]]


def list_about(site: Deployment, name: str, question: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(site.get(f"/{name}?assertions{question}").body)[
        "items"
    ]
    return found


def test_a_proposal_is_accepted(site: Deployment, name: str, owner: str, stranger: str) -> None:
    before = site.registry.head()
    path = propose(site, stranger, name, bodyValue="Not so.")
    id = path.rpartition("/")[2]
    assert site.registry.head() == before  # "outside the changes"
    assert list_about(site, name) == []
    assert json.loads(ask(site, "GET", path, owner).body)["annotation"]["bodyValue"] == "Not so."
    assert id in list_ids(site, owner)
    assert ask(site, "POST", path, stranger).status == 403
    answer = ask(site, "POST", path, owner)
    assert answer.status == 201
    (item,) = list_about(site, name)
    assert item["id"] == answer.headers["location"]
    assert item["registry"]["by"] == "stranger"  # "then attributed"
    assert list_about(site, name, "&by=owner") == []  # "and filterable"
    assert ask(site, "GET", path, owner).status == 404
    assert ask(site, "POST", path, owner).status == 404
    retracted = ask(site, "DELETE", item["id"].removeprefix(site.base), stranger)
    assert retracted.status == 403  # it was accepted, and the right was not granted


def test_a_proposal_is_deleted(site: Deployment, name: str, owner: str, stranger: str) -> None:
    for token in (owner, stranger):
        path = propose(site, stranger, name)
        assert propose(site, stranger, name) == path  # the same again is the same
        assert ask(site, "DELETE", path, token).status == 204
        assert ask(site, "DELETE", path, token).status == 404
    assert list_about(site, name) == []


def test_others_do_not_see_a_proposal(site: Deployment, name: str, stranger: str) -> None:
    other = site.token("other", operations=("mint",), authorities=("99999/fk5",))
    path = propose(site, stranger, name, bodyValue="mine")
    assert list_ids(site, other) == []
    for method in ("GET", "POST", "DELETE"):
        assert ask(site, method, path, other).status == 404
    assert site.get(path).status == site.get(PROPOSALS).status == 401
    assert path.rpartition("/")[2] in list_ids(site, stranger)


def test_what_cannot_be_is_not_proposed(site: Deployment, name: str, stranger: str) -> None:
    for document, status in (
        (annotate(f"{name}#char=0,999"), 416),
        (annotate(f"pdi://{SERIES}/1999/01/01/1"), 404),
        ({}, 400),
        (annotate(name, bodyValue="x" * 300_000), 413),
    ):
        assert site.post(CONTAINER, document, LD_JSON, token=stranger).status == status
    assert site.post(CONTAINER, annotate(name), LD_JSON).status == 401
    lines = ("Content-Type: application/jsonl",)
    assert site.post(CONTAINER, annotate(name), *lines, token=stranger).status == 403


def test_one_author_has_a_hundred_proposals(site: Deployment, name: str) -> None:
    token = site.token("busy", operations=("mint",), authorities=("99999/fk6",))
    for number in range(100):
        propose(site, token, name, bodyValue=f"{number}")
    answer = site.post(CONTAINER, annotate(name, bodyValue="more"), LD_JSON, token=token)
    assert (answer.status, json.loads(answer.body)["limit"]) == (413, 100)


@pytest.mark.parametrize("id", ["x", "..%2f..%2fperdure", f"{'0' * 16}-{'0' * 32}"])
def test_there_are_no_others(site: Deployment, owner: str, id: str) -> None:
    assert ask(site, "GET", f"{PROPOSALS}/{id}", owner).status == 404


def test_methods_of_proposals(site: Deployment, owner: str) -> None:
    assert site.ask("OPTIONS", PROPOSALS).headers["allow"] == "GET, HEAD, OPTIONS"
    assert site.ask("OPTIONS", f"{PROPOSALS}/x").headers["allow"].endswith("POST, DELETE")
    assert ask(site, "PUT", f"{PROPOSALS}/x", owner).status == 405
    assert ask(site, "POST", PROPOSALS, owner).status == 405


# strangers with a key
# --------------------


def sign_request(method: str, path: str, body: bytes) -> list[str]:
    """Sign a request as RFC 9421 section 2.5 writes it down, by hand, with a key that it names."""
    public = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()
    digest = f"sha-512=:{base64.b64encode(hashlib.sha512(body).digest()).decode()}:"
    values = {
        "@method": method,
        "@target-uri": f"{HOME}{path}",
        "content-type": "application/ld+json",
        "content-digest": digest,
    }
    names = " ".join(f'"{one}"' for one in values)
    parameters = f'({names});created={int(time.time())};keyid="ed25519:{public}"'
    lines = [f'"{name}": {value}' for name, value in values.items()]
    lines.append(f'"@signature-params": {parameters}')
    signature = base64.b64encode(KEY.sign("\n".join(lines).encode())).decode()
    return [
        LD_JSON,
        f"Content-Digest: {digest}",
        f"Signature-Input: sig1={parameters}",
        f"Signature: sig1=:{signature}:",
    ]


@pytest.mark.parametrize("setting", ["signed", "tokens", "off"])
def test_anyone_with_a_key_proposes_if_the_operator_allows_it(tmp_path: Path, setting: str) -> None:
    with deployed(tmp_path / "registry", assertions=setting, base_url=HOME) as site:
        name = site.mint(text(b"to whom it may concern"))
        body = json.dumps(annotate(name, bodyValue="signed")).encode()
        fields = sign_request("POST", CONTAINER, body)
        answer = site.ask("POST", CONTAINER, *fields, body=body)
        if setting != "signed":
            assert answer.status == 401
            return
        assert answer.status == 202
        digest = hashlib.sha256(KEY.public_key().public_bytes_raw()).digest()
        author = f"key:SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
        assert json.loads(answer.body)["by"] == author
        forged = body.replace(b"signed", b"forged")
        assert site.ask("POST", CONTAINER, *fields, body=forged).status == 400
        series = f"/pdi://{SERIES}/"
        elsewhere = sign_request("PUT", series, body)
        assert site.ask("PUT", series, *elsewhere, body=body).status == 401


def test_no_token_can_have_the_name_of_a_key(site: Deployment) -> None:
    with pytest.raises(ReservedTokenName):
        site.token("key:SHA256:x", operations=("mint",))
