"""PUT over HTTP: what is stored, what is refused, and that what is refused leaves nothing behind.

The server runs in a process of its own and logs all it can, so that a secret that it would write
down is found. "Nothing left" is looked at from outside: no file in `incoming`, and the next serial
number is the one that would have come anyway.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.server.conftest import Answer, parse_answers, received
from tests.server.deployment import (
    AUTHORITY,
    OTHER_SERIES,
    SERIES,
    SHOULDER,
    Deployment,
    deployed,
    problem,
    receipt,
    resource,
    today,
)

from perdure.errors import InvalidRequest, PerdureError
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.ids.pdi import Pdi
from perdure.model.commands import Register, SaveToken, Withdraw
from perdure.model.records import Location, Token
from perdure.policy.tokens import digest_secret, make_token
from perdure.server.protocol.head import LONGEST_TARGET
from perdure.storage.spool import IN_MEMORY

MIB = 1 << 20
LARGEST = 66 * MIB
LETTER = b"To whom it may concern.\r\n"
MINT = f"/pdi://{SERIES}/"
VECTORS = Path(__file__).parents[2] / "vectors"
CLEAN_HEAD = re.compile(
    rb"HTTP/1\.1 [0-9]{3} [ -~]+\r\n(?:[a-z-]+: [!-~](?:[ -~]*[!-~])?\r\n)+\r\n"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("writing") / "registry"
    with deployed(root, largest_upload=LARGEST, log_level="debug") as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    return site.token("all")


def minted(site: Deployment, secret: str, body: bytes = LETTER, *fields: str) -> str:
    name: str = receipt(site.put(MINT, body, *fields, token=secret))["identifier"]
    return name


def serial(name: str) -> int:
    identifier = parse(name)
    assert isinstance(identifier, Pdi)
    return int(str(identifier.uid))


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen sooner or later."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen in half a minute")


def incoming(site: Deployment) -> list[Path]:
    return list((site.root / "incoming").iterdir())


@contextlib.contextmanager
def storing_nothing(site: Deployment, secret: str) -> Iterator[None]:
    """What is done in this block uses up no serial number and leaves no file in `incoming`."""
    before = serial(minted(site, secret))
    yield
    until(lambda: not incoming(site))
    assert serial(minted(site, secret)) == before + 1


def head(site: Deployment, target: str, secret: str, *fields: str) -> bytes:
    """The header of a PUT on a connection that is closed behind it."""
    lines = (
        f"PUT {target} HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        f"Authorization: Bearer {secret}",
        "Connection: close",
        *fields,
    )
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


# what is stored
# --------------


def test_a_series_mints(site: Deployment, secret: str) -> None:
    """ "PUT to a series prefix mints version 1 under today's date and the next serial"
    # ruling: http-put"""
    first = serial(minted(site, secret))
    for number in range(first + 1, first + 4):
        body = b"%d\n" % number
        answer = site.put(MINT, body, "Content-Type: text/plain; charset=us-ascii", token=secret)
        name = receipt(answer)["identifier"]
        assert name == f"pdi://{SERIES}/{today()}/{number}.text.1"
        assert answer.headers["location"] == f"{site.base}/{name}"
        assert receipt(answer)["outcome"] == "created"
        assert site.get(f"/{name}").body == body


def test_an_unknown_charset_is_refused_at_every_door(site: Deployment, secret: str) -> None:
    """Else `#char=` of these bytes would be 501 for ever: they never change."""
    field = "Content-Type: text/plain; charset=nosuchcharset"
    name = minted(site, secret)
    for target in (MINT, f"/{name}"):
        answer = site.put(target, LETTER, field, token=secret)
        assert answer.status == 400
        assert json.loads(answer.body)["charset"] == "nosuchcharset"


@pytest.mark.parametrize(
    "target", [f"pdi://{SERIES}/", f"/urn:pdi://{SERIES.upper()}/", "http://{host}" + MINT]
)
def test_all_forms_of_a_target_are_one_request(
    site: Deployment, secret: str, target: str
) -> None:  # ruling: http-forms
    before = serial(minted(site, secret))
    form = target.replace("{host}", f"127.0.0.1:{site.port}")
    answer = site.put(form, LETTER, token=secret)
    assert serial(receipt(answer)["identifier"]) == before + 1


@pytest.mark.parametrize(
    ("target", "begins"),
    [(f"/ark:{SHOULDER}", f"ark:{SHOULDER}"), (f"/URN:{AUTHORITY}::", f"URN:{AUTHORITY}::")],
)
def test_shoulders_and_naming_authorities_mint(
    site: Deployment, secret: str, target: str, begins: str
) -> None:
    names = {receipt(site.put(target, LETTER, token=secret))["identifier"] for _ in range(3)}
    assert len(names) == 3
    for name in names:
        assert name.startswith(begins)
        assert site.get(f"/{name}").body == LETTER


