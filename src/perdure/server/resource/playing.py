"""The player on a landing page, which plays the rendition of a sound or film
(`perdure.server.resource.renditions`) if the browser cannot play the bytes themselves.
"""

from __future__ import annotations

import msgspec

from perdure.errors import PerdureError
from perdure.formats.essence import strip_parameters
from perdure.model.queries import Fetch
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question
from perdure.server.common import asking
from perdure.server.common.service import Service
from perdure.server.resource.renditions import MEDIA_FIRST

_PLAYED_BY_BROWSERS = frozenset(
    [f"audio/{one}" for one in ("aac", "flac", "mp4", "mpeg", "ogg", "wav", "webm", "x-wav")]
    + ["video/mp4", "video/webm"]
)
"""Media types whose documents and parts a browser usually plays; if not, it plays the rendition."""


class Player(msgspec.Struct, frozen=True):
    """A player on a landing page."""

    is_film: bool
    sources: tuple[str, ...]
    """Addresses, of which the browser plays the first that it can."""


def find_player(service: Service, resolved: Resolved) -> Player | None:
    """Return the player for the page of a sound or film that is held here, or of a part of one."""
    try:
        step = resolved.choose(accept=MEDIA_FIRST)
    except PerdureError:  # the page itself reports what is wrong
        return None
    if not isinstance(step, Fetch):
        return None
    essence = strip_parameters(step.representation.media_type)
    if not service.registry.parts.can_play(essence):
        return None
    path = f"/{asking.spell_resolved(resolved)}"
    questions = ("bytes", "play") if essence in _PLAYED_BY_BROWSERS else ("play",)
    return Player(
        is_film=not essence.startswith("audio/") and essence != "application/ogg",
        sources=tuple(append_question(path, one) for one in questions),
    )
