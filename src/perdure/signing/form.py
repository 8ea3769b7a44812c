"""The interface of a form of signatures. Each form is one module with a `FORM`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.signing.keys import PublicKey
from perdure.signing.statement import Statement

FindKey = Callable[[str], PublicKey | None]
"""Find a key by its fingerprint, for forms that do not contain the key."""


def find_no_key(_fingerprint: str) -> None:
    """Know no keys."""


class SignatureForm(msgspec.Struct, frozen=True, kw_only=True):
    """One form of signatures."""

    name: str
    """As verdicts and errors write it."""
    begin: str
    """The beginning of each signature of this form."""
    verify: Callable[[str, Statement, FindKey], PublicKey]
    """Verify that a signature was made of a statement, and return the key that made it.

    Raises SignatureMalformed, KeyMalformed, or a subclass of SignatureRejected.
    """
