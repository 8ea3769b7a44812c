"""The web addresses under which codes of persons, organisations and related works are found.

How it works: ORCID, ROR and ISNI have addresses of their own, listed here and nowhere else. The
address of a code whose type is that of an identifier scheme (DOI, Handle, ARK) is the scheme's
public resolver, as its labels say.

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
    """The address in front of codes of a type, in whatever case; empty if there is none."""
    agents = _AGENTS.get(code_type.upper())
    if agents is not None:
        return agents
    label = find_label(code_type)
    if label is None or not label.resolver:
        return ""
    return label.resolver if label.is_dropped else label.resolver + label.text


def add_home(code: str, code_type: str) -> str:
    """The address of a code that is not an address itself; the code alone if there is none."""
    return find_home(code_type) + code


def find_type(address: str) -> str:
    """The type of code of a person or organisation that an address has; `URL` for any other."""
    return next((name for name, home in _AGENTS.items() if address.startswith(home)), "URL")
