"""Rights that are handed on over HTTP, and requests that are signed."""

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
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed

MINT = f"/pdi://{SERIES}/"
TYPE = "Content-Type: text/plain; charset=us-ascii"
HOME = "https://id.example.org"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("granting") / "registry"
    with deployed(root, base_url=HOME) as running:
        yield running


@pytest.fixture(scope="module")
def head(site: Deployment) -> str:
    """The secret of somebody who can hand on what he has in one series."""
    return site.token(
        "head of press", operations=("mint", "commit", "delegate"), authorities=(SERIES,)
    )


def granted(site: Deployment, giver: str, **fields: Any) -> str:
    grant = {"operations": ["mint"], "authorities": [SERIES]} | fields
    answer = site.post("/tokens", grant, token=giver)
    assert answer.status == 201, answer.body
    secret: str = json.loads(answer.body)["token"]
    return secret


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, json.loads(answer.body)["code"]) == (status, code), answer.body


def test_a_part_of_a_grant_is_handed_on(site: Deployment, head: str) -> None:
    clerk = granted(site, head, name="clerk")
    answer = site.put(MINT, b"x", TYPE, token=clerk)
    assert answer.status == 201
    name = json.loads(answer.body)["identifier"]
    refused(site.put(f"/{name}", b"y", TYPE, token=clerk), 403, "forbidden")
    assert site.put(f"/{name}", b"y", TYPE, token=head).status == 201
    chief = site.token("historian", operations=("administer",))
    told = json.loads(site.get(f"/{name}?history", f"Authorization: Bearer {chief}").body)
    assert [one["by"] for one in told["revisions"]] == ["clerk", "head of press"]
    refused(site.get(f"/{name}?history", f"Authorization: Bearer {clerk}"), 403, "forbidden")


def test_who_grants_too_much_is_told_what_it_takes(site: Deployment, head: str) -> None:
    grant = {"name": "greedy", "operations": ["mint"], "authorities": ["*"]}
    told = json.loads(site.post("/tokens", grant, token=head).body)["detail"]
    assert told == "'head of press' may not do this; required: a scope that includes *"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"operations": ["withdraw"]}, 403, "forbidden"),
        ({"authorities": [OTHER_SERIES]}, 403, "forbidden"),
        ({"authorities": ["*"]}, 403, "forbidden"),
        ({"operations": ["rebind"]}, 400, "invalid-request"),
        ({"authorities": []}, 400, "invalid-request"),
        ({"first_day": "2026-02-30"}, 400, "invalid-request"),
        ({"expires": "tomorrow"}, 400, "invalid-request"),
        ({"expires": "2026-99-99T99:99:99Z"}, 400, "invalid-request"),
        ({"key": "AAAA"}, 400, "invalid-request"),
        ({"name": "head of press"}, 409, "conflict"),
        ({"anything": 1}, 400, "invalid-request"),
    ],
)
def test_what_is_not_granted(
    site: Deployment, head: str, fields: dict[str, Any], status: int, code: str
) -> None:
    grant = {"name": "greedy", "operations": ["mint"], "authorities": [SERIES]} | fields
    before = site.registry.records.list_tokens()
    refused(site.post("/tokens", grant, token=head), status, code)
    assert site.registry.records.list_tokens() == before


def test_nobody_grants_without_a_token_or_the_right(site: Deployment) -> None:
    grant = {"name": "x", "operations": ["mint"], "authorities": [SERIES]}
    refused(site.post("/tokens", grant), 401, "unauthenticated")
    plain = site.token("no right to grant", operations=("mint",), authorities=(SERIES,))
    refused(site.post("/tokens", grant, token=plain), 403, "forbidden")


