"""`/delegations`: names are delegated over HTTP, by those who administer all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, today

from perdure.ids import parse
from perdure.upkeep.delegating import find_held

TO = "https://resolver.archives.example"
PAST = f"pdi://{SERIES}/1993/"


@pytest.fixture
def registrar(site: Deployment) -> str:
    return site.token(
        "registrar", operations=("administer",), authorities=(f"*.{SERIES}", "hdl:1839/*")
    )


def post(site: Deployment, token: str, *fields: str, **asked: Any) -> tuple[int, dict[str, Any]]:
    head = (f"Authorization: Bearer {token}", *fields)
    answer = site.ask("POST", "/delegations", *head, body=json.dumps(asked).encode())
    return answer.status, json.loads(answer.body)


def list_names(site: Deployment, token: str) -> list[tuple[str, bool]]:
    answer = site.get("/delegations", f"Authorization: Bearer {token}")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    return [(one["names"], one["in_force"]) for one in json.loads(answer.body)["delegations"]]


def test_a_delegation_is_recorded_and_ended(site: Deployment, registrar: str) -> None:
    """It holds at once, "New subseries need no restart and no shell", and is one document."""
    target = f"/{PAST}01/20/1"
    assert site.get(target).status == 404
    status, shown = post(site, registrar, names=PAST, to=[TO], how="redirect", reason="moved")
    assert (status, shown["names"], shown["by"]) == (201, PAST, "registrar")
    assert shown["document"] == shown["identifier"]
    assert shown["resolvers"][0]["url"] == f"{TO}/"
    assert site.get(target).headers["location"] == TO + target
    assert site.get(f"/{shown['identifier']}").status == 200
    assert list_names(site, registrar) == [(PAST, True)]
    status, ended = post(site, registrar, revoke=shown["identifier"], reason="moved back")
    assert (status, ended["in_force"]) == (201, False)
    assert ended["ended_by"] == ended["document"]
    assert site.get(target).status == 404
    assert list_names(site, registrar) == [(PAST, False)]


def test_a_writing_delegation_begins_tomorrow(site: Deployment, registrar: str) -> None:
    """As on the command line: two resolvers never give the same number."""
    _, shown = post(site, registrar, names=f"pdi://{SERIES}/", to=[TO], role="authority")
    assert shown["effective"] > today().replace("/", "-")
    assert not shown["in_force"]
    assert post(site, registrar, revoke=shown["identifier"])[0] == 201


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"names": f"pdi://press.{SERIES}/1994/", "to": [TO]}, 201),
        ({"names": f"pdi://press.{SERIES}/", "to": [TO], "subseries": True}, 201),
        ({"names": "hdl:1839/*", "to": [TO]}, 201),
        ({"names": "hdl:18390/*", "to": [TO]}, 403),
        ({"names": f"pdi://{OTHER_SERIES}/1993/", "to": [TO]}, 403),
        ({"names": "pdi://eop.gov.us/", "to": [TO], "subseries": True}, 403),
        ({"names": f"{PAST}01/20/1.text.1", "to": [TO]}, 400),
        ({"names": PAST, "to": []}, 400),
        ({"names": PAST, "to": ["ftp://a.example"]}, 400),
        ({"names": PAST, "to": [TO], "role": "king"}, 400),
        ({"names": PAST, "to": [TO], "first_day": "1993-02-30"}, 400),
        ({"names": PAST, "to": [TO], "how": 7}, 400),
        ({"names": PAST, "to": [TO], "what": "else"}, 400),
        ({"names": "", "to": [TO]}, 400),
        ({"revoke": f"pdi://{SERIES}/1993/01/20/1"}, 404),
        ({"revoke": "pdi:/"}, 400),
    ],
)
def test_only_what_is_administered_is_delegated(
    site: Deployment, registrar: str, asked: dict[str, Any], status: int
) -> None:
    assert post(site, registrar, **asked)[0] == status


def test_what_others_delegated_is_neither_seen_nor_ended(site: Deployment, registrar: str) -> None:
    everything = site.token("chief", operations=("administer",), authorities=("*",))
    other = f"pdi://{OTHER_SERIES}/1995/"
    status, shown = post(site, everything, names=other, to=[TO])
    assert status == 201
    assert (other, True) in list_names(site, everything)
    assert other not in dict(list_names(site, registrar))
    assert post(site, registrar, revoke=shown["identifier"])[0] == 403
    assert find_held(site.registry, parse(shown["identifier"])).ended == ""


def test_a_token_needs_the_right(site: Deployment) -> None:
    writer = site.token("writer", operations=("mint", "delegate"), authorities=("*",))
    assert post(site, writer, names=PAST, to=[TO])[0] == 403
    assert site.get("/delegations", f"Authorization: Bearer {writer}").status == 403
    assert site.get("/delegations").status == 401
    assert post(site, "perdure_wrong", names=PAST, to=[TO])[0] == 401


def test_a_repeated_request_records_one_delegation(site: Deployment, registrar: str) -> None:
    asked = {"names": f"pdi://{SERIES}/1996/", "to": [TO]}
    first = post(site, registrar, "Idempotency-Key: once", **asked)
    again = post(site, registrar, "Idempotency-Key: once", **asked)
    assert again[1]["identifier"] == first[1]["identifier"]
