"""The languages of pages: which one a reader gets, and the catalogues of translations.

How it works: a reader chooses a language at the foot of a page. The choice is two letters in a
cookie, because an address has no room for it: the query of a name belongs to the name. Without a
choice, the `Accept-Language` field decides (RFC 4647, section 3.4, Lookup). Pages are written in
English; `catalogues/` has a catalogue for each other language (GNU gettext), and
`make translations` brings it up to date with the templates.

What must stay true: a page differs from another of the same address only by `VARY`; a text without
a translation is shown in English.
"""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

from perdure.model.queries import Preference

LANGUAGES = {"en": "English", "de": "Deutsch", "da": "Dansk"}
"""The languages of pages, each with its own name. The first one is that of the templates."""
VARY = b"accept, accept-language, cookie"
"""The fields of a request on which the page at an address depends."""
CATALOGUES = Path(__file__).parent / "catalogues"
COOKIE = "perdure-language"

_OWN = next(iter(LANGUAGES))
_NARROW_SPACE = "\u202f"


def choose_language(accepted: tuple[Preference, ...], chosen: str = "") -> str:
    """Return the language of pages for a reader. `chosen` is the reader's own choice, if any.

    >>> choose_language((Preference("de-AT", 1.0), Preference("en", 0.8)))
    'de'
    >>> choose_language((Preference("fr", 1.0), Preference("da", 0.5)), chosen="en")
    'en'
    """
    if chosen in LANGUAGES:
        return chosen
    for one in sorted(accepted, key=lambda each: -each.quality):
        name = one.range.lower().partition("-")[0]
        if one.quality > 0 and name in LANGUAGES:
            return name
    return _OWN


def read_chosen_language(cookies: str) -> str:
    """Return the language that a Cookie field names, or an empty string (RFC 6265, section 4.2).

    >>> read_chosen_language("a=b; perdure-language=da")
    'da'
    """
    for pair in cookies.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE and value in LANGUAGES:
            return value
    return ""


@cache
def load_catalogue(language: str) -> gettext.NullTranslations:
    """Return the translations into a language. Those into English are the texts themselves."""
    if language == _OWN:
        return gettext.NullTranslations()
    with (CATALOGUES / f"{language}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def write_number(number: int) -> str:
    """Write a number so that it reads the same in every language (ISO 80000-1, section 7.3.1).

    >>> write_number(735703)
    '735\u202f703'
    """
    return f"{number:,}".replace(",", _NARROW_SPACE)
