"""The preview of a document on its landing page: its text, a picture, a waveform, pages, rows.

How it works: each kind of preview is a module with `suits_type`, and with `make_preview`, which
returns the values of a template. `read_preview` asks the first kind that suits the media type. To
add a kind, add a module and a template.

What must stay true: the content of a document is shown only to readers who may have all its bytes.
A document that cannot be read has no preview; the page says elsewhere what is wrong with it.
"""

from __future__ import annotations

from perdure.errors import PerdureError
from perdure.model.queries import Fetch
from perdure.reading.resolved import Resolved
from perdure.server.common import asking
from perdure.server.common.service import Service
from perdure.server.resource.previews import contents, film, pages, picture, sound, table, text
from perdure.server.resource.previews.port import Preview, PreviewKind, ShownDocument

__all__ = ["Preview", "read_preview"]

_KINDS: tuple[PreviewKind, ...] = (picture, sound, film, pages, table, contents, text)


async def read_preview(service: Service, resolved: Resolved, at: int) -> Preview | None:
    """Read what a landing page shows, from a place on; None if there is nothing to show."""
    try:
        step = resolved.choose(whole=True)
    except PerdureError:  # not here, not for this reader, or of no version
        return None
    if not isinstance(step, Fetch) or not step.representation.media_type:
        return None
    documents = service.registry.documents
    source = documents.open_source(step.identifier, step.representation)
    kind = next((one for one in _KINDS if one.suits_type(source.essence)), None)
    if kind is None:
        return None
    part = None
    if resolved.inside is not None:
        part = documents.find_selector(resolved.identifier, source, resolved.part_beside)
    try:
        path = f"/{asking.spell_resolved(resolved)}"
        shown = ShownDocument(service, step.identifier, source, part, at, path)
        return await kind.make_preview(shown)
    except PerdureError:
        return None
