"""Dumps of ResourceSync. `resync`, not ours, reads the lists; zipfile and unzip the packages.

Sections are those of ANSI/NISO Z39.99-2017.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from lxml import etree
from tests.server.deployment import Deployment, deployed, problem, resource, text

from perdure.errors.harvesting import DumpStretchTooLong, PackageOutdated
from perdure.ids import parse
from perdure.model.commands import Erase, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.policy.naming import qualify_identifier
from perdure.reading.public_documents import PublicDocument, find_document, list_documents
from perdure.registry import Registry
from perdure.server.apis import sitemaps, sync_dumps, sync_packages

PEERS = Path(__file__).parents[2] / ".peers" / "bin" / "python"
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"
SECRETS = (b"the closed text", b"the gone text", b"the erased text", b"the closed version")
JUDGE = """
import io, sys, urllib.request, zipfile
from resync.resource_dump import ResourceDump
from resync.resource_dump_manifest import ResourceDumpManifest
dump = ResourceDump()
dump.read(uri=sys.argv[1])
for package in dump:
    body = urllib.request.urlopen(package.uri).read()
    manifest = ResourceDumpManifest()
    archive = zipfile.ZipFile(io.BytesIO(body))
    manifest.parse(fh=archive.open("manifest.xml"))
    for one in manifest:
        print(one.uri, one.path, one.length)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A resolver in which one person may erase."""
    root = tmp_path_factory.mktemp("site") / "registry"
    with deployed(root, erasure_persons=1) as running:
        running.registry.close()
        running.registry = Registry(root, environment={"PERDURE_ERASURE_PERSONS": "1"})
        yield running


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    """Names of documents: some that everyone may have, and some that nobody may."""
    made = {}
    for word in ("one", "two", "closed", "gone", "erased"):
        made[word] = str(parse(str(site.mint(text(f"the {word} text".encode())))).resource)
    site.commit(made["one"], text(b"one again"))
    site.commit(made["two"], text(b"the closed version"))
    for about in (made["closed"], f"{made['two']}.text.2"):
        site.do(Restrict(rule=ReadingRule(about=about, access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(made["gone"]), reason="wrong"))
    site.do(Erase(identifier=parse(made["erased"]), reason="a secret"))
    return made


def read(site: Deployment, path: str) -> Any:
    answer = site.get(path.removeprefix(site.base))
    assert answer.status == 200
    return etree.fromstring(answer.body)


def fetch_packages(site: Deployment, dump: str) -> Iterator[zipfile.ZipFile]:
    """The packages of a dump; none of them has a word of what nobody may read."""
    for one in read(site, dump).iter(f"{MAP}url"):
        assert one.find(f"{RS}md").get("type") == "application/zip"
        answer = site.get(one.find(f"{MAP}loc").text.removeprefix(site.base))
        assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
        package = zipfile.ZipFile(io.BytesIO(answer.body))
        assert package.testzip() is None
        for secret in SECRETS:
            told = hashlib.sha512(secret).hexdigest().encode()
            assert all(
                secret not in package.read(name) and told not in package.read(name)
                for name in package.namelist()
            )
        yield package


def read_manifest(package: zipfile.ZipFile) -> Any:
    assert package.namelist()[0] == "manifest.xml"
    return etree.fromstring(package.read("manifest.xml"))


def test_documents_decided_together_are_those_that_the_door_gives(
    site: Deployment, names: dict[str, str]
) -> None:
    """A list asks the read door once for a record; its answer is that about each full name."""
    old = resource(site.mint(text(b"first of several")))
    site.commit(old, text(b"second of several"))
    site.commit(old, text(b"<p>third of several", "html", "text/html"))
    site.do(Withdraw(identifier=parse(old), reason="wrong", version=1))
    reading, seen = site.registry.reading, {}
    for record in site.registry.harvest.list_range("", None, limit=1000):
        whole = site.registry.records.find_record(record.identifier.key)
        assert whole is not None
        for version in whole.versions:
            for one in version.representations:
                name = qualify_identifier(record.identifier, version.number, one.format)
                alone = find_document(reading, name)
                assert find_document(reading, name, within=record.resolved) == alone
                seen[str(name)] = alone is not None
    assert [seen[f"{old}.{one}"] for one in ("text.1", "text.2", "html.3")] == [False, True, True]
    assert [seen[f"{names['two']}.text.{number}"] for number in (1, 2)] == [True, False]


def test_a_dump_has_every_document_that_everyone_may_have(
    site: Deployment, names: dict[str, str]
) -> None:
    """Section 12.2: "the path attribute … MUST be provided"; each name has the bytes of its GET."""
    seen = {}
    for package in fetch_packages(site, sitemaps.DUMP):
        root = read_manifest(package)
        assert root.find(f"{RS}md").get("capability") == "resourcedump-manifest"
        for one in root.iter(f"{MAP}url"):
            address, said = one.find(f"{MAP}loc").text, one.find(f"{RS}md")
            body = package.read(said.get("path").removeprefix("/"))
            assert said.get("hash") == f"sha-512:{hashlib.sha512(body).hexdigest()}"
            assert said.get("length") == str(len(body))
            seen[address.removeprefix(f"{site.base}/")] = body
    for name, body in seen.items():
        assert site.get(f"/{name}").body == body
    listed = read(site, sitemaps.RESOURCES).iter(f"{MAP}loc")
    assert sorted(seen) == sorted(one.text.removeprefix(f"{site.base}/") for one in listed)
    assert {f"{names['one']}.text.1", f"{names['one']}.text.2"} <= set(seen)
    assert f"{names['two']}.text.2" not in seen
    for word in ("closed", "gone", "erased"):
        assert not any(name.startswith(f"{names[word]}.") for name in seen)


def test_a_change_dump_tells_what_is_gone(site: Deployment, names: dict[str, str]) -> None:
    """Section 14.2: a deleted resource has no file in the package."""
    said = {}
    for package in fetch_packages(site, sitemaps.CHANGE_DUMP):
        root = read_manifest(package)
        about = root.find(f"{RS}md")
        assert about.get("capability") == "changedump-manifest"
        assert about.get("from") <= about.get("until")
        for one in root.iter(f"{MAP}url"):
            name = one.find(f"{MAP}loc").text.removeprefix(f"{site.base}/")
            said[name] = one.find(f"{RS}md")
    for word in ("gone", "erased"):
        told = said[f"{names[word]}.text.1"]
        assert (told.get("change"), told.get("path"), told.get("hash")) == ("deleted", None, None)
    assert said[f"{names['one']}.text.2"].get("change") == "created"
    assert said[f"{names['one']}.text.2"].get("path")
    assert not any(name.startswith(f"{names['closed']}.") for name in said)


def test_resync_reads_a_dump(site: Deployment, names: dict[str, str]) -> None:
    if not PEERS.exists():
        pytest.skip("resync is not installed (make test installs it)")
    words = [str(PEERS), "-c", JUDGE, f"{site.base}{sitemaps.DUMP}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    path, length = said[f"{site.base}/{names['one']}.text.2"]
    assert path.startswith("/documents/")
    assert length == str(len(b"one again"))


def test_unzip_reads_a_package(site: Deployment, names: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("unzip") is None:
        pytest.skip("unzip is not installed (make debian)")
    first, last = sorted((names["one"], names["two"]), key=lambda name: parse(name).key)
    answer = site.get(f"{sync_dumps.DOCUMENTS}?first={quote(first)}&last={quote(last)}")
    file = tmp_path / "package.zip"
    file.write_bytes(answer.body)
    done = subprocess.run(["unzip", "-t", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "documents/3" in done.stdout


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (sync_dumps.DOCUMENTS, "malformed-identifier"),
        (f"{sync_dumps.DOCUMENTS}?first=x&last=y", "unknown-scheme"),
        (sync_dumps.CHANGES, "invalid-request"),
        (f"{sync_dumps.CHANGES}?from=2026-01-01&until=2026-01-01T00:00:00Z", "invalid-request"),
        (f"{sitemaps.DUMP}?part=x", "invalid-request"),
    ],
)
def test_packages_that_do_not_exist(site: Deployment, path: str, code: str) -> None:
    problem(site.get(path), 400, code)


def test_a_stretch_without_records_is_an_empty_package(site: Deployment) -> None:
    name = "pdi://oma.eop.gov.us/1600/01/01/1"
    answer = site.get(f"{sync_dumps.DOCUMENTS}?first={name}&last={name}")
    assert zipfile.ZipFile(io.BytesIO(answer.body)).namelist() == ["manifest.xml"]


def make_service(site: Deployment) -> Any:
    return SimpleNamespace(registry=site.registry)


def test_packages_have_a_bound(
    site: Deployment, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record with more than the bound is a package; no record is in none, or in two."""
    service = make_service(site)
    records = list(sitemaps.list_run(service, None))
    whole = list(sync_dumps._cut_stretches(service, records))
    assert [(one.first, one.last) for one in whole] == [(records[0], records[-1])]
    monkeypatch.setattr(sync_dumps, "LENGTH", 1)
    cut = list(sync_dumps._cut_stretches(service, records))
    assert len(cut) > 1
    places = [(records.index(one.first), records.index(one.last)) for one in cut]
    assert places[0][0] == 0
    assert places[-1][1] == len(records) - 1
    assert all(a[1] + 1 == b[0] for a, b in pairwise(places))
    timed = list(sync_dumps._cut_stretches(service, records, by_time=True))
    assert all(a.last.at != b.first.at for a, b in pairwise(timed))


