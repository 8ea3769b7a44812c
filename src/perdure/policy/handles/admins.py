"""Administrators of a handle, from its HS_ADMIN and HS_VLIST values. Pure.

How it works: an administrator is an index and a handle, such as `300:21.T14999/ADMIN`; the secret
is in the value of this handle with this index. `HS_ADMIN` values of a handle name administrators,
or lists of them (`HS_VLIST`), each with twelve permissions.

>>> Administrator.from_user_name("300%3A21.T14999/ADMIN")
Administrator(index=300, handle='21.t14999/admin')
>>> sorted(str(one) for one in read_permissions("000000000011"))
['ADD_HANDLE', 'DELETE_HANDLE']

What must stay true: the search through lists ends, however they refer to each other.

Specification: RFC 3651 sections 3.2.1 and 3.2.6.
"""

from __future__ import annotations

import enum
import re
from collections import deque
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import unquote

import msgspec

from perdure.errors.credentials import UserMalformed
from perdure.model.records import Value
from perdure.policy.handles.values import ADMIN, VLIST

MOST_LISTS = 16
"""The most lists that are followed to find an administrator."""
ANY_INDEX = 0
"""The index that means every value of the handle, in HS_ADMIN."""
_USER = re.compile("([0-9]{1,10}):(.+)", re.ASCII | re.DOTALL)
_TWELVE = re.compile("[01]{12}", re.ASCII)

Values = Callable[[str], tuple[Value, ...]]
"""Returns the values of a handle, or an empty tuple if it is not known."""


class Permission(enum.StrEnum):
    """Permissions, in the order of their bits, the lowest first (RFC 3651 section 3.2.1)."""

    ADD_HANDLE = "ADD_HANDLE"
    DELETE_HANDLE = "DELETE_HANDLE"
    ADD_PREFIX = "ADD_PREFIX"
    DELETE_PREFIX = "DELETE_PREFIX"
    MODIFY_VALUE = "MODIFY_VALUE"
    REMOVE_VALUE = "REMOVE_VALUE"
    ADD_VALUE = "ADD_VALUE"
    MODIFY_ADMIN = "MODIFY_ADMIN"
    REMOVE_ADMIN = "REMOVE_ADMIN"
    ADD_ADMIN = "ADD_ADMIN"
    READ_VALUE = "READ_VALUE"
    LIST_HANDLES = "LIST_HANDLES"


_BITS = tuple(Permission)


class Administrator(msgspec.Struct, frozen=True):
    """A value of a handle, whose secret authenticates an administrator."""

    index: int
    handle: str
    """In lower case."""

    def __str__(self) -> str:
        return f"{self.index}:{self.handle}"

    @classmethod
    def from_user_name(cls, text: str) -> Self:
        """Read a user name, which clients escape. Raises Unauthenticated."""
        found = _USER.fullmatch(unquote(text))
        if found is None:
            raise UserMalformed(user=unquote(text))
        return cls(int(found[1]), found[2].lower())


def read_permissions(text: str) -> frozenset[Permission]:
    """The permissions that a text of twelve digits grants, the highest bit first."""
    if not _TWELVE.fullmatch(text):
        return frozenset()
    return frozenset(one for one, digit in zip(_BITS, reversed(text), strict=True) if digit == "1")


def find_permissions(
    user: Administrator, values: tuple[Value, ...], values_of: Values
) -> frozenset[Permission]:
    """The permissions of a user for the handle with these values."""
    found: frozenset[Permission] = frozenset()
    for value in values:
        if value.type.upper() == ADMIN and value.format == "admin":
            entry = _read_reference(value.data)
            if entry is not None and _includes_user(entry, user, values_of):
                found |= read_permissions(str(_read_object(value.data).get("permissions", "")))
    return found


def _includes_user(entry: Administrator, user: Administrator, values_of: Values) -> bool:
    """Return True if an entry is the user, or a list that includes the user.

    Lists are followed in the order in which they are written, so that the result does not depend on
    chance if there are too many of them.
    """
    waiting, seen = deque([entry]), {entry}
    followed = 0
    while waiting:
        one = waiting.popleft()
        if one.handle == user.handle and one.index in (user.index, ANY_INDEX):
            return True
        if followed == MOST_LISTS:
            return False
        followed += 1
        for value in values_of(one.handle):
            if value.type.upper() == VLIST and one.index in (value.index, ANY_INDEX):
                for found in _read_references(value.data):
                    if found not in seen:
                        waiting.append(found)
                        seen.add(found)
    return False


def _read_reference(data: str) -> Administrator | None:
    return _make_administrator(_read_object(data))


def _read_references(data: str) -> list[Administrator]:
    """The administrators in a list; none if the client stored something other than a list."""
    try:
        listed = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return []
    if not isinstance(listed, list):
        return []
    found = [_make_administrator(one) for one in listed if isinstance(one, dict)]
    return [one for one in found if one is not None]


def _read_object(data: str) -> dict[str, Any]:
    found = msgspec.json.decode(data)
    return found if isinstance(found, dict) else {}


def _make_administrator(one: dict[str, Any]) -> Administrator | None:
    handle, index = one.get("handle"), str(one.get("index", ""))
    if not isinstance(handle, str) or not re.fullmatch("[0-9]{1,10}", index, re.ASCII):
        return None
    return Administrator(int(index), handle.lower())
