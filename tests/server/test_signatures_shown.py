"""`?signatures`: who signed a name, over HTTP, each with the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, text

from perdure.ids import parse
from perdure.ids.name_set import make_set
from perdure.ids.named_parts import Name
from perdure.model.assertions import CONTEXT
from perdure.model.commands import Register, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.signing.document import join_signature
from perdure.signing.ssh import SshSigner
from perdure.upkeep.asserting import store_assertion
from perdure.upkeep.signing import attach_signature, make_statement

SIGNER = SshSigner(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("site") / "registry"
    root.mkdir()  # the tests write, too, so it is in the file
    (root / "perdure.toml").write_text(f'[perdure]\nallowed_signers = ["{SERIES}=hdl:1/allowed"]\n')
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def listed(site: Deployment) -> None:
    data = f"ann@a.example {SIGNER.key.line}\n".encode()
    site.do(Register(identifier=parse("hdl:1/allowed"), contents=(text(data),)))


def sign(site: Deployment, name: str, role: str = "issuer") -> str:
    made = make_statement(site.registry, Name(parse(name)), SIGNER.key.fingerprint, role)
    signed = join_signature(made, SIGNER.sign_statement(made))
    return attach_signature(site.registry, made.identifier, str(signed).encode()).identifier


def ask(site: Deployment, name: str) -> list[dict[str, Any]]:
    answer = site.get(f"/{name}?signatures")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found: list[dict[str, Any]] = json.loads(answer.body)["signatures"]
    return found


def test_the_signatures_of_a_name(site: Deployment) -> None:
    name = site.mint(text(b"to whom it may concern"))
    bare = name.removesuffix(".text.1")
    assert ask(site, name) == []
    linkset = f"<{site.base}/{bare}?signatures>"
    assert linkset not in site.get(f"/{bare}?linkset", "Accept: application/linkset").body.decode()
    signature = sign(site, name)
    part = sign(site, f"{name}#char=0,2")
    (first, second) = ask(site, bare)
    assert first == {
        "identifier": signature,
        "url": f"{site.base}/{signature}",
        "of": name,
        "verdict": "valid",
        "reason": "",
        "proof": "",
        "form": "SSHSIG",
        "role": "issuer",
        "signer": SIGNER.key.fingerprint,
        "principals": ["ann@a.example"],
        "signed": first["signed"],
        "stamped": None,
        "recorded": first["recorded"],
        "recorded_at": first["recorded_at"],
    }
    assert (second["identifier"], second["of"]) == (part, f"{name}#char=0,2")
    assert ask(site, name) == [first, second]
    assert ask(site, f"{name}%23char=0,2") == [second]
    assert ask(site, f"{name}%23char=0,3") == []
    assert linkset in site.get(f"/{bare}?linkset", "Accept: application/linkset").body.decode()
    described = json.loads(site.get(f"/{signature}?info", "Accept: application/json").body)
    assert described["targets"] == [name]


def test_the_list_is_paged(site: Deployment) -> None:
    """ "of documents, parts, assertions, intervals": a page may end within those of one name."""
    name = site.mint(text(b"to whom it may concern"), authority=OTHER_SERIES)
    series = f"pdi://{OTHER_SERIES}/"
    many = [sign(site, f"{name}#char=0,{end}") for end in range(1, 6)]
    sets = [sign(site, series, role) for role in ("author", "issuer", "witness")]
    day = sign(site, f"{name.rpartition('/')[0]}/")
    for asked, expected in ((name, many), (series, [*sets, day, *many])):
        found, target, pages = [], f"/{asked}?signatures&limit=2", 0
        while target:
            answer = site.get(target)
            assert answer.status == 200, answer.body
            page = json.loads(answer.body)
            found += [one["identifier"] for one in page["signatures"]]
            assert len(page["signatures"]) <= 2
            target = f"/{asked}{page['next']}" if "next" in page else ""
            assert ('rel="next"' in answer.headers.get("link", "")) == bool(target)
            pages += 1
        assert found == expected
        assert pages > 2
        walk = site.registry.signatures.walk_set(make_set(parse(asked)))
        assert [str(one.identifier) for one in walk] == expected
    for asked in (name, series):
        answer = site.get(f"/{asked}?signatures&cursor=nothing")
        assert (answer.status, json.loads(answer.body)["code"]) == (400, "invalid-request")


def test_the_signature_of_an_interval(site: Deployment) -> None:
    day = site.mint(text(b"one")).rpartition("/")[0] + "/"
    signature = sign(site, day)
    first = ask(site, day)[0]
    assert (first["identifier"], first["verdict"]) == (signature, "valid")
    site.mint(text(b"two"))
    assert ask(site, day)[0]["verdict"] == "altered"


def test_the_list_of_an_interval_has_documents_about_others_but_no_signatures(
    site: Deployment,
) -> None:
    """An assertion is a document of the month, too."""
    name = site.mint(text(b"to whom it may concern"))
    day = name.rpartition("/")[0] + "/"
    said = f'{{"@context": "{CONTEXT}", "type": "Annotation", "target": "{name}"}}'
    about = store_assertion(site.registry, said.encode()).identifier
    listed = b"".join(site.registry.signed_contents.open_content(parse(day))).decode()
    signature = sign(site, name)
    after = b"".join(site.registry.signed_contents.open_content(parse(day))).decode()
    assert about in listed
    assert name in listed
    assert signature not in after
    assert after == listed


def test_a_name_without_signatures_costs_one_look_up(
    site: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = site.mint(text(b"to whom it may concern"))
    said = f'{{"@context": "{CONTEXT}", "type": "Annotation", "target": "{name}"}}'
    for _ in range(3):
        store_assertion(site.registry, said.encode())
    records, read = site.registry.records, list[str]()
    find_record = records.find_record

    def note_read(key: str) -> object:
        read.append(key)
        return find_record(key)

    monkeypatch.setattr(records, "find_record", note_read)
    assert not site.registry.signatures.has_signatures(parse(name))
    assert read == []


def test_only_open_signatures_are_linked(site: Deployment) -> None:
    """An assertion is about a name, too, and no signature of it."""
    name = site.mint(text(b"to whom it may concern"))
    bare = name.removesuffix(".text.1")
    said = f'{{"@context": "{CONTEXT}", "type": "Annotation", "target": "{name}"}}'
    store_assertion(site.registry, said.encode())
    assert "?signatures" not in read_linkset(site, bare)
    rule = ReadingRule(about=sign(site, name), access=Access.CLOSED)
    assert f"<{site.base}/{bare}?signatures>" in read_linkset(site, bare)
    site.do(Restrict(rule=rule))
    assert "?signatures" not in read_linkset(site, bare)


def read_linkset(site: Deployment, name: str) -> str:
    return site.get(f"/{name}?linkset", "Accept: application/linkset").body.decode()


def test_names_that_name_nothing(site: Deployment) -> None:
    assert site.get(f"/pdi://{SERIES}/2026/01/01/1?signatures").status == 404
    name = site.mint(text(b"once"))
    assert site.get(f"/{name[:-1]}2?signatures").status == 404
    assert site.get("/hdl:9/*?signatures").status == 404
    assert site.get(f"/pdi://{SERIES}/1997/?signatures").status == 200
    assert site.ask("HEAD", f"/{name}?signatures").status == 200


def test_what_was_withdrawn_is_not_judged(site: Deployment) -> None:
    name = site.mint(text(b"a secret"))
    signature = sign(site, name)
    site.do(Withdraw(identifier=parse(name), reason="a court said so"))
    (found,) = ask(site, name)
    assert found["verdict"] == "unverifiable"
    site.do(Withdraw(identifier=parse(signature), reason="a court said so"))
    assert ask(site, name) == []


def test_signatures_of_closed_things_are_left_out(site: Deployment) -> None:
    """A signature has the digest and the length of what was signed."""
    first = site.mint(text(b"open to everyone"))
    bare = first.removesuffix(".text.1")
    second = site.commit(bare, text(b"open to some"))
    hidden, shown = sign(site, second), sign(site, first)
    for about in (second, hidden):
        rule = ReadingRule(about=about, access=Access.CLOSED, by_token=True)
        site.do(Restrict(rule=rule))
        assert [one["identifier"] for one in ask(site, bare)] == [shown]
        bearer = f"Authorization: Bearer {site.token('reader', operations=('read',))}"
        answer = site.get(f"/{bare}?signatures", bearer)
        assert len(json.loads(answer.body)["signatures"]) == 2
        assert answer.headers["cache-control"] == "private, no-store"
        lift = ReadingRule(about=about, access=Access.OPEN, lifted=True)
        site.do(Restrict(rule=lift))
