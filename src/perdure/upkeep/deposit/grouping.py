"""Files of one directory that are one document: its formats and versions, by name. Pure.

How it works: `report.txt` and `report.pdf` are two formats of one document; `report.v1.txt` and
`report.v2.txt` (also `_v2`, `-v2`, ` v2`) are two versions of it. Only extensions with a known
media type count. Versions are numbered from 1 without gaps, in the order of the numbers in the
names. If the names leave it open (a file without a number beside files with numbers, `a.htm` beside
`a.HTM`), each file is a document of its own.

What must stay true: each file is in exactly one group; in a group, no two files have the same
version and extension; the result depends only on the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from perdure import formats

_VERSION = re.compile(r"(.+?)[._ -][vV]([0-9]{1,4})", re.DOTALL)
_BESIDE = frozenset(("text/css", "text/javascript", "application/javascript", "application/json"))
"""Types of files that belong to pages beside them, and are no other format of them."""


class GroupedFile(NamedTuple):
    """A file of a document."""

    path: bytes
    version: int
    why: str
    """What its place in the document rests on; empty if it is the only file."""


def group_files(paths: Iterable[bytes]) -> list[list[GroupedFile]]:
    """Group the files of one directory, in the order of their first names.

    >>> [[(one.path, one.version) for one in group] for group in group_files(
    ...     [b"a.pdf", b"a.txt", b"b.v2.txt", b"b.v5.txt", b"c.css", b"c.html"])]
    [[(b'a.pdf', 1), (b'a.txt', 1)], [(b'b.v2.txt', 1), (b'b.v5.txt', 2)], [(b'c.css', 1)], \
[(b'c.html', 1)]]
    """
    groups: dict[bytes, list[tuple[bytes, int | None, bytes]]] = {}
    for path in paths:
        stem, number, extension = split_name(path)
        groups.setdefault(stem, []).append((path, number, extension))
    found: list[list[GroupedFile]] = []
    for files in groups.values():
        found += _divide_group(files)
    return found


def split_name(path: bytes) -> tuple[bytes, int | None, bytes]:
    """Split a path into the stem that formats share, the version, and the extension.

    The stem is the path itself if the extension has no known media type.
    """
    folder, slash, name = path.rpartition(b"/")
    stem, dot, extension = name.rpartition(b".")
    if not dot or not stem or not _has_type(extension.lower()):
        return path, None, b""
    found = _VERSION.fullmatch(stem.decode("latin-1"))
    if found is None:
        return folder + slash + stem, None, extension.lower()
    return folder + slash + found[1].encode("latin-1"), int(found[2]), extension.lower()


@lru_cache(maxsize=1024)
def _has_type(extension: bytes) -> bool:
    if not extension.isascii():
        return False
    found = formats.find_type_by_name(f"x.{extension.decode()}")
    return found is not None and found.essence not in _BESIDE


def _divide_group(files: list[tuple[bytes, int | None, bytes]]) -> list[list[GroupedFile]]:
    """Divide the files of one stem into documents."""
    numbers = sorted({number for _, number, _ in files if number is not None})
    places = {(number, extension) for _, number, extension in files}
    mixed = bool(numbers) and any(number is None for _, number, _ in files)
    if len(files) == 1 or len(places) < len(files) or mixed:
        return [[GroupedFile(path, 1, "")] for path, _, _ in files]
    ranks = {number: rank for rank, number in enumerate(numbers, 1)}
    members = [
        GroupedFile(path, ranks.get(number or 0, 1), _explain_place(number, ranks, len(files)))
        for path, number, _ in files
    ]
    members.sort(key=lambda one: one.version)
    return [members]


def _explain_place(number: int | None, ranks: dict[int, int], count: int) -> str:
    if number is None:
        return "a format, by its name" if count > 1 else ""
    rank = ranks[number]
    return f"version {number} by its name" + ("" if rank == number else f", version {rank} here")
