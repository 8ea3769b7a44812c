"""HS_NAMESPACE: templates of the Handle System, which make unregistered handles. Pure.

The handle of a prefix (`0.NA/21.T14999`), or any handle, may have a value of this type:

    <namespace>
      <template delimiter="@">
        <foreach>
          <if value="type" test="equals" expression="URL">
            <if value="extension" test="matches" expression="box\\\\((.*),(.*)\\\\)" parameter="x">
              <value data="${data}?x=${x[1]}&amp;y=${x[2]}" />
            </if>
            <else><value data="${data}?part=${extension}" /></else>
          </if>
          <else><value /></else>
        </foreach>
      </template>
    </namespace>

How it works: `Namespace.read_xml` parses the value; `values` applies it to the values of the base
handle, which is the handle before the delimiter. The known elements are `template`, `foreach`, `if`
(`equals`, `matches`, `negate`), `else`, `value` and `notfound`. The known parameters are `handle`,
`base`, `extension` and, within `foreach`, `index`, `type`, `data` and `ttl`. The parser refuses
everything else. Expressions are those of `perdure.policy.templates.expressions`, which are bounded.

What must stay true: a template makes at most `MOST_VALUES` values of bounded length; the text of an
extension is escaped in the data of a `URL`.

Specification: Handle.Net technical manual version 9, section 11 (Template Handles).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Self
from urllib.parse import quote as escape
from xml.etree.ElementTree import Element

import msgspec

from perdure.errors.locations import (
    NamespaceElementRefused,
    NamespaceIncomplete,
    NamespaceTestUnknown,
    NamespaceTooLarge,
)
from perdure.model.records import Value
from perdure.policy.handles import loc
from perdure.policy.handles.values import MOST_VALUES, URL, is_secret
from perdure.policy.templates.expressions import Expression, StepBudget

TYPE = "HS_NAMESPACE"
_ELEMENTS = ("template", "foreach", "if", "else", "value", "notfound")
_MOST_ELEMENTS = 200
_DEEPEST = 20
_MOST_MATCHES = 50  # of expressions, for one handle
_LONGEST_DATA = 8192  # characters
_PARAMETER = re.compile(r"\$\{([a-z][a-z0-9]*)(?:\[([0-9]{1,2})\])?\}", re.ASCII | re.IGNORECASE)
_KEPT = "/:;,@!$'()*-._~"


class Namespace(msgspec.Struct, frozen=True):
    """A template of the Handle System."""

    delimiter: str
    _root: Element

    @classmethod
    def read_xml(cls, text: str) -> Self:
        """Parse the data of a value. Raises InvalidRequest."""
        return cls(*_read_template(text))

    def make_values(
        self,
        handle: str,
        base: str,
        extension: str,
        held: tuple[Value, ...],
        budget: StepBudget | None = None,
    ) -> tuple[Value, ...] | None:
        """The values of a handle made from a base with the values `held`, or None.

        Templates that are tried for one handle share a budget of steps.
        """
        told = {"handle": (handle,), "base": (base,), "extension": (extension,)}
        writer = _Writer(held, budget or StepBudget())
        try:
            made = list(writer.write_children(self._root, told, None))
        except _Stop:
            return None
        return tuple(made) or None


@lru_cache(maxsize=256)
def _read_template(text: str) -> tuple[str, Element]:
    root = loc.parse_xml(text, TYPE)
    template = next((one for one in root.iter("template")), None)
    if root.tag != "namespace" or template is None or not template.get("delimiter"):
        raise NamespaceIncomplete(value_type=TYPE)
    if sum(1 for _ in template.iter()) > _MOST_ELEMENTS:
        raise NamespaceTooLarge(value_type=TYPE, most=_MOST_ELEMENTS)
    _check_element(template, 0)
    return str(template.get("delimiter")), template


def _check_element(element: Element, depth: int) -> None:
    if element.tag not in _ELEMENTS or depth > _DEEPEST:
        raise NamespaceElementRefused(value_type=TYPE, element=element.tag)
    if element.tag == "if":
        if element.get("test") not in ("equals", "matches"):
            raise NamespaceTestUnknown(value_type=TYPE)
        if element.get("test") == "matches":
            Expression.compile_text(element.get("expression", ""))
    for one in element:
        _check_element(one, depth + 1)


class _Stop(Exception):
    """The template says that the handle does not exist, or exceeds a limit."""


_Parameters = Mapping[str, tuple[str, ...]]


class _Writer:
    """Applies a template once."""

    def __init__(self, held: tuple[Value, ...], budget: StepBudget) -> None:
        self._held = held
        self._matches = 0
        self._budget = budget
        self._written = 0

    def write_children(
        self, element: Element, told: _Parameters, current: Value | None
    ) -> Iterator[Value]:
        """The values that the children of an element make."""
        passed: bool | None = None
        for one in element:
            if one.tag == "foreach":
                for value in self._held:
                    if not is_secret(value):
                        yield from self.write_children(
                            one, {**told, **_list_parameters(value)}, value
                        )
            elif one.tag == "if":
                groups = self._test_element(one, told)
                passed = groups is not None
                if groups is not None:
                    named = one.get("parameter")
                    yield from self.write_children(
                        one, {**told, named: groups} if named else told, current
                    )
            elif one.tag == "else":
                if passed is False:
                    yield from self.write_children(one, told, current)
                passed = None
            elif one.tag == "value":
                yield self._write_value(one, told, current)
            elif one.tag == "notfound":
                raise _Stop

    def _test_element(self, one: Element, told: _Parameters) -> tuple[str, ...] | None:
        text = told.get(one.get("value", ""), ("",))[0]
        expression = one.get("expression", "")
        if one.get("test") == "equals":
            groups: tuple[str, ...] | None = (text,) if text == expression else None
        else:
            self._matches += 1
            if self._matches > _MOST_MATCHES:
                raise _Stop
            groups = Expression.compile_text(expression).match_text(text, self._budget)
            if self._budget.left < 0:
                raise _Stop
        if one.get("negate", "").lower() == "true":
            return (text,) if groups is None else None
        return groups

    def _write_value(self, one: Element, told: _Parameters, current: Value | None) -> Value:
        self._written += 1
        if self._written > MOST_VALUES:
            raise _Stop
        before = current or Value(index=self._written, type=URL, data="")
        kind = one.get("type", before.type)
        url = kind == URL

        def fill_parameter(found: re.Match[str]) -> str:
            texts = told.get(found[1], ())
            number = int(found[2] or 0)
            text = texts[number] if number < len(texts) else ""
            return escape(text, safe=_KEPT) if url and found[1] != "data" else text

        data = (
            before.data
            if "data" not in one.attrib
            else _PARAMETER.sub(fill_parameter, one.attrib["data"])
        )
        index = one.get("index", "")
        if len(data) > _LONGEST_DATA and "data" in one.attrib:
            raise _Stop
        return msgspec.structs.replace(
            before,
            index=int(index) if re.fullmatch("[1-9][0-9]{0,8}", index) else before.index,
            type=kind,
            data=data,
        )


def _list_parameters(value: Value) -> dict[str, tuple[str, ...]]:
    return {
        "index": (str(value.index),),
        "type": (value.type,),
        "data": (value.data,),
        "ttl": (str(value.ttl),),
    }
