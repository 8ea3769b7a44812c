"""Harvesting documents from the dumps of ResourceSync: real ones, and packages that lie.

Sections are those of ANSI/NISO Z39.99-2017.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from tests.server.deployment import deployed, resource, text
from tests.upkeep.harvested import Repository, count, read, run

from perdure.cli import exits
from perdure.errors import InvalidRequest, Unavailable
from perdure.ids import parse
from perdure.model.commands import Withdraw
from perdure.model.queries import Fetch, Query
from perdure.registry import Registry
from perdure.upkeep.harvesting import packages

MAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
SYNC = "http://www.openarchives.org/rs/terms/"
NAME = "pdi://b.example.us/2001/02/03/"


def read_bytes(local_registry: Path, name: str) -> bytes:
    with Registry(local_registry) as registry:
        step = registry.reading.resolve(Query(identifier=parse(name))).step
        assert isinstance(step, Fetch)
        return b"".join(registry.bytes.read_chunks(step.representation))


def write_list(head: str, *entries: str) -> bytes:
    shown = "".join(f"<url>{one}</url>" for one in entries)
    return f'<urlset xmlns="{MAP}" xmlns:rs="{SYNC}">{head}{shown}</urlset>'.encode()


def write_dump(repository: Repository, *packages: str) -> None:
    base = repository.url.removesuffix("/oai")
    head = '<rs:md capability="resourcedump" at="2026-11-27T12:00:00Z"/>'
    repository.paths["/dump.xml"] = write_list(
        head, *(f"<loc>{base}{one}</loc><rs:md type='application/zip'/>" for one in packages)
    )


def tell(repository: Repository, number: int, **said: str) -> str:
    """The entry of a document in a manifest."""
    base = repository.url.removesuffix("/oai")
    more = "".join(f' {name}="{value}"' for name, value in said.items())
    return f"<loc>{base}/{NAME}{number}.text.1</loc><rs:md{more}/>"


def pack(*entries: str, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as package:
        head = '<rs:md capability="resourcedump-manifest"/>'
        package.writestr("manifest.xml", write_list(head, *entries))
        for name, body in files.items():
            package.writestr(name, body)
    return sink.getvalue()


def hash_of(body: bytes) -> str:
    return f"sha-256:{hashlib.sha256(body).hexdigest()}"


def test_the_documents_of_a_resolver_are_taken_and_then_what_changed(
    tmp_path: Path, local_registry: Path
) -> None:
    """Sections 12 and 14: a dump has the bytes, a change dump what happened since."""
    long = bytes(range(256)) * 1000  # goes through a file
    with deployed(tmp_path / "origin") as origin:
        first, second = (origin.mint(text(word)) for word in (b"first", long))
        url = f"{origin.base}/.well-known/resourcesync"
        assert count(run(local_registry, "--as", "documents", url)) == (2, 0, 0)
        assert read_bytes(local_registry, first) == b"first"
        assert read_bytes(local_registry, second) == long
        there = origin.registry.records.find_record(parse(first).key)
        here = read(local_registry, first)
        assert there is not None
        assert here.versions[0].at == there.versions[0].at
        assert here.locations == ()

        third = origin.commit(resource(second), text(b"more"))
        origin.do(Withdraw(identifier=parse(first).resource, reason="gone"))
        origin.do(Withdraw(identifier=parse(second).resource, reason="wrong", version=1))
        done = run(local_registry, "--as", "documents", url)
        assert count(done) == (1, 2, 0)
        assert count(run(local_registry, "--as", "documents", url)) == (1, 0, 0)  # nothing is new
    gone = read(local_registry, first)
    assert gone.tombstone is not None
    assert gone.tombstone.silent
    left = read(local_registry, second)
    assert [one.tombstone is None for one in left.versions] == [False, True]
    assert read_bytes(local_registry, third) == b"more"
    assert list((local_registry / "incoming").iterdir()) == []


def test_an_interrupted_harvest_goes_on_with_the_package_that_was_not_taken(
    repository: Repository, local_registry: Path
) -> None:
    write_dump(repository, "/a.zip", "/b.zip", "/c.zip")
    for at, name in enumerate("abc", 1):
        body = f"text {at}".encode()
        entry = tell(repository, at, path="/x", hash=hash_of(body), type="text/plain")
        repository.paths[f"/{name}.zip"] = pack(entry, files={"x": body})
    whole = repository.paths["/b.zip"]
    repository.paths["/b.zip"] = whole[:-30]
    url = f"{repository.url.removesuffix('/oai')}/dump.xml"
    done = run(local_registry, "--as", "documents", url, code=exits.CODES[Unavailable])
    assert "damaged" in done.stderr
    repository.paths |= {"/b.zip": whole, "/a.zip": b""}
    assert count(run(local_registry, "--as", "documents", url)) == (2, 0, 0)
    assert [read_bytes(local_registry, f"{NAME}{at}") for at in (1, 2, 3)] == [
        b"text 1", b"text 2", b"text 3",
    ]  # fmt: skip


def test_documents_that_are_not_what_their_manifest_states_are_refused(
    repository: Repository, local_registry: Path
) -> None:
    write_dump(repository, "/a.zip")
    entries = (
        tell(repository, 1, path="/x", hash=hash_of(b"other")),
        tell(repository, 2, path="/x", length="5"),
        tell(repository, 3, path="../../etc/passwd"),
        tell(repository, 4, path="/x", hash="md5:5f4dcc3b5aa765d61d8327deb882cf99"),
        tell(repository, 5, path="/x", hash=hash_of(b"word"), length="4"),
        "<loc>http://127.0.0.1/about</loc><rs:md path='/x'/>",
        tell(repository, 6, path="/x", type="not a type"),
        tell(repository, 7, change="deleted"),
    )
    repository.paths["/a.zip"] = pack(*entries, files={"x": b"word"})
    url = f"{repository.url.removesuffix('/oai')}/dump.xml"
    done = run(local_registry, "--as", "documents", url, code=exits.FINDINGS)
    assert count(done) == (1, 0, 6)
    codes = [json.loads(one)["code"] for one in done.stderr.splitlines()]
    assert sorted(codes) == sorted(
        ["digest-mismatch"] * 2 + ["unavailable"] * 2 + ["invalid-request"] * 2
    )
    assert read_bytes(local_registry, f"{NAME}5") == b"word"
    # other bytes for a name that has some, and a document that was withdrawn here
    with Registry(local_registry) as registry:
        registry.door.execute_command(
            Withdraw(identifier=parse(f"{NAME}5"), reason="ours", version=1)
        )
    later = (tell(repository, 5, path="/x"), tell(repository, 8, path="/x"))
    repository.paths["/a.zip"] = pack(*later, files={"x": b"word"})
    done = run(local_registry, "--as", "documents", "--again", url, code=exits.FINDINGS)
    assert count(done) == (1, 0, 1)
    repository.paths["/a.zip"] = pack(tell(repository, 8, path="/x"), files={"x": b"another"})
    done = run(local_registry, "--as", "documents", "--again", url, code=exits.FINDINGS)
    assert count(done) == (0, 0, 1)
    assert read_bytes(local_registry, f"{NAME}8") == b"word"


@pytest.mark.parametrize(
    "kind", ["bomb", "method", "bare", "manifest", "noise", "directory", "cut"]
)
def test_packages_that_cannot_be_read_leave_nothing(
    repository: Repository, local_registry: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tell(repository, 1, path="/x")
    whole = pack(entry, files={"x": b"word"})
    bodies = {
        "bomb": pack(entry, files={"x": bytes(3_000_000)}),
        "method": pack(entry, files={"x": b"word"}, method=zipfile.ZIP_LZMA),
        "bare": pack(entry, files={}).replace(b"manifest.xml", b"manifest.xyz"),
        "manifest": pack("<loc>", files={"x": b"word"}),
        "noise": b"PK\x05\x06 and so on",
        "directory": pack(entry, files={f"{at}": b"" for at in range(50)}),
        "cut": whole[20:],
    }
    monkeypatch.setattr(packages, "_SURE", 1_000_000)
    monkeypatch.setattr(packages, "_LONGEST_DIRECTORY", 2_000)
    write_dump(repository, "/a.zip")
    repository.paths["/a.zip"] = bodies[kind]
    url = f"{repository.url.removesuffix('/oai')}/dump.xml"
    run(local_registry, "--as", "documents", url, code=exits.CODES[Unavailable])
    assert read(local_registry, f"{NAME}1") is None
    assert list((local_registry / "incoming").iterdir()) == []


def test_other_addresses_have_no_documents(repository: Repository, local_registry: Path) -> None:
    base = repository.url.removesuffix("/oai")
    repository.paths["/list.xml"] = write_list('<rs:md capability="resourcelist"/>')
    for url in (repository.url, f"{base}/list.xml"):
        done = run(local_registry, "--as", "documents", url, code=exits.CODES[InvalidRequest])
        assert "packages of ResourceSync" in done.stderr
