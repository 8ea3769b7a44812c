"""Writes that are carried out inside the protocol class: plain uploads, and values of handles.

How it works: the beginning of a target tells which of the two it may be. Both refuse what they do
not know, and the plain way answers.
"""

from __future__ import annotations

from perdure.server.common.service import Service
from perdure.server.fast.assign import BELOW, FastAssign
from perdure.server.fast.mint import FastMint, Send


class FastWrites:
    """Takes plain writes, and returns False for all others.

    See `perdure.server.protocol.http.FastPut`.
    """

    def __init__(self, service: Service) -> None:
        self.mint = FastMint(service)
        self.assign = FastAssign(service)

    def __call__(self, target: bytes, fields: bytes, body: bytes, send: Send) -> bool:
        if target.startswith(BELOW):
            return self.assign(target, fields, body, send)
        return self.mint(target, fields, body, send)
