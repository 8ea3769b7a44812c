"""Errors about composites: pieces that cannot be filled in, or are not what they cite."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotAcceptable
from perdure.errors.root import quote
from perdure.errors.stored import TooLarge

PAGE = "docs/reference/composites.md"


# the document
# ------------


class CompositeMalformed(InvalidRequest):
    """A document cannot be a composite. Abstract: each reason has a class."""

    what = "the composite"
    rule = PAGE


class CompositeNotWellFormed(CompositeMalformed):
    """A document is not well-formed XML."""

    fault: str
    line: int
    """From 1."""

    @property
    def reason(self) -> str:
        return f"{self.fault}, in line {self.line}"


class CompositeEntities(CompositeMalformed):
    """An XML document declares entities."""

    line: int

    @property
    def reason(self) -> str:
        return f"line {self.line} declares an entity, and entities are not expanded; write its text"


class CompositeCharset(CompositeMalformed):
    """A document is not in UTF-8."""

    reason = "it must be in UTF-8"


class CompositeTypeUnknown(CompositeMalformed):
    """A document is neither HTML nor XML."""

    media_type: str

    @property
    def reason(self) -> str:
        return f"{quote(self.media_type)} is neither HTML nor XML"


class CompositeEmpty(CompositeMalformed):
    """A document cites no part of another document."""

    reason = "nothing in it cites an identifier: see the elements that the manual lists"


class CompositeTooLong(TooLarge):
    """A composite is too long."""

    what = "the composite"
    unit = "bytes"


class CompositePiecesTooMany(TooLarge):
    """A composite has too many pieces."""

    what = "the composite"
    unit = "pieces"


class ManifestEmpty(NotAcceptable):
    """Nothing in a document can be seen or heard, so that it has no IIIF manifest."""

    asked: str = "a IIIF manifest"
    offered: tuple[str, ...] = ()

    def problem(self) -> str:
        return f"{quote(self.identifier)} contains no picture, sound or film to show"

    def repair(self) -> str:
        return "request the document itself, or its provenance"


# its pieces
# ----------


class PieceUnusable(InvalidRequest):
    """A piece cannot be filled in. Abstract: each reason has a class."""

    cited: str
    line: int
    """From 1; within an included document, of that document."""
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the piece {quote(self.cited)} in line {self.line}"


class PieceUnnamed(PieceUnusable):
    """A piece names no identifier."""

    reason = "it is not an identifier, nor the address of one"


class PieceVersionOpen(PieceUnusable):
    """A piece names a part of several versions."""

    names: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"name a version: one of {', '.join(self.names)}"


class PieceNotHeld(PieceUnusable):
    """The bytes of the document that a piece cites are not held here."""

    reason = "its bytes are not held here"


class PieceUnreadable(PieceUnusable):
    """The part that a piece cites cannot be read."""

    fault: str

    @property
    def reason(self) -> str:
        return self.fault


class IncludeNotXml(PieceUnusable):
    """The part that an XInclude names is not XML, or not XML that can be included."""

    fault: str

    @property
    def reason(self) -> str:
        return f"it cannot be included as XML: {self.fault}"


class IncludeUnclear(PieceUnusable):
    """An XInclude has no address, or an XPointer of its own."""

    reason = "name the part in href: includes without href, or by xpointer, are not filled in"


class IncludesTooDeep(PieceUnusable):
    """Documents include each other too deeply, or in a circle."""

    limit: int

    @property
    def reason(self) -> str:
        return f"includes are nested more than {self.limit} deep"


class PieceNotVerbatim(PieceUnusable):
    """The words of a piece are not those of the part that it cites."""

    verdict: str

    @property
    def reason(self) -> str:
        return (
            f"its text is not that of the part ({self.verdict}); empty the element to fill it in, "
            "or cite the part that it quotes"
        )
