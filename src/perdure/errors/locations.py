"""Errors about locations, and about the templates and handle values that lead to them."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import FaultQuoted, IdentifierQuoted, count_things, quote

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

    reason = "it must be an absolute URI in ASCII of at most 8192 characters"
    rule = "RFC 3986 section 4.3: escape other characters as %hh"


class SchemeNotLocating(UnusableLocation):
    """The scheme of a location is not one that locates a resource."""

    scheme: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"its scheme must be one of {', '.join(self.known)}, not {quote(self.scheme)}"


class LocationNamesUser(UnusableLocation):
    """A location has a user name or password before its host."""

    reason = "it must have no user name before its host: it could pass for another server"
    rule = "RFC 9110 section 4.2.4"


class LocationVersionInvalid(UnusableLocation):
    """A location has an invalid version number."""

    reason = "version numbers start at 1 and have at most 18 digits"
    rule = "section 2.6"


class LocationWeightInvalid(UnusableLocation):
    """The weight of a location is out of range."""

    reason = "its weight must be at least 0 and less than 2^31"


class LocationDigestInvalid(UnusableLocation):
    """The digest of a location is malformed."""

    reason = "its SHA-512 digest must be 128 lower-case hexadecimal digits"


class LocationSizeInvalid(UnusableLocation):
    """The size of a location is not a number of bytes."""

    reason = "its size must be a number of bytes"


class LocationDayInvalid(UnusableLocation):
    """The first or last day of a location is malformed."""

    day: str

    @property
    def reason(self) -> str:
        return f"{quote(self.day)} is not a date such as 2026-11-21"


class LocationDaysReversed(UnusableLocation):
    """The last day of a location is before its first day."""

    reason = "its last day is before its first day"


class PrivateLocation(UnusableLocation):
    """A location is on a private network."""

    reason = "it is on a private network, which outside readers cannot reach"
    rule = "setting private_locations"


class NoLocationGiven(IdentifierQuoted, InvalidRequest):
    """A request to bind an identifier gives no location."""

    reason = "the request gives no location"


class NobodyToAsk(InvalidRequest):
    """A request asks for the type of a location, but gives no location."""

    what = "'ask'"
    reason = "the request gives no location whose server could be asked"


class LocationEndless(IdentifierQuoted, InvalidRequest):
    """A request binds an identifier to its own address."""

    reason = "the location is the identifier itself, which would redirect endlessly"


class NotBound(IdentifierQuoted, InvalidRequest):
    """The identifier is not bound to this location."""

    uri: str

    @property
    def reason(self) -> str:
        return f"it is not bound to {quote(self.uri)}"


class MalformedMove(InvalidRequest):
    """A rule for moving links is ambiguous."""

    source: str
    target: str
    reason = "write both as scheme://host/… with a slash after the host, or both as //host"
    rule = "docs/reference/links.md"

    @property
    def what(self) -> str:
        return f"rule {quote(self.source)} to {quote(self.target)}"


class LeadsElsewhere(InvalidRequest):
    """Text to be appended to a location would lead to another server."""

    appended: str
    reason = "the result would lead to another server"

    @property
    def what(self) -> str:
        return f"appending {quote(self.appended)} to a location"


# addresses of resolvers
# ----------------------


class NoPublicResolver(InvalidRequest):
    """The scheme has no public resolver, and the request names none."""

    identifier: str
    reason = "its scheme has no public resolver; name a resolver with --url, or set base_url"
    rule = "setting base_url"

    @property
    def what(self) -> str:
        return f"address of {quote(self.identifier)}"


class UnknownResolver(InvalidRequest):
    """The address is not an identifier's address at a known resolver."""

    url: str
    reason = "it is not an address at a known resolver"
    rule = "docs/reference/landing-pages.md"

    @property
    def what(self) -> str:
        return f"address {quote(self.url)}"


class MalformedAddress(FaultQuoted, InvalidRequest):
    """The text is not a URL."""

    url: str
    rule = "docs/reference/landing-pages.md"

    @property
    def what(self) -> str:
        return f"address {quote(self.url)}"


# templates


# ---------


class MalformedTemplate(InvalidRequest):
    """The text is not a location template.

    `expected` is the grammar rule that the text breaks.
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
    """The text is not a template expression.

    `at` is the index in `text` where parsing stopped, `fault` is the rule broken there.
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


class UnusableValueXml(InvalidRequest):
    """A handle value with XML data cannot be used. Abstract: each reason has a class."""

    value_type: str

    @property
    def what(self) -> str:
        return f"value of type {self.value_type}"


