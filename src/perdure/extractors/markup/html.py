"""Elements of HTML by CSS selectors, by XPath and by counting children.

Specification: Web Annotation Data Model, 4.2.3 and 4.2.6; XPointer element() Scheme; XPath 1.0 over
the tree of the HTML standard, in which names are in lower case and in no namespace.

How it works: expressions are evaluated over the tree that browsers build
(`perdure.extractors.markup.html_tree`), implied elements included: `/html/body/table/tbody/tr[2]`
finds a row even if the source has no `tbody`. The result is a slice of the source.

What must stay true: an element is found only if its place in the source can be proved.
"""

from __future__ import annotations

import re
from typing import Any

from perdure.errors import PartNotFound, PartNotSupported
from perdure.extractors.markup import css
from perdure.extractors.markup.html_tree import HtmlTree
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.xpath_expression import Evaluator, check_expression
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import ChildSequence, Css, Selector, XPath

_RANGES = re.compile(r"\b(?:range-to|string-range)\s*\(")
_SECONDS = 2  # of CPU, for an expression
_BUILT_IN_ONE = (
    1 << 19
)  # bytes; a second suffices for twice as many, even if all elements are short
_OFFERED = ("elements", "text quote", "text position")


class HtmlExtractor:
    """Elements of HTML as slices of it."""

    media_types = ("text/html",)
    selectors = (ChildSequence, Css, XPath)
    confined = True
    install = "perdure[html]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        match selector:
            case XPath(expression=expression):
                check_expression(source, selector)
                if _RANGES.search(expression):
                    raise _make_unsupported(source, selector)
            case Css():
                expression = css.translate_to_xpath(source, selector, html=True)
            case ChildSequence():
                expression = ""
            case _:
                raise _make_unsupported(source, selector)
        markup = Markup(source, selector, indexes)
        tree = HtmlTree(markup, selector)
        if isinstance(selector, ChildSequence):
            element = _find_child(tree, selector, source)
        else:
            namespaces = selector.namespaces if isinstance(selector, XPath) else ()
            evaluator = Evaluator(tree.etree, source, selector, namespaces)
            element = evaluator.select_one(expression, tree.root.getroottree())
        if not tree.etree.iselement(element):
            raise _make_unsupported(source, selector)
        return markup.make_part(selector, tree.find_span(element))

    def limit_seconds(self, source: Source) -> int:
        return _SECONDS + source.length // _BUILT_IN_ONE

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # the extents of tags and IDs show what can be found


def _find_child(tree: HtmlTree, selector: ChildSequence, source: Source) -> Any:
    """Return the element at the end of `element(intro/2/1)` or `element(/1/2)`."""
    steps = selector.steps
    if selector.id is not None:
        wanted = selector.id
        element = next((one for one in tree.root.iter() if one.get("id") == wanted), None)
    else:
        element, steps = tree.root if steps[:1] == (1,) else None, steps[1:]
    for step in steps:
        if element is None or not 1 <= step <= len(element):
            element = None
            break
        element = element[step - 1]
    if element is None:
        raise PartNotFound(
            identifier=source.name, selector=str(selector), extent="no element at that place"
        )
    return element


def _make_unsupported(source: Source, selector: Selector) -> PartNotSupported:
    return PartNotSupported(media_type=source.media_type, selector=str(selector), offered=_OFFERED)


EXTRACTOR = HtmlExtractor()
