"""A mirror has the captures of its origin: what is withheld first, and never what was withdrawn."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.archives.warcs import Warc
from tests.server.deployment import SERIES, Deployment, deployed, wait_until
from tests.server.test_withholding import OWN, configure
from tests.upkeep.mirroring.conftest import AT, MakeMirror, Mirror
from tests.upkeep.mirroring.test_served import served

from perdure.archives.index.ranges import IndexRange, walk_range
from perdure.archives.withholding import Withholding
from perdure.errors.mirroring import (
    ArchiveDiffers,
    CapturesWhole,
    OriginAlters,
    OriginUnusable,
)
from perdure.ids import parse
from perdure.model.commands import Erase, Restrict
from perdure.model.queries import LOCAL_READER, PUBLIC_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.registry import Registry
from perdure.storage.mirrored_captures import load_captures
from perdure.storage.origin import load_origin, save_origin
from perdure.upkeep.mirroring import captures as mirroring
from perdure.upkeep.mirroring.archive_wire import ArchiveClient
from perdure.upkeep.mirroring.captures import CaptureMirror
from perdure.upkeep.own_captures import OwnCaptures

NUMBERS = count()
YEARS = (2014, 2016)
EVERYTHING = IndexRange("", "\x7f")


@pytest.fixture
def a() -> str:
    """The name of a page; that of its neighbour is "b" and the same number."""
    return f"a{next(NUMBERS)}"


def neighbour(page: str) -> str:
    return page.replace("a", "b")


def fill(path: Path, *pages: str) -> Path:
    """An archive file with two captures of each page."""
    warc = Warc(path)
    for year in YEARS:
        for page in pages:
            body = f"<title>{page}</title>marker-{page}-{year}".encode()
            warc.response(f"http://a.example/{page}", f"{year}-01-26T20:06:24Z", body)
    return warc.finish()


def pwid(page: str, year: int) -> str:
    return f"pwid:{OWN}:{year}-01-26T20.06.24Z:part:http://a.example/{page}"


def withhold(uri: str, **more: Any) -> Withholding:
    fields = {"uri": uri, "match": "exact", "reason": "law", "at": AT, "by": "local"}
    return Withholding(**fields | more)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """One origin for all tests: each has pages of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_ERASURE_PERSONS", "1")
        with deployed(configure(tmp_path_factory.mktemp("captures") / "origin")) as running:
            yield running


@pytest.fixture
def mirror(site: Deployment, make_mirror: MakeMirror) -> Mirror:
    secret = site.token(f"m{next(NUMBERS)}", operations=("mirror",))
    return make_mirror(site.base, secret, captures=True)


def take_turn(mirror: Mirror) -> bool:
    """Take one turn of the captures. Return True if nothing is left to do."""
    with CaptureMirror(mirror.registry) as captures:
        return captures.follow_once(wait=0)


def follow(mirror: Mirror) -> None:
    with CaptureMirror(mirror.registry) as captures:
        captures.catch_up(mirror.catch_up)


def list_shown(registry: Registry, page: str, *, reader: Any = PUBLIC_READER) -> list[str]:
    """The captures of a page and its neighbour that readers get: "a 2014", "b 2016"."""
    own = OwnCaptures(registry, reader)
    if not own.is_open:
        return []
    found = walk_range(own.archive.captures, EVERYTHING)
    names = {f"http://a.example/{one}": one[0] for one in (page, neighbour(page))}
    return sorted(f"{names[one.uri]} {one.time[:4]}" for one in found if one.uri in names)


def add(site: Deployment, path: Path) -> None:
    site.registry.archive.add_file(path)


