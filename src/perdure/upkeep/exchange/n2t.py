"""Prefixes of N2T: shoulders of ARKs, and the servers that answer for them.

    ark:/12345/x5:
      type: "shoulder"
      redirect: "https://a.example/ark:/$id"

How it works: the file is YAML of two levels, one block for each prefix. A shoulder becomes an ARK
whose location is the redirect with the shoulder in it; perdure appends the rest of longer ARKs to
it, as N2T does. All other members are name-value pairs. Prefixes of other schemes, and numbers of
authorities without a shoulder, are refused: no identifier has them as its beginning.

Specification: "N2T full prefixes" (n2t.net/e/n2t_full_prefixes.yaml); N2T API documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import PrefixNotShoulder, RedirectNotOpen
from perdure.policy import binding
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord
from perdure.upkeep.exchange.texts import join_commented, open_text

_HEAD = re.compile(r"(\S(?:[^\s]|:(?=\S))*):\s*")
_MEMBER = re.compile(r"\s+([A-Za-z_][\w-]*):\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(.*?))\s*")
_SHOULDER = re.compile(r"ark:/?([0-9a-z]+/[^\s/.]+)", re.IGNORECASE)
_VARIABLE = re.compile(r"(.)?\$(arkpid|pid|id)\Z")


def read_prefixes(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the prefixes of a file."""
    for number, lines in _cut_blocks(open_text(file, terms)):
        raw = "".join(lines)
        head = _HEAD.fullmatch(lines[0].rstrip("\r\n"))
        members = filter(None, (_MEMBER.fullmatch(line.rstrip("\r\n")) for line in lines[1:]))
        found = {one[1]: one[2] or one[3] or one[4] or "" for one in members}
        try:
            line = _make_line(head[1] if head else lines[0].strip(), found)
        except PerdureError as error:
            yield ReadRecord(number, raw, fault=error)
        else:
            yield ReadRecord(number, raw, line)


def _cut_blocks(text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each block, and the number of its first one."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text, 1):
        if not line.strip() or line.startswith(("#", "---")):
            continue
        if not line[0].isspace():
            if lines:
                yield start, lines
            lines, start = [], number
        lines.append(line)
    if lines:
        yield start, lines


def _make_line(prefix: str, members: dict[str, str]) -> dict[str, Any]:
    shoulder = _SHOULDER.fullmatch(prefix.strip("\"'"))
    if shoulder is None:
        raise PrefixNotShoulder(prefix=prefix)
    line: dict[str, Any] = {"id": f"ark:{shoulder[1]}"}
    redirect = members.pop("redirect", "")
    if redirect:
        line["locations"] = [_fill_redirect(redirect, shoulder[1])]
    pairs = {name: value for name, value in members.items() if value}
    if pairs:
        line["metadata"] = pairs
    return line


def _fill_redirect(redirect: str, shoulder: str) -> str:
    """Return the address of a shoulder. Raises InvalidRequest."""
    found = _VARIABLE.search(redirect)
    if found is None:
        raise RedirectNotOpen(redirect=redirect)
    slash = "/" if found[1] == ":" else ""
    name = f"ark:/{shoulder}" if found[2] == "arkpid" else f"{slash}{shoulder}"
    url = redirect[: found.end(1) if found[1] else 0] + name
    url = url if "://" in url else f"http://{url}"
    binding.check_uri(url)
    return url


FORM = ExchangeForm(
    name="n2t-prefixes",
    title="prefixes of N2T",
    suffixes=(".yaml", ".yml"),
    recognise=lambda head: re.search(r"(?m)^\s+redirect:.*\$(?:id|pid|arkpid)", head) is not None,
    read=read_prefixes,
    refuse=lambda refused, _: join_commented(refused, unit="line", after="\n"),
)
