"""The name that a mint creates, if it is not the next number of a series.

What must stay true: a random name is one that no record has.
"""

from __future__ import annotations

import secrets

import msgspec

from perdure.errors import UnknownAuthority
from perdure.ids import Identifier, load_schemes
from perdure.ids.scheme import Minting, NewName
from perdure.model.commands import Mint
from perdure.policy import naming, rules
from perdure.settings import Settings
from perdure.writing.ledger import Ledger


def choose_name(command: Mint, settings: Settings, ledger: Ledger, day: str) -> Identifier:
    """The identifier to mint: the requested name, or one with a random text.

    Raises UnknownAuthority, and InvalidRequest if the requested name cannot be minted.
    """
    authority = settings.find_authority(command.authority)
    minting = load_schemes()[authority.scheme].minting if authority else None
    if authority is None or minting is None:
        known = tuple(one.name for one in settings.owned_authorities)
        raise UnknownAuthority(authority=command.authority, known=known)
    format = command.contents[0].format if command.contents else command.format
    if minting.is_numbered:
        rules.check_series(authority.name, settings.series)
        rules.check_unique_id(str(command.uid))
        format = naming.check_new_format(format) if format else ""
    else:
        rules.check_not_empty(command.uid)
    new = NewName(authority=authority.name, text=command.uid or "", day=day, format=format)
    return (
        minting.spell(new) if command.uid is not None else _find_unused_name(ledger, minting, new)
    )


def _find_unused_name(ledger: Ledger, minting: Minting, new: NewName) -> Identifier:
    """A name with a random text that no record has yet."""
    while True:
        text = "".join(secrets.choice(minting.alphabet) for _ in range(minting.length))
        identifier = minting.spell(msgspec.structs.replace(new, text=text))
        if ledger.find_record(identifier.key) is None:
            return identifier
