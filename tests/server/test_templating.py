"""Parts of things held elsewhere, over HTTP: templates, suffixes of ARKs, what is appended.

The expected addresses are those of ISO 24619 (`../shared/specs`), of the Handle System's template
handles, and of the servers that the templates stand for.
"""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Iterator

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, text

from perdure.ids import parse
from perdure.model.commands import Assign, Register, Withdraw
from perdure.model.records import Value
from perdure.registry import initialise

TEMPLATES = (
    "hdl:1839/ # {location}?part={part}",
    "hdl:1839/ @ {location}#t={time}",
    "hdl:1839/annodex @ {location}?t={annodex}",
    "hdl:1839/mpeg @ {location}#{mpeg21}",
    "hdl:1839/cut @ {location}?from={start}&to={end}",
    r"hdl:1839/picture @ /box\((\d+),(\d+)\)/ {location}?x={1}&y={2}",
    "hdl:1839/elsewhere # http://parts.example/{name}/{part}",
    "pdi://oma.eop.gov.us/ # {location}?part={part}",
)
NAMESPACE = r"""<namespace><template delimiter="@"><foreach>
  <if value="type" test="equals" expression="URL">
    <if value="extension" test="matches" expression="box\(([^,]*),([^,]*)\)" parameter="x">
      <value data="${data}?x=${x[1]}&amp;y=${x[2]}" />
    </if>
    <else><value data="${data}?part=${extension}" /></else>
  </if>
</foreach></template></namespace>"""


