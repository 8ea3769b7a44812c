"""Arguments and options that several commands take, parsed into values at once.

How it works: a parameter type parses with the library, so a malformed identifier on the command
line is the same error, with the same code, as anywhere else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from perdure.cli.command import here
from perdure.cli.paths import StatedPath

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.ids.name_set import NameSet
    from perdure.ids.named_parts import Name
    from perdure.ids.pwid import Pwid
    from perdure.upkeep.searching.text_index import Selection

_MOST_DIGITS = 18
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


class _ParsedText(click.ParamType[_T], Generic[_T]):
    """A parameter that a function of the library parses; its errors are reported unchanged.

    If the function refuses the text, it gets the identifier within: people paste identifiers in
    quotation marks, or as the address of a page (`perdure.reading.pasted`).
    """

    def __init__(self, name: str, read: Callable[[str], _T]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, *_: object) -> _T:
        from perdure.errors import MalformedIdentifier, UnknownScheme

        if not isinstance(value, str):
            parsed: _T = value
            return parsed
        try:
            return self._read(value)
        except (MalformedIdentifier, UnknownScheme):
            from perdure.reading.pasted import read_pasted  # only now: it imports more

            return read_pasted(value, self._read, here().list_resolvers)


def _parse_identifier(text: str) -> Identifier:
    from perdure.ids import parse

    return parse(text)


def _parse_name(text: str) -> Name:
    from perdure.ids.named_parts import split_part

    name = split_part(text)
    if name.names is not None:
        _parse_identifier(text)  # raises: the beginning of names is not a name
    return name


def _parse_listed(text: str) -> NameSet:
    """Parse an identifier as the set of itself, or read the list of names that it stands for."""
    from perdure.ids import parse
    from perdure.ids.name_set import make_set

    return _parse_pattern(text) if text.startswith("@") else make_set(parse(text))


def _parse_names(text: str) -> Name:
    from perdure.ids.named_parts import Name, split_part

    if text.startswith("@") and len(text) > 1:
        from perdure.cli.name_lists import read_list

        names = read_list(text[1:])
        return Name(names.example, None, names=names)
    return split_part(text)


def _parse_pattern(text: str) -> NameSet:
    from perdure.ids.name_set import read_set

    if text.startswith("@") and len(text) > 1:
        from perdure.cli.name_lists import read_list

        return read_list(text[1:])
    return read_set(text)


def _parse_series(text: str) -> str:
    from perdure.ids import pdi

    return pdi.read_series(text)


def _parse_naming_authority(text: str) -> str:
    from perdure.ids import urn1993

    return urn1993.parse_urn1993(f"URN:{text}::x:::").authority


def _parse_authority(text: str) -> str:
    """Parse a naming authority of the URN of 1993, or one of a scheme of another package."""
    from perdure.ids import find_scheme

    scheme = find_scheme(text)
    if scheme is None or scheme.minting is None or scheme.minting.setting != "authorities":
        return _parse_naming_authority(text)
    return scheme.minting.read_authority(text)


def _parse_shoulder(text: str) -> str:
    from perdure.ids import ark

    label = "" if text.lower().startswith("ark:") else "ark:"
    return str(ark.parse_ark(label + text)).removeprefix("ark:")


def _parse_pwid(text: str) -> Pwid:
    from perdure.errors.captures import NotPwid
    from perdure.ids.pwid import Pwid

    identifier = _parse_identifier(text)
    if not isinstance(identifier, Pwid):
        raise NotPwid(identifier=str(identifier))
    return identifier


def _parse_digest(text: str) -> str:
    """Return the hexadecimal digits of `sha512:…`, or of `sha-512=:…:` (RFC 9530)."""
    base = re.fullmatch("sha-512=:([A-Za-z0-9+/]{86}==):", text)
    found = base64.b64decode(base[1]).hex() if base else text.removeprefix("sha512:").lower()
    if not re.fullmatch("[0-9a-f]{128}", found):
        raise click.BadParameter(f"{text[:40]!r} is neither sha512:HEX nor sha-512=:BASE64:")
    return found


def _parse_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text[:40]!r} is not of the form NAME=VALUE")
    return name, value


IDENTIFIER = _ParsedText("identifier", _parse_identifier)
NAMED = _ParsedText("identifier", _parse_name)
"""An identifier and, if its scheme cannot name parts, a part after a `#`."""
NAMED_SET = _ParsedText("identifier", _parse_names)
"""The same, or the beginning of identifiers (`hdl:1839/`)."""
PATTERN = _ParsedText("pattern", _parse_pattern)
"""A pattern or an interval, the beginning of identifiers (`hdl:1839/*`), or one identifier."""
LISTED = _ParsedText("identifier", _parse_listed)
"""One identifier, or a list of names (`@FILE`). A pattern is read, and not resolved here."""
SERIES = _ParsedText("series", _parse_series)
NAMING_AUTHORITY = _ParsedText("authority", _parse_naming_authority)
AUTHORITY = _ParsedText("authority", _parse_authority)
SHOULDER = _ParsedText("shoulder", _parse_shoulder)
PWID = _ParsedText("pwid", _parse_pwid)
DIGEST = _ParsedText("digest", _parse_digest)
PAIR = _ParsedText("name=value", _parse_pair)
FILE = StatedPath(exists=True, dir_okay=False, allow_dash=True)

expect = click.option(
    "--expect",
    type=click.IntRange(min=1),
    metavar="REVISION",
    help="Refuse if the record has another revision by now.",
)
once = click.option(
    "--idempotency-key",
    "once",
    metavar="KEY",
    help="Repeating the command with the same key gives the same answer and writes nothing.",
)
part = click.option("--part", metavar="SPEC", help="Part, if IDENTIFIER cannot name one itself.")
url = click.option(
    "--url", metavar="URL", help="Address in the citation. Default: that below base_url."
)
highest = click.option(
    "--highest",
    "pairs",
    metavar="SERIES=NUMBER",
    multiple=True,
    type=PAIR,
    help="The highest serial number given out today in a series; may be repeated.",
)


def read_highest(pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Read the values of `--highest`: by series, a serial number. Raises BadParameter."""
    for _, number in pairs:
        if not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS):
            raise click.BadParameter(f"'{number}' is not a number", param_hint="--highest")
    return {series: int(number) for series, number in pairs}


