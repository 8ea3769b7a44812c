"""Captures in WACZ packages are erased in place, and the packages stay valid.

Ruling tombstone-silence: "`erase` […] blanks the content […] and indexes at the same length, keeps
them valid for their validators".
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import NOON, Clock, Desk
from tests.writing.test_capture_erasing import (
    ARCHIVE,
    DATE,
    LATER,
    NAME,
    TRACES,
    URI,
    _die_while_erasing,
    erase,
    find_problems,
    read,
    write_site,
)
from tests.writing.test_withdrawing import is_on_disk

from perdure.archives.files.exact_deflate import deflate_to_length
from perdure.archives.files.package_mending import list_forms
from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.index.cdxj import format_exchanged_line
from perdure.archives.port import Capture
from perdure.errors import CaptureWithdrawn, PerdureError
from perdure.model.commands import Outcome
from perdure.registry import initialise

WACZ = Path(__file__).parents[2] / ".peers/bin/wacz"
INDEXER = Path(__file__).parents[2] / ".peers/bin/cdxj-indexer"
TITLE = b"x-of-secret title"
KINDS = ("py-wacz", "stored", "streamed", "deflated lists", "signed")


def make_package(place: Path, kind: str) -> tuple[Path, list[bytes]]:
    """Write a package with the secret capture. Return it and all digests of the secret."""
    place.mkdir()
    warc = place / "site.warc.gz"
    digests = write_site(warc, zipped=True)
    target = place / f"{kind.replace(' ', '-')}.wacz"
    pages = place / "pages.jsonl"
    page = {
        "url": URI,
        "ts": DATE,
        "title": TITLE.decode(),
        "text": "Jane Doe lives at 12 Mill Lane.",
    }
    other = {"url": "http://a.example/first", "ts": DATE, "title": "First"}
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    pages.write_text("".join(json.dumps(one) + "\n" for one in (header, page, other)))
    if kind == "py-wacz":
        if not WACZ.exists():
            pytest.skip("the peers are not installed (make unit)")
        run(WACZ, "create", "-c", "-p", str(pages), "-o", str(target), str(warc))
        return target, digests
    text = run(INDEXER, "-p", str(warc)) if INDEXER.exists() else make_lines(warc)
    members = {
        "pages/pages.jsonl": pages.read_bytes(),
        "archive/site.warc.gz": warc.read_bytes(),
        "indexes/index.cdx": text.encode(),
    }
    resources = [
        {"name": Path(name).name, "path": name, "bytes": len(data),
         "hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
        for name, data in members.items()
    ]  # fmt: skip
    described = json.dumps(
        {"profile": "data-package", "resources": resources, "wacz_version": "1.1.1"}, indent=2
    ).encode()
    digest: dict[str, Any] = {
        "path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(described).hexdigest()}",
    }  # fmt: skip
    if kind == "signed":
        signature = base64.b64encode(os.urandom(96)).decode()
        digest["signedData"] = {"hash": digest["hash"], "signature": signature, "publicKey": ""}
    members |= {
        "datapackage.json": described,
        "datapackage-digest.json": json.dumps(digest).encode(),
    }
    stream = Unseekable(target) if kind == "streamed" else target.open("wb")
    with stream, zipfile.ZipFile(stream, "w") as package:
        for name, data in members.items():
            is_list = kind == "deflated lists" and not name.startswith("archive/")
            package.writestr(name, data, zipfile.ZIP_DEFLATED if is_list else zipfile.ZIP_STORED)
    return target, digests


class Unseekable(io.RawIOBase):
    """A file that is only written: zipfile then puts sums and sizes behind the data."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def make_lines(warc: Path) -> str:
    met = scan_file(ArchivePlace(path=str(warc)), warc.name)
    found = (one for one in met if isinstance(one, Capture) and one.kind != "request")
    return b"".join(sorted(map(format_exchanged_line, found))).decode()


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(one) for one in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def inflate_all(path: Path) -> bytes:
    """All bytes of a package, however they are compressed."""
    texts = [path.read_bytes()]
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        for name in package.namelist():
            data = package.read(name)
            texts += [data, gzip.decompress(data)] if name.endswith(".gz") else [data]
    return b"\n".join(texts)


def list_members(path: Path) -> list[tuple[str, int, int, int]]:
    with zipfile.ZipFile(path) as package:
        return [
            (one.filename, one.header_offset, one.file_size, one.compress_size)
            for one in package.infolist()
        ]


