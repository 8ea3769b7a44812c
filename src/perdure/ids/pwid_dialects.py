"""The grammars of the PWID drafts, to the letter.

How it works: fifteen drafts have eight grammars. Each is a pattern for the text as written,
whose dates and times `perdure.ids.pwid` has checked, and one for the item once its escapes are
undone.

What must stay true: nothing generous happens here. Where a draft's ABNF is no ABNF, its plain
meaning is taken: `+( unreserved )` and `(1-9)*DIGIT` as `1*unreserved` and `1*9DIGIT`, which
drafts 07 to 09 of the URN put right. Where prose and ABNF differ (draft-04's prose allows times
without seconds), the ABNF decides.

>>> satisfies("urn-09", "urn:pwid:a.org:2016-01-22T11:20Z:page:http://www.dr.dk", "http://www.dr.dk")
True
>>> satisfies("urn-09", "urn:pwid:a.org:2016-01-22T11:20Z:site:http://www.dr.dk", "http://www.dr.dk")
False
"""

from __future__ import annotations

import re
from functools import cache

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
#             / [ *n( h16 ":" ) h16 ] "::" … fewer with each n, down to none at all
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


def _uri(host: str) -> str:
    authority = f"(?:{_USERINFO}@)?(?:{host})(?::[0-9]*)?"
    return rf"[A-Z][A-Z0-9+.\-]*:(?://{authority}(?:/{_PATH})?|(?!//){_PATH})"


_URI = rf"{_uri(f'{_LITERAL}|{_NAME}')}(?:\?{_QUERY})?(?:#{_QUERY})?"
_URI_ESCAPED = _uri(_NAME)  # without "[", "]", "?" and "#"
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


def _fields(*fields: str) -> str:
    return ":".join(f"(?:{field})" for field in fields)


_ANY = ".+"
# Draft-00 takes `page:` in `:page:http://a` for the scheme of a URI: what looks like that is later.
_NO_COVERAGE = r"(?=:[A-Z][A-Z0-9+.\-]*://)"
_DRAFT_00 = _fields(
    "pwid",
    _ID,
    f"{_DATE}[T_]{_DOTTED}Z(?:_(?:page|part|coll|snapshot|rec|other)|{_NO_COVERAGE})",
    f"{_URI}|{_ID}",
)
_DRAFT_01 = _fields("pwid", _ID, f"{_DATE}[T_]{_DOTTED}Z", _EIGHT, f"{_URI}|{_ID}")
_DRAFT_04 = _fields("pwid", _ID, f"{_DATE}T{_DOTTED}Z", _EIGHT, f"{_URI}|{_ID}")
_URN_00 = _fields("urn", "pwid", _ID, f"{_DATE}T{_COLONS}Z", _EIGHT, f"{_URI}|{_ID}")
_URN_04 = _fields("urn", "pwid", _ID, f"(?-i:{_W3CDTF})", _EIGHT, f"{_URI_ESCAPED}|{_ID}")
_URN_05 = _fields("urn", "pwid", _ID, _W3CDTF, _EIGHT, f"{_URI_ESCAPED}|{_ID}")
_URN_06 = _fields(
    "urn", "pwid", f"{_DOMAIN}|~{_ID}", _UTC, "[A-Z]+", f"{_ONLY_FIVE_ESCAPES}{_URI_ESCAPED}|~{_ID}"
)
_URN_09 = _fields("urn", "pwid", _DOMAIN, _UTC, "part|page", f"{_ONLY_FIVE_ESCAPES}{_URI_ESCAPED}")

_GRAMMARS = {  # of the text as written, and of its item with the escapes undone
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


def satisfies(dialect: str, written: str, item: str) -> bool:
    """Whether a PWID as written, and its item, have the grammar of this one of `DIALECTS`."""
    of_text, of_item = _GRAMMARS[dialect]
    return bool(_compiled(of_text).fullmatch(written) and _compiled(of_item).fullmatch(item))


@cache  # compiled when first asked for: it takes longer than everything else in this package
def _compiled(grammar: str) -> re.Pattern[str]:
    return re.compile(grammar, re.ASCII | re.IGNORECASE)
