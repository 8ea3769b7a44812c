"""The header fields of documents of other resolvers that are kept here. Pure.

How it works: most fields of a kept document are those that its resolver sent. The others say for
how long it is current, and through which resolver it came. The plain way
(`perdure.server.resource.proxying`) and the fast one (`perdure.server.fast.proxied`) write the same
bytes because both call these functions.
"""

from __future__ import annotations

from perdure.formats.essence import strip_parameters
from perdure.server.common.answers import Fields, clean_value
from perdure.server.common.conditions import Span
from perdure.server.common.proxy_cache import KeptDocument
from perdure.server.resource.held import confine_type


def describe_kept(document: KeptDocument, pseudonym: str, rest: int) -> Fields:
    """Make the fields of a kept document that is current for `rest` seconds, in their order.

    Only those of `say_rest` depend on the time.
    """
    fields: Fields = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in document.fields
    ]
    kind = dict(document.fields).get("content-type", "application/octet-stream")
    return [
        *fields,
        *confine_type(strip_parameters(kind)),
        name_way(pseudonym),
        *say_rest(pseudonym, rest),
        (b"vary", b"prefer"),
        (b"accept-ranges", b"bytes"),
    ]


def say_rest(pseudonym: str, rest: int) -> Fields:
    """Make the fields that say for how many seconds a kept document is current."""
    return [
        state_cache(pseudonym, f"hit; ttl={rest}"),
        (b"cache-control", b"public, max-age=%d" % rest),
    ]


def make_range_fields(document: KeptDocument, span: Span, *, partial: bool) -> Fields:
    """Make the fields that depend on the bytes sent."""
    start, stop = span
    fields: Fields = [(b"content-length", b"%d" % (stop - start))]
    if partial:
        where = b"bytes %d-%d/%d" % (start, stop - 1, document.length)
        fields.insert(0, (b"content-range", where))
    return fields


def name_way(pseudonym: str) -> tuple[bytes, bytes]:
    """Say that an answer came through this resolver."""
    return b"via", f"1.1 {pseudonym}".encode()


def state_cache(pseudonym: str, state: str) -> tuple[bytes, bytes]:
    """Say whether an answer was kept by this resolver (RFC 9211)."""
    return b"cache-status", f"{write_token(pseudonym)}; {state}".encode()


def write_token(name: str) -> str:
    """Write the name of a resolver as a String of structured fields."""
    return f'"{clean_value(name)}"'
