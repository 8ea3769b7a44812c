"""Frames on a socket: pieces of bytes, each behind its length in four bytes.

How it works: what is sent together goes out with one call, and what has come is taken together, so
that neither side wakes the other for every single frame.

What must stay true: frames come in the order in which they were sent, each whole or not at all, and
nothing after one that was cut off.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

LARGEST = 256 << 20
"""Bytes of a frame."""
_LENGTH = struct.Struct("!I")
_PIECE = 256 << 10  # received at once
_TOGETHER = 1 << 20  # bytes sent at once


class Frames:
    """Both directions of a connection. One thread may send while another receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()

    def send(self, frames: Sequence[bytes]) -> int:
        """How many went out whole: all of them, unless the connection broke."""
        first = done = 0
        while first < len(frames):
            waiting: list[bytes] = []
            size = 0
            while first < len(frames) and size < _TOGETHER:
                waiting += (_LENGTH.pack(len(frames[first])), frames[first])
                size += _LENGTH.size + len(frames[first])
                first += 1
            sent = self._sent(b"".join(waiting))
            if sent < size:
                for piece in waiting[1::2]:
                    sent -= _LENGTH.size + len(piece)
                    done += sent >= 0
                return done
            done = first
        return done

    def _sent(self, data: bytes) -> int:
        view, sent = memoryview(data), 0
        try:
            while sent < len(data):
                sent += self._connection.send(view[sent:])
        except OSError:
            pass  # how far it came is what the caller wants to know
        return sent

    def receive(self) -> list[bytes]:
        """What has come, after waiting for one frame at least; nothing at the end.

        Raises OSError.
        """
        while not (found := self._whole()):
            piece = self._connection.recv(_PIECE)
            if not piece:
                return []
            self._received += piece
        return found

    def _whole(self) -> list[bytes]:
        found: list[bytes] = []
        start, received = 0, self._received
        while len(received) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, start)
            if length > LARGEST:
                if found:
                    break  # those before it count
                raise OSError(f"a frame of {length} bytes")
            end = start + _LENGTH.size + length
            if end > len(received):
                break
            found.append(bytes(received[start + _LENGTH.size : end]))
            start = end
        del received[:start]
        return found
