"""The parameters of a query, each of which has one value. Pure.

How it works: `Parameters` is a mapping from names to values. It refuses a name that the query gives
with different values, but only when the value is asked for: other sites append parameters of their
own to shared links, and these are not read. `list_values` returns the values of a parameter that
may be repeated.

What must stay true: no interface chooses the first or the last of several values silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from perdure.errors.requests import RepeatedParameter


class Parameters(Mapping[str, str]):
    """Parameters by name.

    >>> given = Parameters([("limit", "3"), ("limit", "3"), ("x", "1"), ("x", "2")])
    >>> given["limit"], given.list_values("x")
    ('3', ('1', '2'))
    >>> given.get("x")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perdure.errors.requests.RepeatedParameter: parameter 'x' refused: it has several values...
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Add a value. The same value again changes nothing."""
        known = self._values.get(name, ())
        if value not in known:
            self._values[name] = (*known, value)

    def __getitem__(self, name: str) -> str:
        """Return the value of a parameter. Raises KeyError or RepeatedParameter."""
        values = self._values[name]
        if len(values) > 1:
            raise RepeatedParameter(parameter=name, values=values)
        return values[0]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def list_values(self, name: str) -> tuple[str, ...]:
        """Return the different values of a parameter that may be repeated, in their order."""
        return self._values.get(name, ())
