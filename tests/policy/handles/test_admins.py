"""Who administers a handle: HS_ADMIN and HS_VLIST (RFC 3651 sections 3.2.1 and 3.2.6)."""

from __future__ import annotations

import json

import pytest

from perdure.errors import Unauthenticated
from perdure.model.records import Value
from perdure.policy.handles.admins import (
    Administrator,
    Permission,
    find_permissions,
    read_permissions,
)

USER = Administrator(300, "21.t14999/admin")
# RFC 3651 section 3.2.1, the table of permissions
BITS = [
    ("ADD_HANDLE", 0x0001),
    ("DELETE_HANDLE", 0x0002),
    ("ADD_PREFIX", 0x0004),
    ("DELETE_PREFIX", 0x0008),
    ("MODIFY_VALUE", 0x0010),
    ("REMOVE_VALUE", 0x0020),
    ("ADD_VALUE", 0x0040),
    ("MODIFY_ADMIN", 0x0080),
    ("REMOVE_ADMIN", 0x0100),
    ("ADD_ADMIN", 0x0200),
    ("READ_VALUE", 0x0400),
    ("LIST_HANDLES", 0x0800),
]


def admin(handle: str, index: object = 300, bits: str = "1" * 12) -> Value:
    data = {"handle": handle, "index": index, "permissions": bits}
    return Value(index=100, type="HS_ADMIN", format="admin", data=json.dumps(data))


def listed(*members: tuple[int, str]) -> Value:
    data = [{"index": index, "handle": handle} for index, handle in members]
    return Value(index=200, type="HS_VLIST", format="vlist", data=json.dumps(data))


@pytest.mark.parametrize(("name", "bit"), BITS)
def test_each_permission_has_its_bit(name: str, bit: int) -> None:
    assert read_permissions(f"{bit:012b}") == {Permission(name)}


@pytest.mark.parametrize("text", ["", "1", "1" * 13, "0x1111111111", "２" * 12])
def test_what_is_no_permission_grants_nothing(text: str) -> None:
    assert read_permissions(text) == frozenset()


@pytest.mark.parametrize(
    "user", ["300:21.T14999/ADMIN", "300%3A21.T14999/ADMIN", "0300:21.t14999/Admin"]
)
def test_user_names(user: str) -> None:
    assert Administrator.from_user_name(user) == USER


@pytest.mark.parametrize("user", ["", "21.T14999/ADMIN", ":x", "x:21.T14999/ADMIN", "300:"])
def test_what_is_no_user(user: str) -> None:
    with pytest.raises(Unauthenticated):
        Administrator.from_user_name(user)


@pytest.mark.parametrize(
    ("values", "may"),
    [
        ((admin("21.T14999/ADMIN"),), True),
        ((admin("21.T14999/ADMIN", "300"),), True),
        ((admin("21.T14999/ADMIN", 0),), True),
        ((admin("21.T14999/ADMIN", 301),), False),
        ((admin("21.T14999/OTHER"),), False),
        ((admin("list", 200),), True),
        ((admin("list", 201),), False),
        ((admin("ring", 200),), True),
        ((admin("far", 200),), False),
        ((Value(index=1, type="HS_ADMIN", data="no admin"),), False),
        ((Value(index=1, type="HS_ADMIN", format="admin", data="[]"),), False),
        ((Value(index=1, type="HS_ADMIN", format="admin", data='{"handle":7}'),), False),
    ],
)  # fmt: skip
def test_who_is_granted_what(values: tuple[Value, ...], may: bool) -> None:
    lists = {
        "list": (listed((300, "21.T14999/ADMIN")),),
        "ring": (listed((200, "ring2")),),
        "ring2": (listed((200, "ring"), (300, "21.T14999/admin")),),
        "far": (listed(*((200, f"far{n}") for n in range(100))),),
        "far99": (listed((300, "21.T14999/ADMIN")),),
    }
    asked: list[str] = []

    def values_of(handle: str) -> tuple[Value, ...]:
        asked.append(handle)
        return lists.get(handle, ())

    assert (find_permissions(USER, values, values_of) != frozenset()) == may
    assert len(asked) <= 16


def test_lists_that_name_each_other_end() -> None:
    ring = {"a": (listed((200, "b")),), "b": (listed((200, "a")),)}
    assert find_permissions(USER, (admin("a", 200),), lambda handle: ring[handle]) == frozenset()


@pytest.mark.parametrize(
    ("format", "data"),
    [("string", "hello"), ("vlist", "5"), ("vlist", "null"), ("vlist", '"x"'), ("vlist", "[1,{}]")],
)
def test_what_is_no_list_names_nobody(format: str, data: str) -> None:
    lists = (Value(index=200, type="HS_VLIST", format=format, data=data),)
    assert find_permissions(USER, (admin("list", 200),), lambda handle: lists) == frozenset()
