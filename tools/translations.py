"""Brings the catalogues of translations up to date with the templates: `make translations`.

How it works: Babel collects the marked texts of the templates. Those of the scripts
(`perdure.server.pages.script_texts`) and the words that the code gives to templates
(`perdure.server.pages.vocabulary`) are added. Texts that are new go to each catalogue, and the
catalogues are compiled. Translate the new texts in
`src/perdure/server/pages/catalogues/<language>.po`, and run it again. Babel is needed only here.

What must stay true: a compiled catalogue contains exactly what its source contains, without what is
fuzzy or obsolete.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from perdure.server.pages.languages import CATALOGUES, LANGUAGES
from perdure.server.pages.script_texts import list_script_texts
from perdure.server.pages.vocabulary import list_words

PAGES = CATALOGUES.parent
_KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2)}
_OPTIONS = {"trimmed": "true", "silent": "false", "trim_blocks": "true", "lstrip_blocks": "true"}


def list_translated() -> tuple[str, ...]:
    """The languages that have a catalogue."""
    return tuple(LANGUAGES)[1:]


def collect_messages() -> Catalog:
    """Collect the texts that people read."""
    found = Catalog(charset="utf-8", fuzzy=False)
    for path in sorted(PAGES.rglob("*.html")):
        place = str(path.relative_to(PAGES))
        with path.open("rb") as file:
            for _line, text, comments, context in extract(
                "jinja2.ext.babel_extract", file, _KEYWORDS, ("Translators:",), _OPTIONS
            ):
                found.add(text, None, [(place, 1)], (), comments, context=context)
    for name, texts in list_script_texts().items():
        for text in texts:
            found.add(text, None, [(f"scripts/{name}", 1)])
    for word in list_words():
        found.add(word, None, [("vocabulary.py", 1)])
    return found


def find_source(language: str) -> Path:
    """The place of the catalogue that people edit."""
    return CATALOGUES / f"{language}.po"


def read_source(language: str) -> Catalog:
    """Read the catalogue that people edit."""
    with find_source(language).open("rb") as file:
        return read_po(file, locale=language, charset="utf-8")


def write_source(catalogue: Catalog) -> bytes:
    """Write a catalogue as people edit it: sorted, with the files that each text is in."""
    written = io.BytesIO()
    write_po(written, catalogue, width=100, sort_output=True, include_lineno=False)
    return written.getvalue()


def compile_source(catalogue: Catalog) -> bytes:
    """Compile a catalogue as `gettext` reads it."""
    written = io.BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


def main() -> None:
    messages = collect_messages()
    for language in list_translated():
        path = find_source(language)
        catalogue = read_source(language) if path.exists() else _make_catalogue(language)
        catalogue.update(messages, no_fuzzy_matching=True, update_creation_date=False)
        catalogue.obsolete.clear()
        path.write_bytes(write_source(catalogue))
        path.with_suffix(".mo").write_bytes(compile_source(catalogue))
        missing = [one.id for one in catalogue if one.id and not _is_complete(one.string)]
        print(f"{path.name}: {len(catalogue)} texts, {len(missing)} without a translation")
        for text in missing:
            print("  ", text, file=sys.stderr)


def _is_complete(string: str | Sequence[str] | None) -> bool:
    return bool(string) and (isinstance(string, str) or all(string or ()))


def _make_catalogue(language: str) -> Catalog:
    return Catalog(locale=language, charset="utf-8", fuzzy=False, header_comment=_HEADER)


_HEADER = "# The texts of perdure's pages. `make translations` brings this file up to date."


if __name__ == "__main__":
    main()