def test_a_mirror_has_the_captures_of_its_origin(
    site: Deployment, mirror: Mirror, tmp_path: Path, a: str
) -> None:
    """The same names give the same bytes, listings are the same, and what is withheld is gone."""
    b, c, d = neighbour(a), f"c-{a}", f"d-{a}"
    site.registry.archive.take_down(withhold(f"http://a.example/{b}", last="20141231235959"))
    add(site, fill(tmp_path / f"{a}.warc.gz", a, b))
    add(site, fill(tmp_path / f"{c}.warc.gz", c))
    follow(mirror)
    assert list_shown(mirror.registry, a) == ["a 2014", "a 2016", "b 2016"]
    with served(mirror.root) as shown:
        asked = [f"/{pwid(page, year)}" for page in (a, b, c) for year in YEARS]
        listing = "/cdx?url=a.example&matchType=host"
        for path in (*asked, listing):
            ours, theirs = shown.get(path), site.get(path)
            assert (ours.status, ours.headers.get("repr-digest")) == (
                theirs.status,
                theirs.headers.get("repr-digest"),
            ), path
        assert shown.get(listing).body == site.get(listing).body
        assert shown.get(f"/{pwid(b, 2014)}").status == 410
        site.registry.archive.take_down(withhold(f"http://a.example/{c}"))  # while it is served
        wait_until(lambda: shown.get(f"/{pwid(c, 2016)}").status == 410)
        site.registry.archive.take_down(withhold(f"http://a.example/{c}", lifts=True))
        wait_until(lambda: shown.get(f"/{pwid(c, 2016)}").status == 200)
        add(site, fill(tmp_path / f"{d}.warc.gz", d))
        wait_until(lambda: shown.get(f"/{pwid(d, 2016)}").status == 200)


