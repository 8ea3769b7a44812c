"""Errors about reading rules that are malformed."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import count_things, quote


class MalformedSubject(InvalidRequest):
    """A reading rule is about neither a name nor a scope."""

    about: str
    reason = "it must be a name, or a scope as in tokens: a series, an interval, a pattern, or *"

    @property
    def what(self) -> str:
        return f"subject {quote(self.about)}"


class UnknownMatch(UnknownChoice):
    """The way in which a rule matches the addresses of captures is unknown."""

    kind = "match"


class MalformedCaptureAddress(InvalidRequest):
    """A rule about captures has no address that captures can have."""

    about: str
    reason = "it must be an address such as https://a.example/private/, without blanks"

    @property
    def what(self) -> str:
        return f"address {quote(self.about)}"


class CapturesHaveNoParts(InvalidRequest):
    """A rule about captures names a part."""

    part: str
    reason = "a rule about captures is about all of them; leave out the part"

    @property
    def what(self) -> str:
        return f"part {quote(self.part)}"


class MalformedSpan(InvalidRequest):
    """A span of time of captures is malformed, ends before it begins, or is not about captures."""

    first: str
    last: str
    reason = (
        "a rule about captures is about those from a time to a later one, of any precision: 2014, "
        "2014-02, 20140226201530; other rules have no such times"
    )

    @property
    def what(self) -> str:
        return f"span from {quote(self.first)} to {quote(self.last)}"


class MalformedDay(InvalidRequest):
    """The day of an embargo is not a day."""

    day: str
    reason = "it must be a day such as 2026-11-21"
    rule = "ISO 8601"

    @property
    def what(self) -> str:
        return f"day {quote(self.day)}"


class MalformedNetwork(InvalidRequest):
    """A network is malformed; `fault` quotes the library."""

    network: str
    fault: str

    @property
    def what(self) -> str:
        return f"network {quote(self.network)}"

    @property
    def reason(self) -> str:
        return f"it must be a network such as 10.1.0.0/16 or 2001:db8::/32: {self.fault}"


class PointlessCondition(InvalidRequest):
    """A rule that is not closed admits some readers only, which makes no sense."""

    condition: str
    access: str

    @property
    def what(self) -> str:
        return f"condition {quote(self.condition)}"

    @property
    def reason(self) -> str:
        return f"only a closed rule has conditions, not one with the access {quote(self.access)}"


class ReasonTooLong(InvalidRequest):
    """The reason of a rule is too long."""

    limit: int
    what = "the reason"

    @property
    def reason(self) -> str:
        return f"it must not be longer than {count_things(self.limit, 'character')}"


class RuleLineUnusable(InvalidRequest):
    """A line of a file of reading rules is not a rule; `fault` says why. Nothing was imported."""

    line: int
    fault: str

    @property
    def what(self) -> str:
        return f"line {self.line}"

    @property
    def reason(self) -> str:
        return f"{self.fault}; no rule was imported"


class RuleUnknown(InvalidRequest):
    """No rule in force is about this."""

    about: str
    reason = "no rule in force is about it; 'perdure restrictions' shows the rules"

    @property
    def what(self) -> str:
        return f"subject {quote(self.about)}"
