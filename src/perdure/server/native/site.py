"""The site information of a server: its address, its interfaces, its key and a serial number.

How it works: `handle.key` is an RSA key in the registry directory, made when the server starts
first. `handle-site.json` has the site information in the JSON of Handle.Net. If the address, the
port or the key changes, the serial number grows, so that clients ask again (RFC 3652 section
2.2.2.4).

What must stay true: only the owner can read the key; without the library `cryptography`, the server
signs nothing, and says so to a client that asks for it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import MissingLibrary
from perdure.errors.unavailable import import_library
from perdure.settings import Settings
from perdure.storage.durable import write_durably

KEY, SITE = "handle.key", "handle-site.json"
_BITS = 2048
_LAST_SERIAL = 0xFFFF
Sign = Callable[[bytes, str], bytes]
"""From octets and the name of a hash (`sha1` or `sha256`) to a signature."""


class ServerKey:
    """The RSA key of a server."""

    def __init__(self, private: Any) -> None:
        self._private = private
        self._hashes = _import("hashes", "cryptography.hazmat.primitives.hashes")
        self._padding = _import("padding", "cryptography.hazmat.primitives.asymmetric.padding")

    def sign(self, octets: bytes, hash: str) -> bytes:
        """Return a signature (RSASSA-PKCS1-v1_5)."""
        made = self._hashes.SHA256() if hash == "sha256" else self._hashes.SHA1()
        signature: bytes = self._private.sign(octets, self._padding.PKCS1v15(), made)
        return signature

    def write_public(self) -> dict[str, str]:
        """Return the public key as members of a JSON Web Key (RFC 7518 section 6.3.1)."""
        numbers = self._private.public_key().public_numbers()
        return {"kty": "RSA", "n": _write_base64(numbers.n), "e": _write_base64(numbers.e)}


def _write_base64(number: int) -> str:
    octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def _import(task: str, name: str) -> Any:
    return import_library(
        name, task=f"signing answers of the Handle protocol ({task})", extra="signatures"
    )


def load_key(root: Path) -> ServerKey | None:
    """Load the key of a server, or make it; None if `cryptography` is not installed."""
    try:
        serialization = _import("keys", "cryptography.hazmat.primitives.serialization")
        rsa = _import("RSA", "cryptography.hazmat.primitives.asymmetric.rsa")
    except MissingLibrary:
        return None
    path = root / KEY
    if not path.exists():
        made = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with path.open("wb") as file:
            file.write(text)
    return ServerKey(serialization.load_pem_private_key(path.read_bytes(), None))


def load_site(root: Path, settings: Settings, port: int, key: ServerKey | None) -> dict[str, Any]:
    """Return the site information, with a new serial number if it has changed."""
    interfaces = [
        {"query": True, "admin": False, "protocol": protocol, "port": port}
        for protocol in ("UDP", "TCP", "HTTP")
    ]
    server: dict[str, Any] = {
        "serverId": 1,
        "address": find_address(settings),
        "interfaces": interfaces,
    }
    if key is not None:
        server["publicKey"] = {"format": "key", "value": key.write_public()}
    known: dict[str, Any] = {}
    with suppress(OSError, msgspec.MsgspecError):
        known = msgspec.json.decode((root / SITE).read_bytes())
    made = {
        "version": 1,
        "protocolVersion": "2.11",
        "serialNumber": known.get("serialNumber", 1),
        "primarySite": True,
        "multiPrimary": False,
        "hashOption": "ALL",
        "attributes": [{"name": "desc", "value": settings.base_url or "perdure"}],
        "servers": [server],
    }
    if made != known:
        made["serialNumber"] = made["serialNumber"] % _LAST_SERIAL + 1 if known else 1
        write_durably(root / SITE, msgspec.json.format(msgspec.json.encode(made), indent=2))
    return made


def find_address(settings: Settings) -> str:
    """Return the address for clients: `handle_address`, or else `host` if it is an address."""
    for text in (settings.handle_address, settings.host):
        with suppress(ValueError):
            address = ip_address(text)
            if not address.is_unspecified:
                return str(address)
    return "127.0.0.1"
