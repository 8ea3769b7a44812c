"""Sources of the bytes for `get`: the registry, a resolver, or a location. All bytes are checked.

How it works: each source returns a `Delivery`: bytes still to be read, with the digests that they
must have, or the reason why there are no bytes. `write_bytes` copies the bytes piece by piece,
hashes them, and raises an error if they are not the promised ones; a file gets its name only after
that.

What must stay true: wrong bytes never look like success; a redirect is followed only if the caller
asked for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from email.message import Message
from typing import Any, BinaryIO

import http_sf
import msgspec

from perdure.errors import (
    DigestMismatch,
    quote,
)
from perdure.errors.captures import AmbiguousTime, UrlNotOfWeb
from perdure.errors.corruption import DeliveryAltered
from perdure.errors.cutting import PartElsewhere
from perdure.errors.naming import VersionNotSaid
from perdure.errors.servers import NothingHeld, ServerRefused, ServerUnreachable, TransferBroken
from perdure.errors.tree import read_document
from perdure.ids import Identifier
from perdure.model.queries import (
    Choices,
    Description,
    Elsewhere,
    Fetch,
    Gone,
    Redirect,
)
from perdure.parts import Selector, spell_part
from perdure.reading.resolved import Resolved
from perdure.reading.targets import spell_part_path, spell_path
from perdure.registry import Registry

_PIECE = 256 * 1024
_TIMEOUT = 60.0  # seconds
_LONGEST_PROBLEM = 64 * 1024  # bytes


class DeliveredBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes to be read, and the digests and length that they must have."""

    identifier: str
    pieces: Iterator[bytes]
    sha512: str | None = None
    sha256: str | None = None
    length: int | None = None
    where: str = "this registry"
    promises: bool = True
    """Whether a digest could have been promised; that of a part is computed from these bytes."""
    verdict: str = ""
    """For bytes of a web archive: how well they match the request (`Perdure-Verdict`)."""
    is_archived: bool = False
    """Whether these are bytes of a web archive (`Memento-Datetime`), not a document about it."""
    selector: Selector | None = None
    """The selector of a part that was cut here."""
    media_type: str = ""
    """The media type of what is delivered, if it may differ from that of the document: a part's."""


class AtLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes are at a location."""

    identifier: str
    uri: str
    resolver: str = ""
    """The name of the other resolver whose address it is; empty for a location."""

    @property
    def sentence(self) -> str:
        if self.resolver:
            return (
                f"{self.identifier} is not registered here; {self.resolver} may know it: {self.uri}"
            )
        return f"{self.identifier} is at {self.uri}; --follow fetches it"


class WithdrawnResource(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes were withdrawn."""

    identifier: str
    tombstone: dict[str, Any]

    @property
    def sentence(self) -> str:
        said = self.tombstone
        reason = quote(said.get("reason", ""))
        return f"{self.identifier} is gone since {said.get('at')}, says {said.get('by')}: {reason}"


Delivery = DeliveredBytes | AtLocation | WithdrawnResource


# From the registry
# -----------------


def fetch_from_registry(registry: Registry, resolved: Resolved, *, follow: bool) -> Delivery:
    """Return the bytes that a name resolves to, or those of a part.

    Of a citation they are the passage in the citing document. Raises CitationNotFound or
    CitationUnverifiable if nothing is quoted there, what `Resolved.step` raises, Unavailable if the
    name is bound to nothing, and what `perdure.reading.extraction` raises.
    """
    if resolved.is_citation:
        from perdure.cli import quotations

        resolved = quotations.find_passage(registry, resolved)
    if resolved.elsewhere is not None:
        return _fetch_elsewhere(resolved.elsewhere, follow=follow)
    if resolved.inside is not None:
        return _fetch_part(registry, resolved, follow=follow)
    step = resolved.step
    name = str(step.identifier)
    match step:
        case Fetch(representation=held):
            pieces = registry.bytes.read_chunks(held)
            return DeliveredBytes(
                identifier=name, pieces=pieces, sha512=held.sha512, length=held.length
            )
        case Redirect(location=location):
            if follow:
                return fetch_from_location(name, location.uri, location.sha512)
            return AtLocation(identifier=name, uri=location.uri)
        case Gone(tombstone=tombstone):
            return WithdrawnResource(identifier=name, tombstone=msgspec.to_builtins(tombstone))
        case Choices() | Description():
            raise NothingHeld(identifier=name)


