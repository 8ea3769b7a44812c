"""No text makes a reader slow.

Each text is far longer than an identifier may be and made to be read again and again by a careless
pattern. Time that grows with the square of its length would be hours: the test would not end.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from perdure.errors import MalformedIdentifier
from perdure.ids import ark, handle, pwid, urn, urn1993
from perdure.ids.pwid_dialects import DIALECTS, satisfies_dialect

pytestmark = pytest.mark.growth
_LENGTH = 400_000

READERS = {
    "urn": urn.parse_urn,
    "urn1993": urn1993.parse_urn1993,
    "ark": ark.parse_ark,
    "handle": handle.parse_handle,
    "pwid": pwid.parse_pwid,
}
TEXTS = [
    ("urn", "urn:", "a-"),
    ("urn", "urn:ab:", ":"),
    ("urn", "urn:ab:", "%41"),
    ("urn", "urn:ab:c?+", "?+"),
    ("urn", "urn:ab:c?+c", "?"),
    ("urn", "urn:ab:c?=c", "?="),
    ("urn1993", "urn:iana:", "1"),
    ("urn1993", "urn:isbn_publisher_id:0", "_1"),
    ("urn1993", "urn:iana::", "a:"),
    ("ark", "ark:", "1-"),
    ("ark", "ark:1/", "-"),
    ("ark", "ark:1/a", "/."),
    ("ark", "ark:1/a", "%4"),
    ("handle", "hdl:", "a."),
    ("handle", "https://doi.org/10.1/", "%C3"),
    ("handle", "https://doi.org/10.1/", "%C3%A9"),
    ("pwid", "pwid:", "%41"),
    ("pwid", "pwid:a:2016-01-01T11.11.11.", "1"),
    ("pwid", "pwid:a:2016:", "a"),
    ("pwid", "pwid:a:2016:page:", "a:"),
    ("pwid", "urn:pwid:a:2016:page:a:", "%5B"),
]


@pytest.mark.parametrize(("scheme", "start", "more"), TEXTS)
@pytest.mark.parametrize("end", ["", "\x00", "[", "%"])
def test_a_long_text_is_read_once(scheme: str, start: str, more: str, end: str) -> None:
    with suppress(MalformedIdentifier):
        READERS[scheme](start + more * (_LENGTH // len(more)) + end)


@pytest.mark.parametrize("more", ["a", "a@", "a:", "1.", "%25", "/", "?#", "%", "[::", "[1:"])
@pytest.mark.parametrize("dialect", ["draft-00", "draft-04", "urn-04", "urn-06", "urn-09"])
def test_a_long_item_is_checked_once(dialect: str, more: str) -> None:
    item = "http://" + more * (_LENGTH // len(more))
    opening = "pwid" if dialect.startswith("draft") else "urn:pwid"
    time = "2016-01-01T11.11.11Z" if opening == "pwid" else "2016-01-01T11:11:11Z"
    assert dialect in DIALECTS
    for end in ("", "\x00"):
        satisfies_dialect(dialect, f"{opening}:a.org:{time}:page:{item}{end}", item)
