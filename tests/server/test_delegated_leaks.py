"""Nothing of a closed document of another resolver is in any answer to who may not read it here.

How it works: another resolver holds documents that it gives to everyone. Their names are delegated
to it here, and closed here. Both are asked the table of the leaks (vectors/leaks.json).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, text
from tests.server.test_delegations import delegate
from tests.server.test_leaks import (
    ALIAS,
    HANDLE,
    LOCATION,
    MARKER,
    TABLE,
    has_marker,
    list_targets,
    list_words,
    restrict,
)

from perdure.ids import parse
from perdure.model.commands import Alias, Assign, Describe, Register, Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Value

WHOLE = f"pdi://{SERIES}/1993/01/20/closed"
DAY = f"pdi://{SERIES}/1993/01/20/"
YEAR = f"pdi://{SERIES}/1993/"


class Pair(NamedTuple):
    there: Deployment
    here: Deployment
    words: list[dict[str, str]]


def fill(there: Deployment) -> None:
    said = text(f"opening words {MARKER} doi:10.1000/{MARKER}".encode())
    there.do(Register(identifier=parse(WHOLE), contents=(said,)))
    there.bind(WHOLE, Location(uri=f"{LOCATION}/pdi", region="eu"))
    for about in (WHOLE, f"{WHOLE}.text.1"):
        members = {"titles": [{"value": f"{MARKER} title"}], "creators": [{"name": MARKER}]}
        there.do(Describe(identifier=parse(about), patch=json.dumps(members).encode()))
    values = (
        Value(index=1, type="URL", data=LOCATION),
        Value(index=2, type="DESC", data=f"{MARKER} description"),
    )
    there.do(Assign(identifier=parse(HANDLE), values=values))
    there.do(Alias(identifier=parse(HANDLE), other=parse(ALIAS)))


@pytest.fixture(scope="module", params=["proxy", "redirect"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    with deployed(tmp_path_factory.mktemp("there") / "registry") as there:
        fill(there)
        place = tmp_path_factory.mktemp("here") / "registry"
        with deployed(
            place, private_networks="127.0.0.0/8", base_url="https://pid.example"
        ) as here:
            for about in (YEAR, "hdl:1839/", "hdl:1841/"):
                delegate(here, about, there.base, how=request.param)
            restrict(here, WHOLE, by_token=True)
            restrict(here, HANDLE, by_token=True)
            restrict(here, ALIAS, by_token=True)
            other = here.mint(text(f"refers to {WHOLE}.text.1#char=0,20, opening words".encode()))
            words = list_words(here, other) | {
                "whole": WHOLE,
                "name": f"{WHOLE}.text.1",
                "day": DAY,
                "series": YEAR,
                "pdi_path": f"pdi/{WHOLE.removeprefix('pdi://')}",
                "escaped": quote(WHOLE, safe=""),
            }
            yield Pair(there, here, [words])


@pytest.mark.parametrize("accept", TABLE["accept"])
def test_no_answer_says_anything_of_it(pair: Pair, accept: str) -> None:
    """Issue of the reading rights: "Decided in the read door only, and so obeyed by every face and
    every derived thing"."""
    fields = (f"Accept: {accept}",) if accept else ()
    leaks = {}
    for target, answer in pair.here.get_each(list_targets(*pair.words), *fields):
        said = f"{answer.headers} {answer.body.decode('utf-8', 'replace')}"
        if has_marker(said, target) or is_led_there(pair, answer):
            leaks[target] = answer.status
    assert not leaks


def is_led_there(pair: Pair, answer: Answer) -> bool:
    return answer.headers.get("location", "").startswith(pair.there.base)


def test_sets_are_passed_on_unless_something_in_them_is_closed(pair: Pair) -> None:
    def is_passed(target: str) -> bool:
        answer = pair.here.get(target)
        if not is_led_there(pair, answer) and "via" not in answer.headers:
            assert answer.status in (401, 403), (target, answer)
            return False
        return True

    other, inner = f"pdi://{SERIES}/1993/02/", f"pdi://{SERIES}/1993/02/03/"
    targets = [f"/{inner}*", f"/{inner}*?info", f"/{inner}x.*.1", "/hdl:1841/*"]
    targets.append(f"/uri-res/N2Ls?{inner}*")
    assert list(map(is_passed, targets)) == [True] * len(targets)
    for about, passed in (
        (f"{other}04/", [True, True, True, True, True]),
        (f"{inner}x.text.1", [False, False, False, True, False]),
        ("hdl:1841/secret*", [False, False, False, False, False]),
    ):
        restrict(pair.here, about)
        assert list(map(is_passed, targets)) == passed, about
    for about in (f"{other}04/", f"{inner}x.text.1", "hdl:1841/secret*"):
        pair.here.do(Restrict(rule=ReadingRule(about=about, access=Access.CLOSED, lifted=True)))
    assert list(map(is_passed, targets)) == [True] * len(targets)


def test_of_two_rules_the_more_specific_one_decides_about_a_set(pair: Pair) -> None:
    """ "the most specific rule wins, then the newest" """
    month, day = f"pdi://{SERIES}/1993/05/", f"/pdi://{SERIES}/1993/05/06/*"
    restrict(pair.here, month)
    assert pair.here.get(day).status == 403
    pair.here.do(Restrict(rule=ReadingRule(about=f"{month}06/", access=Access.OPEN)))
    assert pair.here.get(day).status not in (401, 403)
    restrict(pair.here, f"{month}06/", by_token=True)
    assert pair.here.get(day).status == 401
    reader = pair.here.token("reader", operations=("read",))
    assert pair.here.get(day, f"Authorization: Bearer {reader}").status not in (401, 403)