def _fetch_elsewhere(elsewhere: Elsewhere, *, follow: bool) -> Delivery:
    """Return the address of a name at another resolver, or what is there."""
    name, first = str(elsewhere.identifier), elsewhere.resolvers[0]
    if follow and first.is_official:
        return fetch_from_location(name, first.address, None)
    return AtLocation(identifier=name, uri=first.address, resolver=first.name)


def _fetch_part(registry: Registry, resolved: Resolved, *, follow: bool) -> Delivery:
    step = resolved.step
    match step:
        case Fetch():
            found, pieces = registry.documents.open_part(resolved, step)
            return DeliveredBytes(
                identifier=f"{step.identifier}#{spell_part(resolved.identifier, found.selector)}",
                pieces=pieces,
                length=found.length,
                promises=False,
                selector=found.selector,
                media_type=found.media_type,
            )
        case Redirect(location=location):
            name = str(resolved.asked)
            if follow:
                return fetch_from_location(name, location.uri, None)
            return AtLocation(identifier=name, uri=location.uri)
        case Gone(tombstone=tombstone):
            return WithdrawnResource(
                identifier=str(step.identifier), tombstone=msgspec.to_builtins(tombstone)
            )
        case Choices(fetches=fetches):
            registry.documents.require_part_kind(resolved, step)
            raise VersionNotSaid(
                identifier=str(resolved.whole), versions=tuple(_fetch_names(fetches))
            )
    raise PartElsewhere(selector=resolved.part or "")


def _fetch_names(fetches: tuple[Fetch, ...]) -> list[str]:
    return [str(one.identifier) for one in fetches]


