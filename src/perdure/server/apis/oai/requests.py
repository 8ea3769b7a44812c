"""Requests of harvesters: the arguments of the six verbs, and the tokens of long lists.

How it works: a verb has required and optional arguments; a resumption token is the only argument
beside the verb (section 3.5). A token has no state here: it repeats the arguments, and names the
place after the last record. It never expires.

What must stay true: whatever a client sends is read as a request or refused with one of the
protocol's own errors; a token gives no access that its arguments would not give.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from perdure.reading.harvest import HarvestPlace

LONGEST_TOKEN = 4096  # characters
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SECOND = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9\-_.!~*'()]+", re.ASCII)
_SET = re.compile(rf"{_PREFIX.pattern}(?::{_PREFIX.pattern})*", re.ASCII)
_TOKEN = "resumptionToken"  # noqa: S105  (the name of an argument)
_LISTING = ("from", "until", "set")


class HarvestError(Exception):
    """An error of the protocol (section 3.6), which is answered with status 200."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class _Verb(NamedTuple):
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    has_token: bool = False


VERBS = {
    "Identify": _Verb(),
    "ListMetadataFormats": _Verb(optional=("identifier",)),
    "ListSets": _Verb(has_token=True),
    "GetRecord": _Verb(required=("identifier", "metadataPrefix")),
    "ListIdentifiers": _Verb(("metadataPrefix",), _LISTING, has_token=True),
    "ListRecords": _Verb(("metadataPrefix",), _LISTING, has_token=True),
}
"""The verbs of the protocol with their arguments (section 4)."""


class HarvestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a harvester. Times have seconds; empty fields were not given."""

    verb: str
    identifier: str = ""
    prefix: str = ""
    set: str = ""
    since: str = ""
    until: str = ""
    place: HarvestPlace | None = None
    """Where a list goes on."""
    passed: int = 0
    """Entries of the list before this answer."""


class _Token(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a resumption token."""

    prefix: str
    set: str
    since: str
    until: str
    place: HarvestPlace | None
    passed: int


def read_request(pairs: list[tuple[str, str]]) -> HarvestRequest:
    """Read the arguments of a request. Raises HarvestError."""
    given = dict(pairs)
    if sum(name == "verb" for name, _ in pairs) != 1 or given["verb"] not in VERBS:
        known = ", ".join(VERBS)
        raise HarvestError("badVerb", f"Give one argument 'verb' with one of: {known}.")
    verb = VERBS[given.pop("verb")]
    name = next(value for key, value in pairs if key == "verb")
    for argument in given:
        if sum(key == argument for key, _ in pairs) > 1:
            raise HarvestError("badArgument", f"The argument '{argument}' is given more than once.")
    if verb.has_token and _TOKEN in given:
        if len(given) > 1:
            raise HarvestError("badArgument", f"'{_TOKEN}' must be the only argument.")
        return _read_token(name, given[_TOKEN])
    allowed = (*verb.required, *verb.optional)
    if strange := sorted(set(given) - set(allowed)):
        raise HarvestError("badArgument", f"{name} has no argument '{strange[0]}'.")
    if missing := [one for one in verb.required if not given.get(one)]:
        raise HarvestError("badArgument", f"{name} needs the argument '{missing[0]}'.")
    _check_form(given, "metadataPrefix", _PREFIX)
    _check_form(given, "set", _SET)
    since, until = _read_interval(given)
    return HarvestRequest(
        verb=name,
        identifier=given.get("identifier", ""),
        prefix=given.get("metadataPrefix", ""),
        set=given.get("set", ""),
        since=since,
        until=until,
    )


def _check_form(given: Mapping[str, str], name: str, form: re.Pattern[str]) -> None:
    """Require the form of the schema: the answer repeats an argument, and must be valid."""
    if name in given and form.fullmatch(given[name]) is None:
        text = f"'{name}' may have letters, digits and -_.!~*'() only, and ':' between sets."
        raise HarvestError("badArgument", text)


def _read_interval(given: Mapping[str, str]) -> tuple[str, str]:
    """Read `from` and `until`, both of one granularity (section 2.7.1)."""
    dates = {name: given[name] for name in ("from", "until") if name in given}
    for name, text in dates.items():
        _check_date(name, text)
    if len({len(text) for text in dates.values()}) > 1:
        raise HarvestError("badArgument", "'from' and 'until' must have the same granularity.")
    since, until = dates.get("from", ""), dates.get("until", "")
    if since and until and since > until:
        raise HarvestError("badArgument", "'from' is later than 'until'.")
    if _DAY.fullmatch(since):
        since += "T00:00:00Z"
    if _DAY.fullmatch(until):
        until += "T23:59:59Z"
    return since, until


def _check_date(name: str, text: str) -> None:
    form = "%Y-%m-%d" if _DAY.fullmatch(text) else "%Y-%m-%dT%H:%M:%SZ"
    try:
        if form.endswith("Z") and _SECOND.fullmatch(text) is None:
            raise ValueError
        datetime.strptime(text, form)  # noqa: DTZ007  (UTC by the form)
    except ValueError:
        expected = "a date such as 1997-09-01 or a time such as 1997-09-01T12:00:00Z"
        raise HarvestError("badArgument", f"'{name}' must be {expected}.") from None


# tokens
# ------


def write_token(asked: HarvestRequest) -> str:
    """Write the token of a request that goes on at its place."""
    token = _Token(
        asked.prefix,
        asked.set,
        asked.since,
        asked.until,
        asked.place,
        asked.passed,
    )
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(verb: str, text: str) -> HarvestRequest:
    """Read a token. Raises HarvestError if it is not one that this verb gave."""
    try:
        if len(text) > LONGEST_TOKEN:
            raise ValueError
        data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        token = msgspec.json.decode(data, type=_Token)
        if (verb == "ListSets") != (not token.prefix):
            raise ValueError
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise make_bad_token() from None
    return HarvestRequest(
        verb=verb,
        prefix=token.prefix,
        set=token.set,
        since=token.since,
        until=token.until,
        place=token.place,
        passed=max(token.passed, 0),
    )


def make_bad_token() -> HarvestError:
    """The error for a token that this resolver did not give, or can no longer follow."""
    return HarvestError(
        "badResumptionToken", "This token is not from this list. Begin the list again."
    )
