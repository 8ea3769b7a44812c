"""Moments in the form of all stored dates, and the seconds that a time of any precision covers."""

from __future__ import annotations

import calendar
import re
from datetime import datetime


def format_timestamp(moment: datetime) -> str:
    """A moment in UTC in the form of all stored dates, such as `2026-11-21T01:02:03Z`."""
    return f"{moment.isoformat(timespec='seconds')[:19]}Z"  # strftime takes six times as long


def find_span(date: str) -> tuple[str, str]:
    """Return the first and the last second of a time of any precision, in 14 digits each.

    A fraction is within its second; the second 60 is a second of its own.
    """
    digits = re.sub("[^0-9]", "", date)[:14]
    last = digits + "99991231235959"[len(digits) :]
    if len(digits) == len("201602"):
        last = f"{digits}{calendar.monthrange(int(digits[:4]), int(digits[4:6]))[1]:02}235959"
    return digits + "00000101000000"[len(digits) :], last


def read_span(text: str) -> tuple[str, str]:
    """Do the same for a text that may be no time. Raises ValueError.

    >>> read_span("2014-02"), read_span("20160122112029")[0]
    (('20140201000000', '20140228235959'), '20160122112029')
    """
    digits = re.sub("[-:.TZ ]", "", text)
    if not (digits.isascii() and digits.isdigit()) or len(digits) not in range(4, 15, 2):
        raise ValueError(text)
    first, last = find_span(digits)
    for second in (first, last):
        datetime.strptime(second, "%Y%m%d%H%M%S")  # noqa: DTZ007  (only to check it)
    return first, last