def test_what_ends_a_grant_ends_all_that_came_of_it(site: Deployment, head: str) -> None:
    deputy = granted(site, head, name="deputy", operations=["mint", "delegate"])
    helper = granted(site, deputy, name="helper")
    assert site.put(MINT, b"x", TYPE, token=helper).status == 201
    refused(site.post("/tokens/deputy?revoke", {}, token=helper), 404, "not-found")
    answer = site.post("/tokens/deputy?rev%6Fke", {}, token=head)
    assert json.loads(answer.body)["revoked"]
    for secret in (deputy, helper):
        refused(site.put(MINT, b"x", TYPE, token=secret), 401, "unauthenticated")
        refused(site.get("/tokens", f"Authorization: Bearer {secret}"), 401, "unauthenticated")
    history = json.loads(site.get("/tokens/deputy", f"Authorization: Bearer {head}").body)[
        "history"
    ]
    assert [one["by"] for one in history] == ["head of press", "head of press"]
    assert [(one["before"] or {}).get("revoked") for one in history] == [None, None]
    assert history[1]["after"]["revoked"]


def test_who_sees_which_tokens(site: Deployment, head: str) -> None:
    granted(site, head, name="seen")
    site.token("of another", operations=("mint",), authorities=(OTHER_SERIES,))
    answer = site.get("/tokens", f"Authorization: Bearer {head}")
    names = {one["name"] for one in json.loads(answer.body)["tokens"]}
    assert "seen" in names
    assert "of another" not in names
    assert b"digest" not in answer.body
    chief = site.token("administrator", operations=("administer",))
    answer = site.get("/tokens", f"Authorization: Bearer {chief}")
    assert {"seen", "of another"} <= {one["name"] for one in json.loads(answer.body)["tokens"]}
    refused(site.get("/tokens"), 401, "unauthenticated")


def test_who_administers_by_a_grant_that_ended_revokes_nothing(site: Deployment) -> None:
    chief = site.token("chief", operations=("mint", "delegate", "administer"))
    granted(site, chief, name="spared")
    deputy = granted(site, chief, name="second", operations=["delegate", "administer"])
    helper = granted(site, deputy, name="third", operations=["administer"])
    assert site.post("/tokens/second?revoke", {}, token=chief).status == 200
    refused(site.post("/tokens/spared?revoke", {}, token=helper), 401, "unauthenticated")
    assert site.post("/tokens/spared?revoke", {}, token=chief).status == 200


# signed requests
# ---------------


def digest(algorithm: str, body: bytes) -> str:
    """As a byte sequence of RFC 8941."""
    return f":{base64.b64encode(hashlib.new(algorithm, body).digest()).decode()}:"


class Signer:
    """Signs as RFC 9421 section 2.5 writes it down, by hand."""

    def __init__(self, name: str) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._name = name
        self.public = base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def fields(
        self,
        site: Deployment,
        method: str,
        target: str,
        body: bytes,
        *,
        cover: tuple[str, ...] = ("@method", "@target-uri", "content-type", "content-digest"),
        base: str = HOME,
        created: int | None = None,
        nonce: str = "",
        label: str = "sig1",
        digests: dict[str, str] | None = None,
    ) -> list[str]:
        digests = digests or {"sha-256": digest("sha256", body)}
        values = {
            "@method": method,
            "@target-uri": f"{base}{target}",
            "@request-target": target,
            "@authority": base.partition("//")[2],
            "content-type": TYPE.partition(": ")[2],
            "content-language": "en",
            "content-digest": ", ".join(f"{name}={one}" for name, one in digests.items()),
            "if-match": '"r1"',
        } | {f'content-digest";key="{name}': one for name, one in digests.items()}
        moment = int(time.time()) if created is None else created
        names = " ".join(f'"{one}"' for one in cover)
        parameters = f'({names});created={moment};keyid="{self._name}"'
        if nonce:
            parameters += f';nonce="{nonce}"'
        lines = [
            *(f'"{one}": {values[one]}' for one in cover),
            f'"@signature-params": {parameters}',
        ]
        signature = base64.b64encode(self._key.sign("\n".join(lines).encode())).decode()
        return [
            f"Content-Digest: {values['content-digest']}",
            f"Signature-Input: {label}={parameters}",
            f"Signature: {label}=:{signature}:",
        ]