def test_versions(site: Deployment, secret: str) -> None:
    """ "PUT to an existing PDI commits the next version"  # ruling: http-put"""
    first = minted(site, secret, b"one")
    bare = resource(first)
    assert receipt(site.put(f"/{bare}", b"two", token=secret))["identifier"] == f"{bare}.text.2"
    assert receipt(site.put(f"/{first}", b"three", token=secret))["identifier"] == f"{bare}.text.3"
    named = receipt(site.put(f"/{bare}.text.4", b"four", token=secret))
    assert named["identifier"] == f"{bare}.text.4"
    problem(site.put(f"/{bare}.text.6", b"six", token=secret), 404, "no-such-version")
    problem(site.put(f"/{bare}.text.0", b"none", token=secret), 400, "malformed-identifier")
    held = [site.get(f"/{bare}.text.{number}").body for number in (1, 2, 3, 4)]
    assert held == [b"one", b"two", b"three", b"four"]
    assert site.get(f"/{bare}").body == b"four"


def test_the_same_bytes_again_change_nothing_and_it_says_so(site: Deployment, secret: str) -> None:
    name = minted(site, secret, b"the same")
    for target in (name, resource(name), f"{resource(name)}.text"):
        found = receipt(site.put(f"/{target}", b"the same", token=secret), 200)
        assert (found["outcome"], found["identifier"], found["revision"]) == ("unchanged", name, 1)


def test_another_format_of_a_version(site: Deployment, secret: str) -> None:
    """ "addition of a new FORMAT … does not require the version to be incremented"."""
    name = minted(site, secret, b"plain")
    bare = resource(name)
    page = b"<!DOCTYPE html><title>a</title>"
    found = receipt(site.put(f"/{bare}.html.1", page, "Content-Type: text/html", token=secret))
    assert (found["outcome"], found["identifier"]) == ("created", f"{bare}.html.1")
    assert site.get(f"/{bare}.html.1").body == page
    assert site.get(f"/{bare}.text.1").body == b"plain"
    again = site.put(f"/{bare}.html.1", page, "Content-Type: text/html", token=secret)
    assert receipt(again, 200)["outcome"] == "unchanged"


def test_a_format_that_the_bytes_are_not(site: Deployment, secret: str) -> None:
    bare = resource(minted(site, secret))
    answer = site.put(f"/{bare}.pdf.1", LETTER, "Content-Type: text/html", token=secret)
    problem(answer, 400, "invalid-request")
    problem(site.get(f"/{bare}.pdf.1"), 406, "not-acceptable")


@pytest.mark.parametrize(
    ("field", "format", "kind"),
    [
        ("Content-Type: text/html; charset=us-ascii", "html", "text/html; charset=us-ascii"),
        ("Content-Type: application/json", "json", "application/json"),
        ("Content-Type: application/x-www-form-urlencoded", "text", "text/plain; charset=us-ascii"),
        ("X-Nothing: said", "text", "text/plain; charset=us-ascii"),
    ],
)
def test_the_type_is_what_is_said_else_what_is_found(
    site: Deployment, secret: str, field: str, format: str, kind: str
) -> None:
    name = minted(site, secret, b"some words\n", field)
    assert name.endswith(f".{format}.1")
    assert site.get(f"/{name}").headers["content-type"] == kind


def test_a_language_is_kept(site: Deployment, secret: str) -> None:
    name = minted(site, secret, b"ein Wort\n", "Content-Language: de-AT")
    assert site.get(f"/{name}").headers["content-language"] == "de-AT"


def test_no_bytes_are_bytes(site: Deployment, secret: str) -> None:
    name = receipt(site.put(MINT, b"", "Content-Length: 0", token=secret))["identifier"]
    answer = site.get(f"/{name}")
    assert (answer.status, answer.headers["content-length"]) == (200, "0")


def test_what_was_withdrawn_takes_no_bytes(site: Deployment, secret: str) -> None:
    name = minted(site, secret)
    site.do(Withdraw(identifier=parse(resource(name)), reason="a mistake"))
    for target in (name, resource(name)):
        problem(site.put(f"/{target}", b"again", token=secret), 409, "conflict")
    assert site.get(f"/{name}").status == 410


# digests: RFC 9530
# -----------------


def digest_field(algorithm: str, data: bytes) -> str:
    found = hashlib.new(algorithm.replace("-", ""), data).digest()
    return f"{algorithm}=:{base64.b64encode(found).decode()}:"


@pytest.mark.parametrize("name", ["Content-Digest", "Repr-Digest"])
@pytest.mark.parametrize("algorithm", ["sha-256", "sha-512"])
def test_digests_are_checked(site: Deployment, secret: str, name: str, algorithm: str) -> None:
    assert minted(site, secret, LETTER, f"{name}: {digest_field(algorithm, LETTER)}")
    with storing_nothing(site, secret):
        wrong = f"{name}: {digest_field(algorithm, LETTER + b'.')}"
        found = problem(site.put(MINT, LETTER, wrong, token=secret), 400, "digest-mismatch")
        assert found["algorithm"] == algorithm
        assert found["found"] == hashlib.new(algorithm.replace("-", ""), LETTER).hexdigest()


def test_each_of_several_digests_is_checked(site: Deployment, secret: str) -> None:
    good, bad = digest_field("sha-512", LETTER), digest_field("sha-256", b"other")
    assert minted(site, secret, LETTER, f"Repr-Digest: {good}, unixsum=:AAA=:")
    with storing_nothing(site, secret):
        for fields in (
            (f"Repr-Digest: {good}, {bad}",),
            (f"Repr-Digest: {good}", f"Content-Digest: {bad}"),
            (f"Repr-Digest: {good}", f"Repr-Digest: {bad}"),
        ):
            answer = site.put(MINT, LETTER, *fields, token=secret)
            problem(answer, 400, "digest-mismatch")


