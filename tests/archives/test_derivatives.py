"""Records that crawlers make of a page: which they are, of which capture, and where they lie."""

from __future__ import annotations

import pytest

from perdure.archives.derivatives import find_page, is_made_by, list_ranges
from perdure.ids.urlkey import make_url_key

PAGE = "http://a.example/jane?x=1"
MADE = (
    "har", "imagemap", "onreadydom", "screenshot", "thumbnail", "urn:text", "urn:pageinfo",
    "urn:thumbnail", "urn:view", "youtube-dl:00001",
)  # fmt: skip
"""As Browsertrix Crawler, brozzler and webrender write them."""


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_is_found_by_its_page_and_in_the_index(kind: str) -> None:
    for uri in (f"{kind}:{PAGE}", f"{kind.upper()}:{PAGE}", f"{kind.capitalize()}:{PAGE}"):
        assert find_page(uri) == PAGE
        key = make_url_key(uri)
        assert [one for one in list_ranges() if one.low <= key < one.high], key


@pytest.mark.parametrize(
    "uri",
    [
        PAGE,
        f"http://b.example/screenshot:{PAGE}",
        f"HTTP://b.example/urn:text:{PAGE}",
        f"other:{PAGE}",
        f"youtube-dl:x:{PAGE}",
        "screenshot:ftp://a.example/",
        "urn:isbn:9780141036144",
    ],
)
def test_others_are_made_of_no_page(uri: str) -> None:
    assert find_page(uri) is None


@pytest.mark.parametrize(
    ("time", "is_made"),
    [
        ("20140126200623", True),
        ("20140126200624", True),
        ("20140126210624", True),
        ("20140126210625", False),
        ("20140127000000", False),
    ],
)
def test_they_are_made_within_an_hour(time: str, is_made: bool) -> None:
    assert is_made_by("20140126200624", time) is is_made
    assert is_made_by("99999999999999", time)
