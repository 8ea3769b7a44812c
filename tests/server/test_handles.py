"""The Handle REST API over HTTP: codes and statuses, rights, secrets, listings, searches.

Expected codes and statuses are those that a genuine server of Handle.Net 9.3.1 was seen to give
(`../shared/reference/handle-and-thttp.md` section 3.1); where ours differs the test says why.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import msgspec
import pytest
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, text
from tests.upkeep.exchange.samples import lines

from perdure.ids import parse
from perdure.model.commands import Assign, Bind, SaveToken, Withdraw
from perdure.model.records import Location, Value
from perdure.registry import initialise

PREFIX = "21.T14999"
ADMIN = f"{PREFIX}/ADMIN"
SECRET = "correct horse: battery/staple ü"
ALL = "111111111111"


def value(index: int, kind: str, data: object, **more: object) -> dict[str, object]:
    return {"index": index, "type": kind, "data": data} | more


def admin(index: int, handle: str, of: int = 300, permissions: str = ALL) -> dict[str, object]:
    data = {"handle": handle, "index": of, "permissions": permissions}
    return value(index, "HS_ADMIN", {"format": "admin", "value": data})


def basic(user: str, password: str = SECRET) -> str:
    # as pyhandle writes it: the colon of the user is escaped
    text = f"{user.replace(':', '%3A')}:{password}"
    return f"Authorization: Basic {base64.b64encode(text.encode()).decode()}"


class Api:
    """The API of a deployment, with the credentials of its administrator."""

    def __init__(self, site: Deployment, token: str) -> None:
        self.site = site
        self.bearer = f"Authorization: Bearer {token}"
        self.admin = basic(f"300:{ADMIN}")

    def ask(self, method: str, handle: str, *fields: str, body: object = None) -> Answer:
        sent = b"" if body is None else json.dumps(body).encode()
        return self.site.ask(method, f"/api/handles/{handle}", *fields, body=sent)

    def get(self, handle: str, *fields: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("GET", handle, *fields).body)
        return found

    def put(self, handle: str, *values: dict[str, object], who: str | None = None) -> Answer:
        return self.ask("PUT", handle, who or self.admin, body={"values": values})

    def told(self, handle: str, *fields: str) -> dict[int, tuple[str, Any]]:
        values = self.get(handle, *fields)["values"]
        return {one["index"]: (one["type"], one["data"]["value"]) for one in values}


def code(answer: Answer) -> tuple[int, int]:
    """HTTP status and response code."""
    return answer.status, json.loads(answer.body)["responseCode"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("handles") / "registry"
    initialise(
        root,
        handle_prefixes=(PREFIX, "TEST.1"),
        mutable_prefixes=("TEST.1",),
        handle_admins=(f"300:{ADMIN}",),
    )
    with deployed(root, basic_authentication="always", log_level="debug") as running:
        yield running


@pytest.fixture(scope="module")
def api(site: Deployment) -> Api:
    api = Api(site, site.token("founder"))
    answer = api.put(ADMIN, value(300, "HS_SECKEY", SECRET), admin(100, ADMIN), who=api.bearer)
    assert code(answer) == (200, 1)
    return api


# reading and writing
# -------------------


def test_a_handle_from_its_making_to_its_end(api: Api) -> None:
    handle = "TEST.1/Life"
    assert code(api.ask("GET", handle)) == (404, 100)
    made = api.put(f"{handle}?overwrite=false", value(1, "URL", "http://a.example/"))
    assert code(made) == (201, 1)
    assert json.loads(made.body)["handle"] == handle
    assert code(api.put(f"{handle}?overwrite=false", value(1, "URL", "http://b.example/"))) == (
        409,
        101,
    )
    assert api.told(handle) == {1: ("URL", "http://a.example/")}
    assert code(api.put(handle, value(1, "URL", "http://b.example/"))) == (200, 1)
    assert api.told(handle) == {1: ("URL", "http://b.example/")}
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://b.example/"
    assert code(api.ask("DELETE", handle, api.admin)) == (200, 1)
    assert code(api.ask("GET", handle)) == (404, 100)
    assert code(api.ask("DELETE", handle, api.admin)) == (404, 100)
    assert api.site.get(f"/hdl:{handle}").status == 410
    assert code(api.put(f"{handle}?overwrite=false", value(1, "URL", "http://c.example/"))) == (
        201,
        1,
    )
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://c.example/"


def test_only_prefixes_set_free_for_it_lose_handles(api: Api) -> None:
    """Ruling http-405: a name that was given out stays."""
    handle = f"{PREFIX}/stays"
    api.put(handle, value(1, "URL", "http://a.example/"))
    answer = api.ask("DELETE", handle, api.admin)
    assert code(answer) == (405, 5)
    assert json.loads(answer.body)["handle"] == handle  # which pyhandle reads before the status
    assert "allow" in answer.headers
    assert api.told(handle)


def test_a_body_that_is_one_value(api: Api) -> None:
    handle = f"{PREFIX}/alone"
    body = value(1, "A", "first")
    assert code(api.ask("PUT", handle, api.admin, body=body)) == (200, 1)
    body = value(2, "A", "second")
    assert code(api.ask("PUT", f"{handle}?index=2", api.admin, body=body)) == (200, 1)
    for wrong in ({}, {"handle": f"{PREFIX}/other", "values": []}):
        assert api.ask("PUT", handle, api.admin, body=wrong).status == 400
    assert api.told(handle) == {1: ("A", "first"), 2: ("A", "second")}


def test_values_one_by_one(api: Api) -> None:
    handle = f"{PREFIX}/values"
    api.put(handle, value(4, "B", "b"), value(2, "A", "a"), value(7, "C", "c"))
    assert list(api.told(handle)) == [2, 4, 7]
    before = {one["index"]: one["timestamp"] for one in api.get(handle)["values"]}
    assert code(api.put(f"{handle}?index=4", value(4, "B", "new"))) == (200, 1)
    assert api.told(handle) == {2: ("A", "a"), 4: ("B", "new"), 7: ("C", "c")}
    after = {one["index"]: one["timestamp"] for one in api.get(handle)["values"]}
    assert (after[2], after[7]) == (before[2], before[7])
    assert code(api.put(f"{handle}?index=4&index=2", value(4, "B", "x"))) == (400, 4)
    assert code(api.put(f"{handle}?index=4&overwrite=false", value(4, "B", "x"))) == (409, 201)
    assert code(api.put(f"{handle}?index=various", value(9, "D", "d"))) == (200, 1)
    assert code(api.ask("DELETE", f"{handle}?index=2&index=9", api.admin)) == (200, 1)
    assert code(api.ask("DELETE", f"{handle}?index=2", api.admin)) == (400, 200)
    assert api.told(handle) == {4: ("B", "new"), 7: ("C", "c")}
    assert code(api.put(f"{PREFIX}/nobody?index=1", value(1, "A", "a"))) == (404, 100)


def test_every_kind_of_value_comes_back_as_it_was(api: Api) -> None:
    handle = f"{PREFIX}/kinds"
    site = {"version": 1, "protocolVersion": "2.10", "servers": [{"serverId": 1}]}
    sent = [
        value(1, "DESC", {"format": "string", "value": "Ein Brief\r\nan alle ü"}, ttl=60),
        value(2, "EMAIL", "a@example.org", permissions="1111"),
        value(3, "X", {"format": "base64", "value": "AAEC"}),
        value(4, "HS_SITE", {"format": "site", "value": site}),
        value(5, "HS_VLIST", {"format": "vlist", "value": [{"index": 300, "handle": ADMIN}]}),
        admin(100, ADMIN),
    ]
    assert code(api.put(handle, *sent)) == (200, 1)
    found = api.get(handle)["values"]
    for one, back in zip(sent, found, strict=True):
        data = one["data"]
        expected = {"format": "string", "value": data} if isinstance(data, str) else data
        assert back["data"] == expected
        assert back["ttl"] == one.get("ttl", 86400)
        assert back.get("permissions") == one.get("permissions")


def test_what_is_asked_for(api: Api) -> None:
    handle = f"{PREFIX}/asked"
    api.put(handle, value(1, "URL", "http://a.example/"), value(2, "EMAIL.work", "a@b"))
    assert list(api.told(f"{handle}?index=2")) == [2]
    assert list(api.told(f"{handle}?index=2&type=URL")) == [1, 2]
    assert list(api.told(f"{handle}?type=EMAIL.")) == [2]  # RFC 3651 section 3.1: all below it
    answer = api.ask("GET", f"{handle}?type=NONE")
    assert code(answer) == (200, 200)
    assert json.loads(answer.body)["values"] == []
    assert api.ask("GET", f"{handle}?pretty").body.count(b"\n") > 10
    call = api.ask("GET", f"{handle}?callback=f.g")
    assert call.body.startswith(b"/**/f.g({")
    assert call.headers["content-type"].startswith("application/javascript")
    assert code(api.ask("GET", f"{handle}?callback=alert(1)//")) == (400, 202)
    head = api.ask("HEAD", handle)
    assert (head.status, head.body) == (200, b"")
    posted = api.site.ask("POST", f"/api/handles/{handle}", body=b"index=2")
    assert [one["index"] for one in json.loads(posted.body)["values"]] == [2]
    posted = api.ask("POST", handle, body={"type": ["URL"]})
    assert [one["index"] for one in json.loads(posted.body)["values"]] == [1]
    options = api.ask("OPTIONS", handle)
    assert options.headers["allow"] == "GET, HEAD, POST, PUT, DELETE, TRACE, OPTIONS"


def test_a_name_of_characters_that_mean_something_elsewhere(api: Api) -> None:
    handle = f"{PREFIX}/a:b c%d?e#f/é".replace(" ", "_")
    path = f"{PREFIX}/a%3Ab_c%25d%3Fe%23f/%C3%A9"
    assert code(api.put(path, value(1, "URL", "http://a.example/"))) == (200, 1)
    assert api.get(path)["handle"] == handle
    assert code(api.ask("GET", f"{PREFIX}/a:b_c%25d%3Fe%23f/%C3%A9")) == (200, 1)
    assert code(api.ask("GET", f"{PREFIX}/%FF")) == (400, 102)
    assert code(api.ask("GET", "nothing")) == (400, 102)


def test_a_new_suffix(api: Api) -> None:
    answer = api.put(f"{PREFIX}/x-?mintNewSuffix=true", value(1, "URL", "http://a.example/"))
    assert code(answer) == (201, 1)
    handle = json.loads(answer.body)["handle"]
    assert handle.startswith(f"{PREFIX}/x-")
    assert len(handle) == len(f"{PREFIX}/x-") + 36
    assert api.told(handle)


def test_prefixes_that_do_not_live_here(api: Api) -> None:
    assert code(api.ask("GET", "20.5000/x")) == (400, 301)
    assert code(api.put("20.5000/x", value(1, "URL", "http://a.example/"))) == (400, 301)
    assert code(api.ask("DELETE", "20.5000/x", api.admin)) == (400, 301)
    api.site.bind("hdl:20.5000/known", "http://a.example/")  # somebody registered it here
    assert api.told("20.5000/known") == {1: ("URL", "http://a.example/")}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, 202)),
        (b"{", (400, 202)),
        (b'{"values":[{"index":0,"type":"A","data":"a"}]}', (400, 202)),
        (b'{"values":[{"index":2000000000,"type":"A","data":"a"}]}', (400, 202)),
        (b'{"values":[{"index":1,"type":"A\\u0000","data":"a"}]}', (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":7}]}', (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":{"format":"site","value":%s}}]}'
         % (b"[" * 40 + b"]" * 40), (400, 202)),
        (b"[" * 500_000, (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":"a","ttl":-1}]}', (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":"a","permissions":"x"}]}', (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":"a"},{"index":1,"type":"B","data":""}]}',
         (400, 202)),
        (b'{"values":[{"index":1,"type":"TEMPLATE","data":"# /(a+)+\\\\1/ {location}"}]}',
         (400, 202)),
        (b'{"values":[{"index":1,"type":"10320/loc","data":"<!DOCTYPE a><locations/>"}]}',
         (400, 202)),
        (b'{"values":[{"index":1,"type":"A","data":"' + b"a" * (1 << 20) + b'"}]}', (413, 202)),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(api: Api, body: bytes, expected: tuple[int, int]) -> None:
    handle = f"{PREFIX}/unharmed"
    api.put(handle, value(1, "URL", "http://a.example/"))
    before = api.get(handle)
    if body == b"":
        body = b"[7]"
    answer = api.site.ask("PUT", f"/api/handles/{handle}", api.admin, body=body)
    assert code(answer) == expected, answer.body
    assert api.get(handle) == before


# locations
# ---------


def test_a_coded_body_is_not_read(api: Api) -> None:
    """RFC 9110 section 15.5.16: the answer says which coding is taken."""
    answer = api.ask("PUT", f"{PREFIX}/CODED", api.admin, "Content-Encoding: gzip", body={})
    assert code(answer) == (415, 202)
    assert answer.headers["accept-encoding"] == "identity"


def test_urls_are_locations_and_locations_are_urls(api: Api) -> None:
    handle = f"{PREFIX}/places"
    api.put(handle, value(1, "URL", "http://a.example/"), value(5, "URL", "http://b.example/"))
    api.site.bind(f"hdl:{handle}", "http://c.example/")
    urls = {1: "http://a.example/", 5: "http://b.example/", 2: "http://c.example/"}
    assert api.told(handle) == {index: ("URL", urls[index]) for index in sorted(urls)}
    api.ask("DELETE", f"{handle}?index=1", api.admin)
    record = api.site.registry.listings.find_record(parse(f"hdl:{handle}"))
    assert record is not None
    assert {one.uri for one in record.locations} == {"http://b.example/", "http://c.example/"}


def test_a_promise_is_not_deleted(api: Api) -> None:
    """Section 3.6.2 of the PDI draft: the original bytes are kept before a location goes."""
    handle = f"{PREFIX}/promised"
    api.site.bind(f"hdl:{handle}", Location(uri="http://a.example/", sha512="0" * 128))
    answer = api.ask("DELETE", f"{handle}?index=1", api.admin)
    assert code(answer) == (409, 5)
    assert api.told(handle) == {1: ("URL", "http://a.example/")}


def test_10320_loc(api: Api) -> None:
    handle = f"{PREFIX}/loc"
    written = (
        '<locations chooseby="locatt,country,weighted">'
        '<location id="0" href="http://uk.example/" country="gb" weight="0"/>'
        '<location id="1" href="http://www1.example/" weight="1"/>'
        '<location id="2" href="http://www2.example/" weight="2.5"/></locations>'
    )
    assert code(api.put(handle, value(1, "10320/loc", written))) == (200, 1)
    assert api.told(handle) == {1: ("10320/loc", written)}
    record = api.site.registry.listings.find_record(parse(f"hdl:{handle}"))
    assert record is not None
    assert [(one.uri, one.region, one.weight) for one in record.locations] == [
        ("http://uk.example/", "gb", 0),
        ("http://www1.example/", None, 1000),
        ("http://www2.example/", None, 2500),
    ]
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://www2.example/"


def test_what_a_10320_loc_says_no_more_holds_no_more(api: Api) -> None:
    """A weight that is not said is 1 (technical manual section 3.2), whatever it was before."""
    handle = f"{PREFIX}/loc-changed"
    one, other = '<location href="http://a.example/"', '<location href="http://b.example/"'
    before = f'<locations>{one} weight="5" country="gb"/>{other} weight="2"/></locations>'
    after = f'<locations>{one}/>{other} weight="2"/></locations>'
    api.put(handle, value(1, "10320/loc", before))
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://a.example/"
    api.put(handle, value(1, "10320/loc", after))
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://b.example/"
    api.site.bind(f"hdl:{handle}", Location(uri="http://a.example/", weight=9))
    api.put(f"{handle}?index=2", value(2, "EMAIL", "a@a.example"))
    assert api.site.get(f"/hdl:{handle}").headers["location"] == "http://a.example/"


# PDIs
# ----


def test_pdis_are_handles_without_a_colon(api: Api) -> None:
    name = api.site.mint(text(b"Dear all"))
    handle = name.replace("pdi://", "pdi/")
    told = api.told(handle)
    assert ("URL", f"{api.site.base}/{name}") in told.values()
    assert any(kind == "CHECKSUM" for kind, _ in told.values())
    assert code(api.ask("DELETE", handle, api.bearer)) == (405, 5)
    sent = value(1, "URL", "http://mirror.example/letter")
    assert code(api.put(f"{handle}?index=1", sent, who=api.bearer)) == (200, 1)
    assert api.told(handle)[1] == ("URL", "http://mirror.example/letter")
    assert code(api.ask("GET", f"pdi/{SERIES}/2026/01/01/404.text.1")) == (404, 100)
    assert code(api.ask("GET", handle.replace(".text.1", ".text.9"))) == (404, 100)
    colon = api.site.mint(text(b"x"), uid="a:b")
    assert code(api.ask("GET", colon.replace("pdi://", "pdi/").replace(":", "%3a"))) == (200, 1)


def test_what_was_withdrawn_is_not_there(api: Api) -> None:
    handle = f"{PREFIX}/withdrawn"
    api.put(handle, value(1, "URL", "http://a.example/"))
    api.site.do(Withdraw(identifier=parse(f"hdl:{handle}"), reason="a court said so"))
    assert code(api.ask("GET", handle)) == (404, 100)
    assert code(api.put(handle, value(1, "URL", "http://b.example/"))) == (409, 5)


# who may
# -------


def test_nobody_writes_without_saying_who_it_is(api: Api) -> None:
    handle = f"{PREFIX}/mine"
    for field in (
        "X-Nothing: at all",
        basic(f"300:{ADMIN}", "wrong"),
        basic(f"301:{ADMIN}"),
        basic(f"300:{PREFIX}/NOBODY"),
        basic("no index"),
        "Authorization: Basic ***",
        "Authorization: Bearer perdure_" + 43 * "x",
    ):
        answer = api.ask("PUT", handle, field, body={"values": [value(1, "A", "a")]})
        assert code(answer) == (401, 402), field
        assert "www-authenticate" in answer.headers
    assert code(api.ask("GET", handle)) == (404, 100)


def test_what_hs_admin_grants(api: Api) -> None:
    """RFC 3651 section 3.2.1: the twelve permissions."""
    guest = f"{PREFIX}/GUEST"
    api.put(guest, value(300, "HS_SECKEY", "guest's own secret"))
    user = basic(f"300:{guest}", "guest's own secret")
    handle = f"{PREFIX}/shared"
    modify = "000000010000"
    api.put(handle, value(1, "A", "a"), admin(100, ADMIN), admin(101, guest, permissions=modify))
    assert code(api.put(f"{handle}?index=1", value(1, "A", "b"), who=user)) == (200, 1)
    assert code(api.put(f"{handle}?index=2", value(2, "B", "b"), who=user)) == (403, 401)
    assert code(api.ask("DELETE", f"{handle}?index=1", user)) == (403, 401)
    grab = admin(101, guest)
    assert code(api.put(f"{handle}?index=101", grab, who=user)) == (403, 401)
    assert code(api.put(f"{PREFIX}/new", value(1, "A", "a"), who=user)) == (403, 401)
    assert api.told(handle)[1] == ("A", "b")


def test_lists_of_administrators(api: Api) -> None:
    """RFC 3651 section 3.2.6; a list that names itself ends."""
    guest, listed, handle = f"{PREFIX}/MEMBER", f"{PREFIX}/LIST", f"{PREFIX}/by-list"
    api.put(guest, value(300, "HS_SECKEY", "a secret of a member"))
    members = [{"index": 200, "handle": listed}, {"index": 300, "handle": guest}]
    api.put(listed, value(200, "HS_VLIST", {"format": "vlist", "value": members}))
    api.put(handle, value(1, "A", "a"), admin(100, listed, of=200))
    user = basic(f"300:{guest}", "a secret of a member")
    assert code(api.put(f"{handle}?index=1", value(1, "A", "b"), who=user)) == (200, 1)


def test_who_may_make_handles_of_a_prefix(api: Api) -> None:
    maker = f"{PREFIX}/MAKER"
    api.put(maker, value(300, "HS_SECKEY", "the secret of a maker"))
    user = basic(f"300:{maker}", "the secret of a maker")
    assert code(api.put("TEST.1/made", value(1, "A", "a"), who=user)) == (403, 401)
    assert code(api.put("0.NA/TEST.1", admin(100, maker, permissions="100000000001"))) == (200, 1)
    assert code(api.put("TEST.1/made", value(1, "A", "a"), who=user)) == (200, 1)
    assert code(api.put("TEST.1/made", value(1, "A", "b"), who=user)) == (403, 401)


def test_a_token_does_what_its_scope_covers(api: Api) -> None:
    scoped = api.site.token(
        "scoped", operations=("bind", "register"), authorities=("hdl:test.1/*",)
    )
    bearer = f"Authorization: Bearer {scoped}"
    assert code(api.put("TEST.1/scoped", value(1, "A", "a"), who=bearer)) == (200, 1)
    assert code(api.put(f"{PREFIX}/scoped", value(1, "A", "a"), who=bearer)) == (403, 401)
    assert code(api.ask("DELETE", "TEST.1/scoped", bearer)) == (403, 401)
    as_password = basic("300:anybody/AT.ALL", scoped)
    assert code(api.put("TEST.1/scoped", value(1, "A", "b"), who=as_password)) == (200, 1)


def test_secrets_are_seen_nowhere(api: Api) -> None:
    """Issue 5 H: "`HS_SECKEY` values are never shown to the anonymous"."""
    assert 300 not in api.told(ADMIN)
    assert "HS_SECKEY" not in str(api.get(f"{ADMIN}?index=300&type=HS_SECKEY"))
    told = api.told(ADMIN, api.admin)
    assert told[300] == ("HS_SECKEY", "")
    hidden = value(9, "NOTE", "for administrators", permissions="1100")
    api.put(f"{ADMIN}?index=9", hidden)
    assert 9 not in api.told(ADMIN)
    assert api.told(ADMIN, api.admin)[9] == ("NOTE", "for administrators")
    for page in (f"/hdl:{ADMIN}?info", f"/hdl:{ADMIN}?history"):
        shown = api.site.get(page).body.decode()
        assert "scrypt" not in shown
        assert "for administrators" not in shown
    raw = api.site.registry.records.find_stored(parse(f"hdl:{ADMIN}").key)
    assert raw is not None
    assert SECRET not in raw
    log = json.dumps(api.site.log())
    assert SECRET not in log
    assert base64.b64encode(SECRET.encode()).decode()[:20] not in log


def test_a_record_that_is_sent_back_keeps_its_secret(api: Api) -> None:
    handle = f"{PREFIX}/KEEPS"
    api.put(handle, value(300, "HS_SECKEY", "the first secret"), admin(100, ADMIN))
    values = api.get(handle, api.admin)["values"]
    assert code(api.put(handle, *values)) == (200, 1)
    user = basic(f"300:{handle}", "the first secret")
    assert code(api.ask("GET", handle, user)) == (200, 1)
    api.put(f"{handle}?index=300", value(300, "HS_SECKEY", "the second"))
    assert code(api.ask("GET", handle, user)) == (401, 402)
    assert code(api.ask("GET", handle, basic(f"300:{handle}", "the second"))) == (200, 1)


def test_passwords_come_over_tls_only_unless_the_operator_says_otherwise(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("strict") / "registry"
    initialise(root, handle_prefixes=(PREFIX,), handle_admins=(f"300:{ADMIN}",))
    with deployed(root) as running:
        api = Api(running, running.token("founder"))
        api.put(ADMIN, value(300, "HS_SECKEY", SECRET), who=api.bearer)
        assert code(api.put(f"{PREFIX}/x", value(1, "A", "a"))) == (401, 402)
        secure = api.ask(
            "PUT",
            f"{PREFIX}/x",
            api.admin,
            "X-Forwarded-Proto: https",
            body={"values": [value(1, "A", "a")]},
        )
        assert code(secure) == (200, 1)


def test_writers_at_once_lose_nothing(api: Api) -> None:
    """Each adds a value to the same handle: all are there in the end."""
    handle = f"{PREFIX}/busy"
    api.put(handle, value(100, "A", "a"))

    def add(index: int) -> tuple[int, int]:
        return code(api.put(f"{handle}?index={index}", value(index, "N", str(index))))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(add, range(1, 13)))
    accepted = {index for index, one in enumerate(answers, 1) if one == (200, 1)}
    assert set(api.told(handle)) == accepted | {100}
    assert {one for one in answers if one != (200, 1)} <= {(503, 3)}


# the fast path
# -------------


def test_the_fast_answer_is_the_same_and_never_old(api: Api) -> None:
    handle = f"{PREFIX}/fast"
    for number in range(3):
        api.put(handle, value(1, "URL", f"http://a.example/{number}"))
        for _ in range(2):
            fast = api.ask("GET", handle)
            plain = api.ask("GET", f"{handle}?overwrite=false")  # a query goes the plain way
            assert fast.body == plain.body
            fast.headers.pop("date"), plain.headers.pop("date")
            assert fast.headers == plain.headers
        assert api.told(handle)[1] == ("URL", f"http://a.example/{number}")


# listing and searching
# ---------------------


@pytest.fixture(scope="module")
def shelf(api: Api) -> Api:
    for number in range(7):
        values = (
            Value(index=1, type="URL", data=f"http://shelf.example/{number}"),
            Value(index=2, type="CHECKSUM", data=f"sum{number % 2}"),
            Value(index=3, type="NOTE", data="hidden", permissions="1100"),
        )
        api.site.do(Assign(identifier=parse(f"hdl:TEST.1/shelf{number}"), values=values))
    return api


def test_the_handles_of_a_prefix(shelf: Api) -> None:
    def listed(question: str) -> dict[str, Any]:
        answer = shelf.site.get(f"/api/handles?prefix=TEST.1&{question}", shelf.admin)
        assert answer.status == 200, answer.body
        found: dict[str, Any] = json.loads(answer.body)
        return found

    everything = listed("")
    assert everything["responseCode"] == 1
    assert everything["totalCount"] == str(len(everything["handles"]))
    names = [one for one in everything["handles"] if one.startswith("TEST.1/shelf")]
    assert names == [f"TEST.1/shelf{number}" for number in range(7)]
    pages: list[list[str]] = []
    while page := listed(f"page={len(pages)}&pageSize=2")["handles"]:
        pages.append(page)
    assert [one for page in pages for one in page] == everything["handles"]
    assert listed("pageSize=0")["handles"] == []
    assert code(shelf.site.get("/api/handles?prefix=TEST.1")) == (401, 402)
    assert code(shelf.site.get("/api/handles", shelf.admin)) == (400, 102)


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("URL=http://shelf.example/3", [3]),
        ("URL=*shelf.example*&CHECKSUM=sum1", [1, 3, 5]),
        ("URL=*shelf.example*&CHECKSUM=*1", [1, 3, 5]),
        ("URL=http://shelf*/4", [4]),
        ("URL=*shelf.example*&limit=2", [0, 1]),
        ("URL=*nowhere*", []),
        ("NOTE=hidden", []),
        ("NOTE=*", []),
    ],
)
def test_searching(shelf: Api, question: str, numbers: list[int]) -> None:
    answer = shelf.site.get(f"/hrls/handles/?{question}", shelf.admin)
    assert answer.status == 200, answer.body
    assert json.loads(answer.body) == [f"TEST.1/shelf{number}" for number in numbers]


def test_a_search_says_where_to_go_on(shelf: Api) -> None:
    found: list[str] = []
    path = "/hrls/handles/?URL=*shelf.example*&limit=3"
    while path:
        answer = shelf.site.get(path, shelf.admin)
        found += json.loads(answer.body)
        link = answer.headers.get("link", "")
        path = link.partition(">")[0].removeprefix(f"<{shelf.site.base}")
    assert found == [f"TEST.1/shelf{number}" for number in range(7)]


def test_a_damaged_handle_is_named_and_hides_no_other(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as site:
        for number in range(3):
            values = (Value(index=1, type="URL", data="http://one.example/"),)
            site.do(Assign(identifier=parse(f"hdl:TEST.1/d\u00e9{number}"), values=values))
        admin = f"Authorization: Bearer {site.token('lister')}"
        with closing(apsw.Connection(str(tmp_path / "registry/registry.sqlite"))) as file:
            file.execute("DROP TRIGGER records_hold")
            spoiled = parse("hdl:TEST.1/d\u00e91").key
            file.execute("UPDATE records SET record='{no' WHERE key=?", (spoiled,))
        readable = ["TEST.1/d\u00e90", "TEST.1/d\u00e92"]
        found = json.loads(site.get("/api/handles?prefix=TEST.1", admin).body)
        assert (found["handles"], found["totalCount"]) == (readable, "2")
        assert found["damaged"] == ["test.1/d\u00e91"]  # as its key has it
        for question in ("URL=http://one.example/", "URL=*one*"):
            answer = site.get(f"/hrls/handles/?{question}", admin)
            assert (answer.status, json.loads(answer.body)) == (200, readable), answer.body
            assert answer.headers["perdure-damaged"] == '"test.1/d%C3%A91"'


def test_searches_that_are_refused(shelf: Api) -> None:
    assert code(shelf.site.get("/hrls/handles/?URL=*x*")) == (401, 402)
    assert code(shelf.site.get("/hrls/handles/", shelf.admin)) == (400, 202)
    stars = "*a" * 30
    assert code(shelf.site.get(f"/hrls/handles/?URL={stars}", shelf.admin)) == (400, 202)


# moving in
# ---------


def test_the_how_to_copies_each_handle_as_it_is(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With characters in its name that mean something else in a URL, and with values that not
    everybody may read."""
    names = ["TEST.1/a", "TEST.1/a#b", "TEST.1/a?b%25", "TEST.1/\u00e9/b"]
    for number, name in enumerate(names):
        hidden = value(2, "EMAIL", "a@a.example", permissions="1100")
        where = value(1, "URL", f"http://a.example/{number}")
        assert code(api.put(quote(name), where, hidden, who=api.bearer))[1] == 1
    page = (Path(__file__).parents[2] / "docs/how-to/move-from-handle.md").read_text("utf-8")
    script = page.partition("```python\n")[2].partition("```")[0]
    ours = api.site.base, "TEST.1", ("anybody", api.bearer.rpartition(" ")[2])
    start, _, rest = script.partition("server, prefix, login = (")
    monkeypatch.chdir(tmp_path)
    exec(f"{start}server, prefix, login = {ours!r}{rest.partition(chr(10) + ')')[2]}", {})
    copied = lines("handle-json", (tmp_path / "handles.json").read_bytes())
    told = {
        one["id"]: [(v["data"], v.get("permissions", "1110")) for v in one["values"]]
        for one in copied
    }
    for number, name in enumerate(names):
        expected = [(f"http://a.example/{number}", "1110"), ("a@a.example", "1100")]
        assert told[f"hdl:{name}"] == expected