@pytest.mark.parametrize("field", ["md5=:AAAAAAAAAAAAAAAAAAAAAA==:", "sha-3=:AA==:", "unixsum=12"])
def test_algorithms_that_are_not_known_are_passed_over(
    site: Deployment, secret: str, field: str
) -> None:
    """ "A recipient MAY ignore any or all digests" (RFC 9530 section 2)."""
    assert minted(site, secret, LETTER, f"Content-Digest: {field}")


@pytest.mark.parametrize(
    "field",
    [
        "sha-256",
        "sha-256=?1",
        'sha-256="abc"',
        "sha-256=abc",
        "sha-256=:not base64:",
        "sha-256=:AAAA",
        "sha-256=(:AAAA: :BBBB:)",
        "=",
        "sha-512=\xff",
        ",",
    ],
)
def test_a_promise_that_cannot_be_read_is_refused(
    site: Deployment, secret: str, field: str
) -> None:
    with storing_nothing(site, secret):
        answer = site.put(MINT, LETTER, f"Repr-Digest: {field}", token=secret)
        problem(answer, 400, "invalid-request")


def test_a_wrong_digest_of_much_leaves_no_file(site: Deployment, secret: str) -> None:
    with storing_nothing(site, secret):
        wrong = f"Content-Digest: {digest_field('sha-256', b'')}"
        body = bytes(IN_MEMORY + MIB)
        problem(site.put(MINT, body, wrong, token=secret), 400, "digest-mismatch")


# uploads that are cut off, long, or in a form that is not kept
# -------------------------------------------------------------


def first_answer(wire: socket.socket) -> bytes:
    """A JSON answer on a connection that stays open."""
    answer = b""
    while not answer.endswith(b"}"):
        part = wire.recv(10_000)
        assert part, answer
        answer += part
    return answer


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize("half_closed", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [100, IN_MEMORY + MIB])
def test_an_upload_that_is_cut_off(
    site: Deployment, secret: str, size: int, chunked: bool, half_closed: bool
) -> None:
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size * 2}"
    with storing_nothing(site, secret):
        with site.connect() as wire:
            expecting = head(site, MINT, secret, framing, "Expect: 100-continue")
            wire.sendall(expecting)
            assert wire.recv(1000).startswith(b"HTTP/1.1 100 ")  # the server waits for bytes
            wire.sendall(chunk(bytes(size)) if chunked else bytes(size))
            if size > IN_MEMORY:
                until(lambda: len(incoming(site)) == 1)
            if half_closed:
                wire.shutdown(socket.SHUT_WR)
                assert b" 201 " not in received(wire)
        until(lambda: not incoming(site))
        assert site.get("/healthz").status == 200


@pytest.mark.parametrize("name", ["Content-Digest", "repr-digest", "X-Other, Content-Digest"])
def test_a_promise_that_is_to_follow_the_body(site: Deployment, secret: str, name: str) -> None:
    """A digest in a trailer would be passed over: it is refused before the body is taken."""
    begin = head(site, MINT, secret, "Transfer-Encoding: chunked", f"Trailer: {name}")
    trailer = b"0\r\nContent-Digest: sha-256=:AAAA:\r\n\r\n"
    with storing_nothing(site, secret):
        answer = site.send(begin + chunk(b"abc") + trailer, "PUT")[0]
        assert "in the header" in problem(answer, 400, "invalid-request")["detail"]
    begin = head(site, MINT, secret, "Transfer-Encoding: chunked", "Trailer: X-Other")
    receipt(site.send(begin + chunk(b"abc") + b"0\r\nX-Other: 1\r\n\r\n", "PUT")[0])


def test_chunks_that_are_none(site: Deployment, secret: str) -> None:
    with storing_nothing(site, secret):
        begin = head(site, MINT, secret, "Transfer-Encoding: chunked")
        for rest in (b"zz\r\n", b"-1\r\n\r\n", b"5\r\nabcdeX", b"fffffffffffffffff\r\n"):
            answers = site.send(begin + chunk(b"abc") + rest, "PUT")
            assert [one.status for one in answers] == [400]


def peak(site: Deployment) -> int:
    """The most memory that the server ever had resident, in bytes."""
    status = Path(f"/proc/{site.process.pid}/status").read_text()
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def test_memory_is_bounded_whatever_is_sent(site: Deployment, secret: str) -> None:
    piece = random.Random(1997).randbytes(MIB)
    minted(site, secret, piece)  # whatever is loaded with the first upload is there
    before, hashed = peak(site), hashlib.sha512()
    with site.connect() as wire:
        kind = "Content-Type: application/octet-stream"
        wire.sendall(head(site, MINT, secret, "Transfer-Encoding: chunked", kind))
        for _ in range(64):
            hashed.update(piece)
            wire.sendall(chunk(piece))
        wire.sendall(b"0\r\n\r\n")
        answer = parse_answers(received(wire), ["PUT"])[0]
    name = receipt(answer)["identifier"]
    assert peak(site) - before < 32 * MIB
    said = site.ask("HEAD", f"/{name}").headers
    assert said["content-length"] == str(64 * MIB)
    assert said["repr-digest"] == f"sha-512=:{base64.b64encode(hashed.digest()).decode()}:"
    assert site.get(f"/{name}", f"Range: bytes={63 * MIB}-").body == piece
    assert not incoming(site)


