"""A node of JSON-LD by its properties, with a record of those that were read.

What must stay true: `list_unread` names every property that nothing has asked for, so that a reader
can say what it drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Node:
    """A node of JSON-LD, which remembers the properties that were read."""

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = {name.removeprefix("schema:"): members[name] for name in members}
        self._children: dict[str, list[Any]] = {}

    def list_values(self, name: str) -> list[Any]:
        """All values of a property. science-on-schema.org recommends a `@list` for creators."""
        if name not in self._children:
            value = self._members.get(name)
            if isinstance(value, dict):
                value = value.get("@list", value.get("@set", value))
            values = [] if value is None else value if isinstance(value, list) else [value]
            self._children[name] = [Node(one) if isinstance(one, dict) else one for one in values]
        return self._children[name]

    def ignore_values(self, name: str) -> None:
        """Count a property as read, with all that is in it."""
        self._children[name] = []

    def list_nodes(self, name: str) -> list[Node]:
        return [one for one in self.list_values(name) if isinstance(one, Node)]

    def read_all(self, name: str) -> list[str]:
        return [text for one in self.list_values(name) if (text := read_text(one))]

    def read_first(self, *names: str) -> str:
        return next((text for name in names for text in self.read_all(name)), "")

    def has_type(self, name: str) -> bool:
        return any(read_text(one).rpartition("/")[2] == name for one in self.list_values("@type"))

    def list_unread(self, before: str = "") -> Iterator[str]:
        """Yield the names of properties that were not read, with those that lead to them."""
        for name in self._members:
            if name not in self._children:
                if not name.startswith("@") and ":" not in name:
                    yield f"{before}{name}"
                continue
            for one in self._children[name]:
                if isinstance(one, Node):
                    yield from one.list_unread(f"{before}{name}.")


def read_text(value: Any) -> str:
    """Read the text of a value: a plain one, one with a language, or a node."""
    if isinstance(value, Node):
        return value.read_first("@value", "name", "value", "@id")
    return str(value).strip() if isinstance(value, str | int | float) else ""
