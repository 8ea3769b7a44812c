"""The cache of documents of other resolvers: whole entries only, below a bound."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.server.common.proxy_cache import DIRECTORY, KeptDocument, KeptFile, ProxyCache

NAME = "pdi://press.oma.eop.gov.us/1993/01/20/1.text.1"
WEEK = 604_800


def keep(cache: ProxyCache, name: str, data: bytes, **fields: str) -> KeptDocument:
    """Keep a document as the server does that passes it on."""
    document = KeptDocument(
        name=name,
        url=f"https://resolver.archives.example/{name}",
        sha512=hashlib.sha512(data).hexdigest(),
        length=len(data),
        fields=tuple({"content-type": "text/plain", "etag": '"1"', **fields}.items()),
        at=cache.clock(),
    )
    writer = cache.begin_document(len(data))
    assert writer is not None
    for at in range(0, len(data), 1000):
        writer.write(data[at : at + 1000])
    writer.keep(document)
    return document


def open_cache(root: Path, *, bound: int = 1 << 20, now: float = 1_000_000) -> ProxyCache:
    return ProxyCache(root, bound=bound, seconds=WEEK, clock=lambda: now)


@pytest.mark.parametrize("data", [b"", b"x", b"y" * 100_000])
@pytest.mark.parametrize("link", ["", "<https://a.example/>; " * 1000])
def test_a_document_is_found_whole(tmp_path: Path, data: bytes, link: str) -> None:
    cache = open_cache(tmp_path)
    assert cache.open_document(NAME) is None
    document = keep(cache, NAME, data, link=link)
    file = cache.open_document(NAME)
    assert file is not None
    assert file.document == document
    assert file.read(len(data) + 1, 0)[: len(data)] == data
    assert cache.find_rest(document, 1_000_000) == WEEK
    assert cache.find_rest(document, 1_000_000.5) == WEEK - 1
    assert cache.find_rest(document, 1_000_000 + WEEK) is None
    assert cache.find_rest(document, 999_999) is None  # the clock was set back


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_half_an_entry_is_never_opened(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """ "nothing half-written served": every beginning of an entry is refused"""
    root = tmp_path_factory.mktemp("half")
    cache = open_cache(root)
    keep(cache, NAME, data.draw(st.binary(max_size=40)))
    (path,) = (root / DIRECTORY).iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert cache.open_document(NAME) is None


def test_a_file_with_another_end_is_no_entry(tmp_path: Path) -> None:
    """A file system may have lost some of a file when the power failed."""
    cache = open_cache(tmp_path)
    keep(cache, NAME, b"0123456789")
    (path,) = (tmp_path / DIRECTORY).iterdir()
    whole = path.read_bytes()
    for other in (whole[1:], b"x" + whole, whole[:-1] + b"x", b"\0" * len(whole)):
        path.write_bytes(other)
        assert cache.open_document(NAME) is None
    path.write_bytes(whole)
    assert cache.open_document(NAME) is not None


def test_an_open_file_knows_whether_it_is_still_the_entry(tmp_path: Path) -> None:
    """Another process replaces an entry, or removes it: who had it open notices that."""
    ours, theirs = open_cache(tmp_path), open_cache(tmp_path)
    keep(ours, NAME, b"one")
    first = ours.open_document(NAME)
    assert first is not None
    assert first.is_in_place(1_000_000)
    keep(theirs, NAME, b"two")
    assert not first.is_in_place(1_000_000)
    assert first.read(3, 0) == b"one"
    assert hashlib.sha512(first.read(3, 0)).hexdigest() == first.document.sha512
    second = ours.open_document(NAME)
    assert second is not None
    assert second.is_in_place(1_000_000)
    os.truncate(second.path, 2)
    assert not second.is_in_place(1_000_000)
    keep(theirs, NAME, b"two")
    third = ours.open_document(NAME)
    assert third is not None
    shutil.rmtree(tmp_path / DIRECTORY)
    assert not third.is_in_place(1_000_000)
    assert ours.open_document(NAME) is None


def test_only_a_use_is_noted(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    keep(cache, NAME, b"x")
    file = cache.open_document(NAME)
    assert file is not None
    later = file.path.stat().st_mtime + 100
    assert file.is_in_place(later, is_use=False)
    assert file.path.stat().st_mtime < later
    assert file.is_in_place(later)
    assert file.path.stat().st_mtime == later


def test_the_least_recently_used_are_dropped(tmp_path: Path) -> None:
    """Also what a process left that ended while it wrote, and entries of an earlier release."""
    cache = open_cache(tmp_path, bound=20_000)
    place = tmp_path / DIRECTORY
    place.mkdir()
    for name in ("new-abc", f"{'0' * 64}.bytes", f"{'0' * 64}.json"):
        (place / name).write_bytes(b"x" * 3000)
        os.utime(place / name, (1, 1))
    names = [f"{NAME[:-8]}{number}.text.1" for number in range(8)]
    for at, name in enumerate(names):
        keep(cache, name, b"x" * 3000)
        file = cache.open_document(name)
        assert file is not None
        os.utime(file.path, (100 + at, 100 + at))
    kept = [name for name in names if cache.open_document(name) is not None]
    assert kept == names[-len(kept) :]
    assert sum(one.stat().st_size for one in place.iterdir()) <= 20_000
    assert len(kept) == len(list(place.iterdir())) == 5


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    cache = open_cache(tmp_path, bound=1000)
    assert cache.begin_document(1001) is None
    writer = cache.begin_document(None)
    assert writer is not None
    writer.write(b"x" * 1001)
    assert list((tmp_path / DIRECTORY).iterdir()) == []
    assert not open_cache(tmp_path, bound=0).is_on


def test_a_file_of_another_name_is_not_taken(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    keep(cache, NAME, b"x")
    keep(cache, f"{NAME}0", b"y")
    one, other = (KeptFile(path) for path in (tmp_path / DIRECTORY).iterdir())
    shutil.copy(one.path, other.path)
    assert cache.open_document(other.document.name) is None


def test_adding_does_not_read_the_directory_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What adding costs must not grow with the entries: few of many additions read them all. The
    bound holds after each, also of two processes."""
    bound = 400_000
    caches = [open_cache(tmp_path, bound=bound) for _ in range(2)]
    reads = 0
    honest = ProxyCache._drop_oldest

    def count(self: ProxyCache) -> None:
        nonlocal reads
        reads += 1
        honest(self)

    monkeypatch.setattr(ProxyCache, "_drop_oldest", count)
    for number in range(600):
        keep(caches[number % 2], f"{NAME[:-8]}{number}.text.1", b"x" * 700)
        if number % 7 == 0:
            held = sum(one.stat().st_size for one in (tmp_path / DIRECTORY).iterdir())
            assert held <= bound
    assert held > bound * 3 / 4
    assert reads < 120