def add_output(help: str = "Write to FILE instead of stdout.") -> Callable[[_F], _F]:
    """Add the option that names the output file; `-` is stdout."""
    return click.option(
        "-o",
        "--output",
        type=StatedPath(dir_okay=False, allow_dash=True),
        default="-",
        metavar="FILE",
        help=help,
    )


def add_version(help: str) -> Callable[[_F], _F]:
    """Add the option that names a version."""
    return click.option("--version", type=click.IntRange(min=1), metavar="NUMBER", help=help)


def add_actor(help: str) -> Callable[[_F], _F]:
    """Add the option that names the actor of a change, `local` by default."""
    return click.option("--by", metavar="NAME", help=f"{help}. Default: local.")


def add_file_options(command: _F) -> _F:
    """Add the options that describe files; `perdure.cli.deposit.Said` takes them."""
    for option in (
        click.option(
            "--crlf", is_flag=True, help="Convert line ends of texts to CRLF before committing."
        ),
        click.option(
            "--language",
            multiple=True,
            metavar="TAG",
            help="Language, such as en-GB; it helps to detect the charset.",
        ),
        click.option(
            "--charset", multiple=True, metavar="NAME", help="Charset of a text. Default: detected."
        ),
        click.option(
            "--type",
            "media_type",
            multiple=True,
            metavar="MEDIA/TYPE",
            help="Media type. Default: detected from content and name.",
        ),
        click.option(
            "--format", multiple=True, metavar="TOKEN", help="Format. Default: that of the type."
        ),
    ):
        command = option(command)
    return command


def add_search_limits(command: _F) -> _F:
    """Add the options that limit a search; `make_selection` takes them."""
    for option in (
        click.option(
            "--sort",
            type=click.Choice(("new", "old", "relevance")),
            default="new",
            help="Order. Default: new.",
        ),
        click.option("--by", metavar="NAME", default="", help="Words in names of its people."),
        click.option(
            "--in",
            "places",
            multiple=True,
            type=click.Choice(("title", "text", "metadata")),
            help="Look only there; may be repeated.",
        ),
        click.option(
            "--format", "formats", multiple=True, metavar="TOKEN", help="Format, such as pdf."
        ),
        click.option("--to", "last", default="", metavar="DAY", help="Last day, month or year."),
        click.option("--from", "first", default="", metavar="DAY", help="First day, month, year."),
        click.option(
            "--series",
            "within",
            default="",
            metavar="SERIES",
            help="A series, an interval of days, or the beginning of names (hdl:1839/*).",
        ),
    ):
        command = option(command)
    return command


def make_selection(words: str, **limits: Any) -> Selection:
    """Read the words and limits of a search. Raises InvalidRequest and MalformedIdentifier."""
    from perdure.upkeep.searching.asking import make_selection

    return make_selection(words, **limits)
