"""Errors about bytes that are not what their media type says, or that are damaged.

What a decoding library says is `DecoderFailed`: it names the library and quotes it. Every other
reason is found by perdure itself, and has a class. The rules of the two containers that perdure
parses box by box or chunk by chunk are enumerations: `FilmFault` and `AnimationFault`.
"""

from __future__ import annotations

from typing import Literal

from perdure.errors.parts import Undecodable
from perdure.errors.root import FaultQuoted, count_things, quote


class DecoderFailed(Undecodable):
    """A decoding library rejects the bytes; `fault` quotes the library."""

    decoder: str
    """The library, such as `libvips`."""
    fault: str

    @property
    def reason(self) -> str:
        return self.fault or f"{self.decoder} gave no reason"


class DecoderCrashed(Undecodable):
    """The process that decodes the bytes crashed."""

    reason = "the decoder crashed"


# text
# ----


class TextInvalid(Undecodable):
    """The bytes are not text in their charset; `fault` quotes the codec."""

    at: int
    """The first byte that is not text."""
    fault: str

    @property
    def reason(self) -> str:
        return f"invalid text at byte {self.at}: {self.fault}"


class CharacterWithoutCode(Undecodable):
    """A character of a part has no code of its own in the charset of the document."""

    character: str

    @property
    def reason(self) -> str:
        return f"{quote(self.character)} has no code of its own"


class SubtitlesUnsigned(Undecodable):
    """A file is not WebVTT, because it does not begin with its signature."""

    reason = "it does not begin with WEBVTT"


class QuotedFieldEndless(Undecodable):
    """A quoted field of a table never ends."""

    row: int
    """Its number, from 1."""
    at: int
    """The byte at which the row begins."""

    @property
    def reason(self) -> str:
        return f"a quoted field of row {self.row}, at byte {self.at}, never ends"


class XmlNotWellFormed(Undecodable):
    """A document is not well-formed XML; `fault` quotes the parser."""

    line: int
    column: int
    fault: str

    @property
    def reason(self) -> str:
        return f"line {self.line}, column {self.column}: {self.fault}"


class TagUnrecognizable(Undecodable):
    """A tag of a document does not differ from other text."""

    at: int

    @property
    def reason(self) -> str:
        return f"no tag is recognizable at byte {self.at}"


class EntitiesDeclared(Undecodable):
    """A document declares entities."""

    entity: str

    @property
    def reason(self) -> str:
        return f"it declares entities ({self.entity}), which perdure does not expand"


class CollectionDamaged(FaultQuoted, Undecodable):
    """The document is not a valid collection; `fault` is the reason of `InvalidMetadata`."""


class PdfEncrypted(Undecodable):
    """A PDF can be read with a password only."""

    reason = "it is encrypted and needs a password"


class TextAbsent(Undecodable):
    """A document is readable, but has no characters: its pages are pictures, or it is empty."""

    reason = "it has no characters: its pages are pictures, or it is empty"


class TextIndexDamaged(Undecodable):
    """The process that reads the text of a document answered with something else."""

    reason = "its text could not be read"


# packages
# --------


class PackageEncrypted(Undecodable):
    """A package (OpenDocument, EPUB) can be read with a password or a key only."""

    reason = "it is encrypted"


class MemberMissing(Undecodable):
    """A package has no member that its format requires."""

    member: str

    @property
    def reason(self) -> str:
        return f"it has no {quote(self.member)}"


class MemberDamaged(Undecodable):
    """A member of a package is damaged; `fault` quotes the reader."""

    member: str
    fault: str

    @property
    def reason(self) -> str:
        return f"{quote(self.member)}: {self.fault}"


class DoctypeRefused(Undecodable):
    """A member of a package has a document type declaration, which can declare entities."""

    member: str

    @property
    def reason(self) -> str:
        return f"{quote(self.member)} has a document type declaration, which perdure does not read"


# images
# ------


class PixelsCoded(Undecodable):
    """The pixels of an image are coded in a form that cannot be cut."""

    coding: str

    @property
    def reason(self) -> str:
        return f"its pixels are coded as {self.coding}"


class ChunkSumWrong(Undecodable):
    """A chunk of a PNG has a wrong checksum."""

    chunk: str

    @property
    def reason(self) -> str:
        return f"a chunk {quote(self.chunk)} has a wrong checksum"


AnimationFault = Literal[
    "end-missing",
    "chunk-cut-off",
    "header-length",
    "control-length",
    "first-frame",
    "frame-outside",
    "frame-unknown",
    "frame-early",
    "frame-empty",
    "frame-count",
    "data-stray",
    "number-missing",
    "chunk-missing",
]
"""The ways in which an animated PNG can be damaged."""


class AnimationDamaged(Undecodable):
    """An animated PNG is damaged."""

    fault: AnimationFault
    expected: int | None = None
    found: int | None = None

    @property
    def reason(self) -> str:
        says: dict[str, str] = {
            "end-missing": "the PNG ends before its end chunk",
            "chunk-cut-off": "the PNG ends within a chunk",
            "header-length": "acTL is not 8 bytes long",
            "control-length": "fcTL is not 26 bytes long",
            "first-frame": "frame 0 does not cover the image",
            "frame-outside": "a frame extends outside the image",
            "frame-unknown": "a frame has an unknown disposal or blending",
            "frame-early": "two frames begin before the image data",
            "frame-empty": "a frame has no data",
            "frame-count": f"it declares {count_things(self.expected or 0, 'frame')}, but has "
            f"{self.found}",
            "data-stray": "fdAT belongs to no frame",
            "number-missing": "fdAT has no sequence number",
            "chunk-missing": f"chunk {self.expected} of the animation is missing",
        }
        return says[self.fault]