@pytest.fixture(scope="module")
def signer(site: Deployment, head: str) -> Signer:
    """Somebody whose key was granted a part of the head's rights."""
    found = Signer("robot")
    grant = {"name": "robot", "operations": ["mint", "commit"], "authorities": [SERIES]}
    answer = site.post("/tokens", grant | {"key": found.public}, token=head)
    assert answer.status == 201
    assert "token" not in json.loads(answer.body)
    return found


def test_a_signed_request_mints(site: Deployment, signer: Signer) -> None:
    signed = signer.fields(site, "PUT", MINT, b"signed", nonce="mint")
    answer = site.put(MINT, b"signed", TYPE, *signed)
    assert answer.status == 201, answer.body
    assert site.get(answer.headers["location"].removeprefix(HOME)).body == b"signed"


def test_a_signed_batch_has_the_rights_of_the_key(site: Deployment, signer: Signer) -> None:
    """The signature covers the batch, and so each of its lines."""
    lines = [{"target": f"/pdi://{SERIES}/?mint"}, {"target": f"/pdi://{OTHER_SERIES}/?mint"}]
    body = b"\n".join(json.dumps(one).encode() for one in lines)
    signed = signer.fields(site, "POST", "/operations", body, nonce="batch")
    answer = site.ask("POST", "/operations", TYPE, *signed, body=body)
    assert [json.loads(line)["status"] for line in answer.body.splitlines()] == [201, 403]


def test_a_signature_is_good_once(site: Deployment, signer: Signer) -> None:
    """Whatever its label is, which is not signed."""
    now = int(time.time())
    for number, label in enumerate(("sig1", "sig1", "other")):
        signed = signer.fields(site, "PUT", MINT, b"once", nonce="once", label=label, created=now)
        answer = site.put(MINT, b"once", TYPE, *signed)
        if number:
            refused(answer, 401, "unauthenticated")
            assert "used before" in json.loads(answer.body)["detail"]
        else:
            assert answer.status == 201


@pytest.mark.parametrize(
    "more",
    [
        {"created": 1_000_000_000},
        {"created": 4_000_000_000},
        {"cover": ("@target-uri", "content-type", "content-digest")},
        {"cover": ("@method", "content-type", "content-digest")},
        {"cover": ("@method", "@target-uri", "content-type")},
        {"cover": ("@method", "@target-uri", "content-digest")},
        {"cover": ("@method", "@request-target", "content-type", "content-digest")},
        {"base": "https://staging.example.org"},
    ],
)
def test_signatures_that_do_not_suffice(
    site: Deployment, signer: Signer, more: dict[str, Any]
) -> None:
    signed = signer.fields(site, "PUT", MINT, b"x", nonce=str(more), **more)
    refused(site.put(MINT, b"x", TYPE, *signed), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("member", "digests", "status"),
    [
        ("", {"md5": digest("md5", b"original")}, 401),
        (';key="md5', {"md5": digest("md5", b"original"), "sha-256": digest("sha256", b"x")}, 401),
        (';key="sha-256', {"sha-256": digest("sha256", b"x")}, 201),
        (';key="sha-256', {"sha-256": digest("sha256", b"original")}, 400),
    ],
)
def test_a_body_is_what_was_signed(
    site: Deployment, signer: Signer, member: str, digests: dict[str, str], status: int
) -> None:
    """RFC 9421 signs no content but by Content-Digest: by a digest then that is compared."""
    promised = f'content-digest"{member}' if member else "content-digest"
    cover = ("@method", "@target-uri", "content-type", promised)
    signed = signer.fields(site, "PUT", MINT, b"", nonce=str(digests), cover=cover, digests=digests)
    assert site.put(MINT, b"x", TYPE, *signed).status == status