def test_takedowns_hold_before_a_file_is_shown(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    """ "what was withdrawn is not served", not even while the mirror loads: after every turn, it
    shows nothing that the origin does not."""
    monkeypatch.setattr(mirroring, "_PIECE", 300)
    add(site, fill(tmp_path / f"{a}.warc.gz", a, neighbour(a)))
    mirror.catch_up()
    for turn in range(200):
        if turn == 3:
            site.registry.archive.take_down(withhold(f"http://a.example/{a}"))
        is_done = take_turn(mirror)
        assert set(list_shown(mirror.registry, a)) <= set(list_shown(site.registry, a))
        if is_done:
            break
    assert turn > 5  # it came in pieces, each asked for by a process of its own
    assert list_shown(mirror.registry, a) == ["b 2014", "b 2016"]


def test_rules_hold_before_a_file_is_shown(
    site: Deployment, mirror: Mirror, tmp_path: Path, a: str
) -> None:
    """A rule that closed captures before their file was added holds when the file is shown."""
    mirror.catch_up()
    rule = ReadingRule(about=f"http://a.example/{a}", match="prefix", access=Access.CLOSED)
    site.do(Restrict(rule=rule))
    add(site, fill(tmp_path / f"{a}.warc.gz", a, neighbour(a)))
    for _ in range(20):
        take_turn(mirror)
    assert list_shown(mirror.registry, a, reader=LOCAL_READER) == []  # it lacks the rule
    follow(mirror)
    assert list_shown(mirror.registry, a) == ["b 2014", "b 2016"]
    assert len(list_shown(mirror.registry, a, reader=LOCAL_READER)) == 4


def test_erased_captures_vanish(site: Deployment, mirror: Mirror, tmp_path: Path, a: str) -> None:
    """The bytes are overwritten in the mirror, in place, and its file is that of the origin."""
    name = f"{a}.warc.gz"
    site.registry.archive.add_file(fill(tmp_path / name, a, neighbour(a)), move=True)
    follow(mirror)
    place = mirror.root / "captures/mirrored" / name
    number = place.stat().st_ino
    site.do(Erase(identifier=parse(pwid(a, 2014)), reason="a court", by="local"))
    follow(mirror)
    assert place.read_bytes() == (site.registry.root / "captures/files" / name).read_bytes()
    assert place.stat().st_ino == number
    text = gzip.decompress(place.read_bytes())
    assert f"marker-{a}-2014".encode() not in text
    assert f"marker-{a}-2016".encode() in text
    assert list_shown(mirror.registry, a) == ["a 2016", "b 2014", "b 2016"]
    assert not list(mirror.registry.archive.check_index())


def test_an_erased_capture_is_not_kept_among_what_arrives(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    follow(mirror)
    monkeypatch.setattr(mirroring, "_PIECE", 500)
    path = fill(tmp_path / f"{a}.warc.gz", a, neighbour(a))
    site.registry.archive.add_file(path, move=True)
    take_turn(mirror)
    (half,) = (mirror.root / "captures/arriving").iterdir()
    site.do(Erase(identifier=parse(pwid(a, 2014)), reason="a court", by="local"))
    follow(mirror)
    assert not half.exists()
    assert list_shown(mirror.registry, a) == ["a 2016", "b 2014", "b 2016"]


def test_what_is_unpacked_from_a_package_is_erased_too(
    site: Deployment, mirror: Mirror, tmp_path: Path, a: str
) -> None:
    """A compressed file in a package is read from a copy, which the mirror makes itself."""
    b, package = neighbour(a), tmp_path / f"{a}.wacz"
    with zipfile.ZipFile(package, "w") as made:
        stored = fill(tmp_path / "one.warc.gz", a)
        made.write(stored, "archive/one.warc.gz", zipfile.ZIP_STORED)
        plain = gzip.decompress(fill(tmp_path / "two.warc.gz", b).read_bytes())
        made.writestr(f"archive/{b}.warc", plain, zipfile.ZIP_DEFLATED)
        made.writestr("datapackage.json", '{"profile": "data-package", "resources": []}')
    site.registry.archive.add_file(package, move=True)
    follow(mirror)
    assert list_shown(mirror.registry, a) == ["a 2014", "a 2016", "b 2014", "b 2016"]
    for page in (a, b):
        site.do(Erase(identifier=parse(pwid(page, 2014)), reason="a court", by="local"))
    follow(mirror)
    copy = (mirror.root / f"captures/files/{b}.warc").read_bytes()
    assert f"marker-{b}-2014".encode() not in copy
    assert f"marker-{b}-2016".encode() in copy
    theirs = site.registry.root / "captures/files" / package.name
    assert (mirror.root / "captures/mirrored" / package.name).read_bytes() == theirs.read_bytes()
    assert list_shown(mirror.registry, a) == ["a 2016", "b 2016"]
    state = load_captures(mirror.root)
    assert state is not None
    assert state.is_complete


def test_an_archive_of_another_name_is_not_served(
    site: Deployment, mirror: Mirror, tmp_path: Path, a: str
) -> None:
    """Its rules and PWIDs would be about other names."""
    add(site, fill(tmp_path / f"{a}.warc.gz", a))
    follow(mirror)
    settings = mirror.root / "perdure.toml"
    settings.write_text(settings.read_text().replace(f'"{OWN}"', '"another.example"'))
    mirror.registry.close()
    mirror.registry = Registry(mirror.root)
    with pytest.raises(ArchiveDiffers, match=r"another\.example"):
        follow(mirror)
    assert not mirror.registry.has_open_captures


def test_a_lying_origin_shows_nothing(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    """Bytes with another digest than the listing says are never shown."""
    add(site, fill(tmp_path / f"{a}.warc.gz", a))
    mirror.catch_up()
    honest = ArchiveClient.fetch_piece

    def lie(self: ArchiveClient, name: str, start: int, length: int, write: Any) -> None:
        honest(self, name, start, length, lambda piece: write(piece[:-1] + b"\xff"))

    monkeypatch.setattr(ArchiveClient, "fetch_piece", lie)
    with pytest.raises(OriginAlters):
        follow(mirror)
    assert list_shown(mirror.registry, a) == []
    monkeypatch.setattr(ArchiveClient, "fetch_piece", honest)
    follow(mirror)
    assert list_shown(mirror.registry, a) == ["a 2014", "a 2016"]


def test_names_of_files_lead_nowhere_else(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    add(site, fill(tmp_path / f"{a}.warc.gz", a))
    mirror.catch_up()
    honest = ArchiveClient.fetch_listing

    def lie(self: ArchiveClient, tag: str = "", *, wait: int = 0) -> Any:
        found = honest(self, tag, wait=wait)
        if found is None:
            return None
        files = tuple(
            msgspec.structs.replace(found.listing.files[0], name=name, is_unpacked=False)
            for name in ("../../perdure.toml", "/etc/x", "..", ".x", "a\0b", "x" * 300)
        )
        listing = msgspec.structs.replace(found.listing, files=files)
        return msgspec.structs.replace(found, listing=listing)

    before = (mirror.root / "perdure.toml").read_bytes()
    monkeypatch.setattr(ArchiveClient, "fetch_listing", lie)
    assert take_turn(mirror)
    assert (mirror.root / "perdure.toml").read_bytes() == before
    state = load_captures(mirror.root)
    assert state is not None
    assert (state.files, state.announced, state.is_complete) == (0, 6, False)


@pytest.mark.parametrize(
    "digest", ["../../arrived", "/etc/x", "A" * 128, "a" * 127, "a" * 128 + "\n"]
)
def test_a_digest_of_another_form_leads_nowhere(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, digest: str
) -> None:
    """A file that arrives is named by its digest."""
    listing = {"archive": "a", "files": [{"name": "a.warc.gz", "size": 9, "sha512": digest}]}
    monkeypatch.setattr(ArchiveClient, "_read_all", lambda *_: json.dumps(listing).encode())
    before = sorted(mirror.root.parent.rglob("*"))
    with pytest.raises(OriginUnusable, match="list of archive files cannot be read"):
        take_turn(mirror)
    assert sorted(mirror.root.parent.rglob("*")) == before


def test_only_mirrors_of_everything_have_captures(
    site: Deployment, make_mirror: MakeMirror
) -> None:
    few = site.token("few", operations=("mirror",), authorities=(SERIES,))
    with pytest.raises(CapturesWhole):
        make_mirror(site.base, few, (SERIES,), captures=True)
    with pytest.raises(OriginUnusable, match="403"):
        make_mirror(site.base, few, captures=True)
    assert site.get("/archive-files").status == 401


def test_a_mirror_goes_on_after_a_crash_between_two_steps(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    """A file that is in its place and not in the index is indexed, and not fetched again."""
    follow(mirror)
    add(site, fill(tmp_path / f"{a}.warc.gz", a))
    with monkeypatch.context() as broken:
        broken.setattr("perdure.archives.library.Library.add_file", _fail)
        with pytest.raises(OSError, match="killed"):
            follow(mirror)
    assert (mirror.root / "captures/mirrored" / f"{a}.warc.gz").exists()
    monkeypatch.setattr(ArchiveClient, "fetch_piece", _fail)
    follow(mirror)
    assert list_shown(mirror.registry, a) == ["a 2014", "a 2016"]


def test_an_erasure_goes_on_after_a_crash_between_two_steps(
    site: Deployment, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, a: str
) -> None:
    """The index keeps nothing of a capture whose bytes are overwritten."""
    path = fill(tmp_path / f"{a}.warc.gz", a, neighbour(a))
    site.registry.archive.add_file(path, move=True)
    follow(mirror)
    site.do(Erase(identifier=parse(pwid(a, 2014)), reason="a court", by="local"))
    with monkeypatch.context() as broken:
        broken.setattr("perdure.archives.library.Library.index_again", _fail)
        with pytest.raises(OSError, match="killed"):
            follow(mirror)
    follow(mirror)
    library = mirror.registry.archive
    (file,) = (one for one in library.list_files() if one.name == path.name)
    assert [one.problem for one in library.check_file(file) if one.problem] == []
    assert not list((mirror.root / "captures/arriving").iterdir())


def _fail(*_: object, **__: object) -> None:
    raise OSError("killed")


def test_a_closed_archive_is_closed_in_the_mirror(
    site: Deployment, mirror: Mirror, tmp_path: Path, a: str
) -> None:
    """The archive was closed there after the mirror had its captures. It is the last test here."""
    add(site, fill(tmp_path / f"{a}.warc.gz", a))
    follow(mirror)
    assert mirror.registry.has_open_captures
    root = site.registry.root
    with (root / "perdure.toml").open("a") as settings:
        settings.write('archives_file = "archives.toml"\n')
    (root / "archives.toml").write_text(f'[[archive]]\nid = "{OWN}"\naccess = "closed"\n')
    site.stop()
    with served(root) as closed:
        known = load_origin(mirror.root)
        assert known is not None
        save_origin(mirror.root, msgspec.structs.replace(known, url=closed.base))
        follow(mirror)
        assert not mirror.registry.has_open_captures
        assert list_shown(mirror.registry, a) == []
        with served(mirror.root) as shown:
            asked = "/cdx?url=http://a.example/a"
            assert shown.get(asked).status == closed.get(asked).status == 451
            answer = shown.get(f"/{pwid(a, 2014)}")
            assert answer.status == 404  # it does not know the archive, and its origin does
            assert b"marker" not in answer.body


def test_a_mirror_that_starts_from_a_backup_has_no_captures_of_it(
    tmp_path: Path, make_mirror: MakeMirror
) -> None:
    """No change says which captures were taken down since, so it would serve them for ever."""
    root = configure(tmp_path / "origin")
    with deployed(root) as origin:
        origin.registry.archive.add_file(fill(tmp_path / "one.warc.gz", "a0"), move=True)
        secret = origin.token("m", operations=("mirror",))
        program = str(Path(sys.executable).parent / "perdure")
        copy = [program, "-C", str(root), "backup", str(tmp_path / "copy")]
        subprocess.run(copy, check=True, capture_output=True)
        origin.registry.archive.take_down(withhold("http://a.example/a0"))
        mirror = make_mirror(origin.base, secret, backup=tmp_path / "copy")
        mirror.catch_up()
        assert list_shown(mirror.registry, "a0", reader=LOCAL_READER) == []