def speech() -> bytes:
    """A second of sound: 8000 samples of one byte, each with its number modulo 251."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(number % 251 for number in range(8000)))
    return file.getvalue()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("templating") / "registry"
    initialise(root, templates=TEMPLATES, handle_prefixes=("1839", "TEST.1"))
    with deployed(root) as running:
        names = ("A", "annodex", "mpeg", "cut", "picture", "elsewhere", "x#y")
        for name in names:
            running.bind(f"hdl:1839/{name}", "http://oserver/objectA")
        running.bind("hdl:1839/query", "http://oserver/object?id=A#top")
        running.bind("hdl:1839/bare", "http://oserver")
        running.bind("hdl:99/none", "http://oserver/objectA")
        running.bind("ark:12345/x8rd", "http://oserver/x8rd")
        running.bind("ark:12345/x8rd/deep", "http://oserver/other")
        running.bind("ark:12345/bare", "http://oserver")
        running.bind("ark:12345/both", "http://oserver/both")
        running.commit("ark:12345/both", text(b"held here, too"))
        running.do(Register(identifier=parse("ark:12345/here"), contents=(text(b"held"),)))
        running.bind("pdi://oma.eop.gov.us/2026/01/02/letter.text.1", "http://oserver/letter")
        values = (
            Value(index=1, type="URL", data="http://oserver/own"),
            Value(index=2, type="TEMPLATE", data="# {location}/{part}"),
        )
        running.do(Assign(identifier=parse("hdl:1839/own"), values=values))
        running.bind("hdl:TEST.1/PYH2", "http://oserver/pyh2")
        made = (Value(index=5, type="HS_NAMESPACE", data=NAMESPACE),)
        running.do(Assign(identifier=parse("hdl:0.NA/TEST.1"), values=made))
        for name, content in (
            ("held", text(b"0123456789")),
            ("00-0000-0000-0000-0000-4", text(speech(), "wav", "audio/wav")),
        ):
            running.do(Register(identifier=parse(f"hdl:1839/{name}"), contents=(content,)))
        running.bind("hdl:1839/gone", "http://oserver/gone")
        running.do(Withdraw(identifier=parse("hdl:1839/gone"), reason="a court said so"))
        yield running


def leads(answer: Answer) -> str:
    assert answer.status == 302, answer.body
    return answer.headers["location"]


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        # ISO 24619 5.2.5: "1839/A#z" is resolved to "http://oserver/objectA?part=z"
        ("hdl:1839/A%23z", "http://oserver/objectA?part=z"),
        ("hdl:1839/A?part=z", "http://oserver/objectA?part=z"),
        ("hdl:1839/A@time(100s,200s)", "http://oserver/objectA#t=100,200"),
        ("hdl:1839/A@time(1m,1.5h)", "http://oserver/objectA#t=60,5400"),
        ("hdl:1839/annodex@time(100s,200s)", "http://oserver/objectA?t=100/200"),
        ("hdl:1839/mpeg@time(100s,200s)", "http://oserver/objectA#mp(/~time('npt','100','200'))"),
        ("hdl:1839/cut@time(100s,200s)", "http://oserver/objectA?from=100&to=200"),
        ("hdl:1839/picture@box(3,14)", "http://oserver/objectA?x=3&y=14"),
        ("hdl:1839/elsewhere%23a%26b", "http://parts.example/elsewhere/a%26b"),
        # the longest registered beginning
        ("hdl:1839/x%23y%23z", "http://oserver/objectA?part=z"),
        ("hdl:1839/x%23y", "http://oserver/objectA"),
        # what is in the way of a query
        ("hdl:1839/query%23z", "http://oserver/object?id=A&part=z"),
        ("hdl:1839/query@time(1s,2s)", "http://oserver/object?id=A#t=1,2"),
        # of a record, and of the Handle System
        ("hdl:1839/own%23z", "http://oserver/own/z"),
        ("hdl:TEST.1/PYH2@part9", "http://oserver/pyh2?part=part9"),
        ("hdl:TEST.1/PYH2@box(1,2)", "http://oserver/pyh2?x=1&y=2"),
        ("hdl:TEST.1/PYH2@a%26b", "http://oserver/pyh2?part=a%26b"),
        # ARKs: suffix passthrough by the longest registered name
        ("ark:12345/x8rd/a/b.c", "http://oserver/x8rd/a/b.c"),
        ("ark:12345/x8rd.v2", "http://oserver/x8rd.v2"),
        ("ark:12345/x8rd/deep/er", "http://oserver/other/er"),
        ("ark:12345/bare/x", "http://oserver/x"),
        ("ark:12345/both/a", "http://oserver/both/a"),
        # "A part is reachable four ways, all equal"  # ruling: fragment-transport
        ("ark:12345/x8rd%23page=2", "http://oserver/x8rd#page=2"),
        ("ark:12345/x8rd?part=page=2", "http://oserver/x8rd#page=2"),
        # PDIs
        (
            "pdi://oma.eop.gov.us/2026/01/02/letter.text.1%23char=1,2",
            "http://oserver/letter?part=char%3D1,2",
        ),
        # appended
        ("hdl:1839/A?urlappend=%3Fa%3D1%23frag", "http://oserver/objectA?a=1#frag"),
        ("hdl:1839/query?urlappend=%3Fa%3D1", "http://oserver/object?id=A&a=1"),
        ("hdl:1839/A?urlappend=%0D%0AX-Injected:1", "http://oserver/objectA%0D%0AX-Injected:1"),
    ],
)
def test_where_a_part_lies(site: Deployment, asked: str, address: str) -> None:
    assert leads(site.get(f"/{asked}")) == address


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("hdl:1839/nobody%23z", 404, "not-found"),
        ("hdl:99/none%23z", 501, "part-not-supported"),
        ("hdl:1839/cut@box(1,2)", 501, "part-not-supported"),
        ("hdl:1839/gone%23z", 410, "gone"),
        ("ark:12345/nobody/a?info", 404, "not-found"),
        ("ark:12345/here/a", 404, "not-found"),
        # another server is never reached by what somebody appends
        ("ark:12345/bare.evil.example", 400, "invalid-request"),
        ("hdl:1839/bare?urlappend=.evil.example", 400, "invalid-request"),
        ("hdl:1839/bare?urlappend=@evil.example", 400, "invalid-request"),
        ("hdl:1839/bare?urlappend=:80@evil.example/", 400, "invalid-request"),
    ],
)
def test_what_leads_nowhere(site: Deployment, asked: str, status: int, code: str) -> None:
    answer = site.get(f"/{asked}")
    assert (answer.status, json.loads(answer.body)["code"]) == (status, code)


def test_what_is_held_here_is_cut_here(site: Deployment) -> None:
    answer = site.get("/hdl:1839/held%23char=2,5")
    assert (answer.status, answer.body) == (200, b"234")
    answer = site.get("/hdl:1839/held@line=0,1")
    assert (answer.status, answer.body) == (200, b"0123456789")


def test_a_time_of_what_is_held_here_is_cut_here(site: Deployment) -> None:
    """ISO 24619 5.2.5: `1839/00-0000-0000-0000-0000-4@time(100s,200s)`."""
    answer = site.get("/hdl:1839/00-0000-0000-0000-0000-4@time(250ms,0.5s)")
    assert answer.status == 200, answer.body
    with wave.open(io.BytesIO(answer.body)) as sound:
        frames = sound.readframes(8000)
    assert frames == bytes(number % 251 for number in range(2000, 4000))


def test_a_name_full_of_delimiters_is_answered_at_once(site: Deployment) -> None:
    answer = site.get(f"/hdl:1839/A{'@a' * 3000}")
    assert answer.status in (404, 501)


def test_the_api_tells_the_values_that_a_template_makes(site: Deployment) -> None:
    answer = site.get("/api/handles/TEST.1/PYH2@part9")
    found = json.loads(answer.body)
    assert found["handle"] == "TEST.1/PYH2@part9"
    data = [(one["type"], one["data"]["value"]) for one in found["values"]]
    assert data == [("URL", "http://oserver/pyh2?part=part9")]


def test_thttp_leads_to_the_part_too(site: Deployment) -> None:
    """RFC 2169 section 3.1: "it MUST be returned in a Location: header"."""
    answer = site.get("/uri-res/N2L?hdl:1839/A@time(100s,200s)")
    assert (answer.status, answer.headers["location"]) == (303, "http://oserver/objectA#t=100,200")
