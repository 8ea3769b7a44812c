"""Addresses of stores in settings: what they name, and how they are shown. Pure.

What must stay true: what is shown has no password, whatever is wrong with the address.
"""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"^([^:/?#]+://[^:/?#@]*):(?:.*)@", re.DOTALL)
_OPTION = re.compile(r"(?i)((?:^|[?&;])[^=&;]*(?:password|secret|token)[^=&;]*=)[^&;]*")


def find_store_name(address: str) -> str:
    """The name of the store that an address or a plain name chooses.

    >>> find_store_name("postgresql://db.example/perdure"), find_store_name("sqlite")
    ('postgresql', 'sqlite')
    """
    return address.partition("://")[0]


def hide_password(address: str) -> str:
    """The address as it may be shown: without its password.

    Everything from the first colon to the last `@` goes, for a password may have an `@` that should
    have been escaped.

    >>> hide_password("postgresql://perdure:top@secret@db.example/perdure?sslpassword=x&schema=y")
    'postgresql://perdure:***@db.example/perdure?sslpassword=***&schema=y'
    >>> hide_password("sqlite")
    'sqlite'
    """
    return _OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", address))