def test_what_was_changed_on_the_way(site: Deployment, signer: Signer) -> None:
    signed = signer.fields(site, "PUT", MINT, b"original", nonce="way")
    refused(site.put(MINT, b"forgery!", TYPE, *signed), 400, "digest-mismatch")
    signed = signer.fields(site, "PUT", MINT, b"original", nonce="way 2")
    other = MINT.replace(SERIES, OTHER_SERIES)
    refused(site.put(other, b"original", TYPE, *signed), 401, "unauthenticated")
    refused(site.put(MINT, b"original", TYPE, *signed, 'If-Match: "r1"'), 401, "unauthenticated")
    stranger = Signer("robot").fields(site, "PUT", MINT, b"x")
    refused(site.put(MINT, b"x", TYPE, *stranger), 401, "unauthenticated")
    nobody = Signer("nobody").fields(site, "PUT", MINT, b"x")
    refused(site.put(MINT, b"x", TYPE, *nobody), 401, "unauthenticated")
    broken = ["Signature-Input: x", "Signature: y"]
    answer = site.put(MINT, b"x", TYPE, *broken)
    refused(answer, 401, "unauthenticated")
    told = json.loads(answer.body)["detail"]  # what is wrong with it, not what a token is
    assert "the signature is not valid" in told
    assert "sign the request" in told


@pytest.mark.parametrize(
    "field",
    ["Content-Type: text/html", "Content-Language: fr", "Content-Encoding: gzip", "If-Match: *"],
)
@pytest.mark.parametrize("sent", [(), (TYPE,)])
def test_a_field_that_decides_was_changed_or_added(
    site: Deployment, signer: Signer, field: str, sent: tuple[str, ...]
) -> None:
    """give-rights.md: "A request that is sent again, or was changed, is refused"."""
    cover = ("@method", "@target-uri", "content-digest", *(("content-type",) if sent else ()))
    signed = signer.fields(site, "PUT", MINT, b"x", nonce=f"{field}{sent}", cover=cover)
    kept = () if field.startswith("Content-Type") else sent
    refused(site.put(MINT, b"x", *kept, field, *signed), 401, "unauthenticated")


def test_the_server_is_signed_for(site: Deployment, signer: Signer) -> None:
    """A copy of a registry has the same keys and names, but another address."""
    cover = ("@method", "@request-target", "@authority", "content-type", "content-digest")
    signed = signer.fields(site, "PUT", MINT, b"x", nonce="authority", cover=cover)
    assert site.put(MINT, b"x", TYPE, *signed).status == 201
    other = "https://staging.example.org"
    for nonce, target in (("form", f"{other}{MINT}"), ("forms", MINT)):
        signed = signer.fields(site, "PUT", MINT, b"x", nonce=nonce, base=other)
        answer = site.put(target, b"x", TYPE, "X-Forwarded-Host: staging.example.org", *signed)
        refused(answer, 401, "unauthenticated")


def test_without_a_public_address_no_signature_is_accepted(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as site:
        site.token("robot", operations=("mint",), key=Signer("robot").public)
        robot = Signer("robot")
        signed = robot.fields(site, "PUT", MINT, b"x", nonce="n", base=site.base)
        answer = site.put(MINT, b"x", TYPE, *signed)
        refused(answer, 401, "unauthenticated")
        assert "base_url" in json.loads(answer.body)["detail"]


def test_a_key_has_the_rights_of_its_token_only(site: Deployment, signer: Signer) -> None:
    target = f"/pdi://{OTHER_SERIES}/"
    signed = signer.fields(site, "PUT", target, b"x", nonce="elsewhere")
    refused(site.put(target, b"x", TYPE, *signed), 403, "forbidden")


def test_tokens_are_listed_to_who_signs(site: Deployment, signer: Signer) -> None:
    cover = ("@method", "@target-uri")
    signed = signer.fields(site, "GET", "/tokens", b"", nonce="list", cover=cover)
    answer = site.get("/tokens", *signed)
    assert (answer.status, json.loads(answer.body)) == (200, {"tokens": []})
    refused(site.get("/tokens", *signed), 401, "unauthenticated")


def test_a_reader_may_sign_for_whatever_purpose(site: Deployment) -> None:
    """To what everybody may read, a signature by who knows whom makes no difference."""
    fields = ['Signature-Input: bot=("@authority");keyid="x"', "Signature: bot=:AAAA:"]
    assert site.get("/healthz", *fields).status == 200
