"""The texts of scripts: `_("…")` in a module of `scripts`, in every language.

How it works: a script imports `_` from `words.js`, which loads the texts in the language of the
page (`words-<language>.js`), made from the same catalogues as the pages. Pages in English load
nothing. A text writes its values
as `%(name)s`, as the templates do.

What must stay true: a text in `_()` is a constant; scripts show it as text, never as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from perdure.server.pages.languages import LANGUAGES, load_catalogue

SCRIPTS = Path(__file__).parent / "scripts"
_MARKED = re.compile(r'\b_\(("(?:[^"\\\n]|\\.)*")')


def list_script_texts() -> dict[str, tuple[str, ...]]:
    """The texts of each script, by the name of its file."""
    return {
        one.name: tuple(json.loads(text) for text in _MARKED.findall(one.read_text("utf-8")))
        for one in sorted(SCRIPTS.glob("*.js"))
    }


def write_translated_scripts() -> Iterator[tuple[str, bytes]]:
    """Write the module with the texts in each language but English, with the name of its file."""
    texts = sorted({text for found in list_script_texts().values() for text in found})
    for language in tuple(LANGUAGES)[1:]:
        catalogue = load_catalogue(language)
        words = {text: catalogue.gettext(text) for text in texts}
        module = f"export default {json.dumps(words, ensure_ascii=False, indent=0)};\n"
        yield f"words-{language}.js", module.encode()
