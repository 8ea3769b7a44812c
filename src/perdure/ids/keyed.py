"""The common base of identifiers: comparison by key, and the usual answer to each question.

How it works: a scheme's value class derives from `Keyed` and defines its `kind`, `str()`, `key` and
`written` text. Equality, hash and order follow from the key; the text as received is never
compared. All other questions of `perdure.ids.Identifier` are answered here for a scheme that names
only whole resources: no versions, no parts, no patterns. Some answers come from the data of its
`Scheme`.

What must stay true: equal values have equal keys, and values sort like their keys, so that a list
sorted in memory and a listing from the store agree.
"""

from __future__ import annotations

from typing import ClassVar, Self, cast

import msgspec

from perdure.ids import ArchivedItem, Identifier, Version, load_schemes, scheme_of
from perdure.ids.escaping import escape_text
from perdure.ids.pdi_fragment import PdiFragment

_KEPT_IN_PATH = "/:;,@!$&'()*+=-._~"


class Keyed(msgspec.Struct, frozen=True, gc=False, eq=False, order=False):
    """A frozen value that is compared with, and sorted among, others of its class by its key."""

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """Identity and order of the record in the store."""
        raise NotImplementedError

    @property
    def equal_key(self) -> str | None:
        """None: usual names are equal only if their keys are."""
        return None

    def list_equality_texts(self) -> tuple[str, str]:
        """Return the texts that decide whether two names of the scheme are equal."""
        return self._comparison_key()

    @classmethod
    def from_key(cls, key: str) -> Identifier:
        """Return the identifier that has a key, if the keys of its scheme are identifiers.

        Raises MalformedIdentifier. A scheme whose keys have another form overrides it.
        """
        return load_schemes()[cls.kind].parse(key)

    @property
    def written(self) -> str:
        """The text as it was received: the canonical text, if the class keeps no other."""
        return str(self)

    @property
    def urn(self) -> str:
        """The canonical text."""
        return str(self)

    @property
    def handle(self) -> str:
        """The canonical text."""
        return str(self)

    @property
    def file_stem(self) -> str:
        """The canonical text of `whole`."""
        return str(self.whole)

    @property
    def path(self) -> str:
        """The canonical text of `whole`, escaped after its label if it is not a URI."""
        text = str(self.whole)
        scheme = scheme_of(self)
        if scheme.is_uri:
            return text
        label = scheme.label_of(self).text
        return label + escape_text(text[len(label) :], _KEPT_IN_PATH)

    @property
    def uri(self) -> str:
        """The same text as `path`."""
        return self.path

    @property
    def is_spelled_by_key(self) -> bool:
        """False: the usual name is stored beside its key."""
        return False

    @property
    def whole(self) -> Self:
        """The identifier itself: the usual name has no parts."""
        return self

    @property
    def resource(self) -> Self:
        """The same as `whole`: the usual name has no format and version."""
        return self.whole

    @property
    def format(self) -> str | None:
        """None: the usual name leaves the format open."""
        return None

    @property
    def version(self) -> Version | None:
        """None: the usual name leaves the version open."""
        return None

    def at(self, *, format: str | None = None, version: Version | None = None) -> Self:  # noqa: ARG002  (no use for them)
        """Return `whole`: the usual name has no format and version."""
        return self.whole

    @property
    def part(self) -> str | None:
        """None: the usual name has no parts."""
        return None

    @property
    def fragment(self) -> PdiFragment | None:
        """None: the usual scheme has no parts of its own."""
        return None

    @property
    def is_citation(self) -> bool:
        """False: the usual name names one thing."""
        return False

    @property
    def cited(self) -> Identifier | None:
        """None: the usual name is not a citation."""
        return None

    def with_part(self, part: str) -> Self | None:
        """Return the name with a part after the mark of its scheme; None if it has no mark.

        Raises MalformedIdentifier.
        """
        scheme = scheme_of(self)
        if not scheme.part_mark:
            return None
        return cast("Self", scheme.parse(f"{self}{scheme.part_mark}{part}"))

    @property
    def is_pattern(self) -> bool:
        """False: the usual name names one thing."""
        return False

    @property
    def is_interval(self) -> bool:
        """False: the usual name names one thing."""
        return False

    @property
    def is_divided(self) -> bool:
        """False: the usual name is not an interval."""
        return False

    def member_of(self, key: str) -> Self:  # noqa: ARG002  (there is no smaller interval)
        """Return the identifier itself: the usual name is not divided."""
        return self

    def next_key(self, name: Identifier) -> str | None:  # noqa: ARG002  (not needed)
        """Return None: the usual scheme has no gaps to skip between its names."""
        return None

    @property
    def authority_beginning(self) -> str:
        """The label of the scheme: the usual name does not show its authority."""
        text = str(self)
        return scheme_of(self).label_of(self).text or text[: text.find(":") + 1]

    def key_range(self) -> tuple[str, str]:
        """Return the range that contains only the key of this name."""
        return self.key, f"{self.key}\0"

    def list_pattern_keys(self) -> tuple[str, ...]:
        """Return nothing: the usual scheme has no patterns."""
        return ()

    def matches(self, other: Identifier) -> bool:
        """Return True if the key is the same: the usual name matches only itself."""
        return other.kind == self.kind and other.key == self.key

    @property
    def assigned_on(self) -> str | None:
        """None: the usual name has no date."""
        return None

    @property
    def assigned_between(self) -> tuple[str, str] | None:
        """None: the usual name has no date."""
        return None

    @property
    def assigned_under(self) -> str:
        """The key: rights to the usual name are granted by its beginning."""
        return self.key

    @property
    def archived(self) -> ArchivedItem | None:
        """None: the usual name is not about a web archive."""
        return None

    def _comparison_key(self) -> tuple[str, str]:
        """Return the values to compare. A scheme whose key omits something adds it second."""
        return self.key, ""

    # All six are written out: msgspec structs have their own comparison slots, which Python and
    # `functools.total_ordering` mistake for complete comparisons.

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__ or not isinstance(other, Keyed):
            return NotImplemented
        return self._comparison_key() == other._comparison_key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._comparison_key())

    def __lt__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._comparison_key() < other._comparison_key()

    def __le__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._comparison_key() <= other._comparison_key()

    def __gt__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._comparison_key() > other._comparison_key()

    def __ge__(self, other: Self) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._comparison_key() >= other._comparison_key()
