"""The root of the tree of errors: a frozen value with typed fields, and foreign text in quotes.

How it works: each class of the tree annotates its fields, like a data class. The root takes the
fields as keyword arguments, rejects missing and unknown ones, and freezes them; type checkers see
the same through `dataclass_transform`. A class computes its message (`problem`, `repair`) from its
fields. `computed` names the properties that clients receive beside the fields.

What must stay true: two errors are equal if they have the same class and equal fields; an error can
be pickled and copied; its fields never change, although Python can still set its traceback, cause,
context and notes; creating a class generates and compiles no code, because every program imports
these classes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

_LONGEST_QUOTE = 120
_LONGEST_MESSAGE = 4000


def quote(text: object) -> str:
    """Return foreign text in printable ASCII and quotation marks, truncated to 120 characters.

    >>> quote("a\\r\\nX: 1")
    "'a\\\\r\\\\nX: 1'"
    """
    written = str(text)
    cut = written[:_LONGEST_QUOTE]
    return ascii(cut) + ("…" if len(written) > _LONGEST_QUOTE else "")


def describe_received(received: int, expected: int | None) -> str:
    """Say how much of a transfer arrived, in bytes; `expected` is None if it is unknown.

    >>> describe_received(3, 10), describe_received(1, None)
    ('3 of 10 bytes', '1 byte of an unknown length')
    """
    if expected is None:
        return f"{count_things(received, 'byte')} of an unknown length"
    return f"{received} of {count_things(expected, 'byte')}"


def count_things(number: int, noun: str, *, grouped: bool = False) -> str:
    """Return a number with its noun, in the plural unless it is 1.

    >>> count_things(1, "file"), count_things(0, "copy"), count_things(1200, "day", grouped=True)
    ('1 file', '0 copies', '1,200 days')
    """
    written = f"{number:,}" if grouped else f"{number}"
    if number == 1:
        return f"{written} {noun}"
    stem, last = noun[:-1], noun[-1]
    ies = last == "y" and stem[-1] not in "aeiou"
    return f"{written} {stem}ies" if ies else f"{written} {noun}s"


def count_units(number: int, unit: str) -> str:
    """Return a number with its unit, whose first word is a plural that ends in s.

    >>> count_units(1, "bytes of memory"), count_units(2, "seconds"), count_units(7, "")
    ('1 byte of memory', '2 seconds', '7')
    """
    first, space, rest = unit.partition(" ")
    return f"{number} {first.removesuffix('s') if number == 1 else first}{space}{rest}".rstrip()


def count_seconds(seconds: float) -> str:
    """Return a duration to the microsecond.

    >>> count_seconds(1.0), count_seconds(0.5), count_seconds(3600)
    ('1 second', '0.5 seconds', '3600 seconds')
    """
    written = f"{seconds:.6f}".rstrip("0").removesuffix(".")
    return f"{written} {'second' if written == '1' else 'seconds'}"


def show_plainly(text: str) -> str:
    """Return a sentence without control characters, truncated to 4,000 characters.

    Unlike `quote` it adds no quotation marks and keeps letters of other scripts.

    >>> show_plainly("no é here\\r\\nX: 1")
    'no é here\\\\r\\\\nX: 1'
    """
    cut = text[: _LONGEST_MESSAGE + 1]
    if not cut.isprintable():
        cut = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)
    return cut if len(cut) <= _LONGEST_MESSAGE else f"{cut[:_LONGEST_MESSAGE]}…"


class _FieldNames:
    """Computes the names of a class's fields when they are first needed, for that class only.

    Every program imports these classes, and uses few of them.
    """

    def __get__(self, _: object, kind: type[PerdureError]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for one in reversed(kind.__mro__):
            hints = vars(one).get("__annotations__", {}) if issubclass(one, PerdureError) else {}
            found |= dict.fromkeys(name for name, hint in hints.items() if "ClassVar" not in hint)
        kind.fields = names = tuple(found)  # in place of this descriptor
        return names


_field_names: Any = _FieldNames()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class PerdureError(Exception):
    """The root of the tree. The annotations of a class are its fields, passed by keyword."""

    code: ClassVar[str] = "error"
    fields: ClassVar[tuple[str, ...]] = _field_names
    """Names of the fields, those of the parents first."""
    computed: ClassVar[tuple[str, ...]] = ()
    """Names of properties that clients see beside the fields."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.fields = _field_names  # not those of the parent, which may be known already

    def __init__(self, **fields: Any) -> None:
        kind = type(self)
        super().__init__()
        own = self.__dict__
        for name in kind.fields:
            if name in fields:
                value = fields.pop(name)
                own[name] = tuple(value) if isinstance(value, list) else value
            elif hasattr(kind, name):
                own[name] = getattr(kind, name)
            else:
                raise TypeError(f"{kind.__name__} needs the field {name!r}")
        if fields:
            raise TypeError(f"{kind.__name__} has no field {sorted(fields)}")

    def problem(self) -> str:
        """Say in one lower-case clause what is wrong."""
        return self.code.replace("-", " ")

    def repair(self) -> str:
        """Say how the caller can repair it; empty if nothing helps."""
        return ""

    def field_values(self) -> dict[str, object]:
        """Return the fields with their values, enough to create an equal error."""
        return {name: self.__dict__[name] for name in self.fields}

    def replace_fields(self, **fields: object) -> Self:
        """Return a copy in which some fields have other values."""
        return type(self)(**(self.field_values() | fields))

    def as_dict(self) -> dict[str, object]:
        """Return code, computed properties and fields, for problem documents and `--json`."""
        told = {name: getattr(self, name) for name in self.computed}
        return {"code": self.code} | told | self.field_values()

    def __str__(self) -> str:
        repair = self.repair()
        return show_plainly(f"{self.problem()}; {repair}" if repair else self.problem())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.field_values().items())
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerdureError):
            return NotImplemented
        return type(self) is type(other) and self.field_values() == other.field_values()

    def __hash__(self) -> int:
        # Values of other types may be mappings, which cannot be hashed.
        texts = (value for value in self.field_values().values() if isinstance(value, str))
        return hash((type(self), *texts))

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("__"):  # Python sets __traceback__, __cause__, __notes__, …
            raise AttributeError(f"an error is frozen: {type(self).__name__}.{name}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if not name.startswith("__"):
            raise AttributeError(f"an error is frozen: {type(self).__name__}.{name}")
        super().__delattr__(name)

    def __reduce__(self) -> tuple[Any, ...]:
        notes = self.__dict__.get("__notes__")
        state = {"__notes__": notes} if notes else None
        return _revive_error, (type(self), self.field_values()), state


# Shapes that many classes share. They have no code; a class also derives from one that has.
# ------------------------------------------------------------------------------------------


class ReasonedError(PerdureError):
    """An error with several reasons. Abstract: each reason has a class."""

    computed: ClassVar[tuple[str, ...]] = ("reason",)
    if TYPE_CHECKING:  # at run time each class has an attribute, a property or a field for it

        @property
        @abstractmethod
        def reason(self) -> str: ...


class SubjectNamed(PerdureError):
    """An error about a thing that the message names. Abstract: each class says what it is."""

    computed: ClassVar[tuple[str, ...]] = ("what",)
    if TYPE_CHECKING:  # at run time each class has an attribute, a property or a field for it

        @property
        @abstractmethod
        def what(self) -> str: ...


class FaultQuoted(ReasonedError):
    """The reason is what a library or the system says, quoted word for word."""

    fault: str

    @property
    def reason(self) -> str:
        return self.fault


class IdentifierQuoted(PerdureError):
    """The subject is an identifier."""

    identifier: str

    @property
    def what(self) -> str:
        return quote(self.identifier)


class UrlQuoted(PerdureError):
    """The subject is a URL."""

    url: str

    @property
    def what(self) -> str:
        return quote(self.url)


def _revive_error(kind: type[PerdureError], fields: dict[str, object]) -> PerdureError:
    return kind(**fields)
