"""Frames on a socket: byte strings, each after its length in four bytes.

How it works: one call sends all frames of a group, and one call receives all that have arrived. So
neither side wakes the other for every single frame.

What must stay true: frames arrive in the order in which they were sent, each complete or not at
all; after a frame that was cut off, nothing arrives.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from perdure.errors.root import count_things

LARGEST = 256 << 20
"""The most bytes of a frame."""
_LENGTH = struct.Struct("!I")
_PIECE = 256 << 10  # received at once
_TOGETHER = 1 << 20  # bytes sent at once


class Frames:
    """Both directions of a connection. One thread may send while another receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()

    def send_frames(self, frames: Sequence[bytes]) -> int:
        """Send frames. Return the number sent completely: all, unless the connection broke."""
        first = done = 0
        while first < len(frames):
            waiting: list[bytes] = []
            size = 0
            while first < len(frames) and size < _TOGETHER:
                waiting += (_LENGTH.pack(len(frames[first])), frames[first])
                size += _LENGTH.size + len(frames[first])
                first += 1
            sent = self._send_bytes(b"".join(waiting))
            if sent < size:
                for piece in waiting[1::2]:
                    sent -= _LENGTH.size + len(piece)
                    done += sent >= 0
                return done
            done = first
        return done

    def _send_bytes(self, data: bytes) -> int:
        view, sent = memoryview(data), 0
        try:
            while sent < len(data):
                sent += self._connection.send(view[sent:])
        except OSError:
            pass  # the caller needs only the number of bytes
        return sent

    def receive_frames(self) -> list[bytes]:
        """Wait for at least one frame, and return all that have arrived; an empty list at the end.

        Raises OSError.
        """
        while not (found := self._take_frames()):
            piece = self._connection.recv(_PIECE)
            if not piece:
                return []
            self._received += piece
        return found

    def _take_frames(self) -> list[bytes]:
        found: list[bytes] = []
        start, received = 0, self._received
        while len(received) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received, start)
            if length > LARGEST:
                if found:
                    break  # the frames before it are valid
                raise OSError(f"a frame of {count_things(length, 'byte')}")
            end = start + _LENGTH.size + length
            if end > len(received):
                break
            found.append(bytes(received[start + _LENGTH.size : end]))
            start = end
        del received[:start]
        return found
