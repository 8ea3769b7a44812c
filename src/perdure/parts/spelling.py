"""Text and numbers inside selectors, written so that a URI fragment can contain them.

What must stay true: only characters that RFC 3986 section 3.5 allows in a fragment are written;
numbers are exact.
"""

from __future__ import annotations

from fractions import Fraction

KEPT_IN_PDI = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:;$!'")
_KEPT = KEPT_IN_PDI | frozenset("~")
_FRAGMENT = _KEPT | frozenset("&()*+,=@/?")  # RFC 3986 section 3.5


def escape_text(text: str, kept: frozenset[str] = _KEPT) -> str:
    """Escape text for use between commas, parentheses, ampersands; hex digits in lower case."""
    if kept.issuperset(text):
        return text
    return "".join(
        one if one in kept else "".join(f"%{byte:02x}" for byte in one.encode()) for one in text
    )


def escape_term(text: str) -> str:
    """Escape text of a text directive, in which a hyphen has a meaning."""
    return escape_text(text).replace("-", "%2d")


def escape_data(text: str) -> str:
    """Escape data of an XPointer part, for the framework (section 3.1) and then for the URI.

    Balanced parentheses need no escape.
    """
    text = text.replace("^", "^^")
    depth = 0
    for one in text:
        depth += (one == "(") - (one == ")")
        if depth < 0:
            break
    if depth:
        text = text.replace("(", "^(").replace(")", "^)")
    return escape_text(text, _FRAGMENT)


def write_times(start: Fraction, end: Fraction) -> tuple[str, int, int]:
    """Return the unit and two whole numbers: in seconds if possible, else milliseconds."""
    if start.denominator == end.denominator == 1:
        return "sec", start.numerator, end.numerator
    return "msec", round(start * 1000), round(end * 1000)


def write_decimal(value: Fraction) -> str:
    """Write a number as an exact decimal fraction; numbers from readers have at most 18 digits."""
    whole, rest = divmod(value.numerator, value.denominator)
    digits = ""
    while rest and len(digits) < 18:
        digit, rest = divmod(rest * 10, value.denominator)
        digits += str(digit)
    return f"{whole}.{digits}" if digits else str(whole)


def write_range(first: tuple[int | None, ...], last: tuple[int | None, ...]) -> str:
    """Write two cells or their rows or columns as a range; one of them if they are the same."""
    shown = [",".join("*" if one is None else str(one) for one in end) for end in (first, last)]
    return shown[0] if first == last else "-".join(shown)