def test_more_than_the_limit(site: Deployment, secret: str) -> None:
    with storing_nothing(site, secret):
        announced = site.put(MINT, b"", f"Content-Length: {LARGEST + 1}", token=secret)
        assert problem(announced, 413, "too-large")["limit"] == LARGEST
        begin = head(site, MINT, secret, "Transfer-Encoding: chunked")
        with site.connect() as wire:
            wire.sendall(begin.replace(b"Connection: close\r\n", b""))
            for _ in range(LARGEST // MIB + 1):
                wire.sendall(chunk(bytes(MIB)))
            wire.sendall(b"0\r\n\r\n")
            found = parse_answers(first_answer(wire), ["PUT"])[0]
        problem(found, 413, "too-large")


def test_who_asks_to_close_reads_the_refusal_all_the_same(site: Deployment, secret: str) -> None:
    """RFC 9112 section 9.6: a server that closes at once may have its last answer erased."""
    length = f"Content-Length: {LARGEST + 1}"
    for _ in range(3):
        with site.connect() as wire:
            wire.sendall(head(site, MINT, secret, length))
            for _ in range(LARGEST // MIB):
                wire.sendall(bytes(MIB))  # raises where the connection was reset
            problem(parse_answers(received(wire), ["PUT"])[0], 413, "too-large")


def test_a_length_with_many_zeros_in_front(site: Deployment, secret: str) -> None:
    """More digits than Python turns into a number."""
    length = "0" * 5000 + str(len(LETTER))
    name = minted(site, secret, LETTER, f"Content-Length: {length}")
    assert site.get(f"/{name}").body == LETTER


@pytest.mark.parametrize(
    ("field", "status", "code"),
    [
        ("Content-Encoding: gzip", 415, "content-not-supported"),
        ("Content-Range: bytes 0-4/100", 400, "invalid-request"),
    ],
)
def test_what_would_not_be_kept_as_it_is_sent(
    site: Deployment, secret: str, field: str, status: int, code: str
) -> None:
    with storing_nothing(site, secret):  # ruling: bytes-verbatim
        problem(site.put(MINT, b"bytes", field, token=secret), status, code)


# Expect: 100-continue
# --------------------


def test_the_body_is_asked_for_when_it_is_welcome(site: Deployment, secret: str) -> None:
    with site.connect() as wire:
        expecting = (f"Content-Length: {len(LETTER)}", "Expect: 100-continue")
        wire.sendall(head(site, MINT, secret, *expecting))
        assert wire.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(LETTER)
        assert parse_answers(received(wire), ["PUT"])[0].status == 201


@pytest.mark.parametrize(
    ("target", "more", "status", "code"),
    [
        (MINT, ("Authorization: Bearer perdure_" + "x" * 43,), 401, "unauthenticated"),
        (f"/pdi://{OTHER_SERIES}/", ("{narrow}",), 403, "forbidden"),
        (f"/pdi://{SERIES}/1997/09/01/1", ("{secret}",), 404, "not-found"),
        ("/pdi://nobody.us/", ("{secret}",), 404, "unknown-authority"),
        (MINT, ("{secret}", 'Content-Digest: sha-256="x"'), 400, "invalid-request"),
        (MINT, ("{secret}", "Content-Type: nothing"), 400, "invalid-request"),
        (MINT, ("{secret}", "Content-Encoding: br"), 415, "content-not-supported"),
    ],
)
def test_what_is_refused_is_refused_before_the_body_is_sent(
    site: Deployment, secret: str, target: str, more: tuple[str, ...], status: int, code: str
) -> None:
    narrow = site.token(f"narrow {target}", authorities=(SERIES,))
    bearers = {"{secret}": secret, "{narrow}": narrow}
    fields = [f"Authorization: Bearer {bearers[one]}" if one in bearers else one for one in more]
    lines = [f"PUT {target} HTTP/1.1", "Host: a", *fields]
    with site.connect() as wire:
        asking = [*lines, "Content-Length: 1000000", "Expect: 100-continue", "", ""]
        wire.sendall("\r\n".join(asking).encode())
        answer = first_answer(wire)  # while nothing of the body is sent
    assert b"HTTP/1.1 100" not in answer
    problem(parse_answers(answer, ["PUT"])[0], status, code)


# Idempotency-Key, If-Match, If-None-Match
# ----------------------------------------


def test_a_key_makes_a_request_safe_to_repeat(site: Deployment, secret: str) -> None:
    before = serial(minted(site, secret))
    answers = [
        site.put(MINT, LETTER, f"Idempotency-Key: {key}", token=secret)
        for key in ("mint-1", "mint-1", '"mint-1"')
    ]
    found = [receipt(one) for one in answers]
    assert {one["identifier"] for one in found} == {f"pdi://{SERIES}/{today()}/{before + 1}.text.1"}
    assert [one["replayed"] for one in found] == [False, True, True]
    assert serial(minted(site, secret)) == before + 2


def test_a_key_of_a_commit(site: Deployment, secret: str) -> None:
    bare = resource(minted(site, secret, b"one"))
    for body in (b"two", b"two", b"three"):
        site.put(f"/{bare}", body, f"Idempotency-Key: {bare}-{body.decode()}", token=secret)
    again = receipt(site.put(f"/{bare}", b"two", f"Idempotency-Key: {bare}-two", token=secret))
    assert (again["identifier"], again["replayed"]) == (f"{bare}.text.2", True)
    assert site.get(f"/{bare}").body == b"three"


def test_a_key_comes_before_a_condition(site: Deployment, secret: str) -> None:
    """A repetition meets the state that the first request made, whatever it expected."""
    name = minted(site, secret, b"one")
    bare, tag = resource(name), site.get(f"/{name}").headers["etag"]
    for number, condition in enumerate((f"If-Match: {tag}", 'If-Match: "r2"')):
        keyed = (condition, f"Idempotency-Key: {bare}-{number}")
        body = b"state %d" % number
        found = [receipt(site.put(f"/{bare}", body, *keyed, token=secret)) for _ in range(2)]
        assert [one["replayed"] for one in found] == [False, True]
        assert found[0]["revision"] == found[1]["revision"] == number + 2
    with storing_nothing(site, secret):
        late = ('If-Match: "r1"', f"Idempotency-Key: {bare}-late")
        problem(site.put(f"/{bare}", b"five", *late, token=secret), 412, "precondition-failed")


def test_a_key_of_another_request(site: Deployment, secret: str) -> None:
    minted(site, secret, b"one", "Idempotency-Key: other-body")
    with storing_nothing(site, secret):
        answer = site.put(MINT, b"two", "Idempotency-Key: other-body", token=secret)
        assert "a different request" in problem(answer, 400, "invalid-request")["detail"]


def test_a_key_of_another_actor(site: Deployment, secret: str) -> None:
    other = site.token("somebody else")
    mine = minted(site, secret, LETTER, "Idempotency-Key: yours-and-mine")
    yours = receipt(site.put(MINT, LETTER, "Idempotency-Key: yours-and-mine", token=other))
    assert not yours["replayed"]
    assert serial(yours["identifier"]) == serial(mine) + 1


@pytest.mark.parametrize("key", ["a" * 256, "caf\xe9", "a\tb", '""'])
def test_keys_that_are_none(site: Deployment, secret: str, key: str) -> None:
    with storing_nothing(site, secret):
        answer = site.put(MINT, LETTER, f"Idempotency-Key: {key}", token=secret)
        problem(answer, 400, "invalid-request")


def test_if_match(site: Deployment, secret: str) -> None:
    name = minted(site, secret, b"one")
    first = site.get(f"/{name}").headers["etag"]

    def put(body: bytes, condition: str) -> Answer:
        return site.put(f"/{resource(name)}", body, f"If-Match: {condition}", token=secret)

    for stale in ('"other"', f"W/{first}", '"r2"', "r1x", '""', '"'):
        problem(put(b"two", stale), 412, "precondition-failed")
    assert receipt(put(b"two", f'"other", {first}'))["revision"] == 2
    problem(put(b"three", first), 412, "precondition-failed")
    assert receipt(put(b"three", '"r2"'))["revision"] == 3
    assert receipt(put(b"four", "*"))["revision"] == 4
    assert site.get(f"/{resource(name)}").body == b"four"


def test_if_none_match(site: Deployment, secret: str) -> None:
    """RFC 9110 section 13.1.2: false where there is anything (`*`), or one of the tags."""
    name = minted(site, secret, b"one")
    bare, tag = resource(name), site.get(f"/{name}").headers["etag"]

    def put(target: str, condition: str) -> Answer:
        return site.put(f"/{target}", b"two", f"If-None-Match: {condition}", token=secret)

    for target, condition in ((name, "*"), (bare, "*"), (bare, tag), (name, f'"a", W/{tag}')):
        problem(put(target, condition), 412, "precondition-failed")
    assert receipt(put(f"{bare}.text.2", "*"))["identifier"] == f"{bare}.text.2"
    both = ("If-None-Match: *", 'If-Match: "r1"')  # section 13.2.2: one after the other
    answer = site.put(f"/{bare}.text.3", b"two", *both, token=secret)
    problem(answer, 412, "precondition-failed")
    keyed = ('If-None-Match: "a"', f"Idempotency-Key: {bare}")
    found = [receipt(site.put(f"/{bare}", b"three", *keyed, token=secret)) for _ in range(2)]
    assert [one["replayed"] for one in found] == [False, True]
    assert found[0]["identifier"] == found[1]["identifier"] == f"{bare}.text.3"


@pytest.mark.parametrize("condition", ['"zz"', '"r1"', "*"])
@pytest.mark.parametrize("target", [MINT, f"/ark:{SHOULDER}", f"/URN:{AUTHORITY}::"])
def test_what_is_minted_matches_no_state(
    site: Deployment, secret: str, target: str, condition: str
) -> None:
    """RFC 9110 section 13.1.1: the method MUST NOT be performed where the condition is false, and
    `*` is false where there is nothing yet."""
    with storing_nothing(site, secret):
        answer = site.put(target, LETTER, f"If-Match: {condition}", token=secret)
        problem(answer, 412, "precondition-failed")
    receipt(site.put(target, LETTER, "If-None-Match: *", token=secret))


# at the same time
# ----------------


def both(
    site: Deployment,
    target: str,
    secret: str,
    *fields: str,
    bodies: tuple[bytes, bytes] = (b"0", b"1"),
) -> list[Answer]:
    """The answers to two PUTs of one byte, both of which were let in before either was sent."""
    with contextlib.ExitStack() as open_wires:
        wires = [open_wires.enter_context(site.connect()) for _ in range(2)]
        for wire in wires:
            begin = head(site, target, secret, "Content-Length: 1", "Expect: 100-continue", *fields)
            wire.sendall(begin)
            assert wire.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        for wire, body in zip(wires, bodies, strict=True):
            wire.sendall(body)
        return [parse_answers(received(wire), ["PUT"])[0] for wire in wires]


def test_two_commit_the_same_version(site: Deployment, secret: str) -> None:
    bare = resource(minted(site, secret, b"first"))
    for number in range(2, 12):
        name = f"{bare}.text.{number}"
        answers = both(site, f"/{name}", secret)
        assert sorted(one.status for one in answers) == [201, 409]
        winner = next(body for body, one in enumerate(answers) if one.status == 201)
        assert receipt(answers[winner])["identifier"] == name
        problem(answers[1 - winner], 409, "conflict")
        assert site.get(f"/{name}").body == b"%d" % winner


def test_two_commit_what_they_have_both_seen(site: Deployment, secret: str) -> None:
    bare = resource(minted(site, secret, b"first"))
    answers = both(site, f"/{bare}", secret, 'If-Match: "r1"')
    assert sorted(one.status for one in answers) == [201, 412]
    assert site.get(f"/{bare}.text.3").status == 404


def test_two_commit_the_next_version(site: Deployment, secret: str) -> None:
    bare = resource(minted(site, secret, b"first"))
    answers = both(site, f"/{bare}", secret)
    names = {receipt(one)["identifier"]: b"%d" % body for body, one in enumerate(answers)}
    assert set(names) == {f"{bare}.text.2", f"{bare}.text.3"}
    assert {name: site.get(f"/{name}").body for name in names} == names


def test_two_mint_with_the_same_key(site: Deployment, secret: str) -> None:
    before = serial(minted(site, secret))
    same = both(site, MINT, secret, "Idempotency-Key: at-once", bodies=(b"x", b"x"))
    assert {serial(receipt(one)["identifier"]) for one in same} == {before + 1}
    assert sorted(receipt(one)["replayed"] for one in same) == [False, True]
    other = both(site, MINT, secret, "Idempotency-Key: at-once, too")
    assert sorted(one.status for one in other) == [201, 400]
    assert serial(minted(site, secret)) == before + 3


def test_serials_are_dense_whoever_mints(site: Deployment, secret: str) -> None:
    before = serial(minted(site, secret))
    found: list[str] = []

    def mint() -> None:
        body = threading.current_thread().name.encode()
        found.extend(minted(site, secret, body) for _ in range(5))

    threads = [threading.Thread(target=mint) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(serial, found)) == list(range(before + 1, before + 41))


# tokens
# ------

YESTERDAY = "1997-08-31"
THIS_YEAR = today()[:4]


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ({}, 201),
        ({"authorities": (SERIES,), "operations": ("mint",)}, 201),
        ({"authorities": ("oma.*",), "operations": ("mint",)}, 201),
        ({"authorities": (f"pdi://{SERIES}/{THIS_YEAR}/",), "operations": ("mint",)}, 201),
        ({"authorities": (f"pdi://{SERIES}/1999/",), "operations": ("mint",)}, 403),
        ({"expires": "2999-01-01T00:00:00Z"}, 201),
        ({"first_day": YESTERDAY, "last_day": "2999-12-31"}, 201),
        ({"expires": "1997-09-01T00:00:00Z"}, 401),
        ({"revoked": "1997-09-01T00:00:00Z"}, 401),
        ({"authorities": (OTHER_SERIES,)}, 403),
        ({"authorities": ("oma.eop.gov",)}, 403),
        ({"operations": ("commit", "withdraw", "register")}, 403),
        ({"last_day": YESTERDAY}, 403),
        ({"first_day": "2999-01-01"}, 403),
    ],
)
def test_the_scope_of_a_token(
    site: Deployment, secret: str, scope: dict[str, Any], status: int
) -> None:
    token = site.token(f"scope {scope}", **scope)
    if status == 201:
        assert minted(site, token)
        return
    with storing_nothing(site, secret):
        answer = site.put(MINT, LETTER, token=token)
        problem(answer, status, {401: "unauthenticated", 403: "forbidden"}[status])
        assert ("www-authenticate" in answer.headers) == (status == 401)


