r"""Templates for the locations of parts of resources held elsewhere (ISO 24619, 5.2.5). Pure.

`1839/A#z` is the part `z` of `1839/A`. If `1839/A` leads to `http://oserver/objectA`, and that
server expects `?part=z` for the part, a template says so:

>>> one = read_template("hdl:1839/ # {location}?part={part}")
>>> one.fill_target("hdl:1839/A", "z", "http://oserver/objectA")
'http://oserver/objectA?part=z'
>>> clip = read_template("hdl:1839/ @ {location}#t={time}")
>>> clip.fill_target("hdl:1839/A", "time(100s,200s)", "http://oserver/objectA")
'http://oserver/objectA#t=100,200'

How it works: a template is a line of three or four words: the identifiers that it applies to, the
delimiter before the part, an optional expression between slashes that the part must match
(`perdure.policy.templates.expressions`), and the target, with variables in braces. `find_applying`
finds the templates for a part of an identifier, the most specific first; the first that can be
filled is used. A time may have any of the syntaxes of `perdure.parts`, so `@time(100s,200s)`
becomes the form that the server understands: `{time}` of Media Fragments, `{annodex}`, `{mpeg21}`,
or `{start}` and `{end}`.

What must stay true: the text of a part never changes the server that the target leads to, since it
is escaped and follows the authority; nothing takes longer than the expression's budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from perdure import parts
from perdure.errors import MalformedPart, PartNotSupported
from perdure.errors.locations import LeadsElsewhere, MalformedTemplate
from perdure.ids.escaping import escape_text
from perdure.parts.selectors import Instant, Interval, Media
from perdure.policy.templates.expressions import Expression, StepBudget

DELIMITERS = ("#", "@", "?part=")
EVERY = "*"
LONGEST = 2000
"""The most characters of a template."""
_LOCATION = "location"
_NAMES = (_LOCATION, "name", "part", "time", "annodex", "mpeg21", "start", "end")
_VARIABLE = re.compile(r"\{([a-z0-9]+)\}")
_ABSOLUTE = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?=[/?#]|$)", re.ASCII)
_VISIBLE = re.compile("[!-~]+", re.ASCII)
_KEPT = "/:;,@!$'()*-._~"
_RULE = "docs/reference/templates.md"


class Template(msgspec.Struct, frozen=True):
    """A template for the locations of parts of some identifiers."""

    scope: str
    """An identifier, or the beginning of identifiers, which ends in `/` or `*`. In lower case;
    empty for a template in the record that it applies to."""
    delimiter: str
    """One of DELIMITERS, or `*` for any."""
    expression: Expression | None
    target: str

    def __str__(self) -> str:
        words = [self.scope, self.delimiter, self.target]
        if self.expression is not None:
            words.insert(2, f"/{self.expression.text}/")
        return " ".join(word for word in words if word)

    @classmethod
    def from_words(cls, scope: str, words: list[str]) -> Self:
        """Make a template from its words. Raises InvalidRequest."""
        text = " ".join((scope, *words))
        if len(words) not in (2, 3) or len(text) > LONGEST:
            form = "DELIMITER [/EXPRESSION/] TARGET"
            raise MalformedTemplate(
                text=text, expected=f"it must be {form}, in at most {LONGEST} characters"
            )
        delimiter, target = words[0], words[-1]
        if delimiter not in (*DELIMITERS, EVERY):
            raise MalformedTemplate(
                text=text, expected=f"its delimiter must be one of {' '.join((*DELIMITERS, EVERY))}"
            )
        expression = None
        if len(words) == 3:
            if len(words[1]) < 3 or words[1][0] != "/" or words[1][-1] != "/":
                raise MalformedTemplate(text=text, expected="write the expression between slashes")
            expression = Expression.compile_text(words[1][1:-1])
        _check_target(text, target)
        return cls(scope.lower(), delimiter, expression, target)

    def applies_to(self, folded: str, delimiter: str) -> bool:
        """Return True if the template is for parts of an identifier after this delimiter.

        `folded` is the text of the identifier in lower case.
        """
        scope = self.scope
        if scope and scope[-1] in "/*":
            is_covered = folded.startswith(scope if scope[-1] == "/" else scope[:-1])
        else:
            is_covered = not scope or folded == scope
        return is_covered and self.has_delimiter(delimiter)

    def has_delimiter(self, delimiter: str) -> bool:
        """Return True if the template is for parts after this delimiter."""
        # `?part=` stands for a `#`, which a client would not send  (ruling: fragment-transport)
        own = "?part=" if delimiter == "?part=" and self.delimiter == "#" else self.delimiter
        return own in (EVERY, delimiter)

    def fill_target(
        self, whole: str, part: str, location: str, budget: StepBudget | None = None
    ) -> str | None:
        """The location of a part, or None if the template is not for this kind of part.

        `whole` is the canonical text of the identifier, `location` its own location. Templates that
        are tried for one part share a budget.
        """
        groups: tuple[str, ...] = ()
        if self.expression is not None:
            matched = self.expression.match_text(part, budget)
            if matched is None:
                return None
            groups = matched
        is_appended, pieces, around_part = _split_target(self.target)
        if around_part is not None:
            filled = escape_text(part, _KEPT).join(around_part)
            return append_text(location, filled) if is_appended else filled
        wanted = set(pieces[1::2])
        known = {"part": part, "name": _find_local_name(whole)} | read_times(part, wanted)
        known |= {str(number): text for number, text in enumerate(groups)}
        if not wanted <= known.keys():
            return None
        filled = "".join(
            escape_text(known[piece], _KEPT) if at % 2 else piece for at, piece in enumerate(pieces)
        )
        return append_text(location, filled) if is_appended else filled


class _SplitTarget(NamedTuple):
    is_appended: bool
    """True if the target begins with the location."""
    pieces: list[str]
    """The rest of it: texts and, between them, the names of variables."""
    around_part: list[str] | None
    """These texts if every variable is the part; None if there are others, or none."""


@lru_cache(maxsize=1024)
def _split_target(target: str) -> _SplitTarget:
    rest = target.removeprefix("{location}")
    pieces = _VARIABLE.split(rest)
    only_part = set(pieces[1::2]) == {"part"}
    return _SplitTarget(rest != target, pieces, pieces[::2] if only_part else None)


def _check_target(text: str, target: str) -> None:
    if not _VISIBLE.fullmatch(target):
        raise MalformedTemplate(text=text, expected="its target must consist of visible ASCII")
    if not target.startswith("{location}") and not _ABSOLUTE.match(target):
        raise MalformedTemplate(
            text=text, expected="its target must begin with {location} or with http(s)://SERVER/"
        )
    if target.count("{location}") > 1:
        raise MalformedTemplate(
            text=text, expected="{location} may occur only once, at the beginning"
        )
    for name in _VARIABLE.findall(target):
        if name not in _NAMES and not re.fullmatch("[0-9]{1,2}", name):
            raise MalformedTemplate(
                text=text,
                expected=f"its variables may be {', '.join(_NAMES)} and numbers of groups",
            )


@lru_cache(maxsize=1024)
def read_template(text: str) -> Template:
    """A template with its scope: `hdl:1839/ # {location}?part={part}`. Raises InvalidRequest."""
    words = text.split()
    if not words or ":" not in words[0]:
        raise MalformedTemplate(
            text=text,
            expected="it must begin with an identifier, or with the beginning of identifiers",
        )
    return Template.from_words(words[0], words[1:])


@lru_cache(maxsize=1024)
def read_record_template(text: str) -> Template:
    """A template in a record: `# {location}?part={part}`. Raises InvalidRequest."""
    return Template.from_words("", text.split())


def find_applying(templates: Iterable[Template], whole: str, delimiter: str) -> list[Template]:
    """The templates for a part of an identifier, the most specific first."""
    folded = whole.lower()
    found = [one for one in templates if one.applies_to(folded, delimiter)]
    if len(found) > 1:
        found.sort(key=lambda one: -len(one.scope))
    return found


def _find_local_name(whole: str) -> str:
    """The text after the prefix of a handle, the series of a PDI or the number of an ARK."""
    scheme, _, rest = whole.partition(":")
    return rest.removeprefix("//").partition("/")[2] or rest or scheme


# locations
# ---------

# the beginning of a URL whose server ends in it, so that no text behind it changes the server
_ENDED_AUTHORITY = re.compile("https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?[/?]", re.ASCII)


def append_text(location: str, more: str) -> str:
    """Append text to a location, on the same server. Raises InvalidRequest.

    It replaces the fragment of the location; a second `?` becomes `&`.

    >>> append_text("http://a.example/x?y=1#z", "?part=2")
    'http://a.example/x?y=1&part=2'
    >>> append_text("http://a.example", ".evil.example")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perdure.errors.locations.LeadsElsewhere: ... the result would lead to another server
    """
    if not more:
        return location
    base = location.partition("#")[0]
    if more[0] == "?" and "?" in base:
        more = f"&{more[1:]}"
    if _ENDED_AUTHORITY.match(base) is None and not _is_same_server(base, base + more):
        raise LeadsElsewhere(appended=more)
    return base + more


def _is_same_server(one: str, other: str) -> bool:
    try:
        return urlsplit(one)[:2] == urlsplit(other)[:2]
    except ValueError:
        return False


# times
# -----

_OF_TIMES = frozenset(("time", "annodex", "mpeg21", "start", "end"))


def read_times(part: str, wanted: set[str]) -> dict[str, str]:
    """The values of the variables of a time. Empty if none is wanted, or the part is not a time.

    >>> read_times("sec=10,20", {"annodex"})["annodex"]
    '10/20'
    """
    if _OF_TIMES.isdisjoint(wanted):
        return {}
    moment = _read_moment(part)
    if moment is None:
        return {}
    start, end = moment
    first, last = _spell_seconds(start), None if end is None else _spell_seconds(end)
    found = {"start": first, "time": first, "annodex": first, "mpeg21": _spell_mpeg21(first)}
    if last is not None:
        found["end"] = last
        found |= {"time": f"{first},{last}", "annodex": f"{first}/{last}"}
        found["mpeg21"] = _spell_mpeg21(first, last)
    return found


def _read_moment(part: str) -> tuple[Fraction, Fraction | None] | None:
    """The start and the end, in seconds, of a part in any syntax."""
    for reader in (parts.pdi.read_pdi_part, _read_timed):
        try:
            found = reader(part)
        except (MalformedPart, PartNotSupported):
            continue
        match found:
            case Media(time=time) if time is not None:
                return time.start or Fraction(0), time.end
            case Instant(at=at):
                return at, None
            case Interval(start=start, end=end):
                return start, end
    return None


def _read_timed(text: str) -> parts.Selector:
    """Read a part as the part of a film, whatever it is a part of."""
    return parts.parse_part(text, "video/mp4")


def _spell_mpeg21(*moments: str) -> str:
    written = ",".join(f"'{one}'" for one in moments)
    return f"mp(/~time('npt',{written}))"


def _spell_seconds(moment: Fraction) -> str:
    """Write a moment with as few decimals as possible, nine at most."""
    return re.sub(r"\.?0*\Z", "", f"{float(moment):.9f}")


# the start of a part
# -------------------

MOST_SPLITS = 16
"""The most ways to split a name at its delimiters."""


def list_splits(text: str, delimiters: str) -> list[tuple[str, str, str]]:
    """The ways to split an identifier: whole, delimiter, part; the longest whole first.

    There are at most 16, so that the cost of a name full of delimiters is bounded.

    >>> list_splits("hdl:1839/A#z@1", "#@")
    [('hdl:1839/A#z', '@', '1'), ('hdl:1839/A', '#', 'z@1')]
    """
    places = [at for at, one in enumerate(text) if one in delimiters]
    return [(text[:at], text[at], text[at + 1 :]) for at in places[: -MOST_SPLITS - 1 : -1]]
