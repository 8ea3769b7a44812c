"""Frames: whole, in order, and counted where the connection breaks."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.writing.frames import LARGEST, Frames

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def all_frames(connection: socket.socket) -> list[bytes]:
    frames, found = Frames(connection), []
    while some := frames.receive_frames():
        found += some
    return found


@given(st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=20), max_size=5))
def test_frames_come_whole_and_in_order(turns: list[list[bytes]]) -> None:
    one, other = socket.socketpair()
    with one, other:
        sender = Frames(one)
        for turn in turns:
            assert sender.send_frames(turn) == len(turn)
        one.shutdown(socket.SHUT_WR)
        assert all_frames(other) == [frame for turn in turns for frame in turn]


def test_large_frames_among_small_ones(pair: Pair) -> None:
    """More than the sockets hold at once, and than is sent at once."""
    turn = [b"a", b"b" * 3_000_000, b"", *[b"c" * 1000] * 3000, b"d" * 1_500_000, b"e"]
    received: list[list[bytes]] = []
    thread = threading.Thread(target=lambda: received.append(all_frames(pair[1])))
    thread.start()
    assert Frames(pair[0]).send_frames(turn) == len(turn)
    pair[0].close()
    thread.join()
    assert received == [turn]


@pytest.mark.parametrize("size", [10, 1000, 100_000, 2_000_000])
def test_what_did_not_go_out_is_counted(pair: Pair, size: int) -> None:
    """The other side does not read, until the sender gives up: it then finds what was counted."""
    pair[0].settimeout(0.2)
    turn = [b"%07d" % number + b"x" * size for number in range(40_000_000 // size // 10 + 4)]
    count = Frames(pair[0]).send_frames(turn)
    assert count < len(turn)
    pair[0].close()
    assert all_frames(pair[1]) == turn[:count]


def test_nobody_is_there(pair: Pair) -> None:
    pair[1].close()
    assert Frames(pair[0]).send_frames([b"a", b"b"]) == 0


def test_a_frame_that_nobody_would_send(pair: Pair) -> None:
    """What came before it counts."""
    pair[0].sendall(struct.pack("!I", 1) + b"a" + struct.pack("!I", LARGEST + 1))
    frames = Frames(pair[1])
    assert frames.receive_frames() == [b"a"]
    with pytest.raises(OSError, match="a frame of"):
        frames.receive_frames()
