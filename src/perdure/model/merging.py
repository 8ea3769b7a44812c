"""Changing single members of a description: JSON Merge Patch.

Specification: RFC 7396. A member of the patch replaces the member of the description; `null`
removes it; an object is merged member by member; a list is replaced as a whole.

    >>> apply_merge_patch({"a": "b", "c": {"d": "e", "f": "g"}}, {"a": "z", "c": {"f": None}})
    {'a': 'z', 'c': {'d': 'e'}}
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors.records import quote_parser
from perdure.model.about import About, check_description, spell_degrees


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """Apply a patch to a JSON value, by the algorithm of section 2."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = apply_merge_patch(merged.get(name), value)
    return merged


def patch_description(about: About, patch: dict[str, Any]) -> About:
    """Apply a patch to a description.

    Raises InvalidMetadata if the result has a member of the wrong type, InvalidRequest if it is not
    a valid description.
    """
    try:
        members = apply_merge_patch(msgspec.to_builtins(about), patch)
        patched = msgspec.convert(spell_degrees(members), About)
    except msgspec.ValidationError as error:
        raise quote_parser("json", "msgspec", error) from None
    return check_description(patched)


def read_patch(data: bytes) -> dict[str, Any]:
    """Read a patch of a description, which is a JSON object. Raises InvalidMetadata."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser("json", "msgspec", error) from None


def merge_descriptions(held: About, more: About) -> About:
    """Merge a description into another; the members that `more` has win."""
    return patch_description(held, msgspec.to_builtins(more))
