"""Extraction: choose the extractor that cuts a part out of a source, and the process it runs in.

How it works: extractors are entry points in the group `perdure.extractors`. Of those that know the
kind of selector, the one with the most specific media type cuts the part (`text/html` before
`text/*` before `*/*`). Two extractors of the same rank are an error of the installation, unless one
is `Selective` and leaves the rest to the other. This module itself evaluates selectors that combine
others: `First` tries one after the other, `Within` cuts a part out of a part, `Between` goes from
the start of one slice to the start of another.

What must stay true: a `confined` extractor never runs in this process, and no extractor runs here
for long: a `Lengthy` one reads large documents in another process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path

import msgspec

from perdure.errors import (
    PartNotFound,
    PartNotSupported,
    PartOutOfRange,
)
from perdure.errors.limits import OuterPartTooLong
from perdure.extractors.confined import Confined
from perdure.extractors.indexes import DirectoryIndexes, NoIndexes, delete_indexes
from perdure.extractors.plain_text import (
    CharacterReader,
    Characters,
    LongText,
    LongTextReader,
    PlainText,
    SelectiveTextReader,
    TextMapper,
    TextReader,
    list_breaks,
)
from perdure.extractors.port import (
    Budgeted,
    Extent,
    Extractor,
    Indexes,
    LinkLister,
    ListedLink,
    Outlining,
    Part,
    Preparing,
    Selective,
    Source,
    Span,
    Stream,
    iterate_body,
    slice_body,
)
from perdure.parts import (
    Between,
    Extension,
    First,
    Playback,
    Selector,
    View,
    Within,
    pdi,
)
from perdure.parts.installed import list_schemes, load_forms
from perdure.plugins import Plugin, load_plugins
from perdure.plugins.points import PluginPoint

GROUP = "perdure.extractors"
_WITHIN = "within"
_KEPT_VIEWS = {
    "measures": "application/json",
    "contents": "application/json",
    "peaks": "image/svg+xml",
    "frames": "image/jpeg",
}
_MOST_OUTER = 64 << 20  # bytes of a part in which another is looked for
_MOST_RANKED = 1024  # media types, and pairs of a media type and a kind of part

_Ranked = tuple[int, str, Extractor]
"""An extractor with its rank and its place."""
_Able = tuple[str, Extractor, Selective | None]
"""Place and extractor, which is also the third if it must be asked about each source."""
_TextSource = tuple[str, TextMapper | TextReader, Extractor]
"""Place and reader of texts, which is also the third."""
_Reading = tuple[_TextSource, SelectiveTextReader | None]
"""The same, and the reader again if it leaves some media types to others."""


def load_extractors(points: Iterable[PluginPoint] | None = None) -> tuple[Plugin[Extractor], ...]:
    """All installed extractors.

    If an extractor of another package cannot be loaded, or has the rank of another one, it is
    logged and left out.
    """
    return load_plugins(GROUP, Extractor, _list_claims, points)  # type: ignore[type-abstract]


def _list_claims(extractor: Extractor) -> Iterator[tuple[str, str, str]]:
    kind = "by choice" if isinstance(extractor, Selective) else "always"
    for media_type in extractor.media_types:
        for selector in extractor.selectors:
            yield f"to cut {selector.__module__}.{selector.__name__}", f"out of {media_type}", kind


class PartExtraction:
    """Cuts parts. Safe to use from several threads; `close` ends its processes."""

    def __init__(self, indexes: Path | None = None, confined: Confined | None = None) -> None:
        self._place = indexes
        self.indexes: Indexes = DirectoryIndexes(indexes) if indexes else NoIndexes()
        self._confined = confined or Confined()
        self._rank_extractors = lru_cache(_MOST_RANKED)(self._rank_extractors_of)
        self._list_able = lru_cache(_MOST_RANKED)(self._list_able_of)
        self._list_readers = lru_cache(_MOST_RANKED)(self._list_readers_of)
        self._list_character_readers = lru_cache(_MOST_RANKED)(self._list_character_readers_of)

    def cut_part(self, source: Source, selector: Selector) -> Part:
        """Cut a part out of a source.

        Raises as `perdure.extractors.port.Extractor.extract_part`.
        """
        if isinstance(selector, First):
            return self._cut_first(source, selector)
        place, extractor = self._find_extractor(source, selector)
        if extractor is None and isinstance(selector, Within):
            return self._cut_within(source, selector)
        if extractor is None and isinstance(selector, Between):
            return self._cut_between(source, selector)
        if extractor is None:
            raise self._make_unsupported(source, selector)
        if _is_confined(extractor, source):
            seconds = extractor.limit_seconds(source) if isinstance(extractor, Budgeted) else None
            return self._confined.extract_part(
                place, source, selector, self._place, seconds=seconds
            )
        return extractor.extract_part(source, selector, self.indexes)

    def cut_view(self, source: Source, selector: Selector) -> Part:
        """Cut what a page shows of a source. Views that take long are computed once, and kept with
        the indexes. Raises as `cut_part`.
        """
        kind = _KEPT_VIEWS.get(selector.what) if isinstance(selector, View) else None
        if not isinstance(selector, View) or kind is None or selector.number > 1:
            return self.cut_part(source, selector)

        def cut_body(source: Source) -> bytes:
            return b"".join(iterate_body(self.cut_part(source, selector).body, source))

        kept = self.indexes.get_index(source, f"view-1-{selector}", cut_body)
        return Part(selector=selector, media_type=kind, body=(bytes(kept),))

    def can_show(self, essence: str) -> bool:
        """Return True if pages show pictures or waveforms of this media type."""
        return bool(self._list_able(essence, View))

    def outline_part(self, source: Source, selector: Selector) -> Part:
        """The part without its body if this saves decoding, or else the complete part.

        Raises the same errors as `cut_part`.
        """
        place, extractor = self._find_extractor(source, selector)
        if not isinstance(extractor, Outlining):
            return self.cut_part(source, selector)
        return self._confined.extract_part(place, source, selector, self._place, outline=True)

    def find_place(self, source: Source, selector: Selector) -> str:
        """The queue of a part: the name of the extractor whose processes cut it, a few at a time.

        It is empty if the part is cut in this process.
        """
        place, extractor = self._find_extractor(source, selector)
        if extractor is not None:
            return place if _is_confined(extractor, source) else ""
        match selector:
            case First(choices=choices):
                places = [self.find_place(source, one) for one in choices]
            case Between(start=start, end=end):
                places = [self.find_place(source, start), self.find_place(source, end)]
            case Within(outer=outer):  # the extractor of the inner part is not known before
                places = [self.find_place(source, outer), _WITHIN]
            case _:
                places = []
        return next(filter(None, places), "")

    def require_kind(self, source: Source, selector: Selector) -> None:
        """Raise PartNotSupported if this media type never has such parts. Opens no bytes."""
        composed = isinstance(selector, First | Between | Within)
        if not composed and not self._list_able(source.essence, type(selector)):
            raise self._make_unsupported(source, selector)

    def find_text_place(self, source: Source) -> str:
        """The queue of a text, in the same way; of a source without a text, it is empty."""
        for place, reader, extractor in self._list_text_readers(source):
            if isinstance(reader, TextMapper):
                return place
            return place if _is_confined(extractor, source) else ""
        return ""

    def can_play(self, essence: str) -> bool:
        """Return True if there are renditions of this media type for browsers."""
        return bool(self._list_able(essence, Playback))

    def list_extents(self, source: Source) -> tuple[Extent, ...]:
        """The addressable extents of a source, the most specific first.

        Raises Undecodable, OverBudget, and MissingLibrary if a package must be installed.
        """
        found: list[Extent] = []
        for _, place, extractor in self._rank_extractors(source.essence):
            try:
                if _is_confined(extractor, source):
                    found += self._confined.list_extents(place, source, self._place)
                else:
                    found += extractor.list_extents(source, self.indexes)
            except PartNotSupported:
                pass  # an unknown codec or charset: the extents of other extractors are still valid
        return tuple(found)

    def read_text(self, source: Source) -> PlainText | None:
        """The plain text of a source, or None if no text can be mapped to its parts.

        Raises Undecodable, OverBudget, TextAbsent if a readable document has no text (a scan),
        MissingLibrary, and PartNotSupported for an unknown charset.
        """
        for place, reader, extractor in self._list_text_readers(source):
            if isinstance(reader, TextMapper):
                return self._map_text(place, reader, source)
            text = self._read_text(place, reader, extractor, source)
            if text is not None:
                return text
        return None

    def read_characters(self, source: Source) -> Characters | None:
        """The plain text of a source without its map to parts: that of `read_text(source)`.

        Raises as `read_text`.
        """
        for reader in self._list_character_readers(source.essence):
            if reader is None:
                break
            text = reader.read_characters(source)
            if text is not None:
                return Characters(text)
        found = self.read_text(source)
        return None if found is None else Characters(found.text, list_breaks(found))

    def may_have_text(self, essence: str) -> bool:
        """Return True if documents of a media type may have a text."""
        return any(
            selective is None or selective.may_have_text(essence)
            for _, selective in self._list_readers(essence)
        )

    def open_long_text(self, source: Source) -> LongText | None:
        """The plain text of a source of any length, to be read in stretches. None if it has no
        text, or only one that must be in memory.

        Raises Undecodable, and PartNotSupported for an unknown charset.
        """
        for place, reader, extractor in self._list_text_readers(source):
            if not isinstance(reader, LongTextReader):
                return None
            if self._place is not None and _is_confined(extractor, source):
                self._confined.list_extents(place, source, self._place)  # makes the index
            return reader.open_long_text(source, self.indexes)
        return None

    def list_links(self, source: Source) -> list[ListedLink]:
        """The links that a format has beside its text, in order.

        Raises Undecodable, OverBudget, or MissingLibrary.
        """
        for _, place, extractor in self._rank_extractors(source.essence):
            if isinstance(extractor, LinkLister):
                return self._confined.list_links(place, source)
        return []

    def _list_text_readers(self, source: Source) -> list[_TextSource]:
        """The extractors that may read the text of a source, the most specific first."""
        return [
            found
            for found, selective in self._list_readers(source.essence)
            if selective is None or selective.may_have_text(source.essence)
        ]

    def _list_readers_of(self, essence: str) -> tuple[_Reading, ...]:
        found: list[_Reading] = []
        for _, place, one in self._rank_extractors(essence):
            if isinstance(one, TextMapper | TextReader):
                selective = one if isinstance(one, SelectiveTextReader) else None
                found.append(((place, one, one), selective))
        return tuple(found)

    def _list_character_readers_of(self, essence: str) -> tuple[CharacterReader | None, ...]:
        """For each reader of texts: the same reader, or None if it cannot read characters alone.

        Readers that leave all documents of the media type to others are not listed.
        """
        return tuple(
            one if isinstance(one, CharacterReader) else None
            for (_, one, _), selective in self._list_readers(essence)
            if selective is None or selective.may_have_text(essence)
        )

    def _map_text(self, place: str, mapper: TextMapper, source: Source) -> PlainText:
        index = self.indexes.get_index(
            source, mapper.text_index, partial(self._confined.map_text, place)
        )
        return mapper.open_text(source, index)

    def _read_text(
        self, place: str, reader: TextReader, extractor: Extractor, source: Source
    ) -> PlainText | None:
        if self._place is not None and _is_confined(extractor, source):
            # another process makes the index, which is read here
            self._confined.list_extents(place, source, self._place)
        return reader.read_text(source, self.indexes)

    def prepare_source(self, source: Source) -> None:
        """Build the indexes of a source, so that its parts are cut faster later.

        Raises Undecodable, OverBudget or StorageFailed.
        """
        self.list_extents(source)  # this builds the indexes of texts, tags and tables
        for _, place, extractor in self._rank_extractors(source.essence):
            if isinstance(extractor, Preparing):
                self._confined.prepare_source(place, source, self._place)

    def delete_indexes(self, digests: Collection[str]) -> None:
        """Delete the indexes of the bytes with these SHA-512s. Raises OSError."""
        if self._place is not None:
            delete_indexes(self._place, digests)

    def close(self) -> None:
        self._confined.close()

    # choosing
    # --------

    @cached_property
    def _extractors(self) -> tuple[Plugin[Extractor], ...]:  # not before the first part
        return load_extractors()

    def check_extractors(self) -> None:
        """Load all extractors now, so that their errors appear at the start."""
        _ = self._extractors

    def _rank_extractors_of(self, essence: str) -> tuple[_Ranked, ...]:
        """The extractors for a media type, each with its rank, the most specific first."""
        ranked = []
        for place, extractor in self._extractors:
            rank = max(_rank_media_type(kind, essence) for kind in extractor.media_types)
            if rank >= 0:
                ranked.append((rank, place, extractor))
        return tuple(sorted(ranked, key=lambda one: -one[0]))

    def _list_able_of(self, essence: str, kind: type[Selector]) -> tuple[_Able, ...]:
        """The extractors that may cut this kind of part, the first choice first."""
        able = [one for one in self._rank_extractors(essence) if issubclass(kind, one[2].selectors)]
        able.sort(key=lambda one: (one[0], isinstance(one[2], Selective)), reverse=True)
        return tuple(
            (place, extractor, extractor if isinstance(extractor, Selective) else None)
            for _, place, extractor in able
        )

    def _find_extractor(self, source: Source, selector: Selector) -> tuple[str, Extractor | None]:
        for place, extractor, selective in self._list_able(source.essence, type(selector)):
            if selective is None or selective.can_cut(source):
                return place, extractor
        return "", None

    def _make_unsupported(self, source: Source, selector: Selector) -> PartNotSupported:
        ranked = self._rank_extractors(source.essence)
        known = {kind for _, _, one in ranked for kind in one.selectors}
        if isinstance(selector, (Extension, *pdi.SCHEMES)):  # the only kinds of parts in a PDI
            own = {scheme for kind in known for scheme in pdi.SCHEMES.get(kind, ())}
            kinds = {f"{scheme}=" for scheme in own | list_schemes(source.media_type)}
        else:
            forms = load_forms()
            kinds = {form for kind in known for form in forms.get(kind, ())}
        return PartNotSupported(
            media_type=source.media_type, selector=str(selector), offered=tuple(sorted(kinds))
        )

    # taking apart
    # ------------

    def _cut_first(self, source: Source, selector: First) -> Part:
        missing: PartNotFound | None = None
        for choice in selector.choices:
            try:
                return self.cut_part(source, choice)
            except PartNotFound as error:
                missing = error
        raise missing or self._make_unsupported(source, selector)

    def _cut_between(self, source: Source, selector: Between) -> Part:
        start, end = (self.cut_part(source, one) for one in (selector.start, selector.end))
        if not (start.slices and end.slices):
            raise PartNotSupported(
                media_type=source.media_type, selector=str(selector), offered=("slices",)
            )
        span = Span(start.slices[0].start, end.slices[0].start)
        if span.start >= span.stop:
            raise PartOutOfRange(
                identifier=source.name,
                selector=str(selector),
                extent="the range between two parts, the first before the second",
            )
        return msgspec.structs.replace(start, selector=selector, body=(span,), slices=(span,))

    def _cut_within(self, source: Source, selector: Within) -> Part:
        with self.open_part(source, selector.outer) as (outer, within):
            inner = self.cut_part(within, selector.inner)
            body = (b"".join(iterate_body(inner.body, within)),)
        slices = _map_slices(outer, inner)
        return msgspec.structs.replace(inner, selector=selector, body=body, slices=slices)

    @contextmanager
    def open_part(self, source: Source, selector: Selector) -> Iterator[tuple[Part, Source]]:
        """Cut a part, and open its bytes as a source of their own.

        Raises as `cut_part`, and OverBudget if the part is too long.
        """
        outer = self.cut_part(source, selector)
        with tempfile.NamedTemporaryFile(prefix="perdure-part-") as file:
            length = 0
            for chunk in iterate_body(outer.body, source):
                length += len(chunk)
                if length > _MOST_OUTER:
                    raise OuterPartTooLong(outer=str(selector), most=_MOST_OUTER)
                file.write(chunk)
            file.flush()
            within = Source(
                path=Path(file.name),
                length=length,
                media_type=outer.media_type,
                charset=outer.charset,
                name=f"{source.name}#{selector}",
            )
            yield outer, within


def _map_slices(outer: Part, inner: Part) -> tuple[Span, ...]:
    """The stored bytes of a part of a part, or an empty tuple if not all of them are stored."""
    if isinstance(outer.body, Stream):
        return ()
    pieces = [
        piece for one in inner.slices for piece in slice_body(outer.body, one.start, one.stop)
    ]
    slices = tuple(piece for piece in pieces if isinstance(piece, Span))
    return slices if len(slices) == len(pieces) else ()


def _is_confined(extractor: Extractor, source: Source) -> bool:
    # to compare a class with a port by isinstance takes longer than to cut many a part
    lengthy_from: int | None = getattr(extractor, "lengthy_from", None)
    return extractor.confined or (lengthy_from is not None and source.length >= lengthy_from)


def _rank_media_type(kind: str, essence: str) -> int:
    """2 for the same media type, 1 for its top level or suffix, 0 for any, -1 for another."""
    if kind == essence:
        return 2
    if kind == "*/*":
        return 0
    if kind.startswith("*/*+"):
        return 1 if essence.endswith(kind[3:]) else -1
    top, _, minor = kind.partition("/")
    return 1 if minor == "*" and essence.startswith(f"{top}/") else -1
