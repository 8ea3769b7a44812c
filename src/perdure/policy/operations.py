"""The operations that a token can allow.

They have a module of their own, so that the command line can list them without loading the rules.
"""

from __future__ import annotations

OPERATIONS = (
    "mint",
    "register",
    "commit",
    "bind",
    "break",
    "alias",
    "describe",
    "read",
    "restrict",
    "assert",
    "withdraw",
    "erase",
    "delegate",
    "administer",
    "mirror",
    "retrospect",
)
"""`retrospect` is the right to mint under a past day, beside `mint` (ruling: pdi-retrospective).
`delegate` and `administer` are about tokens, all others about identifiers."""
