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
from tests.contract.table import TABLE, cells, find_face_reason
from tests.contract.terms import read_name_at

from perdure.api import OpenRegistry
from perdure.cli import options, perdure
from perdure.cli.command import PerdureGroup
from perdure.model.queries import Want
from perdure.reading import targets
from perdure.server.apis.thttp import SERVICES
from perdure.server.routes.model import NAMES, Route
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
SPELLINGS = OVER_HTTP | COMMANDS | list_spellings("python", "handle protocol")
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
    """Every request of the route table: method, whole pattern, and word behind the `?`.

    HEAD is GET without the body (RFC 9110 section 9.3.2), so it is a request of its own only if
    there is no GET. OPTIONS and TRACE of pages that do not answer them themselves are left out:
    they ask for methods, and say what they were sent.
    """
    return {
        _spell_route(route, method)
        for route in ROUTES
        if not route.is_common
        for method in route.methods
        if method != "HEAD" or "GET" not in route.methods
    }


def _spell_route(route: Route, method: str) -> str:
    return f"{method} {route.pattern}" + (f"?{route.word}" if route.word else "")


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
    """The routes that the spellings over HTTP lead to. All are asked with GET."""
    return {_spell_route(_find_route(spelling.partition("?")[0]), "GET") for spelling in OVER_HTTP}


def _find_route(path: str) -> Route:
    """The route with the path of a spelling, piece by piece; that of names for one in braces."""
    routes = [one for one in ROUTES if "GET" in one.methods]
    if path.removeprefix("/").startswith("{"):
        return next(one for one in routes if one.pattern == NAMES)
    return next(one for one in routes if _leads_to(path, one))


def _leads_to(path: str, route: Route) -> bool:
    pieces, asked = route.pattern.split("/"), path.split("/")
    return len(pieces) == len(asked) and all(
        one == other or one.startswith("{") for one, other in zip(pieces, asked, strict=True)
    )


def find_words() -> set[str]:
    """The words behind the `?` of a name in the spellings over HTTP."""
    about_names = [one for one in OVER_HTTP if one.removeprefix("/").startswith("{")]
    found = {word for one in about_names for word in re.findall(r"(?:\}\?|&)([a-z]+)", one)}
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
        left_out = {one for one in TABLE["questions"] if find_face_reason(face, one)}
        assert {*face["asks"], *left_out} == set(TABLE["questions"]), name
        assert {*face["cannot"]} <= left_out | {"every other question"}, name
        assert all(face["cannot"].values()), name


def test_a_face_like_another_is_like_one_of_the_table() -> None:
    for name, face in TABLE["faces"].items():
        assert face.get("like", name) in TABLE["faces"]
        assert set(face.get("only", {}).get("kinds", ())) <= set(TABLE["kinds"])


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
