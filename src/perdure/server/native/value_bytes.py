"""Handle values as octets (RFC 3651 section 3.1). Pure.

How it works: data of the formats that perdure keeps as JSON (`admin`, `vlist`, `site`) are written
in the binary form of their types (sections 3.2.1 to 3.2.6); texts as UTF-8; `hex` and `base64` as
what they encode. Data in any other structured format stay JSON.

>>> admin = '{"handle": "0.na/10.1016", "index": 200, "permissions": "111111110010"}'
>>> write_data(Value(index=100, type="HS_ADMIN", format="admin", data=admin)).hex()
'0ff20000000c302e6e612f31302e31303136000000c8'

What must stay true: a value is written only if everyone may read it; this module does not check.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any

import msgspec

from perdure.model.records import Value
from perdure.server.native.wire import write_list, write_text

_PERMISSIONS = {"admin_read": 8, "admin_write": 4, "public_read": 2, "public_write": 1}
_INTERFACES = {"ADMIN": 1, "QUERY": 2, "BOTH": 3, "ADMIN_AND_QUERY": 3}
_PROTOCOLS = {"UDP": 0, "TCP": 1, "HTTP": 2, "HTTPS": 3}
_HASHED = {"NAMESPACE": 0, "PREFIX": 0, "LOCAL": 1, "SUFFIX": 1, "HANDLE": 2, "ALL": 2}


def write_value(value: Value) -> bytes:
    """Write a value. Its references are none: perdure has no references between values."""
    return b"".join(
        (
            struct.pack(
                "!IIBIB",
                value.index,
                _read_time(value.at),
                0,  # the time to live is relative
                min(value.ttl, 0xFFFFFFFF),
                int(value.permissions, 2),
            ),
            write_text(value.type),
            write_text(write_data(value)),
            b"\0\0\0\0",
        )
    )


def write_data(value: Value) -> bytes:
    """Write the data of a value in the form of its type."""
    match value.format:
        case "hex":
            with suppress(ValueError):
                return bytes.fromhex(value.data)
        case "base64":
            with suppress(binascii.Error, ValueError):
                return base64.b64decode(value.data, validate=True)
        case "admin" | "vlist" | "site":
            with suppress(KeyError, ValueError, TypeError, struct.error, msgspec.MsgspecError):
                return _WRITERS[value.format](msgspec.json.decode(value.data))
    return value.data.encode()


@lru_cache(maxsize=4096)
def _read_time(text: str) -> int:
    """Return a time such as `2026-11-21T01:02:03Z` in seconds since 1970; 0 without one."""
    with suppress(ValueError):
        return int(datetime.fromisoformat(text).timestamp())
    return 0


def _write_admin(admin: Mapping[str, Any]) -> bytes:
    permissions = int(str(admin["permissions"]), 2)
    return struct.pack("!H", permissions) + _write_reference(admin)


def _write_reference(one: Mapping[str, Any]) -> bytes:
    return write_text(str(one["handle"])) + struct.pack("!I", int(one["index"]))


def _write_vlist(references: list[Mapping[str, Any]]) -> bytes:
    return write_list([_write_reference(one) for one in references])


def write_site(site: Mapping[str, Any]) -> bytes:
    """Write site information, from the JSON of Handle.Net (RFC 3651 section 3.2.2).

    Raises KeyError, ValueError, TypeError or struct.error if it is not such JSON.
    """
    major, _, minor = str(site.get("protocolVersion", "2.1")).partition(".")
    mask = 0x80 * bool(site["primarySite"]) | 0x40 * bool(site.get("multiPrimary", False))
    hashed = _HASHED[str(site.get("hashOption", "ALL")).upper().removeprefix("BY_")]
    attributes = [
        write_text(str(one["name"])) + write_text(str(one["value"]))
        for one in site.get("attributes", [])
    ]
    return b"".join(
        (
            struct.pack(
                "!HBBH",
                int(site.get("version", 1)),
                int(major),
                int(minor or 0),
                int(site["serialNumber"]),
            ),
            bytes((mask, hashed)),
            write_text(str(site.get("hashFilter", ""))),
            write_list(attributes),
            write_list([_write_server(one) for one in site["servers"]]),
        )
    )


def _write_server(server: Mapping[str, Any]) -> bytes:
    address = ip_address(str(server["address"]))
    octets = address.packed if isinstance(address, IPv6Address) else bytes(12) + address.packed
    interfaces = [
        struct.pack(
            "!BBI",
            _INTERFACES[str(one["type"] if "type" in one else _name_kind(one)).upper()],
            _PROTOCOLS[str(one["protocol"]).upper()],
            int(one["port"]),
        )
        for one in server["interfaces"]
    ]
    key = server.get("publicKey")
    written = write_key(key["value"]) if isinstance(key, dict) and "value" in key else b""
    return (
        struct.pack("!I", int(server["serverId"]))
        + octets
        + write_text(written)
        + write_list(interfaces)
    )


def _name_kind(interface: Mapping[str, Any]) -> str:
    """Return the type of an interface that is given as two Booleans."""
    is_query, is_admin = bool(interface.get("query")), bool(interface.get("admin"))
    if is_query and is_admin:
        return "BOTH"
    return "ADMIN" if is_admin else "QUERY"


def write_key(key: Mapping[str, Any]) -> bytes:
    """Write an RSA public key, from JSON Web Key members (RFC 3651 section 3.2.2).

    Raises ValueError if it is another kind of key.
    """
    if key.get("kty") != "RSA":
        raise ValueError
    numbers = (_read_base64(str(key[name])) for name in ("e", "n"))
    return write_text("RSA_PUB_KEY") + b"\0\0" + b"".join(write_text(one) for one in numbers)


def _read_base64(text: str) -> bytes:
    """Read a number in base64url, and write it with a leading zero if it would be negative."""
    octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).lstrip(b"\0")
    return b"\0" + octets if octets[:1] >= b"\x80" else octets


_WRITERS: dict[str, Callable[[Any], bytes]] = {
    "admin": _write_admin,
    "vlist": _write_vlist,
    "site": write_site,
}
