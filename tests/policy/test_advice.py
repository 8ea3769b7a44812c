"""Granularity advice: names that a resource has already, and parts of what is held."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.policy.advice import AddressFragment, ExistingName, Slice, find_names, list_advice


@pytest.mark.parametrize(
    ("text", "about", "expected"),
    [
        # ISBN User's Manual, 7th edition, section 5.1 and 5.4
        ("ISBN 978-92-95055-12-4", "", [ExistingName("ISBN", "9789295055124")]),
        ("ISBN 978-92-95055-12-5", "", []),
        ("ISBN 979-10-90636-07-1", "", [ExistingName("ISBN", "9791090636071")]),
        ("9780140328721.pdf", "", [ExistingName("ISBN", "9780140328721")]),
        ("x97801403287219.pdf", "", []),
        ("ISBN 0-306-40615-2", "", [ExistingName("ISBN", "9780306406157")]),
        ("0-306-40615-2", "", []),
        ("0-306-40615-2", "isbn", [ExistingName("ISBN", "9780306406157")]),
        ("ISBN 0-306-40615-3", "", []),
        ("ISBN 0-8044-2957-X", "", [ExistingName("ISBN", "9780804429573")]),
        # ISSN Manual, annex on the check digit: 0317-8471; 2434-561X
        ("ISSN 0317-8471", "", [ExistingName("ISSN", "0317-8471")]),
        ("e-ISSN: 2434-561X", "", [ExistingName("ISSN", "2434-561X")]),
        ("ISSN 0317-8472", "", []),
        ("1997-2001", "date", []),
        (
            "https://portal.issn.org/resource/ISSN/0317-8471",
            "",
            [ExistingName("ISSN", "0317-8471")],
        ),
        ("see doi:10.1000/182.", "", [ExistingName("DOI", "10.1000/182")]),
        ("https://doi.org/10.1000/ABC", "", [ExistingName("DOI", "10.1000/abc")]),
        ("10.1000/182", "identifier", [ExistingName("DOI", "10.1000/182")]),
        ("version 10.1000/182", "", []),
        ("https://hdl.handle.net/1839/00-0000", "", [ExistingName("Handle", "1839/00-0000")]),
        ("nothing of the kind", "", []),
    ],
)
def test_names_are_found_with_their_check_digits(
    text: str, about: str, expected: list[ExistingName]
) -> None:
    assert list(find_names(text, about=about)) == expected


@given(st.integers(0, 10**9 - 1), st.integers(0, 9))
def test_one_check_digit_of_ten_is_right(body: int, check: int) -> None:
    digits = f"978{body:09}"
    weighted = sum(int(one) * (1, 3)[at % 2] for at, one in enumerate(digits))
    assert bool(find_names(f"{digits}{check}")) == ((weighted + check) % 10 == 0)


@pytest.mark.parametrize("text", ["1", "978 ", "isbn", "10.1000", "doi:", "issn 0000-"])
def test_long_texts_are_read_in_bounded_time(text: str) -> None:
    find_names(text * 10**6)  # a pattern that is not linear would not come back


def test_advice_says_what_to_use_instead() -> None:
    found = list_advice(
        same=["pdi://a.us/1/1.text.1"],
        slices=[Slice("pdi://a.us/2.text.1", 100, 200), Slice("pdi://a.us/2.text.1", 1, 2)],
        fragments=[AddressFragment("hdl:1839/1", "z")],
        names=[ExistingName("ISBN", "9780140328721"), ExistingName("ISBN", "9780140328721")],
    )
    assert [(one.kind, one.use) for one in found] == [
        ("same-bytes", "pdi://a.us/1/1.text.1"),
        ("slice", "pdi://a.us/2.text.1#byte=100,200"),
        ("fragment", "hdl:1839/1#z"),
        ("named", "urn:isbn:9780140328721"),
    ]
    assert all(one.rule == "ISO 24619 section 6.2" for one in found)
