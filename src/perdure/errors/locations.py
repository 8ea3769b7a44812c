"""Errors of locations, and of the templates and handle values that lead to locations."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote

_TEMPLATES = "docs/reference/templates.md"
_HANDLES = "docs/reference/handle-api.md"


class UnusableLocation(InvalidRequest):
    """A location cannot be bound. Abstract: each reason has a class."""

    uri: str

    @property
    def what(self) -> str:
        return f"location {quote(self.uri)}"


class MalformedLocation(UnusableLocation):
    """A location is not an absolute URI in ASCII."""

    reason = "an absolute URI in ASCII of at most 8192 characters is needed"
    rule = "RFC 3986 section 4.3: escape other characters as %hh"


class SchemeNotLocating(UnusableLocation):
    """The scheme of a location leads nowhere."""

    scheme: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"a location is one of {', '.join(self.known)}, not {quote(self.scheme)}"


class LocationVersionInvalid(UnusableLocation):
    """A location is of a version that cannot exist."""

    reason = "versions are counted from 1, and have at most 18 digits"
    rule = "section 2.6"


class LocationWeightInvalid(UnusableLocation):
    """A location has a weight out of bounds."""

    reason = "a weight is not negative, and less than 2^31"


class LocationDigestInvalid(UnusableLocation):
    """The digest of a location is malformed."""

    reason = "a SHA-512 digest is 128 lower-case hexadecimal digits"


class LocationSizeInvalid(UnusableLocation):
    """The size of a location is not a number of bytes."""

    reason = "a size is a number of bytes"


class LocationDayInvalid(UnusableLocation):
    """The first or last day of a location is malformed."""

    day: str

    @property
    def reason(self) -> str:
        return f"{quote(self.day)} is not a day such as 2026-11-21"


class LocationDaysReversed(UnusableLocation):
    """A location ends before it begins."""

    reason = "its last day lies before its first"


class PrivateLocation(UnusableLocation):
    """A location lies on a private network."""

    reason = "it is on a private network, which readers outside cannot reach"
    rule = "setting private_locations"


class NoLocationGiven(InvalidRequest):
    """An identifier is to be bound to nothing."""

    identifier: str
    reason = "no location is given"

    @property
    def what(self) -> str:
        return quote(self.identifier)


class LocationEndless(InvalidRequest):
    """An identifier is to be bound to itself."""

    identifier: str
    reason = "its location is the identifier itself, without end"

    @property
    def what(self) -> str:
        return quote(self.identifier)


class NotBound(InvalidRequest):
    """The identifier is not bound to this location."""

    identifier: str
    uri: str

    @property
    def what(self) -> str:
        return quote(self.identifier)

    @property
    def reason(self) -> str:
        return f"it is not bound to {quote(self.uri)}"


class MalformedMove(InvalidRequest):
    """A rule by which links are moved could do another thing than it seems to."""

    source: str
    target: str
    reason = "both are needed as scheme://host/… with a slash behind the host, or both as //host"
    rule = "docs/reference/links.md"

    @property
    def what(self) -> str:
        return f"rule {quote(self.source)} to {quote(self.target)}"


class LeadsElsewhere(InvalidRequest):
    """Text that is to be appended to a location would lead to another server."""

    appended: str
    reason = "it would lead to another server"

    @property
    def what(self) -> str:
        return f"{quote(self.appended)} behind a location"


# addresses of resolvers
# ----------------------


class NoPublicResolver(InvalidRequest):
    """The scheme has no public resolver, and none is named."""

    identifier: str
    reason = "its scheme has no public resolver; name one with --url, or set base_url"
    rule = "setting base_url"

    @property
    def what(self) -> str:
        return f"address of {quote(self.identifier)}"


class UnknownResolver(InvalidRequest):
    """The address is not that of an identifier at a resolver that is known here."""

    url: str
    reason = "it is not the address of a resolver that is known here"
    rule = "docs/reference/landing-pages.md"

    @property
    def what(self) -> str:
        return f"address {quote(self.url)}"


class MalformedAddress(InvalidRequest):
    """The text is not a URL."""

    url: str
    fault: str
    rule = "docs/reference/landing-pages.md"

    @property
    def what(self) -> str:
        return f"address {quote(self.url)}"

    @property
    def reason(self) -> str:
        return self.fault


# templates
# ---------


class MalformedTemplate(InvalidRequest):
    """The text is not a template of locations.

    `expected` is the rule of its grammar that it breaks.
    """

    text: str
    expected: str
    rule = _TEMPLATES

    @property
    def what(self) -> str:
        return f"template {quote(self.text)}"

    @property
    def reason(self) -> str:
        return self.expected


class MalformedExpression(InvalidRequest):
    """The text is not an expression of a template.

    `at` is the index in `text` where reading stopped, `fault` the rule that is broken there.
    """

    text: str
    at: int
    fault: str
    rule = _TEMPLATES

    @property
    def what(self) -> str:
        return f"expression {quote(self.text)}"

    @property
    def reason(self) -> str:
        return f"at {self.at}: {self.fault}"


# values of handles
# -----------------


class MalformedValueXml(InvalidRequest):
    """A handle value of a type in XML cannot be read, or is too large."""

    value_type: str
    fault: str

    @property
    def what(self) -> str:
        return f"value of type {self.value_type}"

    @property
    def reason(self) -> str:
        return self.fault


class MalformedNamespace(InvalidRequest):
    """A handle value of type HS_NAMESPACE has no usable template.

    `fault` is the rule of its grammar that it breaks.
    """

    value_type: str
    fault: str
    rule = _TEMPLATES

    @property
    def what(self) -> str:
        return f"value of type {self.value_type}"

    @property
    def reason(self) -> str:
        return self.fault


class IndexTwice(InvalidRequest):
    """Two values of a handle have one index."""

    what = "the values"
    reason = "an index stands twice"
    rule = _HANDLES


class IndexOutOfRange(InvalidRequest):
    """The index of a handle value is out of range."""

    highest: int
    what = "an index"
    rule = _HANDLES

    @property
    def reason(self) -> str:
        return f"a number from 1 to {self.highest} is needed"


class UnusableValue(InvalidRequest):
    """A handle value cannot be kept. Abstract: each reason has a class."""

    index: int
    rule = _HANDLES

    @property
    def what(self) -> str:
        return f"value {self.index}"


class ValueTypeInvalid(UnusableValue):
    """The type of a handle value has characters that are not allowed."""

    reason = "a type is 1 to 255 visible ASCII characters"


class ValueTtlInvalid(UnusableValue):
    """The time to live of a handle value is not a number."""

    reason = "ttl is a number of seconds"


class ValuePermissionsInvalid(UnusableValue):
    """The permissions of a handle value are not four digits."""

    reason = "permissions are four digits, 0 or 1"


class ValueFormatInvalid(UnusableValue):
    """The format of a handle value has characters that are not allowed."""

    reason = "a format is up to 20 small letters and digits"


class ValueDataNotText(UnusableValue):
    """The data of a handle value must be text for its format."""

    format: str

    @property
    def reason(self) -> str:
        return f"a value of format {self.format} is text"


class ValueDataInvalid(UnusableValue):
    """The data of a handle value is neither text nor has a format and a value."""

    fault: str

    @property
    def reason(self) -> str:
        return f"data is text, or has format and value: {self.fault}"


class ValueDataNotJson(UnusableValue):
    """The data of a handle value is not JSON."""

    fault: str

    @property
    def reason(self) -> str:
        return f"its data is not JSON: {self.fault}"


class ValueDataTooDeep(UnusableValue):
    """The data of a handle value is nested too deep."""

    deepest: int

    @property
    def reason(self) -> str:
        return f"its data is nested more than {self.deepest} deep"


class SecretEmpty(UnusableValue):
    """A secret is empty, or no text."""

    reason = "a secret is text, and not empty"


class SealNotAllowed(UnusableValue):
    """Only secrets can be sealed."""

    value_type: str

    @property
    def reason(self) -> str:
        return f"only {self.value_type} is sealed"