# values that are not public
# --------------------------

INTRANET = "https://intranet.example/secret"


@pytest.mark.parametrize(
    "path",
    ["", "?info", "?locations", "?history", "?linkset", "?landing", "?cite", "?metadata=json"],
)
@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "application/xml"])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_value_that_is_not_public_is_public_nowhere(
    api: Api, path: str, accept: str, legacy: bool
) -> None:
    """RFC 3651 section 3.1: a value without "PUBLIC_READ" is not shown to everyone."""
    handle = f"{PREFIX}/hidden{legacy}"
    hidden = value(1, "URL", INTRANET, permissions="1100")
    listed = f'<locations><location href="{INTRANET}"/></locations>'
    places = value(2, "10320/loc", listed, permissions="1100")
    api.put(handle, hidden, places)
    if legacy:  # an older registry bound it
        api.site.do(Bind(identifier=parse(f"hdl:{handle}"), locations=(Location(uri=INTRANET),)))
    assert api.told(handle, api.admin)[1] == ("URL", INTRANET)
    assert 1 not in api.told(handle)
    answer = api.site.get(f"/hdl:{handle}{path}", f"Accept: {accept}")
    assert INTRANET.encode() not in answer.body
    assert INTRANET not in str(answer.headers)


@pytest.mark.parametrize(
    "question",
    [f"N2L?hdl:{PREFIX}/thttp", f"N2Ls?hdl:{PREFIX}/thttp", f"L2Ns?{INTRANET}/thttp"],
)
def test_thttp_names_no_value_that_is_not_public(api: Api, question: str) -> None:
    handle, there = f"{PREFIX}/thttp", f"{INTRANET}/thttp"
    api.put(handle, value(1, "URL", there, permissions="1100"))
    api.site.do(Bind(identifier=parse(f"hdl:{handle}"), locations=(Location(uri=there),)))
    answer = api.site.get(f"/uri-res/{question}")
    assert handle.lower() not in answer.body.decode().lower() or "N2L" in question
    assert there not in str(answer.headers)
    if question.startswith("N2"):
        assert there.encode() not in answer.body


