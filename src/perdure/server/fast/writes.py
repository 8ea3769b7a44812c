"""Writes that are carried out inside the protocol class: uploads, values of handles, operations.

How it works: the method and the beginning of a target tell which of the three it may be. All refuse
what they do not know, and the plain way answers. While records must be read from the disk, the
plain way does that in threads.
"""

from __future__ import annotations

from perdure.server.common.service import Service
from perdure.server.fast.assign import BELOW, FastAssign
from perdure.server.fast.mint import FastMint, Send
from perdure.server.fast.operate import FastOperate
from perdure.server.fast.taskless import TasklessWrites


class FastWrites:
    """Takes plain writes, and returns False for all others.

    See `perdure.server.protocol.http.FastWrite`.
    """

    def __init__(self, service: Service, writes: TasklessWrites) -> None:
        self._mint = FastMint(service)
        self._assign = FastAssign(service, writes)
        self._operate = FastOperate(service, writes)

    def __call__(
        self, method: bytes, target: bytes, fields: bytes, body: bytes, send: Send
    ) -> bool:
        if target.startswith(BELOW):
            return method != b"POST" and self._assign(method, target, fields, body, send)
        if method == b"DELETE":
            return False
        if method == b"PUT" and self._mint(target, fields, body, send):
            return True
        return self._operate(method, target, fields, body, send)