# sound
# -----


class SoundMissing(Undecodable):
    """The bytes contain no sound."""

    reason = "it contains no sound"


class SoundFrameMissing(Undecodable):
    """The stream of sound contains no frame."""

    reason = "it contains no frame of sound"


class SampleFormMissing(Undecodable):
    """The stream of sound does not state the format of its samples."""

    reason = "it does not state the format of its samples"


class TimeUnitMissing(Undecodable):
    """A stream does not state the unit of its times."""

    reason = "it states no unit for its times"


class SamplesMissing(Undecodable):
    """Samples are missing inside the sound."""

    at: int
    """The number of the first sample after the gap."""

    @property
    def reason(self) -> str:
        return f"samples are missing before number {self.at}"


class NotWave(Undecodable):
    """The bytes do not begin like a RIFF WAVE file."""

    reason = "it does not begin like a RIFF WAVE file"


class DataChunkMissing(Undecodable):
    """A RIFF WAVE file has no chunk of samples."""

    reason = "it has no data chunk"


class FormatChunkMissing(Undecodable):
    """A RIFF WAVE file does not state the format of its samples."""

    reason = "it has no fmt chunk before its data"


class ChunksTooMany(Undecodable):
    """A RIFF WAVE file has too many chunks before its samples."""

    most: int

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'chunk')} before its data"


class NotAu(Undecodable):
    """The bytes do not begin like an AU file."""

    reason = "it does not begin like an AU file"


class SoundHeaderTruncated(Undecodable):
    """The header of an AU file is truncated."""

    reason = "its header is truncated"


class SoundHeaderContradictory(Undecodable):
    """The numbers in the header of an AU file contradict each other."""

    reason = "its header contradicts itself"


class SamplesImpossible(Undecodable):
    """The header of a sound states samples that cannot exist."""

    bits: int
    channels: int

    @property
    def reason(self) -> str:
        return (
            f"its header states impossible samples: {count_things(self.bits, 'bit')} in "
            f"{count_things(self.channels, 'channel')}"
        )


class SamplesCutOff(Undecodable):
    """A sound has fewer bytes of samples than its header promises."""

    expected: int
    found: int

    @property
    def reason(self) -> str:
        return (
            f"its header promises {count_things(self.expected, 'byte')} of samples, but it has "
            f"{self.found}"
        )


# films
# -----


class VideoMissing(Undecodable):
    """The bytes contain no video."""

    reason = "it contains no video"


class FrameDamaged(Undecodable):
    """A frame is damaged."""

    reason = "one of its frames is damaged"


class FrameWithoutTime(Undecodable):
    """A frame has no time."""

    reason = "one of its frames has no time"


class FilmTruncated(Undecodable):
    """Frames that the film promises are missing."""

    reason = "it is truncated: frames of this part are missing"


FilmFault = Literal[
    "boxes-too-many",
    "box-cut-off",
    "box-too-small",
    "box-too-large",
    "box-missing",
    "box-too-short",
    "box-version",
    "contents-missing",
    "unit-missing",
    "media-elsewhere",
    "frames-missing",
    "frames-overlap",
    "sizes-missing",
    "offsets-missing",
    "places-missing",
    "chunks-unordered",
    "table-cut-off",
]
"""The ways in which the boxes of a film can be damaged."""


class FilmDamaged(Undecodable):
    """The boxes of a film (MP4, QuickTime) are damaged."""

    fault: FilmFault
    box: str = ""
    """The name of the box; empty if it is unknown or cannot be printed."""
    track: int | None = None
    expected: int | None = None
    found: int | None = None

    @property
    def reason(self) -> str:
        box = f"box {self.box}".rstrip()
        whose = "it" if self.track is None else f"its track {self.track}"
        expected, found = self.expected or 0, self.found or 0
        counted = f"it has {count_things(expected, 'sample')}"
        says: dict[str, str] = {
            "boxes-too-many": f"it has more than {self.expected} boxes at one level",
            "box-cut-off": "it ends within a box",
            "box-too-small": f"a {box} is smaller than its own header",
            "box-too-large": (
                f"a {box} claims {count_things(expected, 'byte')}, but {found} are left"
            ),
            "box-missing": f"a required {box} is missing",
            "box-too-short": "a box is too short for its fields",
            "box-version": f"a box has the unknown version {self.found}",
            "contents-missing": "it has no table of contents (moov)",
            "unit-missing": f"{whose} states no unit for its times",
            "media-elsewhere": "its media are in another file",
            "frames-missing": "it is truncated: frames of this part are missing",
            "frames-overlap": "its frames overlap",
            "sizes-missing": f"{counted}, but sizes for {found}",
            "offsets-missing": f"{counted}, but offsets for {found}",
            "places-missing": f"{counted}, but places for {found}",
            "chunks-unordered": "its chunks are out of order",
            "table-cut-off": f"a table of {count_things(expected, 'number')} has only "
            f"{count_things(found, 'byte')}",
        }
        return says[self.fault]
