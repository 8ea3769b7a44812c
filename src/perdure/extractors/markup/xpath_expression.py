"""XPath 1.0 over a tree of libxml2, with bounds: an expression is checked before it is evaluated.

How it works: only the functions of XPath 1.0 exist, so extensions (regular expressions that take
hours) cannot be called. Searches through the whole document are counted, because each may be nested
in the one before.

What must stay true: a set of several nodes is an error and is not reduced to its first node,
because the expression does not ask for that.
"""

from __future__ import annotations

import re
from typing import Any

from perdure.errors import MalformedPart, PartNotFound, PartNotSupported
from perdure.errors.limits import ExpressionTooLong, ExpressionTooSlow
from perdure.errors.root import count_things
from perdure.extractors.port import Source
from perdure.parts import Selector, XPath

_LONGEST = 1024  # characters of an expression
_MOST_SEARCHES = 3  # axes through the whole document, each nested in the one before at worst
_RULE = "XPath 1.0"

_FUNCTIONS = """
    last position count id local-name namespace-uri name string concat starts-with contains
    substring-before substring-after substring string-length normalize-space translate
    boolean not true false lang number sum floor ceiling round
    comment text processing-instruction node range-to string-range
""".split()  # noqa: SIM905  (one list of words reads better than thirty quoted ones)
_MISSING = ("here", "origin", "range", "range-inside", "point", "start-point", "end-point")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
_CALL = re.compile(r"([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)\s*\(")
_SEARCH = re.compile(r"//|\b(?:descendant|descendant-or-self|following|preceding)\s*::")


def check_expression(source: Source, selector: XPath) -> None:
    """Refuse an expression that takes too long or is not XPath 1.0."""
    expression = selector.expression
    if len(expression) > _LONGEST:
        raise ExpressionTooLong(length=len(expression), most=_LONGEST)
    bare = _LITERAL.sub(lambda literal: " " * len(literal[0]), expression)
    if len(_SEARCH.findall(bare)) > _MOST_SEARCHES:
        raise ExpressionTooSlow(expression=expression, most=_MOST_SEARCHES)
    for call in _CALL.finditer(bare):
        if call[1] in _MISSING:
            raise PartNotSupported(
                media_type=source.media_type,
                selector=str(selector),
                offered=("XPath 1.0", "range-to", "string-range"),
            )
        if call[1] not in _FUNCTIONS:
            raise make_malformed(expression, call.start(), "a function of XPath 1.0")
    for prefix, uri in selector.namespaces:
        if "exslt.org" in uri:
            reason = f"XPath without the functions of {prefix}"
            raise make_malformed(expression, 0, reason)


def make_malformed(expression: str, at: int, expected: str) -> MalformedPart:
    return MalformedPart(text=expression, at=at, expected=expected, rule=_RULE)


class Evaluator:
    """Evaluates expressions that belong to one selector."""

    def __init__(
        self,
        etree: Any,
        source: Source,
        selector: Selector,
        namespaces: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._etree, self._source, self._selector = etree, source, selector
        self._namespaces = dict(namespaces)

    def select_one(self, expression: str, context: Any) -> Any:
        """Return the only node of a set. Raises PartNotFound if there are several or none."""
        nodes = self.evaluate_expression(expression, context)
        if not isinstance(nodes, list):
            kind = {bool: "a truth value", float: "a number"}.get(type(nodes), "a string")
            raise self.make_not_found(
                f"{kind} as the value of {expression!r}, which is not a set of nodes"
            )
        if len(nodes) == 1:
            return nodes[0]
        if not nodes:
            raise self.make_not_found(f"no node for {expression!r}")
        raise self.make_not_found(
            f"a set of {count_things(len(nodes), 'node')}; the first is ({expression})[1]"
        )

    def evaluate_expression(self, expression: str, context: Any) -> Any:
        """Return a value of XPath. Raises MalformedPart."""
        etree = self._etree
        try:
            compiled = etree.XPath(expression, namespaces=self._namespaces, regexp=False)
            return compiled(context)
        except (etree.XPathError, ValueError, TypeError) as error:
            reason = str(error).lower() or "it cannot be evaluated"
            raise make_malformed(expression, 0, f"an XPath 1.0 expression: {reason}") from None

    def has_root(self, expression: str, context: Any) -> bool:
        """Return whether the root of the document is in a set: lxml returns the nodes
        without it.
        """
        nodes = self.evaluate_expression(expression, context)
        return bool(self.evaluate_expression(f"count({expression})", context) > len(nodes))

    def make_not_found(self, extent: str) -> PartNotFound:
        """Return the error that the document has something else, which `extent` names."""
        return PartNotFound(
            identifier=self._source.name, selector=str(self._selector), extent=extent
        )