def test_a_template_makes_nothing_public_of_what_is_not(api: Api) -> None:
    handle = f"{PREFIX}/templated"
    template = (
        '<namespace><template delimiter="@"><foreach>'
        '<value data="${data}" type="URL"/></foreach></template></namespace>'
    )
    api.put(
        handle,
        value(1, "URL", INTRANET, permissions="1100"),
        value(2, "HS_NAMESPACE", template),
        value(300, "HS_SECKEY", "s3cret", permissions="1110"),
    )
    answer = api.ask("GET", f"{handle}@part")
    assert INTRANET.encode() not in answer.body
    assert b"scrypt" not in answer.body


def test_an_odd_address_is_kept_and_told(api: Api) -> None:
    answer = api.put(f"{PREFIX}/odd", value(1, "URL", "www.a.example"), value(2, "EMAIL", "x"))
    assert code(answer) == (200, 1)
    assert "index 1" in json.loads(answer.body)["message"]
    assert api.told(f"{PREFIX}/odd")[1] == ("URL", "www.a.example")


# secrets that a token wrote
# --------------------------


def _write_secret(api: Api, site: Deployment, name: str, **fields: Any) -> tuple[str, str]:
    """Let a new token write a handle with a secret. Returns the token and the credentials."""
    token = site.token(name, operations=("register", "bind"), **fields)
    handle = f"{PREFIX}/00-{name}"
    own = admin(100, handle), value(300, "HS_SECKEY", "mine")
    assert code(api.put(handle, *own, who=f"Authorization: Bearer {token}")) == (200, 1)
    credentials = basic(f"300:{handle}", "mine")
    assert code(api.put(f"{handle}?index=1", value(1, "A", "a"), who=credentials)) == (200, 1)
    return token, credentials


