"""Two versions of a document, compared: their plain texts line by line, or their bytes as a whole.

How it works: each version is resolved as any other name, with the rights of the reader. Lines are
compared by the greedy algorithm of Myers ("An O(ND) Difference Algorithm and Its Variations", 1986,
section 4.1), between the lines that both texts begin and end with. If a version has no plain text,
only type, length and digest are compared. Successive lines that differ are a passage, for which the
part of each version is named as for a selection on a page (`perdure.reading.text_places`).

A file that may become the next version is compared in the same way. It has no name yet, so only the
parts of the version before are named.

What must stay true: the comparison takes a bounded number of steps, and some megabytes; beyond it
there is an error, not another difference.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

import msgspec

from perdure.errors import MissingLibrary, NoSuchVersion, NotFound, PartNotSupported
from perdure.errors.cutting import TextElsewhere, TextNotSupported
from perdure.errors.damage import TextAbsent
from perdure.errors.limits import DifferencesTooMany
from perdure.extractors.plain_text import PlainText
from perdure.extractors.port import Source
from perdure.formats import is_text
from perdure.ids import Identifier, scheme_of
from perdure.model.queries import Fetch, Gone
from perdure.policy.naming import qualify_identifier
from perdure.reading.documents import Documents
from perdure.reading.extraction import PartExtraction
from perdure.reading.plain_texts import choose_text
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_part_path, spell_part_uri
from perdure.reading.text_places import select_range

_MOST = 2_000  # lines that differ
_MOST_STEPS = 10_000_000  # of comparing lines
_MOST_PASSAGES = 200  # that are named
_CONTEXT = 3  # lines around a difference
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_WITHOUT_TEXT = (TextNotSupported, TextAbsent, PartNotSupported, MissingLibrary)


class ComparedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is compared, or a file that may become one."""

    identifier: str
    """Its full name; of a file, the name of the file."""
    version: int
    media_type: str
    length: int
    sha512: str


class DifferentLine(msgspec.Struct, frozen=True):
    """A line of one text or both. `before` and `after` are its numbers, from 1, or None."""

    sign: str
    """`-`, `+`, or a space for a line of both texts."""
    before: int | None
    after: int | None
    text: str
    """The line with its line feed."""


class DifferentPart(msgspec.Struct, frozen=True):
    """The part of a version that is some of its lines."""

    identifier: str
    path: str
    """Its path here, without the first slash."""


class DifferentPassage(msgspec.Struct, frozen=True):
    """Successive lines that differ."""

    hunk: int
    """The place of its group in `hunks`, from 0."""
    before: DifferentPart | None
    """None if nothing was there, or if no single part of that version is these lines."""
    after: DifferentPart | None


class VersionDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two versions, compared."""

    before: ComparedVersion
    after: ComparedVersion
    is_text: bool
    """False if a version has no plain text."""
    hunks: tuple[tuple[DifferentLine, ...], ...]
    """Lines that differ, each group with the lines around it."""
    passages: tuple[DifferentPassage, ...] = ()
    """The parts that differ, in order: at most 200."""

    def write_unified(self) -> str:
        """Write the difference as `diff -u` and `patch` do; empty if no line differs."""
        if not self.is_text:
            names = f"{self.before.identifier} and {self.after.identifier}"
            return f"{names} differ\n" if self.before.sha512 != self.after.sha512 else ""
        lines = [f"--- {self.before.identifier}\n", f"+++ {self.after.identifier}\n"]
        for hunk in self.hunks:
            olds = [line.before for line in hunk if line.before is not None]
            news = [line.after for line in hunk if line.after is not None]
            lines.append(f"@@ -{_write_range(olds)} +{_write_range(news)} @@\n")
            for line in hunk:
                ended = line.text.endswith("\n")
                lines.append(line.sign + line.text + ("" if ended else _NO_LINE_FEED))
        return "".join(lines) if self.hunks else ""


_NO_LINE_FEED = "\n\\ No newline at end of file\n"


def _write_range(numbers: list[int]) -> str:
    return f"{numbers[0]},{len(numbers)}" if numbers else "0,0"


class _ComparedText(msgspec.Struct, frozen=True):
    """A version, and its text if it has one."""

    version: ComparedVersion
    name: Identifier | None
    """None for a file."""
    source: Source
    text: PlainText | None


def compare_versions(
    reading: ReadDoor,
    documents: Documents,
    parts: PartExtraction,
    resolved: Resolved,
    numbers: tuple[int, int],
) -> VersionDifference | Gone:
    """Compare two versions of a document, or return the tombstone of one of them.

    Raises NoSuchVersion, OverBudget if too many lines differ, TextElsewhere if a version is not
    held here, and the errors of resolving.
    """
    sides: list[_ComparedText] = []
    for number in numbers:
        side = _open_version(reading, documents, parts, resolved, number)
        if isinstance(side, Gone):
            return side
        sides.append(side)
    old, new = sides
    return _compare_texts(parts, old, new, str(resolved.whole))


def compare_file(
    reading: ReadDoor,
    documents: Documents,
    parts: PartExtraction,
    resolved: Resolved,
    number: int,
    format: str,
    file: Source,
    after: ComparedVersion,
) -> VersionDifference | Gone:
    """Compare a version with a file that may become the next one, or return its tombstone.

    The version is compared in a format if it has that, or else in the one closest to a text.
    `after` describes the file. Raises what `compare_versions` and reading the file raise.
    """
    before = _open_version(reading, documents, parts, resolved, number, format)
    if isinstance(before, Gone):
        return before
    new = _ComparedText(after, None, file, _read_text(parts, file))
    return _compare_texts(parts, before, new, str(resolved.whole))


def _open_version(
    reading: ReadDoor,
    documents: Documents,
    parts: PartExtraction,
    resolved: Resolved,
    number: int,
    format: str | None = None,
) -> _ComparedText | Gone:
    name = _name_version(resolved, number, format)
    query = msgspec.structs.replace(resolved.query, identifier=name, part=None)
    step = choose_text(reading.resolve(query))
    if isinstance(step, Gone):
        return step
    version = _describe_side(step, number)
    source = documents.open_source(step.identifier, step.representation)
    return _ComparedText(version, step.identifier, source, _read_text(parts, source))


def _compare_texts(
    parts: PartExtraction, old: _ComparedText, new: _ComparedText, document: str
) -> VersionDifference:
    if old.text is None or new.text is None:
        return VersionDifference(before=old.version, after=new.version, is_text=False, hunks=())
    olds, news = (_LINE.findall(text.text) for text in (old.text, new.text))
    lines = compare_lines(olds, news, document)
    hunks = tuple(group_lines(lines))
    names = [_PartNamer(parts, one, found) for one, found in ((old, olds), (new, news))]
    return VersionDifference(
        before=old.version,
        after=new.version,
        is_text=True,
        hunks=hunks,
        passages=tuple(_name_passages(hunks, names[0], names[1])),
    )


class _PartNamer:
    """Names the parts of a version that are some of its lines."""

    def __init__(self, parts: PartExtraction, side: _ComparedText, lines: Sequence[str]) -> None:
        self._parts, self._side = parts, side
        self._starts = [0, *accumulate(map(len, lines))]

    def name_part(self, lines: Sequence[int]) -> DifferentPart | None:
        """Name the part with these lines, numbered from 1. None if no single part is these."""
        side = self._side
        if not lines or side.text is None or side.name is None:
            return None
        start, stop = self._starts[lines[0] - 1], self._starts[lines[-1]]
        own = bool(scheme_of(side.name).part_mark)
        try:
            selector = select_range(
                self._parts, side.source, side.text, start, stop, has_own_parts=own
            )
        except (PartNotSupported, NotFound):
            return None
        if selector is None:
            return None
        part = str(selector)
        return DifferentPart(spell_part_uri(side.name, part), spell_part_path(side.name, part))


def _name_passages(
    hunks: Sequence[Sequence[DifferentLine]], before: _PartNamer, after: _PartNamer
) -> Iterator[DifferentPassage]:
    """Name the parts that differ, up to a limit."""
    count = 0
    for place, hunk in enumerate(hunks):
        for is_same, group in groupby(hunk, key=lambda line: line.sign == " "):
            if is_same:
                continue
            if count == _MOST_PASSAGES:
                return
            count += 1
            found = list(group)
            olds = [line.before for line in found if line.sign == "-" and line.before]
            news = [line.after for line in found if line.sign == "+" and line.after]
            yield DifferentPassage(place, before.name_part(olds), after.name_part(news))


def _name_version(resolved: Resolved, number: int, format: str | None = None) -> Identifier:
    """Return the name of a version, in the format that is named or wanted, if the version has it,
    or else in the one closest to a text.

    Raises NoSuchVersion.
    """
    whole, versions = resolved.whole, resolved.known.versions
    found = [one for one in versions if one.number == number]
    known = [  # the record does not say which formats a closed or withdrawn version has
        sorted(version.representations, key=lambda one: not is_text(one.media_type))
        for version in (*found, *versions)
    ]
    shown = [one.format for every in known for one in every]
    if whole.format or not any(one.find_representation(format) for one in found if format):
        format = whole.format or next(iter(shown), None)
    if not found or format is None:
        numbers = tuple(one.number for one in versions)
        raise NoSuchVersion(identifier=str(whole), version=number, versions=numbers)
    return qualify_identifier(whole, number, format)


def _describe_side(step: Fetch, number: int) -> ComparedVersion:
    one = step.representation
    if not one.sha512:
        raise TextElsewhere(selector="diff")
    return ComparedVersion(
        identifier=str(step.identifier),
        version=number,
        media_type=one.media_type,
        length=one.length,
        sha512=one.sha512,
    )


def _read_text(parts: PartExtraction, source: Source) -> PlainText | None:
    try:
        return parts.read_text(source)
    except _WITHOUT_TEXT:
        return None


def compare_lines(old: list[str], new: list[str], source: str = "") -> list[DifferentLine]:
    """Return all lines of two texts, in order. Raises DifferencesTooMany."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    middle = _find_path(old[first : len(old) - last], new[first : len(new) - last], source)
    found: list[DifferentLine] = []
    before = after = 0
    for sign in " " * first + middle + " " * last:
        text = new[after] if sign == "+" else old[before]
        before += sign != "+"
        after += sign != "-"
        numbers = before if sign != "+" else None, after if sign != "-" else None
        found.append(DifferentLine(sign, *numbers, text))
    return found


