"""Web addresses for the codes of persons, organisations and related works.

How it works: the codes of persons and organisations are those listed here. If the type of a code is
that of an identifier scheme (DOI, Handle, ARK), its names begin with the scheme's label. All
addresses are in the table of public resolvers (`perdure.ids.public_resolvers`).

>>> add_home("0000-0001-5109-3700", "orcid"), add_home("10.1000/182", "DOI")
('https://orcid.org/0000-0001-5109-3700', 'https://doi.org/10.1000/182')
>>> add_home("978-3", "ISBN"), find_type("https://ror.org/04wxnsj81")
('978-3', 'ROR')
"""

from __future__ import annotations

from functools import lru_cache

from perdure.ids import find_label
from perdure.ids.public_resolvers import list_resolvers_of, split_address

_AGENTS = ("ORCID", "ROR", "ISNI")


@lru_cache(maxsize=256)
def find_home(code_type: str) -> str:
    """Return the address that precedes codes of a type (in any case); empty if there is none."""
    kind = code_type.upper()
    label = find_label(code_type) if kind not in _AGENTS else None
    beginning = label.text if label is not None else f"{kind.lower()}:"
    if label is None and kind not in _AGENTS:
        return ""
    for one in list_resolvers_of(beginning):
        lead, mark, end = split_address(one.address)
        if one.official and not end:
            return lead if mark == "{name}" else lead + beginning
    if label is None or not label.resolver:
        return ""
    return label.resolver if label.is_dropped else label.resolver + label.text


def add_home(code: str, code_type: str) -> str:
    """Return the address of a code that is not itself an address, or the code if it has none."""
    return find_home(code_type) + code


def find_type(address: str) -> str:
    """Return the type of the code in the address of a person or organisation, or else `URL`."""
    return next((name for name in _AGENTS if address.startswith(find_home(name))), "URL")
