"""Signed requests: HTTP Message Signatures (RFC 9421) by the Ed25519 key that a token names.

How it works: a token may name a public key instead of a secret. If a request has the field
`Signature-Input`, its signature is checked with that key before its handler runs. The signature
must cover the method, the target with the public address of the registry (the setting `base_url`:
without it a request for another registry, or for a copy of this one, could be sent here), every
field that decides what the request does, and the digest of the body if there is a body (the handler
compares this digest with the body, so it must be one that perdure can compute). The signature must
be recent and must not have been used before: the write door keeps each signature for as long as it
would be accepted, so that it is accepted only once, even by several processes or after a restart.
The library http-message-signatures verifies the signature.

What must stay true: only what the signature covers decides who sent the request; a signature that
was accepted once is never accepted again.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from perdure.errors.credentials import (
    BodyNotCovered,
    OneSignatureNeeded,
    SignatureInvalid,
    SignatureNeedsAddress,
    SignatureTooLong,
    SignatureUncovering,
    SignatureUndated,
)
from perdure.errors.unavailable import import_library
from perdure.model.commands import Claim
from perdure.model.records import Token
from perdure.policy.rights import KEY_NAME
from perdure.policy.tokens import read_key
from perdure.reading.annotation_pages import LEAD
from perdure.server.common import digests
from perdure.server.common.request import Request
from perdure.server.common.service import Service

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SCHEME = b"signature-input"
STRANGER = "ed25519:"
"""Before a public key in base64: the `keyid` of a signature by a key that no token names."""
YOUNG = timedelta(minutes=5)
_TARGETS = (frozenset(("@target-uri",)), frozenset(("@request-target", "@authority")))
"""Each of these sets says where the request goes, and to which server."""
_DECISIVE = (
    b"if-match",
    b"if-none-match",
    b"idempotency-key",
    b"content-type",
    b"content-language",
    b"content-encoding",
    b"content-disposition",
)
"""Fields that decide what a write does: the format in a name that is minted, for example."""
_MOST = 8192  # bytes of the two fields
_MEMBER = ";key="  # only this member of the field is signed (RFC 9421 section 2.1.2)


async def authenticate_request(service: Service, request: Request) -> Token:
    """Return the token whose key signed a request. Raises Unauthenticated."""
    if not service.settings.base_url:
        raise SignatureNeedsAddress()
    token, signed = await asyncio.to_thread(_verify_signature, service, request)
    if token.name.startswith(KEY_NAME):  # has no right that a repetition could use
        return token
    await service.submit_command(Claim(by=token.name, what=f"signature {signed}"), token.name)
    return token


def _verify_signature(service: Service, request: Request) -> tuple[Token, str]:
    """Return the token, and a digest of the signed values. Labels and spaces are not signed."""
    hms = _load_library("http_message_signatures")
    fields = request.read_field(SCHEME), request.read_field(b"signature")
    if sum(map(len, fields)) > _MOST:
        raise SignatureTooLong()
    keys = _Keys(service, admits_strangers=_admits_strangers(service, request))
    verifier = hms.HTTPMessageVerifier(
        signature_algorithm=hms.algorithms.ED25519, key_resolver=keys
    )
    try:
        found = verifier.verify(_Message(request), max_age=YOUNG)
    except (hms.exceptions.HTTPMessageSignaturesException, ValueError) as error:
        raise SignatureInvalid(fault=str(error)) from error
    if len(found) != 1 or keys.token is None:
        raise OneSignatureNeeded()
    _check_covered(request, found[0])
    signed = "\n".join(f"{name}: {value}" for name, value in found[0].covered_components.items())
    return keys.token, hashlib.sha256(signed.encode()).hexdigest()


def _check_covered(request: Request, found: Any) -> None:
    """Check that the signature covers the request. Raises Unauthenticated."""
    covered = {
        name.partition(";")[0].strip('"')
        for name in found.covered_components
        if _MEMBER not in name
    }
    if "created" not in found.parameters:
        raise SignatureUndated()
    if "@method" not in covered or not any(covered.issuperset(one) for one in _TARGETS):
        raise SignatureUncovering(components=("@method", "@target-uri"))
    has_body = b"content-length" in request.fields or b"transfer-encoding" in request.fields
    if has_body and request.read_field(b"content-length") != "0":
        _check_body_covered(request, found, whole="content-digest" in covered)
    for name in _DECISIVE:
        if name in request.fields and name.decode() not in covered:
            raise SignatureUncovering(components=(name.decode(),))


def _check_body_covered(request: Request, found: Any, *, whole: bool) -> None:
    """Check that the signature covers a digest that the body will be compared with.

    `whole`: the complete field is signed. Raises Unauthenticated.
    """
    members = [one for one in found.covered_components if one.startswith('"content-digest"')]
    for algorithm, _ in digests.read_promised(request, (b"content-digest",)):
        if whole or any(f'{_MEMBER}"{algorithm}"' in one for one in members):
            return
    raise BodyNotCovered(algorithms=tuple(digests.ALGORITHMS))


def _admits_strangers(service: Service, request: Request) -> bool:
    """Return whether a request may be signed with a key that no token names: to propose assertions,
    if the operator allows it."""
    return service.settings.assertions == "signed" and request.target.text.startswith(f"{LEAD}/")


class _Message:
    """A request in the form that the library reads."""

    def __init__(self, request: Request) -> None:
        raw = request.raw.decode("ascii")
        self.method = request.method
        here = raw.startswith(f"{request.base_url}/")
        self.url = raw if here else f"{request.base_url}/{raw.removeprefix('/')}"
        self.request_target = raw
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in request.fields.items()
        }


class _Keys:
    """The keys of tokens, by the names of the tokens."""

    def __init__(self, service: Service, *, admits_strangers: bool) -> None:
        self._service = service
        self._admits_strangers = admits_strangers
        self.token: Token | None = None

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey | None:
        if self._admits_strangers and key_id.startswith(STRANGER):
            return self._take_stranger(key_id.removeprefix(STRANGER))
        token = self._service.bearers.find_named(key_id)
        if token is None or not token.key:
            return None
        self.token = token
        return _load_public_key(token.key)

    def _take_stranger(self, text: str) -> Ed25519PublicKey:
        """Return the key that a request names itself; its holder has no right at all."""
        digest = base64.b64encode(hashlib.sha256(read_key(text)).digest()).decode().rstrip("=")
        name = f"{KEY_NAME}SHA256:{digest}"
        self.token = Token(name=name, digest="", key=text, operations=(), authorities=())
        return _load_public_key(text)

    def resolve_private_key(self, key_id: str) -> None:
        raise NotImplementedError("perdure signs nothing")


def _load_public_key(text: str) -> Ed25519PublicKey:
    ed25519 = _load_library("cryptography.hazmat.primitives.asymmetric.ed25519")
    found: Ed25519PublicKey = ed25519.Ed25519PublicKey.from_public_bytes(read_key(text))
    return found


def _load_library(name: str) -> Any:
    return import_library(name, task="checking a signature", extra="signatures")
