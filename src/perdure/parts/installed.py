"""The installed part syntaxes, and the tables that are derived from them.

How it works: all syntaxes, including those of perdure, are entry points in the group
`perdure.parts`. They are loaded when the first part is read, and sorted by their turns.

What must stay true: a plug-in cannot claim a fragment scheme of PDIs for a media type for which
another syntax has it, a specification that another syntax has, or a mark that matches every text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from perdure.formats.essence import strip_parameters
from perdure.parts.port import LAST, Syntax, covers_type
from perdure.parts.selectors import PartSelector, Selector
from perdure.plugins import InvalidClaim, load_plugins

GROUP = "perdure.parts"


@cache
def load_syntaxes() -> tuple[Syntax, ...]:
    """Load all syntaxes, in the order in which their marks are searched."""
    found = (plugin.value for plugin in load_plugins(GROUP, Syntax, _list_claims))
    return tuple(sorted(found, key=lambda syntax: (syntax.turn, syntax.name)))


def _list_claims(syntax: Syntax) -> Iterator[tuple[str, str]]:
    if syntax.turn < LAST and not syntax.is_id and syntax.mark.search(""):
        raise InvalidClaim("mark", syntax.mark.pattern)
    yield from (("specification", one) for one in syntax.specifications)
    for kind in syntax.media_types:
        yield from (("fragment scheme", f"{one} of {kind}") for one in syntax.schemes)
    yield from (("selector", kind.__name__) for kind in syntax.forms)


@lru_cache(maxsize=256)
def list_syntaxes(media_type: str) -> tuple[Syntax, ...]:
    """Return the syntaxes of a media type, in the order in which their marks are searched."""
    essence = strip_parameters(media_type)
    return tuple(
        syntax
        for syntax in load_syntaxes()
        if any(covers_type(kind, essence) for kind in syntax.media_types)
        and not any(covers_type(kind, essence) for kind in syntax.except_types)
    )


@cache
def load_forms() -> dict[type[PartSelector], tuple[str, ...]]:
    """Return the selectors of all syntaxes except the PDI's, with the forms of their texts."""
    return {kind: forms for syntax in load_syntaxes() for kind, forms in syntax.forms.items()}


@cache
def load_specifications() -> dict[str, Callable[[str], Selector]]:
    """Return the known values of `conformsTo`, with the reader for each."""
    return {uri: syntax.read for syntax in load_syntaxes() for uri in syntax.specifications}


def find_scheme(scheme: str, media_type: str) -> Syntax | None:
    """Return the syntax of a media type that reads a fragment scheme of PDIs, or None."""
    return next((one for one in list_syntaxes(media_type) if scheme in one.schemes), None)


def list_schemes(media_type: str) -> set[str]:
    """Return the fragment schemes of PDIs that the syntaxes of a media type read."""
    return {scheme for syntax in list_syntaxes(media_type) for scheme in syntax.schemes}
