"""Life Science Identifiers: `urn:lsid:ubio.org:namebank:11815`.

An LSID names a species name, a specimen or a sequence. Specification: OMG dtc/04-05-01, section 8.

>>> lsid = parse("URN:LSID:Ubio.org:namebank:11815")
>>> str(lsid), lsid.revision
('urn:lsid:ubio.org:namebank:11815', None)
>>> parse("urn:lsid:ubio.org:namebank")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedIdentifier: ... expected an authority, a namespace, an object, ...

How it works: the prefix `urn:lsid:` is longer than `urn:`, so perdure gives these texts to this
module. What must stay true: authority and prefix are compared without regard to case, the rest with
it, and `parse(str(x)) == x`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier, Label, Scheme
from perdure.ids.keyed import Keyed

_FIELD = r"(?:[A-Za-z0-9()+,\-.=@;$_!*']|%[0-9A-Fa-f]{2})+"
_LSID = re.compile(
    rf"urn:lsid:({_FIELD}):({_FIELD}):({_FIELD})(?::({_FIELD}))?", re.ASCII | re.IGNORECASE
)


class Lsid(Keyed, frozen=True, gc=False):
    """An LSID."""

    kind: ClassVar[str] = "lsid"

    authority: str
    """A domain name, lower case."""
    namespace: str
    object: str
    revision: str | None
    written: str

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        fields = (self.authority, self.namespace, self.object, self.revision)
        return ":".join(("urn:lsid", *(field for field in fields if field is not None)))


def parse(text: str) -> Lsid:
    """Read an LSID. Raises MalformedIdentifier."""
    match = _LSID.fullmatch(text)
    if match is None:
        raise MalformedIdentifier(
            text=text,
            at=_reach(text),
            expected="an authority, a namespace, an object, perhaps a revision, between ':'",
            rule="OMG dtc/04-05-01 section 8",
        )
    authority, namespace, name, revision = match.groups()
    return Lsid(authority.lower(), namespace, name, revision, text)


def _reach(text: str) -> int:
    """Return how far a text that is not an LSID could be one."""
    begun = re.compile(rf"urn:lsid:(?:{_FIELD}:){{0,3}}(?:{_FIELD})?", re.ASCII | re.IGNORECASE)
    match = begun.match(text)
    return match.end() if match else 0


def _equivalent(one: Identifier, other: Identifier) -> bool:
    return one.key == other.key


SCHEME = Scheme(
    name=Lsid.kind,
    prefixes=("urn:lsid:",),
    spec="OMG dtc/04-05-01",
    parse=parse,
    equivalent=_equivalent,
    examples=("urn:lsid:ubio.org:namebank:11815",),
    labels=(Label(text="urn:lsid:", datacite_type="LSID"),),
)