def _end_token(site: Deployment, name: str, **fields: Any) -> None:
    token = site.registry.records.find_token_named(name)
    assert token is not None
    site.do(SaveToken(token=msgspec.structs.replace(token, **fields)))


@pytest.mark.parametrize(
    ("name", "ending", "status"),
    [
        ("revoked", {"revoked": "2026-01-01T00:00:00Z"}, 401),
        ("expired", {"expires": "2026-01-01T00:00:00Z"}, 401),
        ("narrowed", {"authorities": ("hdl:21.T14999/other",)}, 403),
        ("reading", {"operations": ("register",)}, 403),
    ],
)
def test_a_secret_ends_with_the_token_that_wrote_it(
    api: Api, site: Deployment, name: str, ending: dict[str, Any], status: int
) -> None:
    """give-rights.md: "Whatever ends or narrows a token ends or narrows all that came of it"."""
    _, credentials = _write_secret(api, site, name, authorities=(f"hdl:{PREFIX}/00-*",))
    handle = f"{PREFIX}/00-{name}"
    sent = api.put(f"{handle}?index=301", value(301, "HS_SECKEY", "other"), who=credentials)
    assert code(sent) == (200, 1)
    other = basic(f"301:{handle}", "other")
    assert api.told(handle, other)
    _end_token(site, name, **ending)
    for who in (credentials, other):
        answer = api.put(f"{handle}?index=1", value(1, "A", "b"), who=who)
        assert answer.status == status
    assert api.told(handle)[1] == ("A", "a")


