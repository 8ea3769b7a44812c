"""CSS selectors as XPath: the evaluation of `{"type": "CssSelector", "value": "#intro > p"}`.

Specification: Selectors Level 3, and the parts of Level 4 that cssselect supports; Web Annotation
Data Model, 4.2.3.

How it works: cssselect translates. Selectors for the state of a user or a browser (`:hover`) match
nothing, as in a document that no one is touching.

What must stay true: a selector that is too long or too deep is refused before it is translated.
"""

from __future__ import annotations

from perdure.errors import MalformedPart
from perdure.errors.limits import SelectorTooComplex, SelectorTooLong
from perdure.extractors.libraries import import_library
from perdure.extractors.port import Source
from perdure.parts import Css

_LONGEST = 1024  # characters
_MOST_COMBINED = 32  # combinators, each of which may search the whole document, and functions
_COMBINING = " >+~(,"
_RULE = "Selectors Level 3"


def translate_to_xpath(source: Source, selector: Css, *, html: bool) -> str:
    """Return an XPath 1.0 expression for the same elements; in HTML, names are case-insensitive.

    Raises MalformedPart, OverBudget, and MissingLibrary if cssselect is not installed.
    """
    text = selector.selector
    if len(text) > _LONGEST:
        raise SelectorTooLong(length=len(text), most=_LONGEST)
    if sum(map(text.count, _COMBINING)) > _MOST_COMBINED:
        raise SelectorTooComplex(selector=text, most=_MOST_COMBINED)
    cssselect = import_library("cssselect", "html" if html else "xml", source, selector)
    translator = cssselect.HTMLTranslator() if html else cssselect.GenericTranslator()
    try:
        expression: str = translator.css_to_xpath(text)
    except cssselect.SelectorError as error:
        reason = str(error).lower() or "another"
        raise MalformedPart(
            text=text, at=0, expected=f"a CSS selector: {reason}", rule=_RULE
        ) from None
    return expression