def _find_path(old: list[str], new: list[str], source: str) -> str:
    """Return a shortest sequence of `-`, `+` and spaces that makes the new lines of the old.

    With `count` changes, the paths end on the diagonals -count, 2 - count, … count. An array has
    the furthest old line of each; it is kept for the way back.
    """
    past: list[array[int]] = []
    steps = 0
    for count in range(_MOST + 1):
        reached = array("i", bytes(array("i").itemsize * (count + 1)))
        past.append(reached)
        for place in range(count + 1):
            x, _ = _continue_path(past, count, place)
            begun, diagonal = x, 2 * place - count
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            steps += x - begun + 1
            reached[place] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _trace_path(past, place)
        if steps > _MOST_STEPS:
            break
    raise DifferencesTooMany(source=source, most=_MOST)


def _continue_path(past: list[array[int]], count: int, place: int) -> tuple[int, bool]:
    """Return the old line at which a path goes on, and whether the change before added a line."""
    if not count:
        return 0, False
    before = past[count - 1]
    if place == 0 or (place < count and before[place - 1] < before[place]):
        return before[place], True
    return before[place - 1] + 1, False


def _trace_path(past: list[array[int]], place: int) -> str:
    """Return the signs of the path that ends at a place of the last array."""
    signs: list[str] = []
    for count in range(len(past) - 1, 0, -1):
        begun, is_added = _continue_path(past, count, place)
        signs.append(" " * (past[count][place] - begun))
        signs.append("+" if is_added else "-")
        place -= not is_added
    signs.append(" " * past[0][0])
    return "".join(reversed(signs))


def group_lines(lines: list[DifferentLine]) -> Iterator[tuple[DifferentLine, ...]]:
    """Yield the lines that differ, each group with a few lines around it."""
    near = set[int]()
    for number, line in enumerate(lines):
        if line.sign != " ":
            near.update(range(number - _CONTEXT, number + _CONTEXT + 1))
    shown = [number for number in sorted(near) if 0 <= number < len(lines)]
    for _, group in groupby(enumerate(shown), key=lambda pair: pair[1] - pair[0]):
        yield tuple(lines[number] for _, number in group)
