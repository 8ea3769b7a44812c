"""Pictures, sound, film and bytes at an origin: the same extent, cut out of the citing document.

How it works: the cited part is cut, or all of its document, and a part of the same extent is cut
out of the citing document, at the origin. Pictures and film have a decoded form (ruling:
part-digest): if forms and digests are equal, the verdict is `verbatim`. Sound and bytes are
compared unit by unit. Bytes are also looked for elsewhere.

What must stay true: nothing is decoded in this process. A part that reaches beyond the end of the
citing document is not at the origin; an origin beyond the end does not exist.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.cutting import CompleteFilm
from perdure.errors.limits import ComparisonTooLong
from perdure.errors.root import count_things
from perdure.extractors.port import Source, iterate_body
from perdure.extractors.sound.heads import read_head
from perdure.model.verdicts import Comparison, Verdict
from perdure.parts import ByteRange, Crop, Instant, Interval, Media, Rect, Selector
from perdure.parts.selectors import Time
from perdure.policy.quotations.units import compare_units
from perdure.reading.citations.origins import Medium, Origin
from perdure.reading.citations.sides import NOTHING, Finding, Side, blame
from perdure.reading.extraction import PartExtraction

_LONGEST = 64 << 20  # bytes that are compared in memory
_ALL_SOUND = Media(time=Time(Fraction(0), None))


def compare_media(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    """Compare a cited part with the same extent of the citing document at an origin.

    Raises PartOutOfRange if there is no such origin, PartNotFound if there is no such part, and
    SideUnreadable.
    """
    match origin.medium:
        case Medium.IMAGE:
            return _compare_pictures(parts, citing, origin, cited)
        case Medium.SOUND:
            return _compare_sound(parts, citing, origin, cited)
        case Medium.FILM:
            return _compare_film(parts, citing, origin, cited)
    return _compare_bytes(parts, citing, origin, cited)


# pictures and film: equal digests of equal forms
# -----------------------------------------------


class _Pixels(NamedTuple):
    form: str
    sha512: str


def _compare_pictures(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        rect = cited.selector or _find_rectangle(parts, cited.source)
        if not isinstance(rect, Rect):
            raise PartNotSupported(media_type=cited.source.media_type, selector=str(rect))
        theirs = _digest_pixels(parts, cited.source, rect)
    left, top = origin.number, origin.top
    here = Rect(
        left, top, left + rect.right - rect.left, top + rect.bottom - rect.top, origin.frame
    )
    with blame(citing.identifier):
        parts.outline_part(citing.source, Rect(left, top, left + 1, top + 1, origin.frame))
        try:
            ours = _digest_pixels(parts, citing.source, here)
        except PartOutOfRange:
            return Finding(comparison=NOTHING, unit="pixel")
    extent = (rect.right - rect.left) * (rect.bottom - rect.top)
    return _judge_pixels(ours, theirs, here, extent)


def _compare_film(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        scene = cited.selector
        if isinstance(scene, Interval):
            scene = Crop(scene)
        if not isinstance(scene, Crop):
            raise CompleteFilm(media_type=cited.source.media_type, selector=str(scene or ""))
        theirs = _digest_pixels(parts, cited.source, scene)
    start = Fraction(origin.number)
    here = Crop(Interval(start, start + scene.time.end - scene.time.start))
    with blame(citing.identifier):
        parts.outline_part(citing.source, Instant(start))
        try:
            ours = _digest_pixels(parts, citing.source, here)
        except PartOutOfRange:
            return Finding(comparison=NOTHING, unit="second")
    return _judge_pixels(ours, theirs, here.time, int(scene.time.end - scene.time.start))


def _judge_pixels(ours: _Pixels, theirs: _Pixels, here: Selector, extent: int) -> Finding:
    unit = "second" if isinstance(here, Interval) else "pixel"
    if ours != theirs:
        return Finding(comparison=NOTHING, unit=unit)
    same = Comparison(verdict=Verdict.VERBATIM, stop=extent)
    return Finding(comparison=same, unit=unit, part=here, extent=extent)


def _digest_pixels(parts: PartExtraction, source: Source, selector: Selector) -> _Pixels:
    part = parts.cut_part(source, selector)
    if part.decoded is None:
        raise ComparisonTooLong(source=source.name, most=_LONGEST)
    return _Pixels(part.decoded.form, part.decoded.sha512)


def _find_rectangle(parts: PartExtraction, source: Source) -> Selector:
    """Return all pixels of the first frame of an image."""
    for extent in parts.list_extents(source):
        if extent.syntax.startswith("rect=(0,0),"):
            corner = extent.syntax.removeprefix("rect=(0,0),(").partition(")")[0]
            right, bottom = map(int, corner.split(","))
            return Rect(0, 0, right, bottom)
    raise PartNotSupported(media_type=source.media_type, selector="rect")


# sound: the same samples
# -----------------------


class _Samples(NamedTuple):
    form: bytes
    data: bytes
    block: int
    rate: int


def _compare_sound(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    with blame(cited.identifier):
        theirs = _read_samples(parts, cited.source, cited.selector or _ALL_SOUND)
    count = len(theirs.data) // theirs.block
    start = Fraction(origin.number)
    here = Interval(start, start + Fraction(count, theirs.rate))
    with blame(citing.identifier):
        parts.outline_part(citing.source, Instant(start))
        rest = Media(time=Time(start, here.end))  # clipped at the end of the sound
        ours = _read_samples(parts, citing.source, rest)
    if ours.form != theirs.form:
        return Finding(comparison=NOTHING, unit="sample")
    comparison = compare_units(ours.data, theirs.data, theirs.block)
    if comparison.verdict is Verdict.ABSENT or len(ours.data) < len(theirs.data):
        return Finding(comparison=NOTHING, unit="sample")
    return Finding(comparison=comparison, unit="sample", part=here, extent=count)


def _read_samples(parts: PartExtraction, source: Source, selector: Selector) -> _Samples:
    part = parts.cut_part(source, selector)
    data = bytearray()
    for chunk in iterate_body(part.body, source):
        data += chunk
        if len(data) > _LONGEST:
            raise ComparisonTooLong(source=source.name, most=_LONGEST)
    head = read_head(bytes(data))
    if head is None:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))
    return _Samples(head.form, bytes(data[head.start : head.stop]), head.block, head.rate)


# bytes
# -----


def _compare_bytes(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    selector = cited.selector or ByteRange(0, max(cited.source.length, 1))
    with blame(cited.identifier):
        theirs = (
            b""
            if not cited.source.length and cited.selector is None
            else _read_bytes(parts, cited.source, selector)
        )
    source, start = citing.source, origin.number
    if start > source.length:
        raise PartOutOfRange(
            identifier=source.name,
            selector=f"origin {start}",
            extent=count_things(source.length, "byte"),
        )
    comparison = compare_units(source.read_bytes(start, start + len(theirs)), theirs, 1, start)
    if comparison.verdict is Verdict.VERBATIM:
        return _describe_bytes(comparison, origin)
    with blame(citing.identifier):
        if source.length > _LONGEST:
            raise ComparisonTooLong(source=source.name, most=_LONGEST)
        there = source.read_bytes().find(theirs) if theirs else -1
    if there >= 0:
        comparison = Comparison(
            verdict=Verdict.ELSEWHERE,
            start=there,
            stop=there + len(theirs),
            likeness=Verdict.VERBATIM,
        )
    return _describe_bytes(comparison, origin)


def _describe_bytes(comparison: Comparison, origin: Origin) -> Finding:
    if comparison.verdict is Verdict.ABSENT:
        return Finding(comparison=comparison, unit="byte")
    moved = None
    if comparison.verdict is Verdict.ELSEWHERE:
        moved = origin.spell_moved(comparison.start)
    return Finding(
        comparison=comparison,
        unit="byte",
        part=ByteRange(comparison.start, comparison.stop),
        extent=comparison.stop - comparison.start,
        moved=moved,
    )


def _read_bytes(parts: PartExtraction, source: Source, selector: Selector) -> bytes:
    part = parts.cut_part(source, selector)
    if part.length is None or part.length > _LONGEST:
        raise ComparisonTooLong(source=source.name, most=_LONGEST)
    return b"".join(iterate_body(part.body, source))
