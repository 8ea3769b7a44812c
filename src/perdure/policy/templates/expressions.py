r"""Regular expressions that match in time proportional to the text. Pure.

Strangers write the regular expressions in templates, and strangers send the texts. With `(a+)+b`
they can make a backtracking engine run for years, but not this one.

How it works: an expression is compiled to a small program for a machine that follows all possible
matches at once, character by character, and reads each character once (Thompson 1968, with groups
after Pike). So a match takes at most (length of program) × (length of text) steps. The steps are
counted, and all matches that one answer needs share a budget of them. Such a machine cannot do
back-references, look-ahead or look-behind; expressions with them are refused when they are read.

>>> Expression.compile_text(r"box\((\d+),(\d+)\)").match_text("box(3,14)")
('box(3,14)', '3', '14')
>>> Expression.compile_text("(a+)+b").match_text("a" * 400) is None
True

The expression must match the complete text, as in Java's `matches`, whose syntax the templates of
the Handle System use: literals, `.`, classes, `\d \w \s`, groups, `|`, `* + ? {m,n}` and their
reluctant forms.

What must stay true: matches with one budget never take more than its steps, and those of a last
character.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Self

import msgspec

from perdure.errors.limits import ExpressionsTooCostly
from perdure.errors.locations import MalformedExpression

LONGEST_EXPRESSION = 400
"""The most characters of an expression."""
LONGEST_TEXT = 500
"""The most characters of a text; a longer one does not match."""
MOST_INSTRUCTIONS = 250
MOST_STEPS = 5000
"""Of all matches for one answer: three milliseconds. Others wait meanwhile."""
_MOST_WRITTEN = 4 * MOST_INSTRUCTIONS
_MOST_GROUPS = 20
_MOST_NESTED = 30
_COUNT = re.compile(r"\{([0-9]{1,3})(,([0-9]{0,3}))?\}", re.ASCII)
_CLASSES = {"d": r"0-9", "w": r"A-Za-z0-9_", "s": r"\t\n\r\f\v\ "}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r"}
_SPECIAL = "\\.[](){}*+?|^$"

Test = Callable[[str], bool]


class _Step(msgspec.Struct):
    """One instruction: a test of a character, a fork, or the beginning or end of a group."""

    test: Test | None = None
    fork: tuple[int, ...] = ()
    save: int = -1


class StepBudget:
    """The steps that matches may still take together; `left` is negative if they took more."""

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left
        self._most = left

    def check(self, text: str) -> None:
        """Raise ExpressionsTooCostly if the matches with a text took more steps than they may."""
        if self.left < 0:
            raise ExpressionsTooCostly(text=text, most=self._most)


class Expression(msgspec.Struct, frozen=True):
    """A compiled expression."""

    text: str
    _program: tuple[_Step, ...]
    _groups: int

    @classmethod
    def compile_text(cls, text: str) -> Self:
        """Compile an expression. Raises InvalidRequest if it is malformed or not supported."""
        program, groups = _compile_text(text)
        return cls(text, program, groups)

    def match_text(self, text: str, budget: StepBudget | None = None) -> tuple[str, ...] | None:
        """The complete match and its groups (empty for an unused group), or None.

        If it takes more steps than the budget has, it is None.
        """
        pairs = self.match_spans(text, budget=budget)
        if pairs is None:
            return None
        return (text, *(text[a:b] if 0 <= a <= b else "" for a, b in pairs))

    def match_spans(
        self, text: str, longest: int = LONGEST_TEXT, budget: StepBudget | None = None
    ) -> tuple[tuple[int, int], ...] | None:
        """The places of the groups of a complete match, or None; (-1, -1) for an unused group.

        A text of more than `longest` characters does not match, nor does one that takes more steps
        than the budget has: by default, in proportion to the longest text.
        """
        if len(text) > longest:
            return None
        budget = budget or StepBudget(MOST_STEPS * longest // LONGEST_TEXT)
        if budget.left < 0:
            return None
        marks: tuple[int, ...] = (-1,) * (2 * self._groups)
        threads = self._follow_forks([(0, marks)], 0, budget)
        for at, character in enumerate(text):
            following = []
            for place, marks in threads:
                if place == len(self._program):
                    continue
                test = self._program[place].test
                if test is not None and test(character):
                    following.append((place + 1, marks))
            threads = self._follow_forks(following, at + 1, budget)
            if not threads or budget.left < 0:
                return None
        for place, marks in threads:
            if place == len(self._program):
                return tuple(zip(marks[::2], marks[1::2], strict=True))
        return None

    def _follow_forks(
        self, begun: list[tuple[int, tuple[int, ...]]], at: int, budget: StepBudget
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The tests that are reachable without reading a character, the preferred ones first."""
        reached: list[tuple[int, tuple[int, ...]]] = []
        seen = set()
        waiting = begun[::-1]
        while waiting:
            place, marks = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            if place == len(self._program):
                reached.append((place, marks))
                continue
            step = self._program[place]
            if step.test is not None:
                reached.append((place, marks))
            elif step.save >= 0:
                saved = (*marks[: step.save], at, *marks[step.save + 1 :])
                waiting.append((place + 1, saved))
            else:
                waiting.extend((one, marks) for one in reversed(step.fork))
        budget.left -= len(seen)
        return reached


