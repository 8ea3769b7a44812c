"""Addresses of registries in PostgreSQL, and how they are shown: without their password.

How it works: an address is a connection URI of libpq (`postgresql://user@host/database`), which may
name several hosts and every option of libpq. One parameter is ours: `schema`, the schema with the
tables of the registry. The driver itself takes the address apart.

What must stay true: no message, log or answer has the password; so errors of the driver about the
form of an address, which may quote it, are never passed on.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from perdure.errors.configuring import (
    StoreAddressMalformed,
    StorePasswordUnescaped,
    StoreSchemaInvalid,
)
from perdure.model.store_addresses import hide_password

_SCHEMA = re.compile("[a-z_][a-z0-9_]{0,54}")
_UNESCAPED = re.compile("[a-z]+://[^:/?#@]*:[^@]*[/?#@].*@", re.DOTALL)
DEFAULT_SCHEMA = "perdure"


class DatabaseAddress(NamedTuple):
    """The address of a registry, taken apart."""

    parameters: dict[str, str]
    """The parameters of libpq."""
    schema: str
    shown: str
    """The address without its password."""
    arrives: bool = False
    """Whether it is opened by the move that fills it."""

    def scrub_text(self, text: str) -> str:
        """A message of the driver, in one line, without the password."""
        for secret in (self.parameters.get("password"), self.parameters.get("sslpassword")):
            if secret:
                text = text.replace(secret, "***")
        return " ".join(text.split())


def parse_address(text: str) -> DatabaseAddress:
    """Take an address apart. Raises StoreAddressMalformed, without the password."""
    shown = hide_password(text)
    if _UNESCAPED.match(text):
        raise StorePasswordUnescaped(setting="store", value=shown)
    place, _, query = text.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    schema = dict(options).get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise StoreSchemaInvalid(setting="store", value=shown)
    rest = urlencode([one for one in options if one[0] != "schema"], quote_via=quote)
    try:
        found = conninfo_to_dict(f"{place}?{rest}")
    except (psycopg.Error, ValueError):  # its text may quote the password
        raise StoreAddressMalformed(setting="store", value=shown) from None
    return DatabaseAddress({name: str(value) for name, value in found.items()}, schema, shown)
