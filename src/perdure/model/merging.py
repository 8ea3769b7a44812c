"""Changing single members of a description: JSON Merge Patch.

Specification: RFC 7396. A member of the patch replaces the member of the description; `null`
removes it; an object is merged member by member; a list is replaced as a whole.

    >>> apply_merge_patch({"a": "b", "c": {"d": "e", "f": "g"}}, {"a": "z", "c": {"f": None}})
    {'a': 'z', 'c': {'d': 'e'}}
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from perdure.errors.records import quote_parser
from perdure.model.about import About
from perdure.model.description_checks import check_description
from perdure.model.plain_words import spell_degrees


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
    return check_description(drop_empty_items(patched))


def leave_out_unsaid(patch: dict[str, Any]) -> dict[str, Any]:
    """Leave out lists whose items say nothing, such as rights with unknown members only.

    In their place, an empty list would replace what the description has. Raises as
    `patch_description`.
    """
    lists = {name: value for name, value in patch.items() if isinstance(value, list) and value}
    said = patch_description(About(), lists)
    return {
        name: value
        for name, value in patch.items()
        if name not in lists or getattr(said, name, None) != ()
    }


def drop_empty_items(about: About) -> About:
    """Leave out items that say nothing, such as rights of which only unknown members were given."""
    changed: dict[str, tuple[Any, ...]] = {}
    for name in about.__struct_fields__:
        items = getattr(about, name)
        if isinstance(items, tuple) and any(map(_is_empty, items)):
            changed[name] = tuple(one for one in items if not _is_empty(one))
    return replace(about, **changed) if changed else about


def _is_empty(item: Any) -> bool:
    return isinstance(item, msgspec.Struct) and not any(astuple(item))


_KINDS = {
    "contributors": "role",
    "dates": "kind",
    "descriptions": "kind",
    "relations": "relation",
    "related": "relation",
    "variables": "name",
}
"""Members with entries of several kinds, and the field that is the kind."""
_TOGETHER = (("resource_type", "resource_kind"), ("version", "edition"))
"""Members that say one thing together."""
_PUBLICATION = "Issued"


def lay_over(wide: About, narrow: About) -> About:
    """Return the description that a reader of something narrower sees, such as of one version.

    Each member of the narrower description replaces that of the wider one. Where entries have
    kinds, only those of the same kind are replaced: a date of issue replaces a date of issue, and
    the date of creation stays. The year is that of publication, so it goes with the date of issue.

    >>> wide = About(year="1999", language="en")
    >>> lay_over(wide, About(language="fr")) == About(year="1999", language="fr")
    True
    """
    if narrow == About() or wide == About():
        return narrow if wide == About() else wide
    members = {name: getattr(wide, name) for name in About.__struct_fields__}
    said = {name for name in members if getattr(narrow, name)}
    if narrow.year or any(one.kind == _PUBLICATION for one in narrow.dates):
        members["year"] = ""
        members["dates"] = tuple(one for one in wide.dates if one.kind != _PUBLICATION)
    for pair in _TOGETHER:
        if said & set(pair):
            members |= dict.fromkeys(pair, "")
    for name in said:
        new, kind = getattr(narrow, name), _KINDS.get(name)
        if kind is not None:
            kinds = {getattr(one, kind) for one in new}
            new = (*new, *(one for one in members[name] if getattr(one, kind) not in kinds))
        members[name] = new
    return About(**members)


def read_patch(data: bytes) -> dict[str, Any]:
    """Read a patch of a description, which is a JSON object. Raises InvalidMetadata."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser("json", "msgspec", error) from None


def merge_descriptions(held: About, more: About) -> About:
    """Merge a description into another; the members that `more` has win."""
    return patch_description(held, msgspec.to_builtins(more))
