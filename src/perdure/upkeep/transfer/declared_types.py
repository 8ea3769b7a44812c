"""The format of a name without bytes: what its depositor states, or what its server declares.

How it works: a format becomes part of a name only if it is stated. With neither bytes nor a
stated type, the name is only reserved, and gets its format with its first bytes. On request, the
server of a location is asked by HEAD for the media type that it declares.

What must stay true (ruling: pdi-reserved-name): no format is invented; a server is asked only on
request, by the rules of `perdure.fetching`.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from perdure import formats
from perdure.archives.capture.capturing import make_fetcher
from perdure.errors.locations import NobodyToAsk
from perdure.errors.servers import ServerRefused, TypeNotDeclared
from perdure.formats import MediaType
from perdure.policy.naming import canonical_format
from perdure.settings import Settings

_SECONDS = 15
_LONGEST = 4096  # bytes of an answer, which has a head only


def state_format(
    format: str | None = None, media_type: str | None = None, charset: str | None = None
) -> str:
    """Return the stated format, or that of the stated media type; empty if neither is stated.

    Raises InvalidRequest if the media type is malformed, MalformedIdentifier if the format is.
    """
    if format is not None:
        return canonical_format(format)
    return formats.make_token(media_type, charset) if media_type else ""


async def ask_format(locations: Sequence[str], settings: Settings) -> str:
    """Return the format of the media type that the server of the first location declares.

    Raises NobodyToAsk, InvalidRequest if the location must not be fetched, or Unavailable if
    its server does not answer or declares no type.
    """
    if not locations:
        raise NobodyToAsk()
    fetcher = make_fetcher(settings, body=_LONGEST, seconds=_SECONDS)
    answer = (await fetcher.follow_redirects(locations[0], method="HEAD"))[-1]
    if answer.status != HTTPStatus.OK:
        raise ServerRefused(url=answer.url, answered=answer.status, phrase=answer.reason)
    declared = answer.find_header("Content-Type")
    if not declared:
        raise TypeNotDeclared(url=answer.url)
    return formats.make_token(MediaType.parse(declared))
