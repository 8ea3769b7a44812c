"""All forms of other systems, by name, and the form of a file by its beginning."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from perdure.errors.exchanging import FormNotRecognised, FormNotWritten, UnknownExchangeForm
from perdure.upkeep.exchange.port import ExchangeForm

_PLACES = {
    "handle-batch": "handle_batch:FORM",
    "handle-json": "handle_json:FORM",
    "ezid-csv": "ezid_csv:FORM",
    "ezid-anvl": "ezid_anvl:FORM",
    "ezid-xml": "ezid_xml:FORM",
    "arklet": "arklet:FORM",
    "n2t-prefixes": "n2t:FORM",
    "datacite-xml": "datacite:XML_FORM",
    "datacite-json": "datacite:JSON_FORM",
    "crossref-xml": "crossref_xml:FORM",
    "bibtex": "bibtex:FORM",
    "ris": "ris:FORM",
    "csl-json": "csl_json:FORM",
    "marc21": "marc21:FORM",
    "csv": "table:FORM",
}
"""The module and the name of each form, in the order in which they are tried."""
_ONLY_READ = frozenset(("arklet", "crossref-xml", "n2t-prefixes"))
_ONLY_WRITTEN = frozenset(("marc21",))
READ = tuple(name for name in _PLACES if name not in _ONLY_WRITTEN)
WRITTEN = tuple(name for name in _PLACES if name not in _ONLY_READ)


@cache
def find_form(name: str) -> ExchangeForm:
    """Return the form with this name. Raises UnknownExchangeForm."""
    if name not in _PLACES:
        raise UnknownExchangeForm(text=name, known=tuple(_PLACES))
    module, _, variable = _PLACES[name].partition(":")
    form: ExchangeForm = getattr(import_module(f"perdure.upkeep.exchange.{module}"), variable)
    return form


def find_read_form(name: str) -> ExchangeForm:
    """Return the form with this name, which can be read. Raises UnknownExchangeForm."""
    if name in _ONLY_WRITTEN:
        raise UnknownExchangeForm(text=name, known=READ)
    return find_form(name)


def find_written_form(name: str) -> ExchangeForm:
    """Return a form that can be written. Raises UnknownExchangeForm, FormNotWritten."""
    form = find_form(name)
    if form.make_writing is None:
        raise FormNotWritten(form=name, known=WRITTEN)
    return form


def guess_form(head: bytes, path: str) -> ExchangeForm:
    """Return the form of a file by its beginning and its name. Raises FormNotRecognised."""
    text = head.decode("utf-8-sig", "replace")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = head.decode("utf-16", "replace")
    first = text.lstrip()[:1]
    suffix = f".{path.rpartition('.')[2].lower()}" if "." in path else ""
    for name in READ:
        form = find_form(name)
        if form.name == "csv" and suffix not in form.suffixes:
            continue
        if first in (form.opens_with or first) and form.recognise(text):
            return form
    raise FormNotRecognised(path=path, known=READ)