@pytest.mark.parametrize("nothing", [{"authorities": ()}, {"operations": ()}])
def test_a_token_that_allows_nothing_is_refused(site: Deployment, nothing: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="at least one operation and one scope"):
        site.token("nothing", **nothing)


def test_the_days_of_a_token_are_those_of_the_identifier(site: Deployment) -> None:
    days = {"first_day": "1997-09-01", "last_day": "1997-09-30"}
    token = site.token("september", operations=("commit",), **days)
    place = Location(uri="https://a.example/")
    for day, status in (("08/31", 403), ("09/01", 201), ("09/30", 201), ("10/01", 403)):
        name = f"pdi://{SERIES}/1997/{day}/token"
        site.do(Register(identifier=parse(name), locations=(place,)))
        assert site.put(f"/{name}", LETTER, token=token).status == status


@pytest.mark.parametrize(
    "field",
    [
        "X-Nothing: here",
        "Authorization: ",
        "Authorization: Bearer",
        "Authorization: Bearer perdure_" + "x" * 43,
        "Authorization: Bearer perdure_\xe9",
        "Authorization: Basic {secret}",
        "Authorization: {secret}",
        "Authorization: Bearer {secret}, Bearer {secret}",
        "Authorization: Bearer {secret}x",
        "Cookie: token={secret}",
    ],
)
def test_no_token_that_is_known(site: Deployment, secret: str, field: str) -> None:
    with storing_nothing(site, secret):
        answer = site.put(MINT, LETTER, field.replace("{secret}", secret))
        problem(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert b"perdure_" not in answer.body


def test_a_token_that_is_revoked_while_it_is_used(site: Deployment, secret: str) -> None:
    token = site.token("for now")
    assert minted(site, token)
    known = Token(
        name="for now", digest=digest_secret(token), operations=("mint",), authorities=("*",)
    )
    site.do(SaveToken(token=msgspec.structs.replace(known, revoked="2026-01-01T00:00:00Z")))
    with storing_nothing(site, secret):
        problem(site.put(MINT, LETTER, token=token), 401, "unauthenticated")


def test_what_is_unknown_is_unknown_to_anybody(site: Deployment) -> None:
    """ "When an HTTP method is applied to an unknown PDI, the server MUST return 404." """
    answer = site.put(f"/pdi://{SERIES}/1997/09/01/1", LETTER)
    problem(answer, 404, "not-found")


def test_secrets_are_written_nowhere(site: Deployment) -> None:
    """Asked last of all about every token that was used above, known or not."""
    unknown, _ = make_token()
    problem(site.put(MINT, LETTER, token=unknown), 401, "unauthenticated")
    assert any(line.get("target") == MINT for line in site.log())  # it does log requests
    written = (site.root.parent / f"{site.port}.log").read_text("utf-8")
    assert "perdure_" not in written
    assert "Bearer " not in re.sub(r"Authorization: Bearer TOKEN", "", written)
    assert b"perdure_" + b"x" not in site.get("/metrics").body


# bad input
# ---------


def raw(site: Deployment, request: bytes) -> bytes:
    with site.connect() as wire:
        wire.sendall(request)
        return received(wire)


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        (f"/pdi://{SERIES}/1997/02/30/1", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/13/01/1", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01/1.text.0", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01/1.te%0d%0axt.1", 404, "not-found"),
        (f"/pdi://{SERIES}/1997/09/01/" + "a" * 9000, 400, "malformed-identifier"),
        ("/ark:99999/" + "a" * 9000, 400, "malformed-identifier"),
        ("/pdi://nobody.us/", 404, "unknown-authority"),
        ("/pdi://nobody.us/1997/09/01/1", 404, "not-found"),
        ("/pdi://nobody.us/1997/*/*/*", 404, "not-found"),
        ("/gopher://a.example/", 400, "unknown-scheme"),
        (f"/pdi://{SERIES}/1997/*/*/*", 405, "method-not-allowed"),
        (f"{MINT}?mint", 400, "invalid-request"),
        (f"{MINT}?part=char=0,1", 405, "method-not-allowed"),
        ("/healthz", 405, "method-not-allowed"),
    ],
)
def test_names_that_take_no_bytes(
    site: Deployment, secret: str, target: str, status: int, code: str
) -> None:
    with storing_nothing(site, secret):
        problem(site.put(target, LETTER, token=secret), status, code)