def test_a_request_reads_a_bounded_number_of_records(
    site: Deployment, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_dumps, "MOST", 1)
    first, last = sorted((names["one"], names["two"]), key=lambda name: parse(name).key)
    times = {"from": "2000-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}
    for pack, asked in (
        (sync_dumps._pack_documents, {"first": first, "last": last}),
        (sync_dumps._pack_changes, times),
    ):
        request: Any = SimpleNamespace(parameters=asked, base_url=site.base)
        with pytest.raises(DumpStretchTooLong):
            pack(make_service(site), request)


def test_a_document_that_is_withdrawn_meanwhile_ends_the_package(site: Deployment) -> None:
    name = parse(str(site.mint(text(b"soon gone")))).resource
    record = site.registry.harvest.find_harvested(name)
    assert record is not None
    (document,) = list_documents(site.registry.reading, record)

    def list_slowly() -> Iterator[PublicDocument]:
        site.do(Withdraw(identifier=name, reason="wrong"))
        yield document

    with pytest.raises(PackageOutdated):
        list(sync_packages.write_package(site.registry, b"<urlset/>", list_slowly()))


def test_memory_is_bounded(site: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a long document are taken while it is read."""
    name = parse(str(site.mint(text(bytes(5 << 20), format="octet-stream")))).resource
    record = site.registry.harvest.find_harvested(name)
    assert record is not None
    documents = list(list_documents(site.registry.reading, record))
    pieces = list(sync_packages.write_package(site.registry, b"<urlset/>", documents))
    assert max(map(len, pieces)) < 1 << 20
    package = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    assert package.read("documents/1") == bytes(5 << 20)
