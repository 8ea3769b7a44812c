"""Tokens that were presented lately, so that a token is not looked up for each write.

How it works: what was found is remembered by the hash of the secret while `perdure.generation` says
that nothing was changed; saving or revoking a token is a change.

What must stay true: a token that was revoked, in this process or another, is not accepted by any
request that begins after the revocation was acknowledged; no secret is remembered.
"""

from __future__ import annotations

from perdure.generation import Generation
from perdure.model import Token
from perdure.ports import Records

_MOST = 1024


class Bearers:
    """Finds tokens by the hash of their secret."""

    def __init__(self, records: Records, generation: Generation) -> None:
        self._records = records
        self._generation = generation
        self._known: dict[str, Token] = {}
        self._seen = -1

    def find(self, digest: str) -> Token | None:
        """The token with this SHA-256."""
        count = self._generation.count  # read before the token is: see `perdure.generation`
        if count != self._seen or len(self._known) >= _MOST:
            self._known, self._seen = {}, count
        token = self._known.get(digest)
        if token is None:
            token = self._records.token(digest)
            if token is not None:
                self._known[digest] = token
        return token