@pytest.mark.parametrize(
    "question", ["?part=char=0,1", "%23char=0,1", "?t=1", "?quote=To", "?cite", "?region=dk"]
)
def test_a_part_or_a_view_takes_no_bytes(site: Deployment, secret: str, question: str) -> None:
    """All ways to ask for a part are equal (ruling fragment-transport)."""
    name = minted(site, secret)
    with storing_nothing(site, secret):
        answer = site.put(f"/{name}{question}", b"x", token=secret)
        problem(answer, 405, "method-not-allowed")
    assert site.get(f"/{name}").body == LETTER
    receipt(site.put(f"/{name}?utm_source=a", b"x", token=secret))  # comes with a shared link


def test_a_question_that_is_not_known(site: Deployment, secret: str) -> None:
    name = minted(site, secret)
    found = problem(site.put(f"/{name}?info", b"x", token=secret), 400, "invalid-request")
    assert found["reason"] == "choose one of ?metadata"


CRLF = "\r\nSet-Cookie: a=b"


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "TRACE", "OPTIONS"])
@pytest.mark.parametrize(
    "target",
    [
        f"/pdi://{SERIES}/{today()}/{{}}",
        f"/pdi://{SERIES}/1997/09/01/1.{{}}.1",
        f"/pdi://{SERIES}/1997/09/01/1#{{}}=1,2",
        "/ark:99999/fk4{}",
        "/hdl:1839/{}",
        "/pwid:a.org:2016:page:{}",
        "/urn:example:{}",
        "/{}",
        f"{MINT}?{{}}",
        "/problems/{}",
        "/uri-res/{}",
        "/uri-res/N2L?hdl:1839/{}",
    ],
)
def test_escaped_control_characters_never_become_real_ones(
    site: Deployment, secret: str, method: str, target: str
) -> None:
    for hostile in (CRLF, "\x00\x07\x1b[2J\x7f", "\u2028\x85é"):
        written = target.format(quote(hostile, safe=""))
        begin = head(site, written, secret, "Content-Length: 2").replace(b"PUT", method.encode(), 1)
        answer = raw(site, begin + b"{}")
        found = CLEAN_HEAD.match(answer)
        assert found, answer
        assert b"\r\nset-cookie" not in found[0].lower()


