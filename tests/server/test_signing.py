"""`POST ?signatures`: attaching a signature over HTTP, and its place on pages and in records.

`ssh-keygen` makes and judges the signatures, so perdure is not its own judge.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, problem, receipt, text
from tests.signing.conftest import Run, make_ssh_key, needs_ssh, run

from perdure.ids import parse
from perdure.ids.named_parts import Name
from perdure.model.commands import Commit, Register, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.signing.keys import read_public_line
from perdure.upkeep.signing import make_statement

pytestmark = needs_ssh
__all__ = ("run",)  # a fixture
LIST = "hdl:1/allowed"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("site") / "registry"
    root.mkdir()
    (root / "perdure.toml").write_text(f'[perdure]\nallowed_signers = ["{SERIES}={LIST}"]\n')
    with deployed(root) as running:
        running.do(Register(identifier=parse(LIST), contents=(text(b"# no key yet\n"),)))
        yield running


@pytest.fixture
def bearer(site: Deployment) -> str:
    return site.token("signer", operations=("assert",), authorities=(SERIES,))


@pytest.fixture
def key(run: Run, tmp_path: Path) -> str:
    """The public key of the file `key`, as OpenSSH writes it."""
    make_ssh_key(run)
    return (tmp_path / "key.pub").read_text()


def allow(site: Deployment, *lines: str) -> None:
    """Commit a list of allowed signers."""
    data = "".join(f"{line}\n" for line in lines) or "# nobody\n"
    site.do(Commit(identifier=parse(LIST), contents=(text(data.encode()),)))


def trust(site: Deployment, key: str, options: str = "") -> None:
    allow(site, f"ann@a.example {options} {' '.join(key.split()[:2])}".replace("  ", " "))


def sign(
    run: Run, place: Path, site: Deployment, name: str, key: str, use: str = "perdure-signature-v1"
) -> bytes:
    """A statement, signed by ssh-keygen."""
    made = make_statement(
        site.registry, Name(parse(name)), read_public_line(key.strip()).fingerprint, "author"
    )
    (place / "statement").write_text(str(made))
    (place / "statement.sig").unlink(missing_ok=True)
    done = run("ssh-keygen", "-Y", "sign", "-n", use, "-f", "key", "statement")
    assert done.returncode == 0, done.stderr
    return (place / "statement").read_bytes() + b"\n" + (place / "statement.sig").read_bytes()


def post(site: Deployment, name: str, data: bytes, bearer: str = "", *fields: str) -> Answer:
    token = (f"Authorization: Bearer {bearer}",) if bearer else ()
    return site.ask("POST", f"/{name}?signatures", *token, *fields, body=data)


def count_documents(site: Deployment) -> int:
    found = json.loads(site.get(f"/pdi://{SERIES}/?info").body)
    return len(found["records"])


def list_verdicts(site: Deployment, name: str) -> list[str]:
    found = json.loads(site.get(f"/{name}?signatures").body)["signatures"]
    return [one["verdict"] for one in found]


def test_a_signature_is_attached_once(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    data = sign(run, tmp_path, site, name, key)
    made = receipt(post(site, name, data, bearer))
    assert made["outcome"] == "created"
    assert site.get(f"/{made['identifier']}").body == data
    assert list_verdicts(site, name) == ["valid"]
    again = receipt(post(site, name, data, bearer), 200)
    assert (again["outcome"], again["identifier"]) == ("unchanged", made["identifier"])
    stated, _, signature = site.get(f"/{made['identifier']}").body.partition(b"\n\n")
    (tmp_path / "allowed").write_text(f"ann@a.example {key}")
    (tmp_path / "s.sig").write_bytes(signature)
    verify = ("ssh-keygen", "-Y", "verify", "-n", "perdure-signature-v1", "-f", "allowed")
    assert run(*verify, "-I", "ann@a.example", "-s", "s.sig", data=stated + b"\n").returncode == 0


def test_signatures_of_parts_and_intervals(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    part = f"{name}#char=0,2"
    assert post(site, name, sign(run, tmp_path, site, part, key), bearer).status == 201
    assert list_verdicts(site, f"{name}%23char=0,2") == ["valid"]
    day = name.rpartition("/")[0] + "/"
    assert post(site, day, sign(run, tmp_path, site, day, key), bearer).status == 201
    assert list_verdicts(site, day)[-1] == "valid"


def test_bad_signatures_are_refused_and_nothing_is_kept(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    other = site.mint(text(b"to whom it may concern"))
    data = sign(run, tmp_path, site, name, key)
    elsewhere = sign(run, tmp_path, site, name, key, use="git")
    before = count_documents(site)
    cases: dict[str, tuple[str, bytes, str]] = {
        "moved to another name": (other, data, "about"),
        "moved to a version": (f"{name[:-1]}2", data, "about"),
        "stripped of its signature": (name, data.partition(b"\n\n")[0] + b"\n", "signature"),
        "stripped of a line": (name, data.replace(b"role: author\n", b""), "line 7"),
        "another role": (name, data.replace(b"role: author", b"role: issuer"), "did not make"),
        "another time": (name, data.replace(b"signed: 2026", b"signed: 2025"), "did not make"),
        "another use": (name, elsewhere, "for the use 'git'"),
        "no statement": (name, b"hello", "line 1"),
        "nothing": (name, b"", "line 1"),
        "binary": (name, b"\xff\x00" * 100, "line 1"),
        "another digest": (name, data.replace(b"sha512: ", b"sha512: 0", 1), "line 3"),
    }
    for case, (about, sent, word) in cases.items():
        answer = post(site, about, sent, bearer)
        assert 400 <= answer.status < 500, (case, answer)
        assert word in json.loads(answer.body)["detail"], (case, answer.body)
    assert post(site, name, data + b"\n" * 300_000, bearer).status == 413
    assert count_documents(site) == before
    assert list_verdicts(site, name) == []


def test_keys_that_do_not_count(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    name = site.mint(text(b"to whom it may concern"))
    data = sign(run, tmp_path, site, name, key)
    before = count_documents(site)
    allow(site)
    found = problem(post(site, name, data, bearer), 400, "invalid-request")
    assert found["verdict"] == "unknown-key"
    trust(site, key, 'valid-before="20200101Z"')
    assert json.loads(post(site, name, data, bearer).body)["verdict"] == "expired"
    trust(site, key, 'valid-after="29990101Z"')
    assert json.loads(post(site, name, data, bearer).body)["verdict"] == "not-yet-valid"
    trust(site, key)
    allow(site)
    assert json.loads(post(site, name, data, bearer).body)["verdict"] == "revoked"
    assert count_documents(site) == before
    trust(site, key)
    assert post(site, name, data, bearer).status == 201


def test_rights(site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    data = sign(run, tmp_path, site, name, key)
    assert post(site, name, data).status == 401
    other = site.token("other", operations=("mint", "describe"))
    assert post(site, name, data, other).status == 403
    elsewhere = site.token("elsewhere", operations=("assert",), authorities=("hdl:1/*",))
    assert post(site, name, data, elsewhere).status == 403
    assert post(site, f"pdi://{SERIES}/2020/01/01/1", data, bearer).status == 404
    handle = "hdl:1/signed"
    site.do(Register(identifier=parse(handle), contents=(text(b"bytes of a handle"),)))
    allow(site)
    (tmp_path / "statement.sig").unlink()
    signed = sign(run, tmp_path, site, handle, key)
    only = site.token("only", operations=("assert",), authorities=("hdl:1/*",))
    assert post(site, handle, signed, only).status == 403  # it would be minted in a series
    both = site.token("both", operations=("assert",), authorities=("hdl:1/*", SERIES))
    assert post(site, handle, signed, both).status == 201


def test_a_verdict_tells_nothing_of_what_is_closed(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"a secret"))
    data = sign(run, tmp_path, site, name, key)
    rule = ReadingRule(about=name, access=Access.CLOSED, by_token=True)
    site.do(Restrict(rule=rule))
    answers = {
        (answer.status, answer.body)
        for answer in (post(site, name, data, bearer), post(site, name, data[:-300], bearer))
        if answer.status != 400
    }
    assert [status for status, _ in answers] == [403]
    reader = site.token("reading", operations=("assert", "read"), authorities=(SERIES,))
    assert post(site, name, data, reader).status == 201


def test_pages_and_records_show_signatures(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    bare = name.removesuffix(".text.1")
    accept = {"json": "Accept: application/json", "html": "Accept: text/html"}
    plain = {kind: site.get(f"/{bare}?info", field) for kind, field in accept.items()}
    page = site.get(f"/{bare}?landing")
    assert "signatures" not in json.loads(plain["json"].body)
    assert "Signatures</h2>" not in page.body.decode()
    signature = receipt(post(site, name, sign(run, tmp_path, site, name, key), bearer))
    shown = site.get(f"/{bare}?info", accept["json"])
    [found] = json.loads(shown.body)["signatures"]
    assert (found["identifier"], found["verdict"]) == (signature["identifier"], "valid")
    assert found["principals"] == ["ann@a.example"]
    signed_page = site.get(f"/{bare}?landing")
    for answer in (signed_page, site.get(f"/{bare}?info", accept["html"])):
        html = answer.body.decode()
        for word in ("Signatures</h2>", "valid", "ann@a.example", signature["url"]):
            assert word in html
    xml = ElementTree.fromstring(site.get(f"/{bare}?info", "Accept: application/xml").body)
    assert xml.findtext("signatures/signature/verdict") == "valid"
    assert xml.findtext("signatures/signature/principals/principal") == "ann@a.example"
    for accept_type in ("text/plain", "text/xml", "*/*"):
        assert site.get(f"/{bare}?info", f"Accept: {accept_type}").status == 200
        assert site.get(f"/uri-res/N2C?{bare}", f"Accept: {accept_type}").status == 200
    assert signed_page.headers["etag"] != page.headers["etag"]
    assert shown.headers["etag"] != plain["json"].headers["etag"]
    same = site.get(f"/{bare}?info", accept["json"], f"If-None-Match: {shown.headers['etag']}")
    assert same.status == 304
    writer = f"Authorization: Bearer {site.token('writer', operations=('bind',))}"
    body = json.dumps({"locations": ["https://a.example/"]}).encode()
    match = f"If-Match: {shown.headers['etag']}"
    assert site.ask("POST", f"/{bare}?bind", writer, match, body=body).status == 201
    rule = ReadingRule(about=signature["identifier"], access=Access.CLOSED)
    site.do(Restrict(rule=rule))
    assert "signatures" not in json.loads(site.get(f"/{bare}?info", accept["json"]).body)
    assert "Signatures</h2>" not in site.get(f"/{bare}?landing").body.decode()


def test_a_malformed_list_of_signers_breaks_no_page(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    assert post(site, name, sign(run, tmp_path, site, name, key), bearer).status == 201
    allow(site, "this is no list")
    for question in ("landing", "info", "linkset"):
        assert site.get(f"/{name}?{question}").status == 200
    problem(site.get(f"/{name}?signatures"), 400, "invalid-request")
    site.do(Withdraw(identifier=parse(LIST), version=count_versions(site), reason="a mistake"))
    trust(site, key)
    assert list_verdicts(site, name) == ["valid"]


def count_versions(site: Deployment) -> int:
    record = site.registry.listings.find_record(parse(LIST))
    assert record is not None
    return len(record.versions)


def test_an_idempotency_key(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    trust(site, key)
    name = site.mint(text(b"to whom it may concern"))
    data = sign(run, tmp_path, site, name, key)
    first = receipt(post(site, name, data, bearer, 'Idempotency-Key: "once"'))
    again: dict[str, Any] = json.loads(
        post(site, name, data, bearer, 'Idempotency-Key: "once"').body
    )
    assert again["identifier"] == first["identifier"]


def test_a_set_lists_what_is_signed_in_it_page_by_page(
    site: Deployment, bearer: str, key: str, run: Run, tmp_path: Path
) -> None:
    """Ruling pdi-patterns-everywhere: "Whatever takes a set takes a pattern or an interval, by
    every transport"."""
    trust(site, key)
    names = [site.mint(text(b"%d" % number)) for number in range(3)]
    day = names[0].rpartition("/")[0] + "/"
    year = "/".join(day.split("/")[:4]) + "/"
    signed = [day, f"{day}*.text.1", names[0], f"{names[2]}#char=0,1"]
    made = [post(site, name, sign(run, tmp_path, site, name, key), bearer) for name in signed]
    ours = [receipt(one)["identifier"] for one in made]
    found: list[str] = []
    address = f"{year}?signatures&limit=1"
    for _ in range(50):
        answer = site.get(f"/{address}")
        page = json.loads(answer.body)
        found += [one["identifier"] for one in page["signatures"]]
        if "next" not in page:
            break
        assert answer.headers["link"] == f'<{page["next"]}>; rel="next"'
        address = f"{year}{page['next']}"
    assert [name for name in found if name in ours] == ours
    assert len(found) == len(set(found))
    whole = json.loads(site.get(f"/{year}?signatures").body)
    assert [one["identifier"] for one in whole["signatures"]] == found
    assert site.get(f"/{year}?signatures&cursor=elsewhere").status == 400
    closed = ReadingRule(about=names[0].rpartition(".text")[0], access=Access.CLOSED, by_token=True)
    site.do(Restrict(rule=closed))
    listed = site.get(f"/{year}?signatures")
    assert ours[2] not in [one["identifier"] for one in json.loads(listed.body)["signatures"]]
