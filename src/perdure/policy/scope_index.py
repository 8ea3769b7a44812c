"""An index of scopes: finds the scopes that cover a name among many, without trying all. Pure.

How it works: a scope covers names that begin with it, end their series with it, or equal it, so it
is found by the texts that a name contains: its own text, its authority, each interval around it,
each series above its own. Scopes that end in an asterisk are found by their lengths. Patterns with
wildcards inside are tried one after the other. `perdure.policy.rights.covers_object` decides.

What must stay true: every scope that covers a name is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.ids.handle import fold_case
from perdure.policy.rights import Object, covers_object


class ScopeIndex:
    """Finds scopes by the names that they cover."""

    def __init__(self) -> None:
        self._exact: set[str] = set()
        self._below: set[str] = set()
        self._beginnings: dict[int, set[str]] = {}
        self._patterns: set[str] = set()
        self._spelled: dict[str, set[str]] = {}
        """The scopes that have the same text in lower case."""

    def __bool__(self) -> bool:
        return bool(self._spelled)

    def add_scope(self, scope: str) -> None:
        """Add a scope."""
        folded = fold_case(scope)
        self._spelled.setdefault(folded, set()).add(scope)
        if scope[:2] == "*.":
            self._below.add(folded[2:])
        elif "*" in scope[:-1]:
            self._patterns.add(folded)
        elif scope[-1:] == "*":
            self._add_beginning(folded, folded.removesuffix("*"))
        elif "/" in scope and ":" not in scope:  # a shoulder
            self._add_beginning(folded, folded)
        else:
            self._exact.add(folded)

    def _add_beginning(self, scope: str, text: str) -> None:
        self._beginnings.setdefault(len(text), set()).add(text)
        self._spelled.setdefault(text, set()).update(self._spelled[scope])

    def find_scopes(self, what: Object) -> Iterator[str]:
        """Yield the scopes that cover an object, each once, in any order."""
        found: set[str] = set()
        for folded in self._list_candidates(what):
            found |= self._spelled[folded]
        return (scope for scope in found if covers_object(scope, what))

    def _list_candidates(self, what: Object) -> Iterator[str]:
        authority, name = fold_case(what.authority), fold_case(what.name)
        for text in (authority, name, *_list_intervals(name)):
            if text in self._exact:
                yield text
        for text in _list_above(authority):
            if text in self._below:
                yield f"*.{text}"
        for length, beginnings in self._beginnings.items():
            for text in (authority[:length], name[:length]):
                if text in beginnings:
                    yield text
        yield from self._patterns


def _list_intervals(name: str) -> Iterator[str]:
    """The beginnings of a name up to each slash."""
    at = name.find("/")
    while at >= 0:
        yield name[: at + 1]
        at = name.find("/", at + 1)


def _list_above(series: str) -> Iterator[str]:
    """A series, and each one above it."""
    while series:
        yield series
        _, _, series = series.partition(".")