# reading
# -------

# The tree of an expression: texts and tuples. If `{m,n}` repeats a node, its instructions are
# written more than once.
_Node = tuple[object, ...]


class _Reader:
    """Reads an expression from the left; `at` is its position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.depth = 0
        self.written = 0

    def make_fault(self, reason: str) -> MalformedExpression:
        return MalformedExpression(text=self.text, at=self.at, fault=reason)

    def peek_sign(self) -> str:
        return self.text[self.at : self.at + 1]

    def read_alternatives(self) -> _Node:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise self.make_fault(f"groups are nested more than {_MOST_NESTED} deep")
        found = [self.read_sequence()]
        while self.peek_sign() == "|":
            self.at += 1
            found.append(self.read_sequence())
        self.depth -= 1
        return found[0] if len(found) == 1 else ("or", *found)

    def read_sequence(self) -> _Node:
        found = []
        while self.peek_sign() not in ("", "|", ")"):
            found.append(self.read_repetition(self.read_item()))
        return ("and", *found)

    def read_repetition(self, node: _Node) -> _Node:
        counted = _COUNT.match(self.text, self.at)
        sign = self.peek_sign()
        if counted:
            low = int(counted[1])
            high = low if counted[2] is None else int(counted[3]) if counted[3] else None
            self.at = counted.end()
        elif sign and sign in "*+?":
            low, high = (1 if sign == "+" else 0), (1 if sign == "?" else None)
            self.at += 1
        else:
            return node
        if high is not None and high < low:
            raise self.make_fault("the counts are in the wrong order")
        reluctant = self.peek_sign() == "?"
        self.at += reluctant
        if self.peek_sign() and self.peek_sign() in "*+?{":
            raise self.make_fault("nothing to repeat; possessive repetition is not supported")
        return ("times", node, low, high, reluctant)

    def read_item(self) -> _Node:
        sign = self.peek_sign()
        self.at += 1
        match sign:
            case "(":
                return self.read_group()
            case "[":
                return self.read_class()
            case ".":
                return ("test", _is_any)
            case "\\":
                return self.read_escape()
            case "^" if self.at == 1:
                return ("and",)
            case "$" if self.at == len(self.text):
                return ("and",)
            case "*" | "+" | "?" | "{" | "^" | "$":
                self.at -= 1
                raise self.make_fault(f"{sign!r} must be escaped here")
        return ("test", _make_class_test(re.escape(sign)))

    def read_group(self) -> _Node:
        number = None
        if self.peek_sign() == "?":
            if self.text[self.at : self.at + 2] != "?:":
                raise self.make_fault("only groups (…) and (?:…) are supported")
            self.at += 2
        else:
            number = self.groups
            self.groups += 1
            if self.groups > _MOST_GROUPS:
                raise self.make_fault(f"there are more than {_MOST_GROUPS} groups")
        inner = self.read_alternatives()
        if self.peek_sign() != ")":
            raise self.make_fault("')' is missing")
        self.at += 1
        return inner if number is None else ("group", number, inner)

    def read_escape(self) -> _Node:
        sign = self.peek_sign()
        self.at += 1
        if sign.lower() in _CLASSES:
            return ("test", _make_class_test(_CLASSES[sign.lower()], negated=sign.isupper()))
        if sign in _ESCAPES:
            return ("test", _make_class_test(re.escape(_ESCAPES[sign])))
        if not sign or sign.isalnum():
            self.at -= 1
            raise self.make_fault("this escape is not supported")
        return ("test", _make_class_test(re.escape(sign)))

    def read_class(self) -> _Node:
        """Read a class, which `re` tests later, one character at a time. Refuse unknown syntax."""
        negated = self.peek_sign() == "^"
        self.at += negated
        found = ""
        while self.peek_sign() not in ("", "]"):
            sign = self.peek_sign()
            self.at += 1
            if sign == "\\":
                sign = self.peek_sign()
                self.at += 1
                if sign in _CLASSES:
                    found += _CLASSES[sign]
                elif not sign or (sign.isalnum() and sign not in _ESCAPES):
                    raise self.make_fault("this escape is not supported")
                else:
                    found += re.escape(_ESCAPES.get(sign, sign))
            elif sign == "-":
                found += sign
            elif sign in "[&":
                raise self.make_fault(f"{sign!r} must be escaped here")
            else:
                found += re.escape(sign)
        if not found or self.peek_sign() != "]":
            raise self.make_fault("']' is missing")
        self.at += 1
        try:
            return ("test", _make_class_test(found, negated=negated))
        except re.error:
            raise self.make_fault("this is not a class of characters") from None


_RULE = "docs/reference/templates.md"


def _is_any(character: str) -> bool:
    return character != "\n"


def _make_class_test(members: str, *, negated: bool = False) -> Test:
    """Make a test for a class; `re` cannot backtrack over a single character."""
    pattern = re.compile(f"[{'^' if negated else ''}{members}]", re.ASCII)
    return lambda character: pattern.match(character) is not None


@lru_cache(maxsize=256)
def _compile_text(text: str) -> tuple[tuple[_Step, ...], int]:
    reader = _Reader(text)
    if len(text) > LONGEST_EXPRESSION:
        raise reader.make_fault(f"it has more than {LONGEST_EXPRESSION} characters")
    tree = reader.read_alternatives()
    if reader.at < len(text):
        raise reader.make_fault("')' has no matching '('")
    program: list[_Step] = []
    _write_node(tree, program, reader)
    return tuple(program), reader.groups


def _write_node(node: _Node, program: list[_Step], reader: _Reader) -> None:
    """Appends the instructions of a node."""
    reader.written += 1  # an empty node, too, can be repeated without end
    if len(program) > MOST_INSTRUCTIONS or reader.written > _MOST_WRITTEN:
        raise reader.make_fault(f"it needs more than {MOST_INSTRUCTIONS} instructions")
    match node:
        case ("test", test):
            program.append(_Step(test=test))  # type: ignore[arg-type]  # the shape of a node
        case ("and", *parts):
            for part in parts:
                _write_node(part, program, reader)  # type: ignore[arg-type]
        case ("or", *parts):
            _write_or(parts, program, reader)  # type: ignore[arg-type]
        case ("group", int() as number, inner):
            program.append(_Step(save=2 * number))
            _write_node(inner, program, reader)  # type: ignore[arg-type]
            program.append(_Step(save=2 * number + 1))
        case ("times", inner, int() as low, high, reluctant):
            for _ in range(low):
                _write_node(inner, program, reader)  # type: ignore[arg-type]
            again = bool(reluctant)
            _write_rest(inner, low, high, program, reader, reluctant=again)  # type: ignore[arg-type]


def _write_or(parts: list[_Node], program: list[_Step], reader: _Reader) -> None:
    fork = _Step()
    program.append(fork)
    starts, ends = [], []
    for part in parts:
        starts.append(len(program))
        _write_node(part, program, reader)
        end = _Step()
        program.append(end)
        ends.append(end)
    fork.fork = tuple(starts)
    for end in ends:
        end.fork = (len(program),)


def _write_rest(
    inner: _Node,
    low: int,
    high: int | None,
    program: list[_Step],
    reader: _Reader,
    *,
    reluctant: bool,
) -> None:
    """Append the instructions of the optional repetitions."""
    if high is None:
        fork = _Step()
        start = len(program)
        program.append(fork)
        _write_node(inner, program, reader)
        program.append(_Step(fork=(start,)))
        fork.fork = _order_fork(start + 1, len(program), reluctant=reluctant)
        return
    forks = []
    for _ in range(high - low):
        fork = _Step()
        program.append(fork)
        forks.append((fork, len(program)))
        _write_node(inner, program, reader)
    for fork, start in forks:
        fork.fork = _order_fork(start, len(program), reluctant=reluctant)


def _order_fork(again: int, onward: int, *, reluctant: bool) -> tuple[int, ...]:
    return (onward, again) if reluctant else (again, onward)
