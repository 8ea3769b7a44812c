"""A kind of preview, and what it gets and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from perdure.extractors.measures import Measures
from perdure.extractors.port import Source, iterate_body
from perdure.ids import Identifier
from perdure.parts import Selector, View
from perdure.reading.media_places import ShownPart, locate_part
from perdure.reading.targets import append_question, spell_path
from perdure.server.common.service import Service


class Preview(Protocol):
    """The values of a template of a landing page."""

    template: ClassVar[str]


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document that a page shows."""

    service: Service
    identifier: Identifier
    source: Source
    part: Selector | None
    """The part that the page is about."""
    at: int
    """The place at which the preview begins."""
    page_path: str = ""
    """The path of the name that the page is about."""

    @property
    def path(self) -> str:
        return f"/{spell_path(self.identifier)}"

    def ask(self, question: str) -> str:
        """Return the address of a question about the document."""
        return append_question(self.path, question)

    async def measure(self, number: int = 0) -> Measures:
        """Measure the document, or one of its frames or pages. Raises as `extract_part`."""
        service, view = self.service, View("measures", number)
        part = await service.cut_part(service.registry.parts.cut_view, self.source, view)
        body = b"".join(iterate_body(part.body, self.source))
        return msgspec.json.decode(body, type=Measures)

    def locate_part(self, known: Measures) -> ShownPart | None:
        """Return where the part is, or None if the page is not about one."""
        return None if self.part is None else locate_part(self.part, known)


class PreviewKind(Protocol):
    """A module with a kind of preview."""

    def suits_type(self, essence: str) -> bool:
        """Return True if it may show documents of a media type."""

    async def make_preview(self, shown: ShownDocument) -> Preview | None:
        """Make the preview, or return None if there is nothing to show. Raises PerdureError."""
