"""Identifiers as handles: `1839/A` for `hdl:1839/A`, `pdi/…` for a PDI. Pure.

How it works: a handle does not begin with a scheme, and clients of the Handle System refuse a
handle with a colon. So a PDI is spelled `pdi/<series>/<date>/<unique-id>…` with its colons escaped,
and the grammar of PDIs reads the escapes. No prefix of the Handle System is called `pdi`.

>>> from perdure.ids import parse
>>> spell_handle(parse("pdi://oma.eop.gov.us/1997/09/01/a:b.text.1"))
'pdi/oma.eop.gov.us/1997/09/01/a%3ab.text.1'
>>> str(read_handle("pdi/oma.eop.gov.us/1997/9/1/a%3ab.text.1")), str(read_handle("21.T14999/x"))
('pdi://oma.eop.gov.us/1997/09/01/a:b.text.1', 'hdl:21.T14999/x')

What must stay true: `read_handle(spell_handle(x)) == x` for every Handle x, and for every PDI that
is not a part and cites nothing: only these have records.
"""

from __future__ import annotations

from perdure.ids import Identifier, handle, pdi
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi

PDI = "pdi/"
_OF_PREFIXES = "0.na"  # RFC 3651 section 3: the naming authority of all naming authorities


def read_handle(text: str) -> Handle | Pdi:
    """The identifier with this handle. Raises MalformedIdentifier."""
    if is_pdi(text):
        return pdi.parse_pdi(f"pdi://{text[len(PDI) :]}")
    return handle.parse_handle(f"hdl:{text}")


def is_pdi(text: str) -> bool:
    """Return True if a handle is a PDI, in which escapes belong to the name."""
    return text[: len(PDI)].lower() == PDI


def spell_handle(identifier: Identifier) -> str:
    """The handle of an identifier; for other schemes, its canonical text."""
    return identifier.handle


def find_home_prefix(identifier: Identifier) -> str:
    """The prefix whose administrators manage a handle, in lower case; empty for a PDI.

    `0.NA/21.T14999` describes a prefix; its home is this prefix.

    >>> (find_home_prefix(read_handle("21.T14999/x")),
    ...  find_home_prefix(read_handle("0.NA/21.T14999")))
    ('21.t14999', '21.t14999')
    """
    if not isinstance(identifier, Handle):
        return ""
    prefix = identifier.prefix.lower()
    return identifier.suffix.lower() if prefix == _OF_PREFIXES else prefix


def make_prefix_handle(prefix: str) -> Handle:
    """The handle that describes a prefix."""
    return handle.parse_handle(f"hdl:0.NA/{prefix}")
