"""The mistake in a text that is not a PDI: the index, the expected text, and the rule.

How it works: a reader follows the grammar of section 1.2 of the draft step by step and stops at the
first character that is not allowed. It runs only after the patterns of `perdure.ids.grammar` have
refused the text, so it may be slow; it uses the same pattern fragments.

What must stay true: it finds a mistake in exactly the texts that `perdure.ids.pdi.parse_pdi`
refuses.
"""

from __future__ import annotations

import re
from typing import NoReturn

from perdure.errors import MalformedIdentifier
from perdure.ids import grammar
from perdure.ids.pdi_date import canonicalise_date
from perdure.ids.pdi_fragment import find_fragment_mistake

DEEPEST = 8  # citations within one another  # ruling: pdi-citation


def find_mistake(text: str) -> MalformedIdentifier:
    """Return the error that describes the mistake in `text`, which is not a PDI."""
    try:
        grammar.check_limits(text)
        _Reader(text).read_pdi(depth=0)
    except MalformedIdentifier as mistake:
        return mistake
    # The only mistake left if every character is allowed in its place.
    expected = f"a PDI whose canonical form has at most {grammar.LONGEST} characters"
    return MalformedIdentifier(text=text, at=len(text), expected=expected, rule="ruling pdi-limits")


_SCHEME_AND_EQUALS = f"{grammar.SCHEME_NAME}="
_ESCAPED_CONTROL = re.compile("%(?:[01][0-9A-Fa-f]|7[Ff])")
_ESCAPE = re.compile(grammar.ESCAPE)
_DIGITS = "[0-9]++"
_ORDER = "; a date is written year/month/day"


