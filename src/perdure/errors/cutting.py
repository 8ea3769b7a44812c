"""Errors about parts that perdure cannot cut: of other hosts, in other codings, in other forms."""

from __future__ import annotations

from typing import Literal

from perdure.errors.parts import PartNotSupported
from perdure.errors.root import quote


class PartElsewhere(PartNotSupported):
    """The whole is not held here, so no part of it can be cut."""

    held_at: str | None = None
    """The location, or the identifier whose target it is; None if there are several or none."""

    def problem(self) -> str:
        place = f"held at {quote(self.held_at)}" if self.held_at else "not held here"
        return f"part {quote(self.selector)} cannot be cut from a resource that is {place}"


class TextElsewhere(PartElsewhere):
    """The whole is not held here, so its plain text cannot be read."""

    def problem(self) -> str:
        return "the plain text of a resource that is not held here cannot be read"

    def repair(self) -> str:
        return "request the resource itself from its location, if it has one"


class TextNotSupported(PartNotSupported):
    """The document or part has no plain text: its format has none, or perdure does not read it."""

    def problem(self) -> str:
        return f"{quote(self.media_type or 'the document')} has no plain text that perdure can read"

    def repair(self) -> str:
        return "request the document itself"


class CitationUnresolved(PartNotSupported):
    """The question is not one about a citation, which has a verdict and nothing else."""

    def problem(self) -> str:
        return f"a citation has no answer to this: {quote(self.selector)}"

    def repair(self) -> str:
        return "request its verdict (?info), the citing document, or the part that it cites"


class CitationUnverifiable(PartNotSupported):
    """A document of a citation is not held here, or cannot be decoded, so there is no verdict."""

    side: str
    """The identifier of that document."""
    reason: str

    def problem(self) -> str:
        return f"{quote(self.selector)} cannot be verified: {quote(self.reason)}"

    def repair(self) -> str:
        return f"request {quote(self.side)}"


class CodingNotSupported(PartNotSupported):
    """The sound or the pictures are in a coding of which no part can be cut."""

    coding: str | None
    """Its name, or its number in the format; None if it is unknown."""

    def problem(self) -> str:
        coding = f"the coding {quote(self.coding)}" if self.coding else "an unknown codec"
        return f"{super().problem()} in {coding}"


FilmForm = Literal[
    "fragments",
    "compressed-contents",
    "still-frames",
    "sound-packets",
    "sound-sizes",
    "packed-sizes",
    "sound-coding",
    "changing-size",
]
"""The forms of films of which no part can be cut."""


class FilmFormNotSupported(PartNotSupported):
    """A film has a form of which no part can be cut."""

    form: FilmForm

    def problem(self) -> str:
        says: dict[str, str] = {
            "fragments": "in fragments",
            "compressed-contents": "with a compressed table of contents",
            "still-frames": "with still frames",
            "sound-packets": "with sound in packets of several samples",
            "sound-sizes": "with sound samples of unknown size",
            "packed-sizes": "with packed sample sizes",
            "sound-coding": "with sound that cannot be decoded",
            "changing-size": "with frames of changing size",
        }
        return f"{super().problem()} {says[self.form]}"


class TracksNotSupported(PartNotSupported):
    """Tracks of a film that is decoded cannot be together in a part."""

    video: str
    """The number, kind and coding of the track of video."""

    def problem(self) -> str:
        return (
            f"{super().problem()}; track {self.video} can be cut alone or with one of sound, and "
            "one of sound or of subtitles alone"
        )


class CheckNotSupported(PartNotSupported):
    """An integrity check cannot be performed, because no charset has the name that it states."""

    charset: str

    def problem(self) -> str:
        return f"the check {quote(self.selector)} cannot be performed"

    def repair(self) -> str:
        return f"no charset is called {quote(self.charset)}; name another one in the check"
