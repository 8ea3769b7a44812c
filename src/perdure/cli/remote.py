"""Names on a machine without a registry: `get`, `resolve` and `cite` ask the resolver of a name.

How it works: discovery finds the resolver (`perdure.cli.discovering`), and each command asks it in
its protocol: the name itself for the bytes, a service of RFC 2169 for locations and descriptions,
`?cite=` for a citation. A public resolver redirects; DOIs are also cited by content negotiation.
The bytes are written while they arrive, so a document may be larger than the memory.

What must stay true: every request follows the rules of safe fetching, redirects included, because
name servers and resolvers are strangers; bytes that are not the promised ones are an error.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import msgspec

from perdure.cli.arriving import ArrivingAnswer
from perdure.cli.command import here
from perdure.cli.discovering import find_resolvers, make_fetcher, report_elsewhere
from perdure.cli.fetching import (
    AtLocation,
    DeliveredBytes,
    Delivery,
    WithdrawnResource,
    parse_digests,
)
from perdure.errors.servers import ServerRefused, TransferBroken
from perdure.errors.tree import read_document
from perdure.fetching.discovery.discovering import FoundResolver
from perdure.fetching.exchange import Exchange, Unreachable
from perdure.fetching.fetcher import REDIRECTS, Fields, find_redirect
from perdure.fetching.streaming import StreamedResponse
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.queries import Want
from perdure.reading.targets import spell_part_path, spell_path

_SERVICES = {
    Want.LOCATION: "N2L",
    Want.LOCATIONS: "N2Ls",
    Want.RESOURCES: "N2Ls",
    Want.DESCRIPTION: "N2C",
    Want.NAMES: "N2Ns",
}
_LISTS = (Want.LOCATION, Want.LOCATIONS, Want.RESOURCES, Want.NAMES)
_CITED_BY_NEGOTIATION = {
    "csl": "application/vnd.citationstyles.csl+json",
    "bibtex": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
}
_OK = 200
_GONE = 410
_LONGEST_PROBLEM = 1 << 20  # bytes


def find_resolver(identifier: Identifier) -> FoundResolver:
    """Find the resolver of a name, and say where. Raises ResolverNotFound or DiscoveryFailed."""
    found = find_resolvers(identifier)
    report_elsewhere(found)
    return found.require_resolvers()[0]


def deliver(
    identifier: Identifier, part: str | None, accept: tuple[str, ...], *, follow: bool
) -> Delivery:
    """Return the bytes of a name from its resolver, or their address."""
    resolver = find_resolver(identifier)
    if resolver.source == "public" and not (follow and resolver.is_official):
        return AtLocation(identifier=str(identifier), uri=resolver.address, resolver=resolver.name)
    fields = (
        ("Want-Repr-Digest", "sha-512=10, sha-256=5"),
        ("Accept-Encoding", "identity"),
        ("Accept", ", ".join(accept) or "*/*"),
        ("Connection", "close"),
    )
    follows = follow or resolver.kind == "thttp"
    address = _spell_address(resolver, identifier, part)
    answer = ArrivingAnswer(here().load_settings(), address, fields, follow=follows)
    return _read_delivery(str(identifier), answer)


def _spell_address(resolver: FoundResolver, identifier: Identifier, part: str | None) -> str:
    if resolver.base and resolver.kind == "http":
        text = identifier.part if part is None else part
        path = spell_path(identifier) if text is None else spell_part_path(identifier, text)
        return f"{resolver.base}/{path}"
    return resolver.address


def _ask(url: str, fields: Fields, *, follow: bool = False) -> Exchange:
    """Send a request. Raises ServerUnreachable, InvalidRequest or TransferBroken."""
    fetcher = make_fetcher(here().load_settings())
    if follow:
        answer = asyncio.run(fetcher.follow_redirects(url, headers=fields))[-1]
    else:
        answer = asyncio.run(fetcher.exchange_once(url, headers=fields))
    if answer.truncated:
        length = answer.find_header("Content-Length") or ""
        expected = int(length) if length.isdigit() else None
        raise TransferBroken(identifier=url, received=len(answer.body), expected=expected)
    return answer


def _read_delivery(name: str, answer: ArrivingAnswer) -> Delivery:
    head = answer.response
    onwards = find_redirect(head)
    if onwards:
        answer.close()
        return AtLocation(identifier=name, uri=onwards)
    if head.status != _OK:
        body = b""
        with suppress(Unreachable):  # then there is only the status
            body = answer.read_body(_LONGEST_PROBLEM)
        return _read_refusal(name, head, body)
    digests = parse_digests(head.find_header("Repr-Digest"))
    is_part = head.find_header("Perdure-Part") is not None
    return DeliveredBytes(
        identifier=head.find_header("Content-Location") or name,
        pieces=answer.yield_pieces(),
        sha512=digests.get("sha-512"),
        sha256=digests.get("sha-256"),
        length=answer.length,
        where=head.url,
        media_type=strip_parameters(head.find_header("Content-Type") or "") if is_part else "",
    )


def _read_refusal(name: str, answer: Exchange | StreamedResponse, body: bytes) -> WithdrawnResource:
    """Return the tombstone in an answer. Raises the error that it reports otherwise."""
    try:
        told = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        told = {}
    if answer.status == _GONE:
        return WithdrawnResource(identifier=name, tombstone=told.get("tombstone") or told)
    error = read_document(told)
    if error is not None:
        raise error
    title = str(told.get("title", answer.reason))
    raise ServerRefused(url=answer.url, answered=answer.status, phrase=title)


def print_resolved(identifier: Identifier, wants: tuple[str, ...]) -> None:
    """Print the answers of the resolver of a name to several questions."""
    for one in map(Want, wants):
        here().print_answer(*resolve_remotely(identifier, one))


def resolve_remotely(identifier: Identifier, want: Want) -> tuple[dict[str, Any], str]:
    """Return what a name leads to, by its resolver: as JSON for programs and as lines."""
    resolver = find_resolver(identifier)
    fields: dict[str, Any] = {"want": want.value, "identifier": str(identifier)}
    fields["resolver"] = resolver.base or resolver.address
    if resolver.source == "public" or want is Want.RESOURCE:
        return fields | {"location": resolver.address}, resolver.address
    service = f"{resolver.base}/uri-res/{_SERVICES[want]}?{spell_path(identifier)}"
    kind = "text/uri-list" if want in _LISTS else "application/json, */*;q=0.1"
    answer = _ask(service, (("Accept", kind),))
    if answer.status == _GONE or (answer.status >= 300 and answer.status not in REDIRECTS):
        gone = _read_refusal(str(identifier), answer, answer.body)
        return fields | {"step": "gone", "tombstone": gone.tombstone}, gone.sentence
    text = answer.body.decode("utf-8", "replace")
    if want not in _LISTS:
        try:
            return fields | {"record": msgspec.json.decode(answer.body)}, text.strip()
        except msgspec.MsgspecError:
            return fields | {"description": text}, text.strip()
    lines = [one for one in text.splitlines() if one and not one.startswith("#")]
    onwards = find_redirect(answer)
    lines = lines or ([onwards] if onwards else [])
    if want is Want.LOCATION:
        lines = lines[:1]
    return fields | {"locations" if want is not Want.NAMES else "names": lines}, "\n".join(lines)


def cite_remotely(identifier: Identifier, part: str | None, style: str, locale: str) -> str:
    """Return a citation of a name, from its resolver. Raises ServerRefused if it has none."""
    resolver = find_resolver(identifier)
    if resolver.source == "public":
        kind = _CITED_BY_NEGOTIATION.get(style)
        wanted = kind or f"text/x-bibliography; style={style}; locale={locale}"
        answer = _ask(resolver.address, (("Accept", wanted),), follow=True)
    else:
        address = _spell_address(resolver, identifier, part)
        mark = "&" if "?" in address else "?"
        words = urlencode({"cite": style, "locale": locale})
        answer = _ask(f"{address}{mark}{words}", ())
    if answer.status != 200:
        gone = _read_refusal(str(identifier), answer, answer.body)
        raise ServerRefused(url=answer.url, answered=_GONE, phrase=gone.sentence)
    body = make_fetcher(here().load_settings()).decode_content(answer)
    return body.decode("utf-8", "replace").strip()
