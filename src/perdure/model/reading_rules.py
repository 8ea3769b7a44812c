"""Reading rules as values: a rule says who may read what, and when.

A rule is about a document, a version, a format or a part of it, or about all names in a scope: a
series, an interval, a pattern, the beginning of names, or everything. Or it is about the captures
of this registry's web archive with certain addresses, in a span of time. By these rules,
`perdure.policy.reading_rights` decides which reader may read.

What must stay true: the JSON form of a rule is stored on disk, so fields may be added with a
default, but never renamed or removed.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.model.records import LOCAL, StoredValue


class Access(enum.StrEnum):
    """The answer of a rule to readers whom it does not admit."""

    OPEN = "open"
    """There are no such readers: everyone may read."""
    CLOSED = "closed"
    """The reader is asked for a token (401), has to wait (an embargo), or is refused (403)."""
    UNAVAILABLE = "unavailable"
    """No reader is admitted for the time being (451)."""


class ReadingRule(StoredValue, frozen=True, kw_only=True):
    """A rule that says who may read something, and when.

    A closed rule with neither tokens nor networks nor a day admits no reader, ever.
    """

    about: str
    """The canonical text of a name, with its version, format and part, or of a scope; the address
    of captures if there is a `match`."""
    part: str = ""
    """The text of a part that the name cannot include."""
    match: str = ""
    """For a rule about captures: how their addresses match `about`, as a member of
    `perdure.model.matches.MATCHES`."""
    first: str = ""
    """For a rule about captures: the first second, in 14 digits; empty for all until `last`."""
    last: str = ""
    """The last second; empty for all since `first`."""
    access: Access
    until: str = ""
    """For a closed rule: the first day on which everyone may read (`2026-11-21`, UTC)."""
    by_token: bool = False
    """For a closed rule: the bearers of tokens with the right `read` may read."""
    networks: tuple[str, ...] = ()
    """For a closed rule: readers in these networks may read."""
    reason: str = ""
    """Shown to the readers who are refused."""
    at: str = ""
    by: str = LOCAL
    lifted: bool = False
    """No rule is about this any more. The earlier ones are history."""
    number: int = 0
    """The position among all rules; a newer one has a higher number."""


class RequestedRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members of a rule that people state in JSON, as fields of `ReadingRule`.

    Each reader of rules adds its own members. An unknown member is an error, so that no misspelt
    limit is passed over.
    """

    about: str
    access: Access = Access.CLOSED
    part: str = ""
    match: str = ""
    first: str = ""
    last: str = ""
    until: str = ""
    by_token: bool = False
    networks: tuple[str, ...] = ()
    reason: str = ""