def test_a_secret_reaches_no_further_than_the_token_that_wrote_it(
    api: Api, site: Deployment
) -> None:
    _, credentials = _write_secret(api, site, "near", authorities=(f"hdl:{PREFIX}/00-*",))
    far = f"{PREFIX}/far"
    api.put(far, admin(100, f"{PREFIX}/00-near"), value(1, "A", "a"))
    assert api.put(f"{far}?index=1", value(1, "A", "b"), who=credentials).status == 403


# aliases
# -------


def test_an_alias_is_resolved_as_the_handle_that_it_names(api: Api) -> None:
    """RFC 3651 section 3.2.5: "An alias of another handle"; clients resolve that handle."""
    place = "http://aliased.example/"
    api.put(f"{PREFIX}/target", value(1, "URL", place))
    api.put(f"{PREFIX}/alias1", value(1, "HS_ALIAS", f"{PREFIX}/target"))
    api.put(
        f"{PREFIX}/alias2", value(1, "HS_ALIAS", f"{PREFIX}/alias1"), value(2, "URL", "http://x/")
    )
    for alias in ("alias1", "alias2"):
        name = f"hdl:{PREFIX}/{alias}"
        there = api.site.get(f"/{name}")
        assert there.status == 302
        assert there.headers["location"] == f"{api.site.base}/hdl:{PREFIX}/target"
        assert api.site.get(f"/uri-res/N2L?{name}").headers["location"] == place
        assert place.encode() in api.site.get(f"/uri-res/N2Ls?{name}").body
        assert place not in str(api.told(f"{PREFIX}/{alias}"))
    assert api.told(f"{PREFIX}/alias1") == {1: ("HS_ALIAS", f"{PREFIX}/target")}