@pytest.mark.parametrize(
    "field",
    [
        "Content-Type: text/plain; charset={}",
        "Content-Type: text/{}",
        "Content-Language: {}",
        "Idempotency-Key: {}",
        "If-Match: {}",
        "Repr-Digest: {}",
        "Authorization: Bearer {}",
        "Accept: {}",
        "Host: {}",
    ],
)
@pytest.mark.parametrize("value", ["a\rb", "a\nSet-Cookie: a=b", "a\x00b", "a\x7fb", "a\x0bb"])
def test_control_characters_in_header_fields(
    site: Deployment, secret: str, field: str, value: str
) -> None:
    """Refused where they stand; the connection is not used again."""
    begin = head(site, MINT, secret, field.format(value), f"Content-Length: {len(LETTER)}")
    answer = raw(site, begin + LETTER)
    found = CLEAN_HEAD.match(answer)
    assert found, answer
    assert b"set-cookie" not in found[0].lower()
    assert found[0].startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "field", ["Content-Type: text/pl\xe9in", "Content-Language: \xff", 'If-Match: "\xff"']
)
def test_bytes_beyond_ascii_in_header_fields(site: Deployment, secret: str, field: str) -> None:
    name = minted(site, secret)
    answer = raw(site, head(site, f"/{name}", secret, field, "Content-Length: 1") + b"x")
    found = CLEAN_HEAD.match(answer)
    assert found, answer
    assert found[0][9:12] in (b"400", b"412")


