r"""Templates: where a part lies of a thing that is held elsewhere (ISO 24619, 5.2.5). Pure.

`1839/A#z` is the part `z` of `1839/A`. Where `1839/A` leads to `http://oserver/objectA`, and that
server wants its parts asked for as `?part=z`, a template says so:

>>> one = read("hdl:1839/ # {location}?part={part}")
>>> one.fill("hdl:1839/A", "z", "http://oserver/objectA")
'http://oserver/objectA?part=z'
>>> clip = read("hdl:1839/ @ {location}#t={time}")
>>> clip.fill("hdl:1839/A", "time(100s,200s)", "http://oserver/objectA")
'http://oserver/objectA#t=100,200'

How it works: a template is a line of three or four words: to which identifiers it applies, which
delimiter stands before the part, perhaps an expression between slashes that the part must match
(`perdure.policy.templates.expressions`), and the target, with variables in braces. `applying` finds
those for a part of an identifier, the most special first; the first that can be filled is taken. A
time in any of the syntaxes of `perdure.parts` is one, so `@time(100s,200s)` becomes what the server
at hand understands: `{time}` of Media Fragments, `{annodex}`, `{mpeg21}`, or `{start}` and `{end}`.

What must stay true: what stands in a part never changes the server that the target leads to: it is
escaped, and stands behind the authority; nothing takes longer than the expression's budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Self
from urllib.parse import quote as escape
from urllib.parse import urlsplit

import msgspec

from perdure import parts
from perdure.errors import MalformedPart, PartNotSupported
from perdure.errors.locations import LeadsElsewhere, MalformedTemplate
from perdure.parts.selectors import Instant, Interval, Media
from perdure.policy.templates.expressions import Expression

DELIMITERS = ("#", "@", "?part=")
EVERY = "*"
LONGEST = 2000
"""Characters of a template."""
_LOCATION = "location"
_NAMES = (_LOCATION, "name", "part", "time", "annodex", "mpeg21", "start", "end")
_VARIABLE = re.compile(r"\{([a-z0-9]+)\}")
_ABSOLUTE = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?=[/?#]|$)", re.ASCII)
_VISIBLE = re.compile("[!-~]+", re.ASCII)
_KEPT = "/:;,@!$'()*-._~"
_RULE = "docs/reference/templates.md"


class Template(msgspec.Struct, frozen=True):
    """Where the parts of some identifiers lie."""

    scope: str
    """An identifier, or how identifiers begin: up to a `/`, or up to a `*`. In lower case; empty
    for a template that lies with the record that it is for."""
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
    def make(cls, scope: str, words: list[str]) -> Self:
        """Raises InvalidRequest."""
        text = " ".join((scope, *words))
        if len(words) not in (2, 3) or len(text) > LONGEST:
            form = "DELIMITER [/EXPRESSION/] TARGET"
            raise MalformedTemplate(
                text=text, expected=f"{form} is needed, in at most {LONGEST} characters"
            )
        delimiter, target = words[0], words[-1]
        if delimiter not in (*DELIMITERS, EVERY):
            raise MalformedTemplate(
                text=text, expected=f"a delimiter is one of {' '.join((*DELIMITERS, EVERY))}"
            )
        expression = None
        if len(words) == 3:
            if len(words[1]) < 3 or words[1][0] != "/" or words[1][-1] != "/":
                raise MalformedTemplate(text=text, expected="an expression stands between slashes")
            expression = Expression.read(words[1][1:-1])
        _check_target(text, target)
        return cls(scope.lower(), delimiter, expression, target)

    def applies(self, whole: str, delimiter: str) -> bool:
        """Whether this is for parts of an identifier behind a delimiter."""
        name = whole.lower()
        if self.scope and not (
            name.startswith(self.scope.removesuffix(EVERY))
            if self.scope[-1] in "/*"
            else name == self.scope
        ):
            return False
        # how a `#` is written where a client would keep it to itself  (ruling: fragment-transport)
        return self.delimiter in (EVERY, delimiter) or (delimiter, self.delimiter) == (
            "?part=",
            "#",
        )

    def fill(self, whole: str, part: str, location: str) -> str | None:
        """Where a part lies; None where the part is not of the kind that this is for.

        `whole` is the canonical text of the identifier, `location` where that leads.
        """
        groups: tuple[str, ...] = ()
        if self.expression is not None:
            matched = self.expression.match(part)
            if matched is None:
                return None
            groups = matched
        wanted = set(_VARIABLE.findall(self.target))
        known = {"name": _local(whole), "part": part} | times(part, wanted)
        known |= {str(number): text for number, text in enumerate(groups)}
        if not (wanted - {_LOCATION}) <= known.keys():
            return None
        written = {name: escape(text, safe=_KEPT) for name, text in known.items()}
        head, before, rest = self.target.partition("{location}")
        filled = _VARIABLE.sub(lambda found: written[found[1]], rest if before else head)
        return appended(location, filled) if before else filled


def _check_target(text: str, target: str) -> None:
    if not _VISIBLE.fullmatch(target):
        raise MalformedTemplate(text=text, expected="the target is written in visible ASCII")
    if not target.startswith("{location}") and not _ABSOLUTE.match(target):
        raise MalformedTemplate(
            text=text, expected="the target begins with {location} or with http(s)://SERVER/"
        )
    if target.count("{location}") > 1:
        raise MalformedTemplate(text=text, expected="{location} stands once, at the beginning")
    for name in _VARIABLE.findall(target):
        if name not in _NAMES and not re.fullmatch("[0-9]{1,2}", name):
            raise MalformedTemplate(
                text=text, expected=f"variables are {', '.join(_NAMES)} and numbers of groups"
            )


@lru_cache(maxsize=1024)
def read(text: str) -> Template:
    """A template with its scope: `hdl:1839/ # {location}?part={part}`. Raises InvalidRequest."""
    words = text.split()
    if not words or ":" not in words[0]:
        raise MalformedTemplate(
            text=text, expected="an identifier is needed first, or how identifiers begin"
        )
    return Template.make(words[0], words[1:])


@lru_cache(maxsize=1024)
def of_record(text: str) -> Template:
    """A template that lies with its record: `# {location}?part={part}`. Raises InvalidRequest."""
    return Template.make("", text.split())


def applying(templates: Iterable[Template], whole: str, delimiter: str) -> list[Template]:
    """The templates for a part of an identifier, the most special first."""
    found = [one for one in templates if one.applies(whole, delimiter)]
    return sorted(found, key=lambda one: -len(one.scope))


def _local(whole: str) -> str:
    """What stands behind the prefix of a handle, the series of a PDI, the number of an ARK."""
    scheme, _, rest = whole.partition(":")
    return rest.removeprefix("//").partition("/")[2] or rest or scheme


# locations
# ---------


def appended(location: str, more: str) -> str:
    """A location with something behind it, on the same server. Raises InvalidRequest.

    A fragment of the location makes way; a second `?` becomes `&`.

    >>> appended("http://a.example/x?y=1#z", "?part=2")
    'http://a.example/x?y=1&part=2'
    >>> appended("http://a.example", ".evil.example")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    perdure.errors.locations.LeadsElsewhere: ... it would lead to another server...
    """
    if not more:
        return location
    base = location.partition("#")[0]
    if more[0] == "?" and "?" in base:
        more = f"&{more[1:]}"
    try:
        same = urlsplit(base + more)[:2] == urlsplit(base)[:2]
    except ValueError:
        same = False
    if not same:
        raise LeadsElsewhere(appended=more)
    return base + more


# times
# -----

_OF_TIMES = frozenset(("time", "annodex", "mpeg21", "start", "end"))


def times(part: str, wanted: set[str]) -> dict[str, str]:
    """The variables that a part which is a time gives; none where it is not, or nobody asks.

    >>> times("sec=10,20", {"annodex"})["annodex"]
    '10/20'
    """
    if _OF_TIMES.isdisjoint(wanted):
        return {}
    moment = _moment(part)
    if moment is None:
        return {}
    start, end = moment
    first, last = _seconds(start), None if end is None else _seconds(end)
    found = {"start": first, "time": first, "annodex": first, "mpeg21": _mpeg21(first)}
    if last is not None:
        found["end"] = last
        found |= {"time": f"{first},{last}", "annodex": f"{first}/{last}"}
        found["mpeg21"] = _mpeg21(first, last)
    return found


def _moment(part: str) -> tuple[Fraction, Fraction | None] | None:
    """Start and end in seconds, of a part in whichever syntax."""
    for reader in (parts.pdi.read, _read_timed):
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
    """As a part of a film, whatever it is a part of."""
    return parts.parse(text, "video/mp4")


def _mpeg21(*moments: str) -> str:
    written = ",".join(f"'{one}'" for one in moments)
    return f"mp(/~time('npt',{written}))"


def _seconds(moment: Fraction) -> str:
    """With as many decimals as it takes, nine at most."""
    return f"{float(moment):.9f}".rstrip("0").rstrip(".")


# where a part begins
# -------------------

_MOST_PLACES = 16


def splits(text: str, delimiters: str) -> list[tuple[str, str, str]]:
    """The ways to take an identifier apart: whole, delimiter, part; the longest whole first.

    At most 16 of them, so that a name full of delimiters costs no more than that.

    >>> splits("hdl:1839/A#z@1", "#@")
    [('hdl:1839/A#z', '@', '1'), ('hdl:1839/A', '#', 'z@1')]
    """
    places = [at for at, one in enumerate(text) if one in delimiters]
    return [(text[:at], text[at], text[at + 1 :]) for at in places[: -_MOST_PLACES - 1 : -1]]