def test_an_alias_of_a_handle_elsewhere_leads_to_the_public_resolver(api: Api) -> None:
    api.put(f"{PREFIX}/away", value(1, "HS_ALIAS", "20.1000/5555"))
    there = api.site.get(f"/hdl:{PREFIX}/away").headers["location"]
    assert there == "https://hdl.handle.net/20.1000/5555"


@pytest.mark.parametrize(
    "target", ["loop", "loop2", "unknown", "no handle", "", "pdi/x.example.de/1997/01/01/1"]
)
def test_an_alias_that_leads_nowhere_answers_itself(api: Api, target: str) -> None:
    data = f"{PREFIX}/{target}" if target[:4] in ("loop", "unkn") else target
    api.put(f"{PREFIX}/loop2", value(1, "HS_ALIAS", f"{PREFIX}/loop"))
    api.put(f"{PREFIX}/loop", value(1, "HS_ALIAS", data))
    assert api.site.get(f"/hdl:{PREFIX}/loop").status == 200
    assert api.site.get(f"/uri-res/N2L?hdl:{PREFIX}/loop").status == 404


# as at the proxies of the Handle System
# --------------------------------------


def test_a_handle_is_requested_as_at_a_public_proxy(api: Api) -> None:
    """handle.net/proxy_servlet.html: "https://hdl.handle.net/20.1000/5555"."""
    handle = f"{PREFIX}/proxied"
    first, second = "http://first.example/", "http://second.example/"
    api.put(handle, value(1, "URL", first), value(3, "URL", second), value(4, "EMAIL", "a@b"))
    get = api.site.get
    assert get(f"/{handle}").headers["location"] == first
    assert get(f"/{handle}?index=3").headers["location"] == second
    for question in ("index=4", "type=EMAIL", "index=99"):  # no address: the record, as it is
        record = json.loads(get(f"/{handle}?{question}", "Accept: application/json").body)
        assert record == json.loads(get(f"/{handle}?info").body), question
        assert record["status"] == "located"
    assert get(f"/{handle}?type=URL").headers["location"] == first
    for question in ("noredirect", "noredirect&auth", "noredirect=true&ignore_aliases"):
        assert get(f"/{handle}?{question}", "Accept: application/json").status == 200
    assert get(f"/{handle}?auth").headers["location"] == first
    assert get(f"/{handle}?noresolve").status == 400
    site = api.site
    site.bind("doi:10.5072/a1", "http://doi.example/")
    for path in ("/10.5072/a1", "/10.5072%2Fa1", "/10.5072%2fA1"):
        assert get(path).headers["location"] == "http://doi.example/"
    assert get("/10.5072/unknown").status == 300
    assert get("/10.5072").status == 404


