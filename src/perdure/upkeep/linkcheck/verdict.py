"""Interpreting the answer of a server for a location. Pure.

How it works: the chain of exchanges begins at the location and continues where redirects lead. It
is judged from its end: does something exist there, is it what was bound, and where did it move?
The module `soft` decides whether an existing page only says that nothing is there (a soft 404).

What must stay true: one answer has one verdict; if a server does not want to be asked, that says
nothing about the content, so the verdict is never `dead`.
"""

from __future__ import annotations

import enum
import hashlib
from itertools import pairwise
from urllib.parse import urldefrag

import msgspec

from perdure.errors.root import count_things
from perdure.fetching import Exchange


class LinkVerdict(enum.StrEnum):
    """Verdicts on a location; a closed list, for programs."""

    OK = "ok"
    MOVED = "moved"
    """It is there, and its server gives its new permanent address: 301 or 308."""
    DEAD = "dead"
    """404 or 410, or a redirect that leads to one of these or to nowhere."""
    SOFT_404 = "soft-404"
    """200, but with the page that any invented address there gives."""
    DRIFT = "drift"
    """Its content is not what was bound: another digest, or another size."""
    UNREACHABLE = "unreachable"
    """No name, no connection, no answer, or an error of the server: perhaps only temporarily."""
    REFUSED = "refused"
    """It must not be asked: robots.txt, a password, a private network, a scheme like ftp."""


LOST = frozenset((LinkVerdict.DEAD, LinkVerdict.SOFT_404, LinkVerdict.DRIFT))
"""Verdicts that make redirects skip a location at once."""
PATIENCE = 3
"""Consecutive checks that must find a location unreachable before redirects skip it."""
_PERMANENT = (301, 308)
_GONE = (404, 410)
_CLOSED = (401, 402, 403, 407, 451)
_NOT_MODIFIED = 304


class ExpectedContent(msgspec.Struct, frozen=True):
    """A location to check, with what was bound there."""

    uri: str
    sha512: str | None = None
    size: int | None = None

    @property
    def is_bound(self) -> bool:
        """True if a digest or a size was bound."""
        return self.sha512 is not None or self.size is not None


class LinkFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    uri: str
    verdict: LinkVerdict
    status: int | None = None
    reason: str = ""
    """Why, in a few words; empty if there is no problem."""
    moved_to: str | None = None
    etag: str | None = None
    modified: str | None = None
    """`Last-Modified`. The next check sends both validators back."""
    checked: str = ""
    """When, UTC: `2026-11-21T01:02:03Z`."""
    sha512: str | None = None
    """If the content is not what was bound: its digest, if all of it was read."""
    size: int | None = None
    """If the content is not what was bound: its size in bytes, if it is known."""
    failures: int = 0
    """Consecutive checks that did not find it."""

    @property
    def is_lost(self) -> bool:
        """True if redirects skip it."""
        return self.verdict in LOST or (
            self.verdict is LinkVerdict.UNREACHABLE and self.failures >= PATIENCE
        )


def judge_answer(
    expected: ExpectedContent,
    chain: tuple[Exchange, ...],
    content: bytes | None,
    before: LinkFinding | None = None,
) -> LinkFinding:
    """Judge an answer, except for soft 404s. `content` is the decoded entity, or None if it is not
    completely known.

    `before` is the finding whose validators were sent, if any were.
    """
    last = chain[-1]
    found = LinkFinding(
        uri=expected.uri,
        verdict=LinkVerdict.OK,
        status=last.status,
        etag=_sendable_validator(last.find_header("ETag")),
        modified=_sendable_validator(last.find_header("Last-Modified")),
    )
    if last.status == _NOT_MODIFIED and before is not None:
        found = msgspec.structs.replace(found, etag=before.etag, modified=before.modified)
        return _with_move(found, chain)
    if last.status in _GONE or 300 <= last.status < 400:
        return _with_verdict(
            found, LinkVerdict.DEAD, f"it answers {last.status} {last.reason}".rstrip()
        )
    if last.status in _CLOSED:
        return _with_verdict(
            found, LinkVerdict.REFUSED, f"it answers {last.status} {last.reason}".rstrip()
        )
    if not 200 <= last.status < 300:
        return _with_verdict(
            found, LinkVerdict.UNREACHABLE, f"it answers {last.status} {last.reason}".rstrip()
        )
    differs = _describe_difference(expected, last, content)
    if differs:
        digest, size = _measure_content(last, content)
        drifted = msgspec.structs.replace(found, sha512=digest, size=size)
        return _with_verdict(drifted, LinkVerdict.DRIFT, differs)
    if last.truncated not in (None, "length"):
        return _with_verdict(found, LinkVerdict.UNREACHABLE, "its answer was cut off")
    return _with_move(found, chain)


def _sendable_validator(validator: str | None) -> str | None:
    """Return a validator if it can be sent back as it is."""
    if validator and len(validator) <= 256 and validator.isascii() and validator.isprintable():
        return validator
    return None


def _with_verdict(found: LinkFinding, verdict: LinkVerdict, reason: str) -> LinkFinding:
    """Return the finding with a bad verdict and no validators: the next check asks for all."""
    return msgspec.structs.replace(
        found, verdict=verdict, reason=_printable_words(reason), etag=None, modified=None
    )


def _printable_words(text: str) -> str:
    """Return text from a server in printable characters, shortened."""
    return "".join(one if one.isprintable() else "?" for one in text[:200])


def _with_move(found: LinkFinding, chain: tuple[Exchange, ...]) -> LinkFinding:
    """Return the finding as MOVED if the first redirects are permanent, with their last target."""
    target = None
    for here, following in pairwise(chain):
        if here.status not in _PERMANENT:
            break
        target = following.url
    if target is None or target == urldefrag(found.uri).url:
        return found
    return msgspec.structs.replace(
        found, verdict=LinkVerdict.MOVED, moved_to=target, reason="it moved permanently"
    )


def _describe_difference(expected: ExpectedContent, last: Exchange, content: bytes | None) -> str:
    """Describe how the content differs from what was bound; empty if it does not, or is unknown."""
    if not expected.is_bound or last.truncated not in (None, "length"):
        return ""
    if last.truncated == "length":
        length = last.find_header("Content-Length") or ""
        coded = last.find_header("Content-Encoding")
        if expected.size is None or coded or not length.isdecimal():
            return ""
        return "" if int(length) == expected.size else _describe_sizes(expected.size, int(length))
    if content is None:
        return ""
    if expected.size is not None and len(content) != expected.size:
        return _describe_sizes(expected.size, len(content))
    if expected.sha512 is not None:
        digest = hashlib.sha512(content).hexdigest()
        if digest != expected.sha512:
            return f"sha512 {expected.sha512[:12]}… was bound, {digest[:12]}… is there"
    return ""


def _measure_content(last: Exchange, content: bytes | None) -> tuple[str | None, int | None]:
    """Return digest and size of the content, each None if it is not known."""
    if last.truncated == "length":
        return None, int(last.find_header("Content-Length") or 0)
    return (None, None) if content is None else (hashlib.sha512(content).hexdigest(), len(content))


def _describe_sizes(bound: int, found: int) -> str:
    return f"{count_things(found, 'byte')} instead of {bound}"