class MalformedValueXml(UnusableValueXml):
    """A handle value is not XML; `fault` quotes the parser."""

    fault: str

    @property
    def reason(self) -> str:
        return f"it is not XML: {self.fault}"


class ValueXmlTooLong(UnusableValueXml):
    """A handle value with XML data has too many characters."""

    most: int

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'character')}"


class ValueXmlDeclares(UnusableValueXml):
    """A handle value with XML data declares a document type or an entity."""

    reason = "document type and entity declarations are not allowed"


class RootNotLocations(UnusableValueXml):
    """The root element of a value of type 10320/loc has another name."""

    reason = "its root element must be 'locations'"


class LocationsTooMany(UnusableValueXml):
    """A handle value lists too many locations."""

    most: int

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'location')}"


class WeightOutOfRange(UnusableValueXml):
    """The weight of a location is not a number, or is out of range."""

    weight: str
    most: int

    @property
    def reason(self) -> str:
        return f"weight {quote(self.weight)} is not a number from 0 to {self.most}"


class NamespaceIncomplete(UnusableValueXml):
    """A handle value of type HS_NAMESPACE contains no template with a delimiter."""

    reason = "it must be a namespace that contains a template with a delimiter"
    rule = _TEMPLATES


class NamespaceTooLarge(UnusableValueXml):
    """The template of a namespace has too many elements."""

    most: int
    rule = _TEMPLATES

    @property
    def reason(self) -> str:
        return f"it has more than {count_things(self.most, 'element')}"


class NamespaceElementRefused(UnusableValueXml):
    """An element of the template of a namespace is unknown, or is nested too deeply."""

    element: str
    rule = _TEMPLATES

    @property
    def reason(self) -> str:
        return f"the element {quote(self.element)} is unknown or nested too deep"


class NamespaceTestUnknown(UnusableValueXml):
    """A test in the template of a namespace is not one of those allowed."""

    reason = "a test must be 'equals' or 'matches'"
    rule = _TEMPLATES


class IndexTwice(InvalidRequest):
    """Two values of a handle have the same index."""

    what = "the values"
    reason = "two values have the same index; give each a different one"
    rule = _HANDLES


class IndexOutOfRange(InvalidRequest):
    """The index of a handle value is out of range."""

    lowest: int
    highest: int
    what = "an index"
    rule = _HANDLES

    @property
    def reason(self) -> str:
        return f"it must be a number from {self.lowest} to {self.highest}"


class UnusableValue(InvalidRequest):
    """A handle value cannot be stored. Abstract: each reason has a class."""

    index: int
    rule = _HANDLES

    @property
    def what(self) -> str:
        return f"value {self.index}"


class ValueTypeInvalid(UnusableValue):
    """The type of a handle value has characters that are not allowed."""

    reason = "its type must be 1 to 255 visible ASCII characters"


class ValueTtlInvalid(UnusableValue):
    """The time to live of a handle value is not a number of seconds."""

    reason = "its ttl must be a number of seconds"


class ValuePermissionsInvalid(UnusableValue):
    """The permissions of a handle value are not four digits."""

    reason = "its permissions must be four digits, each 0 or 1"


class ValueFormatInvalid(UnusableValue):
    """The format of a handle value has characters that are not allowed."""

    reason = "its format must be at most 20 lower-case letters and digits"


class ValueDataNotText(UnusableValue):
    """The data of a handle value must be text for its format."""

    format: str

    @property
    def reason(self) -> str:
        return f"its data must be text, because its format is {self.format}"


class ValueDataInvalid(UnusableValue):
    """The data of a handle value is neither text nor an object with a format and a value."""

    fault: str

    @property
    def reason(self) -> str:
        return f"its data must be text, or an object with format and value: {self.fault}"


class ValueDataNotJson(UnusableValue):
    """The data of a handle value is not JSON."""

    fault: str

    @property
    def reason(self) -> str:
        return f"its data is not JSON: {self.fault}"


class ValueDataTooDeep(UnusableValue):
    """The data of a handle value is nested too deeply."""

    deepest: int

    @property
    def reason(self) -> str:
        return f"its data may be nested at most {count_things(self.deepest, 'level')} deep"


class SecretEmpty(UnusableValue):
    """A secret is empty, or is not text."""

    reason = "a secret must be text that is not empty"


class SealNotAllowed(UnusableValue):
    """Only secrets can be sealed."""

    value_type: str

    @property
    def reason(self) -> str:
        return f"only values of type {self.value_type} can be sealed"