def test_aliases_are_ignored_on_request(api: Api) -> None:
    api.put(f"{PREFIX}/aliased", value(1, "URL", "http://a.example/"))
    own = value(1, "HS_ALIAS", f"{PREFIX}/aliased"), value(2, "URL", "http://own.example/")
    api.put(f"{PREFIX}/ignored", *own)
    there = api.site.get(f"/hdl:{PREFIX}/ignored?ignore_aliases").headers["location"]
    assert there == "http://own.example/"
    assert api.site.get(f"/hdl:{PREFIX}/ignored").headers["location"].endswith("/aliased")


# 10320/loc, time to live, indexes
# --------------------------------

_LOC = (
    '<locations><location id="0" href="https://uk.example/" country="gb" weight="0"/>'
    '<location id="1" href="https://www.example/"/>'
    '<location id="2" href="https://data.example/" http_role="conneg" weight="9"/></locations>'
)


@pytest.fixture
def chooser(api: Api) -> Api:
    api.put("21.T14999/LOC", value(1, "10320/loc", _LOC, ttl=7))
    return api


@pytest.mark.parametrize("name", ["hdl:21.T14999/LOC", "21.T14999/LOC"])
@pytest.mark.parametrize(
    ("question", "fields", "found"),
    [
        ("", (), "www"),
        ("?locatt=id:0", (), "uk"),
        ("?locatt=id:9", (), "www"),
        ("?region=gb", (), "uk"),
        ("", ("Accept: application/rdf+xml",), "data"),
        ("", ("Accept: application/x-bibtex",), "data"),
        ("", ("Accept: text/html,*/*;q=0.8",), "www"),
        ("?index=1", (), "www"),
    ],
)
def test_a_location_is_chosen_as_at_the_proxies(
    chooser: Api, name: str, question: str, fields: tuple[str, ...], found: str
) -> None:
    """Handle.Net technical manual, section 3.2; RFC 3651 section 3.1 for the time to live."""
    for _ in range(2):  # the second answer may be the fast one
        answer = chooser.site.get(f"/{name}{question}", *fields)
        assert (answer.status, answer.headers["location"]) == (302, f"https://{found}.example/")
        assert answer.headers["cache-control"] == "public, max-age=7"


