"""Regular expressions that every Python from 3.11.0 on executes in the same way."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import perdure

codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
_ONE_CHARACTER = {codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY}


def test_only_single_characters_are_repeated_possessively() -> None:
    """Before Python 3.11.5, a possessive group keeps what an alternative matched that failed then
    (python/cpython#106052), so that `(?:a|%[0-9]{2})*+` could match `%2`."""
    found = {
        f"{module}.{name}"
        for module, name, pattern in _list_patterns()
        if _repeats_group(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    }
    assert found == set()


def _list_patterns() -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    for info in pkgutil.walk_packages(perdure.__path__, "perdure."):
        if info.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, re.Pattern):
                yield info.name, name, value


def _repeats_group(tree: Any) -> bool:
    for code, argument in tree:
        if code is codes.POSSESSIVE_REPEAT:
            (_, _, repeated) = argument
            if len(repeated) != 1 or repeated[0][0] not in _ONE_CHARACTER:
                return True
        if any(_repeats_group(one) for one in _list_subtrees(argument)):
            return True
    return False


def _list_subtrees(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for one in argument:
            yield from _list_subtrees(one)
