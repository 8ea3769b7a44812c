"""Headers of plain writes: the token, if nothing in the header needs the plain way.

How it works: `read_plain_bearer` returns the digest of the token of a header that states only
representation metadata. A header with a promised digest, a coding or a signature, or for the
origin that shows archived pages, is left to the plain way, and so is one with a condition or a key,
unless the caller heeds them.

What must stay true: no secret is remembered; the plain way would use the same token.
"""

from __future__ import annotations

from perdure.policy import tokens
from perdure.server.common import signatures
from perdure.server.common.conditions import CONDITIONS
from perdure.server.protocol.doctor import ECHO

_UNUSUAL = {
    b"content-digest",
    b"content-encoding",
    b"content-range",
    b"expect",
    b"repr-digest",
    signatures.SCHEME,
    ECHO.lower().encode(),
}
_CONDITIONAL = CONDITIONS | {b"idempotency-key"}


def read_plain_bearer(
    found: dict[bytes, bytes], content_origin: str, *, conditional: bool = False
) -> str | None:
    """Return the digest of the token of a header, or None if the plain way must decide.

    With `conditional`, the caller heeds conditions and the idempotency key itself.
    """
    if not _UNUSUAL.isdisjoint(found) or not (conditional or _CONDITIONAL.isdisjoint(found)):
        return None
    host = found.get(b"host", b"").decode("latin-1").lower()
    if content_origin and host == content_origin.partition("://")[2]:
        return None
    scheme, _, secret = found.get(b"authorization", b"").decode("latin-1").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not tokens.is_token(secret):
        return None
    return tokens.digest_secret(secret)