@pytest.mark.parametrize("base", ["a.example/\r\nX: y", "a b", "é", '"><script>', "a" * 300])
def test_a_host_that_is_none_reaches_no_location(site: Deployment, secret: str, base: str) -> None:
    request = head(site, MINT, secret, f"Content-Length: {len(LETTER)}")
    request = request.replace(f"Host: 127.0.0.1:{site.port}".encode(), f"Host: {base}".encode())
    answer = raw(site, request + LETTER)
    found = CLEAN_HEAD.match(answer)
    assert found, answer
    where = re.search(rb"^location: (.*)\r$", found[0], re.MULTILINE)
    assert where is None or where[1].startswith(site.base.encode())


def code_of(answer: Answer) -> str:
    code: str = json.loads(answer.body)["code"]
    return code


def error_vectors() -> Iterator[str]:
    for path in sorted(VECTORS.glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        yield from (one["text"] for one in document.get("cases", ()) if "error" in one)


def is_set(text: str) -> bool:
    with contextlib.suppress(PerdureError):
        return not read_set(text).is_single
    return False


def test_every_error_vector_over_http(site: Deployment, secret: str) -> None:
    """As it stands where a target can be written so, and escaped as a whole."""
    texts = list(error_vectors())
    assert len(texts) > 250
    with storing_nothing(site, secret):
        for one in texts:
            escaped = "/" + quote(one, safe="")
            if len(escaped) < LONGEST_TARGET and re.match("[A-Za-z][A-Za-z0-9+.-]*:", one):
                found = site.get(escaped)
                if is_set(one):  # a beginning of names  # ruling: pdi-patterns-everywhere
                    problem(found, 404, "not-found")
                    continue
                if "%23" in one:  # HTTP reads it as `#`  # ruling: fragment-transport
                    assert 400 <= found.status < 500
                    continue
                assert code_of(found) in ("malformed-identifier", "unknown-scheme")
                # An end before its start is a range of nothing  # ruling: part-range
                status = 416 if json.loads(found.body).get("rule") == "ruling part-range" else 400
                problem(found, status, code_of(found))
                assert site.put(escaped, LETTER, token=secret).status == status
            if re.fullmatch("[!-~]+", one):
                for answer in (site.get(f"/{one}"), site.put(f"/{one}", LETTER, token=secret)):
                    assert 400 <= answer.status < 500, one
                    assert code_of(answer)
        assert site.get("/healthz").status == 200


def test_targets_that_are_longer_than_any_identifier(site: Deployment, secret: str) -> None:
    for length, statuses in ((9_000, {400}), (100_000, {414})):
        for method in ("GET", "PUT", "POST"):
            target = f"/pdi://{SERIES}/{today()}/" + "a" * length
            begin = head(site, target, secret).replace(b"PUT", method.encode(), 1)
            answers = parse_answers(raw(site, begin), [method])
            assert {one.status for one in answers} == statuses
    assert site.get("/healthz").status == 200
