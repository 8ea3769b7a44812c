"""The places of a move: those in the settings, in the command, and in the move that was begun.

What must stay true: a move that was begun goes on to the same place, or is given up.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from perdure import settings as setting
from perdure.errors.moving import (
    NothingToMove,
    OtherMoveBegun,
    PlaceInEnvironment,
    PlaceIsSame,
    PlaceNotMovable,
)
from perdure.model.store_addresses import hide_password
from perdure.model.timestamps import format_timestamp
from perdure.registry import load_bytes, load_store, utc_now
from perdure.settings import Settings
from perdure.storage.moving_ports import (
    MovableBytes,
    MovableStore,
)
from perdure.upkeep.places.plan import (
    BegunMove,
    load_move,
    save_move,
)
from perdure.writing.copy_fence import CopyFence


class Course(NamedTuple):
    """A move with the addresses that it needs, passwords included."""

    move: BegunMove
    current: Settings
    to_store: str
    to_bytes: str
    is_new: bool = False
    """Whether this run begins it."""


def open_course(root: Path, to_store: str, to_bytes: str, environment: Mapping[str, str]) -> Course:
    """The move to these places, which is begun unless it was. Raises BadSettings."""
    for name in ("store", "bytes"):
        if f"PERDURE_{name.upper()}" in environment:
            value = hide_password(environment[f"PERDURE_{name.upper()}"])
            raise PlaceInEnvironment(setting=name, value=value)
    current = setting.load_settings(root, {})
    move = load_move(root)
    if move is None:
        CopyFence(root, load_store(current.store), current.copy_fence).check_original()
        move = _begin_move(current, to_store, to_bytes)
        places = [to_store or current.store, to_bytes or current.bytes]
        course = Course(move, current, places[0], places[1], is_new=True)
        require_store(course.to_store)
        require_bytes(course.to_bytes, root).close()
        save_move(root, move)
        return course
    wanted = [
        (hide_password(given), there)
        for given, there in ((to_store, move.to_store), (to_bytes, move.to_bytes))
    ]
    if any(given not in ("", there) for given, there in wanted):
        raise OtherMoveBegun(setting="registry", value=root, other=move.destination)
    places = [
        _choose_address(given, there, now)
        for given, there, now in (
            (to_store, move.to_store, current.store),
            (to_bytes, move.to_bytes, current.bytes),
        )
    ]
    return Course(move, current, places[0], places[1])


def _choose_address(given: str, noted: str, current: str) -> str:
    """The address with its password: it is not in the note of the move."""
    if given:
        return given
    return current if hide_password(current) == noted else noted


def _begin_move(current: Settings, to_store: str, to_bytes: str) -> BegunMove:
    move = BegunMove(
        id=secrets.token_hex(16),
        from_store=hide_password(current.store),
        from_bytes=hide_password(current.bytes),
        to_store=hide_password(to_store or current.store),
        to_bytes=hide_password(to_bytes or current.bytes),
        begun=format_timestamp(utc_now()),
    )
    if not (to_store or to_bytes):
        raise NothingToMove(setting="registry", value="no move")
    if not (move.moves_records or move.moves_bytes):
        raise PlaceIsSame(setting="store", value=move.to_store)
    return move


def require_store(name: str) -> MovableStore:
    """Load a store. Raises PlaceNotMovable, or BadSettings if there is no such store."""
    store = load_store(name)
    if not isinstance(store, MovableStore):
        raise PlaceNotMovable(setting="store", value=hide_password(name))
    return store


def require_bytes(name: str, root: Path) -> MovableBytes:
    """Open a store of bytes. Raises PlaceNotMovable, or BadSettings if there is no such store."""
    held = load_bytes(name)(root)
    if not isinstance(held, MovableBytes):
        raise PlaceNotMovable(setting="bytes", value=hide_password(name))
    return held
