"""The grammars of the PWID drafts, applied strictly.

How it works: fifteen drafts have eight grammars. Each grammar has a pattern for each field of the
text as written, whose dates and times `perdure.ids.pwid` has checked, and one for the unescaped
item. `satisfies_dialect` checks the complete text; `list_misfits` lists the fields that do not
match.

What must stay true: nothing lenient happens here. If a draft's ABNF is invalid, its evident meaning
applies: `+( unreserved )` and `(1-9)*DIGIT` mean `1*unreserved` and `1*9DIGIT`, as corrected in
drafts 07 to 09 of the URN. If prose and ABNF differ (draft-04's prose allows times without
seconds), the ABNF decides.

>>> satisfies_dialect("urn-09", "urn:pwid:a.org:2016-01-22T11:20Z:page:http://www.dr.dk", "http://www.dr.dk")
True
>>> satisfies_dialect("urn-09", "urn:pwid:a.org:2016-01-22T11:20Z:site:http://www.dr.dk", "http://www.dr.dk")
False
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

# RFC 3986
# URI       = scheme ":" hier-part [ "?" query ] [ "#" fragment ]
# hier-part = "//" authority path-abempty / path-absolute / path-rootless / path-empty
# authority = [ userinfo "@" ] host [ ":" port ]
_PCT = "%[0-9A-F]{2}"
_UNRESERVED = r"A-Z0-9\-._~"
_PLAIN = rf"{_UNRESERVED}!$&'()*+,;="
_USERINFO = f"(?:[{_PLAIN}:]|{_PCT})*"
# IPv6address =                            6( h16 ":" ) ls32
#             /                       "::" 5( h16 ":" ) ls32
#             / [ *n( h16 ":" ) h16 ] "::" … fewer with each n, down to zero
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_H16 = "[0-9A-F]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_OCTET}(?:\.{_OCTET}){{3}})"
_IPV6 = "|".join(
    (
        f"(?:{_H16}:){{6}}{_LS32}",
        f"::(?:{_H16}:){{5}}{_LS32}",
        *(f"(?:(?:{_H16}:){{0,{n}}}{_H16})?::(?:{_H16}:){{{4 - n}}}{_LS32}" for n in range(5)),
        f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}",
        f"(?:(?:{_H16}:){{0,6}}{_H16})?::",
    )
)
_LITERAL = rf"\[(?:{_IPV6}|V[0-9A-F]+\.[{_PLAIN}:]+)\]"
_NAME = f"(?:[{_PLAIN}]|{_PCT})*"
_PATH = f"(?:[{_PLAIN}:@/]|{_PCT})*"
_QUERY = f"(?:[{_PLAIN}:@/?]|{_PCT})*"


def _compose_uri_pattern(host: str) -> str:
    authority = f"(?:{_USERINFO}@)?(?:{host})(?::[0-9]*)?"
    return rf"[A-Z][A-Z0-9+.\-]*:(?://{authority}(?:/{_PATH})?|(?!//){_PATH})"


_URI = rf"{_compose_uri_pattern(f'{_LITERAL}|{_NAME}')}(?:\?{_QUERY})?(?:#{_QUERY})?"
_URI_ESCAPED = _compose_uri_pattern(_NAME)  # without "[", "]", "?" and "#"
_ID = f"[{_UNRESERVED}]+"

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DOTTED = r"[0-9]{2}\.?[0-9]{2}\.?[0-9]{2}"
_COLONS = "[0-9]{2}:?[0-9]{2}:?[0-9]{2}"
_MINUTES = "[0-9]{2}:[0-9]{2}"
_W3CDTF = rf"[0-9]{{4}}(?:-[0-9]{{2}})?|{_DATE}(?:T{_MINUTES}(?::[0-9]{{2}}(?:\.[0-9]+)?)?Z)?"
_UTC = rf"{_DATE}(?:T{_MINUTES}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?)?Z"
_EIGHT = "part|page|subsite|site|collection|recording|snapshot|other"

# RFC 1034 section 3.5
_LABEL = "[A-Z](?:[A-Z0-9-]{0,61}[A-Z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"

_ONLY_FIVE_ESCAPES = "(?!.*%(?!5B|5D|3F|23|25))"


class DialectGrammar(NamedTuple):
    """The patterns of the fields of a PWID. A PWID is its fields, joined by colons."""

    opening: str
    archive: str
    time: str
    coverage: str | None
    """None if it is appended to the time."""
    item: str

    @property
    def whole_pattern(self) -> str:
        return ":".join(f"(?:{field})" for field in self if field is not None)


_ANY = ".+"
# Draft-00 reads `page:` in `:page:http://a` as the scheme of a URI; such texts are later drafts.
_NO_COVERAGE = r"(?=:[A-Z][A-Z0-9+.\-]*://)"
_DRAFT_00 = DialectGrammar(
    "pwid",
    _ID,
    f"{_DATE}[T_]{_DOTTED}Z(?:_(?:page|part|coll|snapshot|rec|other)|{_NO_COVERAGE})",
    None,
    f"{_URI}|{_ID}",
)
_DRAFT_01 = DialectGrammar("pwid", _ID, f"{_DATE}[T_]{_DOTTED}Z", _EIGHT, f"{_URI}|{_ID}")
_DRAFT_04 = DialectGrammar("pwid", _ID, f"{_DATE}T{_DOTTED}Z", _EIGHT, f"{_URI}|{_ID}")
_URN_00 = DialectGrammar("urn:pwid", _ID, f"{_DATE}T{_COLONS}Z", _EIGHT, f"{_URI}|{_ID}")
_URN_04 = DialectGrammar("urn:pwid", _ID, f"(?-i:{_W3CDTF})", _EIGHT, f"{_URI_ESCAPED}|{_ID}")
_URN_05 = DialectGrammar("urn:pwid", _ID, _W3CDTF, _EIGHT, f"{_URI_ESCAPED}|{_ID}")
_URN_06 = DialectGrammar(
    "urn:pwid",
    f"{_DOMAIN}|~{_ID}",
    _UTC,
    "[A-Z]+",
    f"{_ONLY_FIVE_ESCAPES}{_URI_ESCAPED}|~{_ID}",
)
_URN_09 = DialectGrammar(
    "urn:pwid", _DOMAIN, _UTC, "part|page", f"{_ONLY_FIVE_ESCAPES}{_URI_ESCAPED}"
)

_GRAMMARS = {  # of the text as written, and of its unescaped item
    "draft-00": (_DRAFT_00, _ANY),
    "draft-01": (_DRAFT_01, _ANY),
    "draft-02": (_DRAFT_01, _ANY),
    "draft-03": (_DRAFT_01, _ANY),
    "draft-04": (_DRAFT_04, _ANY),
    "urn-00": (_URN_00, _ANY),
    "urn-01": (_URN_00, _ANY),
    "urn-02": (_URN_00, _ANY),
    "urn-03": (_URN_00, _ANY),
    "urn-04": (_URN_04, _ANY),
    "urn-05": (_URN_05, _ANY),
    "urn-06": (_URN_06, f"{_URI}|~{_ID}"),
    "urn-07": (_URN_06, f"{_URI}|~{_ID}"),
    "urn-08": (_URN_06, f"{_URI}|~{_ID}"),
    "urn-09": (_URN_09, _URI),
}
DIALECTS = tuple(_GRAMMARS)
"""The drafts by name, those of the URI first."""


def satisfies_dialect(dialect: str, written: str, item: str) -> bool:
    """Return True if a PWID as written, and its item, satisfy a grammar from `DIALECTS`."""
    of_text, of_item = _GRAMMARS[dialect]
    return bool(
        _compile_grammar(of_text.whole_pattern).fullmatch(written)
        and _compile_grammar(of_item).fullmatch(item)
    )


# the fields that do not match a grammar
# ---------------------------------------

# A time contains no "p", so the first coverage word after a colon is the coverage.
_SPLIT = (
    f"(?P<opening>(?:urn:)?pwid):(?P<archive>[^:]*):(?P<time>.*?)(?P<coverage>_(?:page|part|coll|"
    f"snapshot|rec|other)|:(?:{_EIGHT})|{_NO_COVERAGE}):(?P<item>.*)"
)
_PLAIN_ID = "letters, digits and -._~"
_DATED = "2016, 2016-01, 2016-01-22 or, with a time of day, 2016-01-22T11:20Z"
_ANY_ITEM = f"a URI, or {_PLAIN_ID}"
_GLUED = "_page, _part, _coll, _snapshot, _rec or _other after the time, or nothing"
_ONE_OF_EIGHT = f"a colon and {_EIGHT.replace('|', ', ')}"
_IN_UTC = "2016-01-22Z or 2016-01-22T11:20:29Z"
_FIVE = "a URI in which only [ ] ? # % are escaped"
_FOUR = f"a URI with [ ] ? # escaped, or {_PLAIN_ID}"
_EXPECTED = {
    _DRAFT_00: ("pwid", _PLAIN_ID, "2016-01-22_11.20.29Z", _GLUED, _ANY_ITEM),
    _DRAFT_01: ("pwid", _PLAIN_ID, "2016-01-22_11.20.29Z", _ONE_OF_EIGHT, _ANY_ITEM),
    _DRAFT_04: ("pwid", _PLAIN_ID, "2016-01-22T11.20.29Z", _ONE_OF_EIGHT, _ANY_ITEM),
    _URN_00: ("urn:pwid", _PLAIN_ID, "2016-01-22T11:20:29Z", _ONE_OF_EIGHT, _ANY_ITEM),
    _URN_04: ("urn:pwid", _PLAIN_ID, f"{_DATED}, in capitals", _ONE_OF_EIGHT, _FOUR),
    _URN_05: ("urn:pwid", _PLAIN_ID, _DATED, _ONE_OF_EIGHT, _FOUR),
    _URN_06: (
        "urn:pwid",
        "a domain, or ~ and an id",
        _IN_UTC,
        "letters",
        f"{_FIVE}, or ~ and an id",
    ),
    _URN_09: ("urn:pwid", "a domain", _IN_UTC, "a colon and part or page", _FIVE),
}


class Misfit(NamedTuple):
    """A field that does not match a grammar, and the text that the grammar allows."""

    field: str
    found: str
    expected: str


def list_misfits(dialect: str, written: str, item: str) -> tuple[Misfit, ...]:
    """Return the fields of a PWID as written that do not match a grammar; empty if all match."""
    if satisfies_dialect(dialect, written, item):
        return ()
    of_text, of_item = _GRAMMARS[dialect]
    fields = _compile_grammar(_SPLIT).fullmatch(written)
    if fields is None:  # perdure.ids.pwid never parses such a text
        return (Misfit("PWID", written, of_text.whole_pattern),)
    fits = {
        name: _has_pattern(pattern, fields[name]) for name, pattern in of_text._asdict().items()
    }
    if of_text.coverage is None:  # draft-00
        fits["coverage"] = not fields["coverage"].startswith(":")
        glued = fields["coverage"] if fits["coverage"] else "_page"
        fits["time"] = _has_pattern(
            of_text.time, fields["time"] + glued, behind="" if glued else ":a://"
        )
    else:
        fits["coverage"] = _has_pattern(f":(?:{of_text.coverage})", fields["coverage"])
    fits["item"] = fits["item"] and _has_pattern(of_item, item)
    expected = dict(zip(DialectGrammar._fields, _EXPECTED[of_text], strict=True))
    return tuple(
        Misfit(name, fields[name], expected[name])
        for name in DialectGrammar._fields
        if not fits[name]
    )


def _has_pattern(pattern: str | None, text: str, *, behind: str = "") -> bool:
    """Return True if a text matches a pattern that can look ahead at the text `behind`."""
    whole = f"(?:{pattern}){re.escape(behind)}"
    return pattern is not None and _compile_grammar(whole).fullmatch(text + behind) is not None


@cache  # compiled on first use: it takes longer than all other work in this package
def _compile_grammar(grammar: str) -> re.Pattern[str]:
    return re.compile(grammar, re.ASCII | re.IGNORECASE)