def check_package(desk: Desk, path: Path, digests: list[bytes]) -> None:
    text = inflate_all(path)
    left = [one for one in (*TRACES, TITLE, *digests) if one in text]
    assert left == []
    assert is_on_disk(desk.root, *TRACES, *digests) == []
    assert not list((desk.root / "captures").glob("mending*"))
    assert find_problems(desk) == []
    assert b'"title": "First"' in text
    with pytest.raises(CaptureWithdrawn):
        read(desk, NAME)
    assert read(desk, NAME.replace(DATE, LATER)) == b"a year later"
    if WACZ.exists():
        run(WACZ, "validate", "-f", str(path))


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.reopen(erasure_persons=1, archive_id=ARCHIVE)
    return desk


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_an_erased_capture_is_left_in_a_package(
    desk: Desk, tmp_path: Path, kind: str
) -> None:
    source, digests = make_package(tmp_path / "made", kind)
    assert all(one in inflate_all(source) for one in (*TRACES[:1], TITLE, *digests[:1]))
    before = list_members(source)
    desk.registry.archive.add_file(source, move=True)
    path = desk.root / "captures" / "files" / source.name
    receipt = erase(desk)
    assert receipt.outcome is Outcome.CHANGED
    if kind == "signed":
        assert ["signature is removed" in one for one in receipt.unreached] == [True]
    else:
        assert receipt.unreached == ()
    assert list_members(path) == before
    check_package(desk, path, digests)
    assert erase(desk).outcome is Outcome.UNCHANGED
    listed = desk.registry.archive.list_files()
    assert [one.outcome for one in desk.registry.archive.add_file(path)] == ["unchanged"] * 2
    assert len(listed) == 2


def test_a_crash_at_any_point_is_mended_by_repeating(place: Path, tmp_path: Path) -> None:
    source, digests = make_package(tmp_path / "made", "deflated lists")
    content = source.read_bytes()
    number, died = 0, True
    while died:
        root = place / str(number)
        initialise(root, series=("oma.eop.gov.us",))
        desk = Desk(root, Clock(NOON))
        desk.reopen(erasure_persons=1, archive_id=ARCHIVE)
        source.write_bytes(content)
        desk.registry.archive.add_file(source, move=True)
        desk.registry.close()
        died = _die_while_erasing(root, desk.environment, desk.clock, number)
        desk.reopen()
        erase(desk)
        check_package_quickly(desk, root / "captures" / "files" / source.name, digests)
        desk.registry.close()
        number += 1
    assert number > 30


def check_package_quickly(desk: Desk, path: Path, digests: list[bytes]) -> None:
    text = inflate_all(path)
    assert [one for one in (*TRACES, TITLE, *digests) if one in text] == []
    assert not list((desk.root / "captures").glob("mending*"))
    assert find_problems(desk) == []


def test_a_package_that_was_half_overwritten_is_finished(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is on disk: what a crash left in the package does not matter."""
    source, digests = make_package(tmp_path / "made", "deflated lists")
    content = source.read_bytes()
    real = os.pwrite
    for number in range(2, 40, 6):
        source.write_bytes(content)
        name = tmp_path / f"{number}.wacz"
        source.rename(name)
        left = number

        def pwrite(fd: int, data: Any, offset: int) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(5, "the disk is failing")
            return real(fd, bytes(data)[: len(data) // 2 + 1], offset)

        desk.registry.archive.add_file(name, move=True)
        monkeypatch.setattr(os, "pwrite", pwrite)
        with suppress(PerdureError):
            erase(desk)
        monkeypatch.setattr(os, "pwrite", real)
        desk.reopen()
        erase(desk)
        check_package_quickly(desk, desk.root / "captures" / "files" / name.name, digests)


def test_a_package_outside_is_not_touched(desk: Desk, tmp_path: Path) -> None:
    source, _ = make_package(tmp_path / "made", "stored")
    intact = source.read_bytes()
    desk.registry.archive.add_file(source)
    with pytest.raises(PerdureError, match="outside the registry directory"):
        erase(desk)
    assert source.read_bytes() == intact


@given(st.binary(max_size=2000), st.integers(0, 300))
def test_a_deflate_stream_has_the_length_that_is_asked_for(text: bytes, more: int) -> None:
    """RFC 1951 section 3.2.4: stored blocks may be empty."""
    length = len(zlib.compress(text, 9)) + more
    packed = deflate_to_length(text, length)
    if packed is None:
        assert more < 20
    else:
        assert len(packed) == length
        assert zlib.decompress(packed, -zlib.MAX_WBITS) == text


def test_a_description_has_many_forms_of_one_length() -> None:
    """A digest may compress less well than the one before: "other settings of deflate, and empty
    blocks, fill the difference", or the description is written in another way, for another digest.

    Of 400 random digests, one needed more than the 64 forms that there were.
    """
    described = {"profile": "data-package", "resources": [{"path": "a", "bytes": 1}]}
    text = json.dumps(described, indent=2).encode()
    forms = list(list_forms(text))
    assert forms[0] == text
    assert len(set(forms)) == len(forms) > 500
    assert {len(one) for one in forms} == {len(text)}
    assert all(json.loads(one) == described for one in forms)
