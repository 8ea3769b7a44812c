"""Decide which other resolvers may know a name that is unknown here. Pure.

How it works: a name under one of our own authorities is ours: if it is not registered, it does not
exist. Names of other authorities lead to the public resolvers of their scheme
(`perdure.ids.public_resolvers`), as the setting `forward` says: `refer` names them, `redirect`
sends the reader to the official one, `never` keeps silent. A part of a name becomes the fragment of
the address, because a part of such a name means what a fragment means on the web.

What must stay true: nothing is asked of the network, so strangers cannot make this machine send
anything; a reader is redirected to the official resolver only.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from perdure.ids import Authority, Identifier
from perdure.ids.name_set import find_set
from perdure.ids.public_resolvers import find_resolvers
from perdure.model.queries import Elsewhere, OtherResolver
from perdure.policy.handles.names import find_home_prefix

_IN_FRAGMENT = "!$%&'()*+,-./:;=?@_~"


def find_public_resolvers(
    identifier: Identifier,
    part: str,
    *,
    forward: str,
    authorities: Iterable[Authority],
    prefixes: Iterable[str],
) -> Elsewhere | None:
    """Return the public resolvers that may know a name, or None.

    `forward` is the setting; `authorities` and `prefixes` (of handles) are our own.
    """
    if forward == "never" or identifier.is_citation or find_set(identifier) is not None:
        return None
    if is_assigned_here(identifier, authorities=authorities, prefixes=prefixes):
        return None
    found = find_resolvers(identifier)
    if not found:
        return None
    fragment = f"#{quote(part, safe=_IN_FRAGMENT)}" if part else ""
    resolvers = tuple(
        OtherResolver(
            name=one.name,
            address=one.locate(identifier) + fragment,
            values=one.locate_values(identifier),
            is_official=one.official,
        )
        for one in found
    )
    follows = forward == "redirect" and resolvers[0].is_official
    return Elsewhere(identifier=identifier, resolvers=resolvers, is_followed=follows)


def is_assigned_here(
    identifier: Identifier, *, authorities: Iterable[Authority], prefixes: Iterable[str]
) -> bool:
    """Return True if one of our authorities or prefixes assigns names as this one.

    All shoulders of one ARK authority count as ours if one of them is: its public resolver may send
    readers here, and we would send them back.
    """
    if find_home_prefix(identifier) in prefixes:
        return True
    beginning = identifier.authority_beginning
    for one in authorities:
        if one.scheme != identifier.kind:
            continue
        if identifier.assigned_under.startswith(one.name):
            return True
        if "/" in one.name and beginning.endswith(f":{one.name.partition('/')[0]}/"):
            return True
    return False