def test_thttp_chooses_alike(chooser: Api) -> None:
    answer = chooser.site.get("/uri-res/N2L?hdl:21.T14999/LOC")
    assert (answer.status, answer.headers["location"]) == (303, "https://www.example/")
    assert answer.headers["cache-control"] == "public, max-age=7"


def test_the_shortest_time_to_live_is_that_of_the_answer(api: Api) -> None:
    api.put(
        "21.T14999/TTL",
        value(1, "URL", "https://a.example/", ttl=40),
        value(2, "EMAIL", "a@example.org", ttl=30),
    )
    for question, seconds in (("", 30), ("?index=1", 40), ("?type=EMAIL", 30)):
        answer = api.site.get(f"/api/handles/21.T14999/TTL{question}")
        assert answer.headers["cache-control"] == f"public, max-age={seconds}"
    there = api.site.get("/hdl:21.T14999/TTL")
    assert there.headers["cache-control"] == "public, max-age=40"


def test_a_handle_of_which_nothing_is_visible(api: Api) -> None:
    """Handle.Net: 200 with code 200 and no values."""
    api.put("21.T14999/HID", value(1, "URL", "https://a.example/", permissions="1100"))
    answer = api.site.get("/api/handles/21.T14999/HID")
    assert (code(answer), json.loads(answer.body)["values"]) == ((200, 200), [])


def test_any_index_can_be_asked_for(api: Api) -> None:
    """RFC 3651 section 3.1: an index is "An unsigned 32-bit integer"."""
    api.put("21.T14999/HID", value(1, "URL", "https://a.example/", permissions="1100"))
    for index in ("0", "2000000000", "4294967295"):
        assert code(api.site.get(f"/api/handles/21.T14999/HID?index={index}")) == (200, 200)
    assert api.site.get("/api/handles/21.T14999/HID?index=4294967296").status == 400
