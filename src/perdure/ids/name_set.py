"""Sets of names: a pattern, an interval, the beginning of names of any scheme, or one name.

How it works: a set is a range of keys and, if the range may contain other names, a pattern that
decides. A scheme with patterns of its own (PDI) makes both; `pdi://x.us/*`, which is not a PDI, is
read as the interval before the `*`. In any other scheme, a text that ends
in `*` stands for all names that begin so; a text that is too short for a name and ends in `/` or
`:` is such a beginning, too, such as `hdl:1839/` or `urn:isbn:`. The range comes from the key of a
name that begins so, which `Scheme.endings` complete.

>>> names = read_set("doi:10.1000/A*")
>>> str(names), names.low, names.contains(parse("https://doi.org/10.1000/abc"))
('doi:10.1000/a*', 'hdl:10.1000/a', True)
>>> str(read_set("pdi://oma.eop.gov.us/1997/*"))
'pdi://oma.eop.gov.us/1997/'
>>> str(read_set("urn:isbn:")), str(read_set("URN:iana:42117::rep*"))
('urn:isbn:*', 'URN:IANA:42117::rep*')

What must stay true: `*` is an ordinary character in the names of some schemes, so a name that is
registered precedes the set that is written in the same way (`NameSet.name`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from perdure.errors import MalformedIdentifier
from perdure.errors.importing import SchemeUnordered
from perdure.ids import Identifier, find_scheme, parse, scheme_of
from perdure.ids.scheme import Scheme

_INTERVAL_ENDS = ("/", ":")
_LAST = "\U0010ffff"


class ChosenNames:
    """Names that were listed one by one, by their keys."""

    __slots__ = ("_keys", "_names")

    def __init__(self, names: Iterable[Identifier]) -> None:
        found: dict[str, dict[Identifier, None]] = {}
        for name in names:
            found.setdefault(name.key, {})[name] = None
        self._names = {key: tuple(some) for key, some in found.items()}
        self._keys = sorted(found)

    def find_names(self, key: str) -> tuple[Identifier, ...]:
        """The listed names with a key, in the order of the list."""
        return self._names.get(key, ())

    def next_key(self, key: str) -> str:
        """The key of the next listed name; one behind all keys after the last name."""
        at = bisect_right(self._keys, key)
        return self._keys[at] if at < len(self._keys) else _LAST


class NameSet(msgspec.Struct, frozen=True):
    """A set of names, and the range of keys that contains them."""

    text: str
    """The set in canonical form: `pdi://oma.eop.gov.us/1997/`, `hdl:1839/*`, or one name."""
    low: str
    """The first key of the range."""
    end: str
    """The end of the range, exclusive."""
    example: Identifier
    """The pattern, or any name that the set may contain."""
    pattern: Identifier | None = None
    """Decides which names of the range belong to the set; None if all of them do."""
    name: Identifier | None = None
    """The name that is written like the set. If it is registered, it precedes the set."""
    chosen: ChosenNames | None = None
    """The names of the set, if they were listed one by one."""

    def __str__(self) -> str:
        return self.text

    @property
    def is_single(self) -> bool:
        """True if the set is one name."""
        return self.pattern is not None and not self.pattern.is_pattern

    @property
    def is_interval(self) -> bool:
        """True for a series, a year, a month or a day."""
        return self.pattern is not None and self.pattern.is_interval

    @property
    def is_divided(self) -> bool:
        """True for an interval that is listed by smaller intervals, as a year is by its months."""
        return self.pattern is not None and self.pattern.is_divided

    @property
    def has_representations(self) -> bool:
        """True if the set consists of representations, because its pattern names a format."""
        if self.chosen is not None:
            return False
        return self.pattern is not None and self.pattern.format is not None

    def contains(self, name: Identifier) -> bool:
        """Return True if the set contains everything that a name names."""
        if self.chosen is not None:
            return any(one.matches(name) for one in self.chosen.find_names(name.key))
        if self.pattern is not None:
            return self.pattern.matches(name)
        return self.low <= name.key < self.end

    def covers_resource(self, name: Identifier) -> bool:
        """Return True if the set contains a resource, or some of its representations."""
        if self.chosen is not None:
            return bool(self.chosen.find_names(name.key))
        if self.pattern is not None:
            return self.pattern.resource.matches(name.resource)
        return self.low <= name.key < self.end

    def next_key(self, name: Identifier) -> str | None:
        """Return the next key after that of `name` that can belong to the set.

        None if the key that directly follows can.
        """
        if self.chosen is not None:
            return self.chosen.next_key(name.key)
        return None if self.pattern is None else self.pattern.next_key(name)


def make_set(names: Identifier | NameSet) -> NameSet:
    """Return the set that a pattern, an interval or one name stands for.

    A name that ends in `*` stands for itself here: `find_set` reads it as a set.
    """
    if isinstance(names, NameSet):
        return names
    low, end = names.key_range()
    return NameSet(str(names), low, end, names, names)


def choose_names(names: Sequence[Identifier], text: str) -> NameSet:
    """Return the set of names that were listed one by one; `text` says where. None may be a part.

    >>> some = choose_names([parse("hdl:1839/b"), parse("hdl:1839/a")], "@names.txt")
    >>> str(some), some.contains(parse("hdl:1839/a")), some.contains(parse("hdl:1839/c"))
    ('@names.txt', True, False)
    """
    keys = sorted(name.key for name in names)
    return NameSet(text, keys[0], f"{keys[-1]}\0", names[0], chosen=ChosenNames(names))


def find_set(name: Identifier) -> NameSet | None:
    """Return the set that is written like a name, or None if only one name is."""
    if name.is_pattern:
        return make_set(name)
    text = str(name)
    if not text.endswith("*") or scheme_of(name).has_patterns:
        return None
    try:
        found = _complete_beginning(scheme_of(name), text[:-1])
    except (MalformedIdentifier, SchemeUnordered):
        return None
    return msgspec.structs.replace(found, name=name)


def read_set(text: str) -> NameSet:
    """Read a pattern, an interval, the beginning of names, or one name.

    Raises MalformedIdentifier, UnknownScheme, or SchemeUnordered if the text ends in `*` and the
    names of its scheme are not ordered by their text.
    """
    scheme = find_scheme(text)
    try:
        name = parse(text)
    except MalformedIdentifier:
        if scheme is not None and scheme.has_patterns and text.endswith("/*"):
            with suppress(MalformedIdentifier):
                interval = parse(text[:-1])
                if interval.is_interval:
                    return make_set(interval)
        if scheme is None or scheme.has_patterns:
            raise
        beginning = text.removesuffix("*")
        if beginning == text and not text.endswith(_INTERVAL_ENDS):
            raise
        with suppress(MalformedIdentifier):
            return _complete_beginning(scheme, beginning)
        raise
    found = find_set(name)
    if found is None and text.endswith("*") and scheme is not None and not scheme.has_patterns:
        raise SchemeUnordered(text=text)
    return found or make_set(name)


def find_authority(name: Identifier) -> NameSet:
    """Return all names of the authority that assigned a name.

    Its text has no `*`, since a name with one may be registered.

    >>> [str(find_authority(parse(one))) for one in ("hdl:1839/A", "urn:isbn:1", "ark:12345/x/c3")]
    ['hdl:1839/', 'urn:isbn:', 'ark:12345/']
    >>> str(find_authority(parse("pdi://oma.eop.gov.us/1997/09/01/1")))
    'pdi://oma.eop.gov.us/'
    """
    beginning = name.authority_beginning
    return msgspec.structs.replace(read_set(beginning), text=beginning)


def _complete_beginning(scheme: Scheme, beginning: str) -> NameSet:
    """Return the set of all names with a beginning.

    Raises MalformedIdentifier if no name begins so, SchemeUnordered if their keys have no common
    beginning.
    """
    mistake: MalformedIdentifier | None = None
    for ending, end_of_key in scheme.endings:
        try:
            example = scheme.parse(beginning + ending)
        except MalformedIdentifier as error:
            mistake = mistake or error
            continue
        canonical = str(example)
        if (
            example.key.endswith(end_of_key)
            and canonical.endswith(ending)
            and not _is_ignored(scheme, beginning, example)
        ):
            low = example.key.removesuffix(end_of_key)
            return NameSet(f"{canonical.removesuffix(ending)}*", low, low + _LAST, example)
    if mistake is not None:
        raise mistake
    raise SchemeUnordered(text=f"{beginning}*")


def _is_ignored(scheme: Scheme, beginning: str, example: Identifier) -> bool:
    """Return True if the key does not depend on the text after a beginning: `urn:isbn:1?=q`."""
    with suppress(MalformedIdentifier):
        return scheme.parse(f"{beginning}y").key == example.key
    return False