class _Reader:
    """One pass over one text. Each method reads the component in its name, or raises."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def take_match(self, pattern: str) -> str:
        """Return the text, perhaps empty, that the pattern matches here, and move past it."""
        match = re.compile(pattern, re.ASCII).match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def is_next(self, character: str) -> bool:
        return self.text.startswith(character, self.at)

    @property
    def is_digit_next(self) -> bool:
        return "0" <= self.text[self.at : self.at + 1] <= "9"

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.text)

    def fail_here(self, expected: str, rule: str, at: int | None = None) -> NoReturn:
        if _ESCAPED_CONTROL.match(self.text, self.at):
            rule = f"{rule}; no control characters: ruling pdi-limits"
        raise MalformedIdentifier(
            text=self.text, at=self.at if at is None else at, expected=expected, rule=rule
        )

    def fail_within(self, expected: str, rule: str) -> NoReturn:
        """Report that the character here does not belong to the current component."""
        self.fail_at_broken_escape(rule)
        if self.is_next("*") or self.text.endswith("*", 0, self.at):
            self.fail_here("'*' only in place of a whole component", "ruling pdi-wildcard")
        self.fail_here(expected, rule)

    def fail_at_broken_escape(self, rule: str) -> None:
        if self.is_next("%") and not _ESCAPE.match(self.text, self.at):
            self.take_match("%[0-9A-Fa-f]?+")
            self.fail_here("two hexadecimal digits after '%'", rule)

    def read_pdi(self, depth: int) -> None:
        self.read_prefix()
        self.read_series()
        date: list[str] = []
        for component in _DATE:
            if self.is_at_end:
                return self.end_interval(depth)
            date.append(self.read_date_component(date, component))
        if self.is_at_end:
            return self.end_interval(depth)
        token = self.read_specifier()
        if self.is_next("#"):
            self.read_fragment(token)
        elif self.is_next("@"):
            self.read_citation(depth)
        return None

    def end_interval(self, depth: int) -> None:
        if depth:
            self.fail_here(
                "a complete PDI, because an interval cannot be cited", "ruling pdi-citation"
            )

    def read_prefix(self) -> None:
        rule = "ruling pdi-prefix"
        start = self.at
        self.take_match("(?i:urn:)")
        if not self.take_match("(?i:pdi:)"):
            self.at = start
            known = "urn:pdi:" if self.is_next("u") or self.is_next("U") else "pdi:"
            while self.take_match(f"(?i:{known[self.at - start]})"):
                pass
            self.fail_here("'pdi:' or 'urn:pdi:'", rule)
        if not self.take_match("//"):
            self.take_match("/")
            self.fail_here("'//' before the document series", rule)

    def read_series(self) -> None:
        rule = "ruling pdi-series"
        before_country = 0
        while component := self.take_match(grammar.COMPONENT):
            if not self.take_match(r"\."):
                break
            before_country += 1
        if not component:
            self.fail_here("a component of letters, digits and hyphens", rule)
        if not (self.is_at_end or self.is_next("/") or self.is_next("%")):
            self.fail_here("a letter, a digit, '-' or '.', of which a series consists", rule)
        if not (before_country and re.fullmatch(grammar.COUNTRY, component)):
            self.fail_here("'.' and two or more letters, the country code that ends a series", rule)
        if not self.take_match("/"):
            self.fail_here("'/' after the document series", rule)

    def read_date_component(self, before: list[str], component: tuple[str, str, str]) -> str:
        name, pattern, expected = component
        start = self.at
        found = self.take_match(pattern)
        if not found:
            if self.take_match(_DIGITS) and (self.is_at_end or self.is_next("/")):
                self.fail_here(f"{expected}{_ORDER}", "ruling pdi-date", start)
            self.fail_here(expected, "ruling pdi-date")
        if canonicalise_date(*[*before, found]) is None:
            expected = f"a {name} that exists in the calendar{_ORDER}"
            self.fail_here(expected, "ruling pdi-date", start)
        if not self.take_match("/"):
            if self.is_next("*") or found == "*":
                self.fail_here(
                    f"'/', because a wildcard replaces the whole {name}", "ruling pdi-wildcard"
                )
            if name == "day" and not self.is_digit_next:
                self.fail_here("'/' and a unique-id after the day", "ruling pdi-missing-uid")
            self.fail_here(f"'/' after the {name}", "ruling pdi-date, ruling pdi-interval")
        return found

    def read_specifier(self) -> str | None:
        """Read unique-id, format and version; return the canonical format."""
        follows = "'.', '#', '@' or the end"
        if not self.take_match(grammar.UID):
            self.fail_within("a unique-id", "ruling pdi-uid")
        if not self.take_match(r"\."):
            self.end_component(f"a character allowed in a unique-id, {follows}", "pdi-uid")
            return None
        token = self.take_match(grammar.FORMAT)
        if not token:
            self.fail_within("a format", "ruling pdi-format")
        if self.is_next("+"):
            self.at += "+" not in token
            self.fail_within("at most one '+', between major and minor type", "ruling pdi-format")
        if self.take_match(r"\."):
            self.read_version()
        else:
            self.end_component(f"a character allowed in a format, {follows}", "pdi-format")
        return grammar.TOKEN_ESCAPES.canonicalise_text(token).lower()

    def read_version(self) -> None:
        rule = "ruling pdi-version"
        version = self.take_match(grammar.VERSION)
        if not version:
            expected = "a version number of 1 or more; write a dot within a name as %2e"
            self.fail_within(expected, rule)
        if version != "*" and self.is_digit_next:
            self.fail_here(f"a version of at most {grammar.NUMERAL_DIGITS} digits", rule)
        if self.is_next("."):
            self.fail_here(
                "'#', '@' or the end; write a dot within a name as %2e", "ruling pdi-uid"
            )
        if self.text.startswith("%23", self.at):
            self.fail_here("'#', '@' or the end; write # for %23, its form in URLs", rule)
        self.end_component("'#', '@' or the end", "pdi-version")

    def end_component(self, expected: str, ruling: str) -> None:
        if not (self.is_at_end or self.is_next("#") or self.is_next("@")):
            self.fail_within(expected, f"ruling {ruling}")

    def read_fragment(self, token: str | None) -> None:
        self.at += 1
        scheme = self.take_match(_SCHEME_AND_EQUALS).removesuffix("=")
        start = self.at
        mistake = find_fragment_mistake(scheme or None, self.text[start:], token)
        if mistake is not None:
            self.at += mistake.at
            self.fail_beside_citation()
            if scheme.lower() == "name":  # numbers have no use for escapes
                self.fail_at_broken_escape(mistake.rule)
            self.fail_here(mistake.expected, mistake.rule)
        self.read_position()
        while self.take_match(","):
            self.read_position()
        self.fail_beside_citation()
        if not self.is_at_end:
            self.fail_position("',' and a position, or the end")

    def fail_beside_citation(self) -> None:
        if self.is_next("@"):
            expected = "the end, because a citation cannot follow a fragment"
            self.fail_here(expected, "ruling pdi-citation")

    def read_position(self) -> None:
        if not self.take_match(r"\("):
            return self.read_position_specifier()
        self.read_position_specifier()
        while self.take_match(","):
            self.read_position_specifier()
        if not self.take_match(r"\)"):
            self.fail_position("',' or ')'")
        return None

    def read_position_specifier(self) -> None:
        if not self.take_match(grammar.SPECIFIER):
            self.fail_position("a position")

    def fail_position(self, expected: str) -> NoReturn:
        rule = "ruling pdi-position"
        self.fail_at_broken_escape(rule)
        self.fail_here(expected, rule)

    def read_citation(self, depth: int) -> None:
        rule = "ruling pdi-citation"
        if depth == DEEPEST:
            self.fail_here(f"the end, because citations nest at most {DEEPEST} deep", rule)
        self.at += 1
        self.read_position()
        if not self.take_match("="):
            self.fail_position("'=' and the cited PDI")
        self.read_pdi(depth + 1)


_DATE = (
    ("year", grammar.YEAR, "a year of four or more digits, or '*'"),
    ("month", grammar.MONTH, "a month of one or two digits, or '*'"),
    ("day", grammar.DAY, "a day of one or two digits, or '*'"),
)