# From a resolver or a location
# -----------------------------


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that returns a redirect instead of following it."""

    def redirect_request(self, *_: Any) -> None:
        return None


def fetch_from_resolver(
    resolver: str,
    identifier: Identifier,
    accept: tuple[str, ...],
    *,
    follow: bool,
    part: str | None = None,
    nearest: bool = False,
) -> Delivery:
    """Fetch from a resolver. Raises the error that it reports, Unavailable without an answer."""
    name = str(identifier)
    if part is None:
        part = identifier.part  # the f-component of a URN, which clients do not send
    path = spell_path(identifier) if part is None else spell_part_path(identifier, part)
    url = f"{resolver.rstrip('/')}/{path}"
    if nearest and part is None:
        url += "?nearest"
    asked = {"Want-Repr-Digest": "sha-512=10, sha-256=5"}
    if accept:
        asked["Accept"] = ", ".join(
            f"{range};q={1 - place / 1000:.3f}" for place, range in enumerate(accept[:999])
        )
    with _translate_failures(resolver):
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            response = opener.open(_make_request(url, asked), timeout=_TIMEOUT)
        except urllib.error.HTTPError as answer:
            return _read_other_answer(resolver, name, answer, follow=follow)
    return _wrap_response(name, response, url)


def fetch_from_location(name: str, uri: str, sha512: str | None) -> DeliveredBytes:
    """Return the bytes at a location, with the digest that was promised. Raises Unavailable."""
    with _translate_failures(uri):
        response = urllib.request.urlopen(_make_request(uri, {}), timeout=_TIMEOUT)  # noqa: S310 - see _request
    found = _wrap_response(name, response, uri)
    return msgspec.structs.replace(found, sha512=sha512 or found.sha512)


def _make_request(url: str, headers: dict[str, str]) -> urllib.request.Request:
    if not url.lower().startswith(("http://", "https://")):
        raise UrlNotOfWeb(url=url)
    return urllib.request.Request(url, headers={"User-Agent": "perdure"} | headers)  # noqa: S310


@contextlib.contextmanager
def _translate_failures(where: str) -> Iterator[None]:
    """Translate the failures of a server into errors of the package."""
    try:
        yield
    except urllib.error.HTTPError as error:
        raise ServerRefused(url=where, answered=error.code) from error
    except (OSError, http.client.HTTPException) as error:
        fault = getattr(error, "reason", error)
        raise ServerUnreachable(url=where, fault=str(fault)) from error


def _wrap_response(name: str, response: Any, url: str) -> DeliveredBytes:
    headers: Message = response.headers
    length = headers["Content-Length"]
    digests = parse_digests(headers["Repr-Digest"])
    return DeliveredBytes(
        identifier=headers["Content-Location"] or name,
        pieces=_read_pieces(response, url),
        sha512=digests.get("sha-512"),
        sha256=digests.get("sha-256"),
        length=int(length) if length and length.isdigit() else None,
        where=url,
        verdict=headers["Perdure-Verdict"] or "",
        media_type=(headers["Content-Type"] or "") if "Perdure-Part" in headers else "",
        is_archived="Memento-Datetime" in headers,
    )


def _read_pieces(response: Any, url: str) -> Iterator[bytes]:
    with _translate_failures(url), response:
        while piece := response.read(_PIECE):
            yield piece


def parse_digests(field: str | None) -> dict[str, str]:
    """Read a digest field (RFC 9530 section 3) as hexadecimal; empty if it is not valid."""
    try:
        found: Any = http_sf.parse((field or "").encode("ascii"), tltype="dictionary")
    except ValueError:
        return {}
    return {name: value[0].hex() for name, value in found.items() if isinstance(value[0], bytes)}


def _read_other_answer(
    resolver: str, name: str, answer: urllib.error.HTTPError, *, follow: bool
) -> Delivery:
    """Interpret an answer without the bytes. Raises the error that it reports."""
    location = answer.headers["Location"]
    if answer.code in (301, 302, 303, 307, 308) and location:
        return (
            fetch_from_location(name, location, None)
            if follow
            else AtLocation(identifier=name, uri=location)
        )
    try:
        told = msgspec.json.decode(answer.read(_LONGEST_PROBLEM), type=dict[str, Any])
    except msgspec.MsgspecError:
        told = {}
    if answer.code == 300 and "Perdure-Verdict" in answer.headers:
        raise AmbiguousTime(identifier=name, fits=len(told.get("fits", ())))
    if answer.code == 410:
        return WithdrawnResource(identifier=name, tombstone=told.get("tombstone") or told)
    error = read_document(told)
    if error is None:
        title = str(told.get("title", answer.reason))
        raise ServerRefused(url=resolver, answered=answer.code, phrase=title)
    raise error


# Comparing and writing
# ---------------------


def find_difference(found: DeliveredBytes, file: BinaryIO) -> int | None:
    """Return the first byte at which a file differs from the delivery, or None if none does."""
    at = 0
    for piece in found.pieces:
        other = file.read(len(piece))
        if other != piece:
            pairs = enumerate(zip(piece, other, strict=False))
            return at + next((place for place, (a, b) in pairs if a != b), len(other))
        at += len(piece)
    return at if file.read(1) else None


class WrittenBytes(msgspec.Struct, frozen=True):
    """Length and digest of the bytes that were copied."""

    length: int
    sha512: str


def write_bytes(found: DeliveredBytes, file: BinaryIO) -> WrittenBytes:
    """Copy the bytes and check them.

    Raises Unavailable if they break off, Corrupt if bytes of this registry are not those that it
    promised, and DigestMismatch if bytes from elsewhere are not those that were promised.
    """
    sha512, sha256 = hashlib.sha512(), hashlib.sha256()
    length = 0
    for piece in found.pieces:
        sha512.update(piece)
        if found.sha256:
            sha256.update(piece)
        length += len(piece)
        file.write(piece)
    if found.length is not None and length != found.length:
        raise TransferBroken(identifier=found.identifier, received=length, expected=found.length)
    for algorithm, promised, seen in (
        ("sha-512", found.sha512, sha512.hexdigest()),
        ("sha-256", found.sha256, sha256.hexdigest()),
    ):
        if promised is not None and promised != seen:
            if found.where == "this registry":
                raise DeliveryAltered(identifier=found.identifier, promised=promised, found=seen)
            raise DigestMismatch(algorithm=algorithm, promised=promised, found=seen)
    return WrittenBytes(length, sha512.hexdigest())
