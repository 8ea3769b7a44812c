"""Writes that are carried out inside the protocol class: uploads, values of handles, operations.

How it works: the method and the beginning of a target tell which of the three it may be. All refuse
what they do not know, and the plain way answers. While records must be read from the disk, the
plain way does that in threads.
"""

from __future__ import annotations

from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.service import Service
from perdure.server.fast.assign import BELOW, FastAssign
from perdure.server.fast.mint import FastMint, Send
from perdure.server.fast.operate import FastOperate


class FastWrites:
    """Takes plain writes, and returns False for all others.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service, cold: ColdReads) -> None:
        self._mint = FastMint(service)
        self._assign = FastAssign(service)
        self._operate = FastOperate(service)
        self._cold = cold

    def __call__(
        self, method: bytes, target: bytes, fields: bytes, body: bytes, send: Send
    ) -> bool:
        if method == b"PUT":
            if target.startswith(BELOW):
                return self._assign(target, fields, body, send)
            if self._mint(target, fields, body, send):
                return True
        if self._cold.is_cold:
            return False
        return self._operate(method, target, fields, body, send)
