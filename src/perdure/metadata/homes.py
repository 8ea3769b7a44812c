"""Web addresses for the codes of persons, organisations and related works.

How it works: the addresses of ORCID, ROR and ISNI are listed here and nowhere else. If the type of
a code is that of an identifier scheme (DOI, Handle, ARK), its address is the scheme's public
resolver, from the labels of the scheme.

>>> add_home("0000-0001-5109-3700", "orcid"), add_home("10.1000/182", "DOI")
('https://orcid.org/0000-0001-5109-3700', 'https://doi.org/10.1000/182')
>>> add_home("978-3", "ISBN"), find_type("https://ror.org/04wxnsj81")
('978-3', 'ROR')
"""

from __future__ import annotations

from perdure.ids import find_label

_AGENTS = {
    "ORCID": "https://orcid.org/",
    "ROR": "https://ror.org/",
    "ISNI": "https://isni.org/",
}


def find_home(code_type: str) -> str:
    """Return the address that precedes codes of a type (in any case); empty if there is none."""
    agents = _AGENTS.get(code_type.upper())
    if agents is not None:
        return agents
    label = find_label(code_type)
    if label is None or not label.resolver:
        return ""
    return label.resolver if label.is_dropped else label.resolver + label.text


def add_home(code: str, code_type: str) -> str:
    """Return the address of a code that is not itself an address, or the code if it has none."""
    return find_home(code_type) + code


def find_type(address: str) -> str:
    """Return the type of the code in the address of a person or organisation, or else `URL`."""
    return next((name for name, home in _AGENTS.items() if address.startswith(home)), "URL")
