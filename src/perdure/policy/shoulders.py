"""Policies of ARK shoulders and naming authorities: what is promised about their names. Pure.

How it works: a policy is a text, `SHOULDER = STATEMENT`; the shoulder may also be the number of an
authority alone. The longest one that begins a name decides, and its statement is repeated word for
word, as `what` of the `erc-support` part of an answer to `??`. It should begin with a code of the
kernel, such as `(:permanent)`.

What must stay true: without a policy, nothing is promised. 99999 is "reserved … as a test or
example NAAN" (draft-kunze-ark section 2.3), so its policy says that of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from perdure.errors import MalformedIdentifier
from perdure.ids.ark import parse_ark, read_shoulder

OF_TESTS = ("99999 = (:unas) for tests and examples; nothing is promised",)
"""The policy that a registry has by default."""
NONE_STATED = "(:unav) no policy is stated for these names"
_FORM = "a shoulder, '=' and a statement are needed"
# "a primordinal shoulder" ends in its first digit (draft-kunze-ark section 2.4.2)
_PRIMORDINAL = re.compile("[bcdfghjkmnpqrstvwxz]+[0-9]")


def read_policy(text: str) -> str:
    """Read a policy, and return it in canonical form. Raises ValueError or MalformedIdentifier.

    >>> read_policy("ark:/12345/X5 = (:permanent) kept for ever")
    '12345/X5 = (:permanent) kept for ever'
    """
    name, equals, statement = (one.strip() for one in text.partition("="))
    if not equals or not statement or not statement.isprintable():
        raise ValueError(_FORM)
    found = read_beginning(name)
    if found is None:
        read_shoulder(name)  # raises the error
        raise ValueError(_FORM)
    return f"{found} = {statement}"


def read_beginning(text: str) -> str | None:
    """Read a shoulder, or the number of an authority, with or without its label.

    None for any other text.

    >>> read_beginning("ark:/12345"), read_beginning("12345/x5"), read_beginning("ark:12345/x/c1")
    ('12345', '12345/x5', None)
    """
    label = "" if text[:4].lower() == "ark:" else "ark:"
    with suppress(MalformedIdentifier, ValueError):
        if _is_number(text):
            return parse_ark(f"{label}{text.removesuffix('/')}/x").naan
        return read_shoulder(text)
    return None


def _is_number(text: str) -> bool:
    rest = text[4:].lstrip("/") if text[:4].lower() == "ark:" else text
    return "/" not in rest.removesuffix("/")


def is_primordinal(name: str) -> bool:
    """Return True if a text after the slash has the form of a shoulder: letters and a digit."""
    return _PRIMORDINAL.fullmatch(name) is not None


def find_policy(policies: Iterable[str], name: str) -> str:
    """Return what is promised about an ARK, a shoulder or an authority, without its label.

    >>> find_policy(("12345 = a", "12345/x5 = b"), "12345/x5np"), find_policy((), "12345/x")
    ('b', '(:unav) no policy is stated for these names')
    """
    found = (one.partition(" = ") for one in policies)
    applying = [
        (len(shoulder), statement)
        for shoulder, _, statement in found
        if (name.startswith(shoulder) if "/" in shoulder else name.split("/")[0] == shoulder)
    ]
    return max(applying, default=(0, NONE_STATED))[1]
