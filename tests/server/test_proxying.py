"""Requests passed on to other resolvers: two real resolvers, and servers that lie."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fetching.strangers import Stranger, response, stranger
from tests.server.deployment import SERIES, Deployment, deployed, problem, text
from tests.server.test_delegations import delegate, revoke

from perdure.ids import parse
from perdure.model.commands import Register, Restrict
from perdure.model.reading_rules import Access, ReadingRule

LOOPBACK = "127.0.0.0/8"
OLD = "pdi://press.oma.eop.gov.us/1993/"
NAME = f"{OLD}01/20/1.text.1"
LARGE = bytes(range(256)) * 2000
"""More than what is held back."""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("up") / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, upstream: Deployment) -> Iterator[Deployment]:
    """A resolver without a series of the other one, which passes requests about it on."""
    place = tmp_path_factory.mktemp("site") / "registry"
    with deployed(place, private_networks=LOOPBACK, base_url="https://pid.example") as running:
        delegate(running, f"pdi://{SERIES}/1993/", upstream.base, how="proxy")
        yield running


@contextlib.contextmanager
def lying(answer: Callable[[str], bytes], *, hang: bool = False) -> Iterator[Stranger]:
    """A server with an event loop of its own, which sends just these bytes."""
    ready = threading.Event()
    found: list[Stranger] = []
    ends: list[Callable[[], object]] = []

    async def serve() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(over.set))
        async with stranger(answer, hang=hang) as there:
            found.append(there)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait(10)
    try:
        yield found[0]
    finally:
        ends[0]()
        thread.join(10)


def hold(upstream: Deployment, uid: str, data: bytes, **content: Any) -> str:
    """A document of the other resolver under an old name."""
    name = f"pdi://{SERIES}/1993/01/20/{uid}"
    upstream.do(Register(identifier=parse(name), contents=(text(data, **content),)))
    return f"{name}.{content.get('format', 'text')}.1"


# two resolvers
# -------------


def test_a_document_passes_through_whole(site: Deployment, upstream: Deployment) -> None:
    """ "requests and answers pass through whole (methods, status, bodies streamed, ranges …)" """
    name = hold(upstream, "whole", LARGE)
    direct, passed = upstream.get(f"/{name}"), site.get(f"/{name}")
    assert (passed.status, passed.body) == (200, LARGE)
    for field in ("content-type", "etag", "content-location", "content-length", "cache-control"):
        assert passed.headers[field] == direct.headers[field]
    assert passed.headers["via"] == "1.1 pid.example"
    assert passed.headers["cache-status"].startswith('"pid.example"; fwd=uri-miss')
    head = site.ask("HEAD", f"/{name}")
    assert (head.status, head.headers["content-length"], head.body) == (200, str(len(LARGE)), b"")
    again = site.get(f"/{name}")
    assert (again.status, again.body) == (200, LARGE)
    assert again.headers["cache-status"].startswith('"pid.example"; hit')
    kept = site.ask("HEAD", f"/{name}", "Range: bytes=10-19")  # a range is for GET alone
    assert (kept.status, kept.body) == (200, b"")
    assert kept.headers["cache-status"].startswith('"pid.example"; hit')
    for field in ("content-type", "etag", "content-length", "repr-digest"):
        assert kept.headers[field] == again.headers[field]
    part = site.get(f"/{name}", "Range: bytes=10-19")
    assert (part.status, part.body) == (206, LARGE[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(LARGE)}"
    tag = again.headers["etag"]
    assert site.get(f"/{name}", f"If-None-Match: {tag}").status == 304


def test_questions_parts_and_errors_pass_too(site: Deployment, upstream: Deployment) -> None:
    name = hold(upstream, "letter", b"Dear Madam,\r\nyours\r\n")
    for target, fields in (
        (f"/{name}?info", ()),
        (f"/{name}%23char=0,4", ()),
        (f"/uri-res/N2C?urn:{name}", ()),
        (f"/{name}", ("If-None-Match: *",)),
        (f"/{name}#char=0,400", ()),
        (f"/pdi://{SERIES}/1993/01/20/*", ("Accept: application/json",)),
        (f"/pdi://{SERIES}/1993/09/09/none", ()),
        (f"/{name}?history", ()),
    ):
        direct, passed = upstream.get(target, *fields), site.get(target, *fields)
        assert passed.status == direct.status, target
        same = passed.body.replace(b"https://pid.example", upstream.base.encode())
        assert same == direct.body, target


def test_reading_rules_hold_for_what_another_resolver_keeps(
    site: Deployment, upstream: Deployment
) -> None:
    """Issue of the reading rights: "Decided in the read door only, and so obeyed by every face".

    A reader would get through us what we closed, and the kept copy, too.
    """
    name = hold(upstream, "closed", b"secret words")
    part = f"{name}%23char=0,6"
    targets = (f"/{name}", f"/{part}", f"/{name}?info", f"/uri-res/N2R?urn:{name}")
    assert all(b"secret" in site.get(one).body or "info" in one for one in targets)
    assert site.get(f"/{name}").headers["cache-status"].startswith('"pid.example"; hit')
    about = f"pdi://{SERIES}/1993/01/20/closed"
    for access, status in ((Access.CLOSED, 403), (Access.OPEN, 200)):
        site.do(Restrict(rule=ReadingRule(about=about, access=access)))
        for target in targets:
            answer = site.get(target)
            assert answer.status == status, target
            assert (b"secret" in answer.body) <= (status == 200)
    site.do(Restrict(rule=ReadingRule(about=f"{name}#char=0,6", access=Access.CLOSED)))
    assert [site.get(one).status for one in targets] == [200, 403, 200, 200]


def test_only_what_is_kept_is_said_to_be(site: Deployment, upstream: Deployment) -> None:
    """RFC 9211 section 2.5: `stored` "indicates whether the cache stored the response" """
    kept = hold(upstream, "kept", b"kept")
    for target, status, stored in (
        (f"/{kept}", 200, True),
        (f"/{kept}?info", 200, False),
        (f"/pdi://{SERIES}/1993/09/09/none.text.1", 404, False),
        (f"/{kept.removesuffix('.text.1')}", 200, False),
    ):
        answer = site.get(target)
        assert answer.status == status
        assert ("; stored" in answer.headers["cache-status"]) is stored, target


def test_without_a_cache_nothing_is_said_to_be_stored(tmp_path: Path, upstream: Deployment) -> None:
    name = hold(upstream, "passing", b"passing")
    place = tmp_path / "registry"
    with deployed(place, private_networks=LOOPBACK, proxy_cache_bytes=0) as site:
        delegate(site, f"pdi://{SERIES}/1993/", upstream.base, how="proxy")
        for _ in range(2):
            answer = site.get(f"/{name}")
            assert answer.body == b"passing"
            assert answer.headers["cache-status"].endswith("fwd=uri-miss; fwd-status=200")


def test_a_range_of_what_is_not_kept_is_passed_on(site: Deployment, upstream: Deployment) -> None:
    name = hold(upstream, "range", LARGE).removesuffix(".text.1")
    answer = site.get(f"/{name}", "Range: bytes=5-9")
    assert (answer.status, answer.body) == (206, LARGE[5:10])


def test_pages_of_others_run_nothing_here(site: Deployment, upstream: Deployment) -> None:
    """ "foreign content under the sandbox of deposits" """
    name = hold(upstream, "page", b"<script>1</script>", format="html", media_type="text/html")
    for _ in range(2):  # as it passes, and kept
        answer = site.get(f"/{name}")
        assert answer.headers["content-security-policy"].startswith("sandbox")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_writes_with_credentials_are_redirected(site: Deployment, upstream: Deployment) -> None:
    """ "a client's credentials are never passed on" """
    target = f"pdi://{SERIES}/1994/01/20/letter"
    made = delegate(site, f"pdi://{SERIES}/1994/", upstream.base, how="proxy", role="authority")
    token = site.token("writer-here")
    answer = site.post(f"/{target}?bind", {"locations": []}, token=token)
    assert (answer.status, answer.headers["location"]) == (307, f"{upstream.base}/{target}?bind")
    assert token not in str(answer.headers)
    upstream.bind(target, "https://a.example/1")
    passed = site.post(f"/{target}?bind", {"locations": []})
    problem(passed, 401, "unauthenticated")  # by the other resolver
    assert "www-authenticate" not in passed.headers
    assert passed.headers["via"] == "1.1 pid.example"
    revoke(site, made)


def test_a_trace_shows_the_way(site: Deployment, upstream: Deployment) -> None:
    """ "TRACE shows the way" """
    name = hold(upstream, "traced", b"x")
    answer = site.ask("TRACE", f"/{name}", "Max-Forwards: 5", "Cookie: a=b")
    assert answer.status == 200
    seen = answer.body.decode().lower()
    assert "via: 1.1 pid.example" in seen
    assert "max-forwards: 4" in seen
    assert "a=b" not in seen


# liars
# -----


@contextlib.contextmanager
def passing(site: Deployment, there: Stranger, *, kind: str = "http") -> Iterator[str]:
    made = delegate(site, OLD, f"http://127.0.0.1:{there.port}", how="proxy", kind=kind)
    try:
        yield made
    finally:
        revoke(site, made)


def promise(data: bytes, body: bytes, **fields: str) -> bytes:
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    return response(body, Repr_Digest=f"sha-512=:{digest}:", Content_Type="text/plain", **fields)


def test_nothing_of_a_person_is_passed_either_way(site: Deployment) -> None:
    """ "no cookies either way"; "hop-by-hop fields do not" """
    fields = {"X_Secret": "1", "X_Kept": "1", "Keep_Alive": "timeout=5", "Set_Cookie": "track=1"}
    fields |= {"Connection": "x-secret, close", "Strict_Transport_Security": "max-age=1"}
    fields |= {"NEL": "{}", "Report_To": "{}", "Reporting_Endpoints": 'a="https://a.example"'}
    sent = response(b"hello", **fields)
    with lying(lambda _: sent) as there, passing(site, there):
        answer = site.get(
            f"/{NAME}?info",
            "Cookie: session=1",
            "Authorization: Bearer token",
            "X-Forwarded-For: 192.0.2.1",
            "X-Mine: 1",
            "X-Hop: 1",
            "TE: trailers",
            "Via: 1.0 before",
        )
    assert answer.body == b"hello"
    gone = {"set-cookie", "x-secret", "strict-transport-security", "keep-alive"}
    gone |= {"nel", "report-to", "reporting-endpoints"}  # they would tell others who reads
    assert not gone & {*answer.headers}
    assert answer.headers["x-kept"] == "1"
    asked = there.asked[0].decode().lower()
    assert all(one not in asked for one in ("session=1", "bearer", "192.0.2.1", "te:"))
    assert "x-mine: 1" in asked
    assert "via: 1.0 before, 1.1 pid.example" in asked
    assert "perdure-via: pid.example" in asked


def test_short_wrong_bytes_are_refused(site: Deployment) -> None:
    """ "a wrong upstream is cut off or 502 that says what was promised and what came" """
    sent = promise(b"right", b"wrong")
    with lying(lambda _: sent) as there, passing(site, there):
        answer = site.get(f"/{NAME}")
    found = problem(answer, 502, "resolver-contradicted")
    assert found["promised"] == hashlib.sha512(b"right").hexdigest()
    assert found["found"] == hashlib.sha512(b"wrong").hexdigest()
    assert "pid.example" in answer.headers["proxy-status"]


def test_long_wrong_bytes_are_cut_off_before_their_end(site: Deployment) -> None:
    """ "the last 64 KiB held back until the digest agrees" """
    with lying(lambda _: promise(b"right", LARGE)) as there, passing(site, there):
        received = bytearray()
        with site.connect() as wire:
            wire.sendall(f"GET /{NAME} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            with contextlib.suppress(ConnectionError):
                while piece := wire.recv(1 << 16):
                    received += piece
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert f"content-length: {len(LARGE)}".encode() in head
    assert 0 < len(body) <= len(LARGE) - 65_536
    assert LARGE.startswith(body)


def test_a_wrong_document_is_not_kept(site: Deployment) -> None:
    name = f"{OLD}01/20/2.text.1"
    with lying(lambda _: promise(b"right", b"wrong")) as there, passing(site, there):
        assert site.get(f"/{name}").status == 502
    with lying(lambda _: promise(b"right", b"right")) as there, passing(site, there):
        assert site.get(f"/{name}").body == b"right"
        assert site.get(f"/{name}").body == b"right"
        assert len(there.asked) == 1


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"no head at all", 502, "resolver-unreachable"),
        (b"", 502, "resolver-unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 502, "resolver-unreachable"),
    ],
)
def test_servers_that_break_off_are_named(
    site: Deployment, sent: bytes, status: int, code: str
) -> None:
    """ "Upstreams that lie, hang, send half, … speak HTTP/0.9" """
    with lying(lambda _: sent) as there, passing(site, there):
        answer = site.get(f"/{NAME}")
    found = problem(answer, status, code)
    assert f":{there.port}/" in found["url"]
    assert "error=" in answer.headers["proxy-status"]


def test_half_a_document_never_looks_complete(site: Deployment) -> None:
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + LARGE
    with lying(lambda _: sent) as there, passing(site, there), site.connect() as wire:
        wire.sendall(f"GET /{NAME} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        received = bytearray()
        with contextlib.suppress(ConnectionError):
            while piece := wire.recv(1 << 16):
                received += piece
    assert len(received.partition(b"\r\n\r\n")[2]) < 900_000


def test_a_redirect_is_passed_and_not_followed(site: Deployment) -> None:
    """ "redirect inside" """
    sent = response(b"", "302 Found", Location="http://127.0.0.1:1/inside")
    with lying(lambda _: sent) as there, passing(site, there):
        answer = site.get(f"/{NAME}")
    assert (answer.status, answer.headers["location"]) == (302, "http://127.0.0.1:1/inside")


def test_the_next_resolver_is_asked_if_the_first_is_away(site: Deployment) -> None:
    with lying(lambda _: response(b"second")) as there:
        second = f"http://127.0.0.1:{there.port}"
        made = delegate(site, OLD, "http://127.0.0.1:9090", second, how="proxy")
        try:
            assert site.get(f"/{NAME}?info").body == b"second"
        finally:
            revoke(site, made)


def test_private_addresses_are_asked_only_if_they_are_allowed(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry") as site, lying(lambda _: response(b"secret")) as there:
        delegate(site, OLD, f"http://127.0.0.1:{there.port}", how="proxy")
        answer = site.get(f"/{NAME}")
        problem(answer, 502, "resolver-unreachable")
        assert "destination_ip_prohibited" in answer.headers["proxy-status"]
        assert there.asked == []


def test_two_resolvers_that_name_each_other_end(tmp_path: Path) -> None:
    """ "Loops end", 508"""
    with (
        deployed(tmp_path / "one" / "registry", private_networks=LOOPBACK) as one,
        deployed(tmp_path / "two" / "registry", private_networks=LOOPBACK) as two,
    ):
        delegate(one, OLD, two.base, how="proxy")
        delegate(two, OLD, one.base, how="proxy")
        for site in (one, two):
            problem(site.get(f"/{NAME}"), 508, "resolver-loop")


# THTTP
# -----


@pytest.mark.parametrize(
    ("method", "asked"),
    [("GET", "GET /uri-res/N2R?urn:"), ("HEAD", "GET /uri-res/N2C?urn:"), ("PUT", None)],
)
def test_a_thttp_resolver_is_asked_by_its_services(
    site: Deployment, method: str, asked: str | None
) -> None:
    """Section 3.8.4: GET → N2R, HEAD → N2C, "other than GET and HEAD, … 405" """
    with lying(lambda _: response(b"description")) as there, passing(site, there, kind="thttp"):
        answer = site.ask(method, f"/{NAME}", body=b"x" if method == "PUT" else b"")
        if asked is None:
            assert (answer.status, there.asked) == (405, [])
            return
        line = there.asked[0].split(b"\r\n")[0].decode()
    assert line == f"{asked}{NAME} HTTP/1.1"
    assert answer.status == 200
    assert answer.body == (b"description" if method == "GET" else b"")


def test_a_client_may_choose_to_have_it_passed_on(site: Deployment, upstream: Deployment) -> None:
    name = hold(upstream, "wish", b"passed")
    made = delegate(site, f"pdi://{SERIES}/1993/01/20/", upstream.base, how="redirect")
    try:
        assert site.get(f"/{name}").status == 307
        answer = site.get(f"/{name}", "Prefer: resolve=proxy")
        assert (answer.status, answer.body) == (200, b"passed")
    finally:
        revoke(site, made)
