"""Nothing that reads is left out of the contract table, and nothing in the table is out of date.

How it works: what can be asked is collected from the program: routes, words behind the `?`,
services, wants and commands. What is asked is read from the spellings of the faces. What is not
asked stands in the table under `not asked`, with the reason. A new route, word, service, want or
command fails here until it stands in one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from tests.cli.commands import load_commands
from tests.contract.fixture import BASE
from tests.contract.table import TABLE, cells
from tests.contract.terms import read_name_at

from perdure.api import OpenRegistry
from perdure.cli import options, perdure
from perdure.cli.command import PerdureGroup
from perdure.model.queries import Want
from perdure.reading import targets
from perdure.server.apis.thttp import SERVICES
from perdure.server.routes.model import NAMES
from perdure.server.routes.table import ROUTES


def list_spellings(*ways: str) -> set[str]:
    """How the faces that are reached in one of these ways spell their questions."""
    return {
        spelling
        for face in TABLE["faces"].values()
        if face["via"] in ways
        for spellings in face["asks"].values()
        for spelling in spellings
    }


OVER_HTTP = list_spellings("http")
COMMANDS = list_spellings("command")
SPELLINGS = OVER_HTTP | COMMANDS | list_spellings("python")
OUTCOMES = {
    "bytes": {"of"},
    "part": {"text"},
    "picture": {"pixels"},
    "digest": {"of"},
    "redirect": {"to"},
    "choices": {"of"},
    "list": {"of"},
    "described": {"as"},
    "cited": {"as"},
    "metadata": {"about"},
    "history": {"revisions"},
    "assertions": {"about"},
    "link set": {"of"},
    "page": {"of"},
    "text": {"text"},
}
"""The words of the language of outcomes with their fields. Any other word is an error code."""


# what can be asked
# -----------------


def list_routes() -> set[str]:
    """What the server answers GET for: the beginning of each path, and `<identifier>`."""
    patterns = {route.pattern for route in ROUTES if "GET" in route.methods}
    return {
        "<identifier>" if one == NAMES else one.partition("{")[0].strip("/") for one in patterns
    }


def list_words() -> set[str]:
    """The words that ask something behind the `?` of a name."""
    return {
        *targets._VERBS,
        *targets._PARAMETERS,
        *targets._TYPED,
        *targets._OF_PROXIES,
        *targets._FLAGS,
    }


def list_commands() -> set[str]:
    """The commands that take a name or a pattern of names."""
    read = (options.IDENTIFIER, options.NAMED, options.PATTERN)
    return {
        " ".join(path)
        for path, command in _walk(perdure)
        for one in command.params
        if isinstance(one, click.Argument) and isinstance(one.type, type(read[0]))
    }


def list_methods() -> set[str]:
    """The methods of an open registry that take a name."""
    found = set()
    for name, method in vars(OpenRegistry).items():
        hints = {} if name.startswith("_") else getattr(method, "__annotations__", {})
        if "Name" in str(next(iter(hints.values()), "")):
            found.add(name)
    return found


def _walk(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, PerdureGroup):
        yield path, command
        return
    for name, one in load_commands(command).items():
        yield from _walk(one, *path, name)


# what is asked
# -------------


def find_routes() -> set[str]:
    """The routes that the spellings over HTTP lead to."""
    return {_find_route(spelling.removeprefix("/")) for spelling in OVER_HTTP}


def _find_route(spelling: str) -> str:
    if spelling.startswith("{"):
        return "<identifier>"
    return max((one for one in list_routes() if spelling.startswith(one)), key=len)


def find_words() -> set[str]:
    """The words behind the `?` of a name in the spellings over HTTP."""
    found = {word for one in OVER_HTTP for word in re.findall(r"(?:\}\?|&)([a-z]+)", one)}
    return found | {"info"}  # spelled {info}, for an inflection may stand there


def find_services() -> set[str]:
    """The services of THTTP in the spellings, in upper case."""
    found = (re.match(r"/uri-res/([^?]+)\?", one) for one in OVER_HTTP)
    return {one[1].upper() for one in found if one}


def find_commands() -> set[str]:
    """The commands in the spellings."""
    return {one.partition(" {")[0] for one in COMMANDS}


def find_methods() -> set[str]:
    """The methods in the spellings of Python."""
    found = (re.match(r"(\w+)\(", one) for one in list_spellings("python"))
    return {one[1] for one in found if one} & list_methods()


@pytest.mark.parametrize(
    ("what", "can", "asked"),
    [
        ("methods", list_methods(), find_methods()),
        ("routes", list_routes(), find_routes()),
        ("words", list_words(), find_words()),
        ("services", set(SERVICES), find_services()),
        ("commands", list_commands(), find_commands()),
    ],
)
def test_all_that_can_be_asked_is_asked_or_excused(
    what: str, can: set[str], asked: set[str]
) -> None:
    excused = set(TABLE["not asked"][what])
    assert asked | excused == can
    assert not asked & excused


def test_every_want_is_asked() -> None:
    assert {one.upper() for one in Want} <= find_services()


# the table itself
# ----------------


def test_every_face_spells_every_question_or_says_why_not() -> None:
    for name, face in TABLE["faces"].items():
        assert {*face["asks"], *face["cannot"]} == set(TABLE["questions"]), name
        assert not {*face["asks"]} & {*face["cannot"]}, name
        assert all(face["cannot"].values()), name


def test_every_kind_answers_every_question_or_says_why_not() -> None:
    for name, kind in TABLE["kinds"].items():
        left_out = set(TABLE["questions"]) - {*kind["answers"]}
        assert left_out <= {*kind.get("cannot", {})}, name
        assert {*kind["answers"]} <= set(TABLE["questions"]), name


def test_every_reason_stands_beside_something_that_is_in_the_table() -> None:
    faces, questions = set(TABLE["faces"]), set(TABLE["questions"])
    for name, kind in TABLE["kinds"].items():
        for where in kind.get("cannot", {}):
            face, _, rest = where.partition(": ")
            assert face in (faces if rest else faces | questions), name
            assert not rest or rest in questions | SPELLINGS, name


def test_every_difference_is_one_and_has_a_reason() -> None:
    outcomes = {(one.face, one.kind, one.spelling): one for one in cells()}
    for one in TABLE["differs"]:
        assert one["reason"]
        for kind in one["kinds"]:
            cell = outcomes[one["face"], kind, one["spelling"]]
            assert TABLE["kinds"][kind]["answers"][cell.question] != one["outcome"]


def test_every_outcome_is_in_the_language() -> None:
    for name, kind in TABLE["kinds"].items():
        for outcome in kind["answers"].values():
            fields = OUTCOMES.get(outcome["is"], set())
            assert {*outcome} == {"is"} | fields, name


def test_names_are_told_from_addresses() -> None:
    assert read_name_at(f"{BASE}/pdi://a.us/1997/9/1/1") == "pdi://a.us/1997/09/01/1"
    assert read_name_at("https://library.example/book") == "https://library.example/book"
