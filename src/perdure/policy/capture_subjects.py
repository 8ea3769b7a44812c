"""The captures that a reading rule is about: addresses, and a span of time. Pure.

How it works: an address becomes the beginnings of the keys of all its captures
(`perdure.ids.urlkey`), each followed by a space, so that a beginning is found by its length:

    exact    http://dr.dk/a     "dk,dr)/a "
    prefix   http://dr.dk/a     "dk,dr)/a"
    prefix   http://dr.dk/a/    "dk,dr)/a/", and the folder itself: "dk,dr)/a ", "dk,dr)/a?"
    host     http://dr.dk/a     "dk,dr)" and, with a port, "dk,dr:"
    domain   http://dr.dk/a     the same and, for the hosts below it, "dk,dr,"

The same address with another scheme, in capitals or with `www.` has the same key. A host or a
domain includes all ports.

What must stay true: if one subject contains another one and more, the other one is more specific;
two spellings of one subject are equal.
"""

from __future__ import annotations

import msgspec

from perdure.ids.urlkey import make_url_key
from perdure.model.reading_rules import ReadingRule

CAPTURES_KEY = "captures:"
"""The beginning of the keys of all rules about captures. No name begins so."""
FIRST, LAST = "0" * 14, "9" * 14
"""The span of all time."""


class CaptureSubject(msgspec.Struct, frozen=True):
    """Captures: those with certain keys, in a span of time."""

    beginnings: tuple[str, ...]
    """The texts with which `key SP` begins, in order."""
    first: str = FIRST
    last: str = LAST
    uri: str = ""
    """For a rule about the PWID of one address: its spelling."""

    @property
    def key(self) -> str:
        """The key of the rules about the same addresses."""
        return CAPTURES_KEY + self.beginnings[0]

    @property
    def specificity(self) -> tuple[int, int, int, bool]:
        """Greater for the more specific of two subjects that share a capture."""
        longest = max(map(len, self.beginnings))
        return longest, -len(self.beginnings), int(self.first) - int(self.last), bool(self.uri)


def list_beginnings(url: str, match: str) -> tuple[str, ...]:
    """Return the beginnings of `key SP` for an address and a member of `MATCHES`.

    >>> list_beginnings("https://www.dr.dk/A/", "prefix")
    ('dk,dr)/a ', 'dk,dr)/a/', 'dk,dr)/a?')
    """
    key = make_url_key(url)
    host = key.partition(")")[0]
    if match == "exact":
        return (f"{key} ",)
    if match == "prefix":
        if url.endswith("/") and not key.endswith("/"):
            return f"{key} ", f"{key}/", f"{key}?"
        return (f"{key}?",) if url.endswith("?") and not key.endswith("?") else (key,)
    bare = host.partition(":")[0] if host.count(":") == 1 else host  # an IPv6 address has more
    own = (f"{bare})", f"{bare}:")
    return own if match == "host" else (*own, f"{bare},")


def has_host(url: str) -> bool:
    """Return True if an address has a host, so that it can stand for all addresses of the host."""
    return ")" in make_url_key(url)


def list_folder(url: str) -> tuple[str, ...]:
    """Return the beginnings for the folder of an address and everything below it."""
    place, slash, _ = url.partition("#")[0].partition("?")[0].rpartition("/")
    if not slash or place.endswith(("/", ":")):  # no path
        return list_beginnings(url, "host")
    return list_beginnings(f"{place}/", "prefix")


def find_capture_subject(rule: ReadingRule) -> CaptureSubject:
    """Return what a rule about captures is about."""
    beginnings = list_beginnings(rule.about, rule.match)
    return CaptureSubject(beginnings, rule.first or FIRST, rule.last or LAST)
