"""Terms, date formats and options of a language, from the locales of CSL.

Specification: CSL 1.0.2, "Locale files". The files come with citeproc-py. A style can override
their terms.

What must stay true: if a language does not have a term, its longer forms are looked up, and the
result is an empty text if it has none of them: a missing word never makes a citation fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any

from perdure.metadata.citation.wording import Quotes

NAMESPACE = "{http://purl.org/net/xbiblio/csl}"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_LONGER = {"verb-short": "verb", "verb": "long", "symbol": "short", "short": "long"}


def read_csl_file(package: str, path: str) -> Any:
    """Read a style or a locale from a package. Raises ImportError, FileNotFoundError."""
    etree = import_module("lxml.etree")
    place = files(package)
    parser = etree.XMLParser(
        remove_comments=True, remove_pis=True, resolve_entities=False, no_network=True
    )
    with (place / path).open("rb") as file:
        return etree.parse(file, parser).getroot()


class Locale:
    """The definitions of one language, with the overrides of a style."""

    def __init__(self, name: str, style: Any, words: Mapping[str, str]) -> None:
        self.name = name
        self._terms: dict[tuple[str, str], tuple[str, str]] = {}
        self.dates: dict[str, Any] = {}
        self._options: dict[str, str] = {}
        self._add_definitions(read_csl_file("citeproc", f"data/locales/locales-{name}.xml"))
        for language in (None, name.partition("-")[0], name):
            for one in style.findall(f"{NAMESPACE}locale"):
                if one.get(_LANG) == language:
                    self._add_definitions(one)
        self._terms |= {(word, "long"): (text, text) for word, text in words.items()}
        self.quotes = Quotes(
            self.find_term("open-quote"),
            self.find_term("close-quote"),
            self.find_term("open-inner-quote"),
            self.find_term("close-inner-quote"),
            self._options.get("punctuation-in-quote") == "true",
        )
        self.ordinal_first_day_only = self._options.get("limit-day-ordinals-to-day-1") == "true"

    def _add_definitions(self, root: Any) -> None:
        for term in root.iterfind(f"{NAMESPACE}terms/{NAMESPACE}term"):
            single, multiple = term.find(f"{NAMESPACE}single"), term.find(f"{NAMESPACE}multiple")
            one = _read_text(term) if single is None else _read_text(single)
            many = one if multiple is None else _read_text(multiple)
            if term.get("gender-form", "masculine") == "masculine":
                self._terms[str(term.get("name")), term.get("form", "long")] = one, many
        for date in root.iterfind(f"{NAMESPACE}date"):
            self.dates[str(date.get("form"))] = date
        for options in root.iterfind(f"{NAMESPACE}style-options"):
            self._options |= {str(name): str(value) for name, value in options.attrib.items()}

    def find_term(self, name: str, form: str = "long", *, plural: bool = False) -> str:
        """Return a term in this form, else in the nearest longer form, else an empty text."""
        while (name, form) not in self._terms and form in _LONGER:
            form = _LONGER[form]
        return self._terms.get((name, form), ("", ""))[plural]

    def has_term(self, name: str) -> bool:
        return (name, "long") in self._terms

    def write_ordinal(self, number: int) -> str:
        """Write a number with its ordinal suffix: 2nd, 2e, 2."""
        tens, ones = f"ordinal-{number % 100:02}", f"ordinal-{number % 10:02}"
        name = tens if number % 100 >= 10 and self.has_term(tens) else ones
        return f"{number}{self.find_term(name if self.has_term(name) else 'ordinal')}"


def _read_text(element: Any) -> str:
    return element.text or ""
