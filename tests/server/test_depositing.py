"""Depositing in a browser: sessions, forms from elsewhere, uploads, review, minting, versions."""

from __future__ import annotations

import hashlib
import html
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.server.browser import Browser, run_browser
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model import assertions
from perdure.model.assertions import write_assertion
from perdure.model.commands import Restrict, SaveToken, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

FORM = "Content-Type: application/x-www-form-urlencoded"
HTML = "Accept: text/html"
BOUNDARY = "----boundary"
MULTIPART = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"


def post(site: Deployment, path: str, fields: dict[str, str], *more: str) -> Answer:
    origin = f"Origin: {site.base}"
    return site.ask("POST", path, FORM, origin, HTML, *more, body=urlencode(fields).encode())


def sign_in(site: Deployment, secret: str, *more: str) -> str:
    """The field with the cookie of a new session."""
    answer = post(site, "/sign-in", {"token": secret}, *more)
    assert answer.status == 303, answer.body
    return f"Cookie: {answer.headers['set-cookie'].partition(';')[0]}"


def write_parts(fields: dict[str, str], *files: tuple[bytes, bytes]) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    parts += [
        b'--%s\r\nContent-Disposition: form-data; name="files"; filename="%s"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n%s\r\n" % (BOUNDARY.encode(), name, body)
        for name, body in files
    ]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def upload(
    site: Deployment, cookie: str, fields: dict[str, str], *files: tuple[bytes, bytes]
) -> Answer:
    body = write_parts(fields, *files)
    return site.ask("POST", "/deposit", MULTIPART, f"Origin: {site.base}", cookie, HTML, body=body)


def read_receipt(site: Deployment, place: str, cookie: str) -> str:
    body = site.get(place, cookie, HTML).body.decode()
    found = re.search(r'<a href="/[^"]*">(pdi://[^<]*)</a>', body)
    assert found, body
    return html.unescape(found[1])


# sessions
# --------


def test_the_cookie_is_the_identity_of_a_session(site: Deployment) -> None:
    secret = site.token("keeper")
    answer = post(site, "/sign-in", {"token": secret, "to": "/deposit?of=pdi:x"})
    assert (answer.status, answer.headers["location"]) == (303, "/deposit?of=pdi:x")
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes  # no TLS here
    identity = name.partition("=")[2]
    assert secret not in name
    assert len(identity) == 43  # 256 bits
    kept = b"".join(one.read_bytes() for one in (site.root / "desk/sessions").iterdir())
    assert identity.encode() not in kept
    assert secret.encode() not in kept
    assert secret not in json.dumps(site.log())
    assert site.get("/deposit", f"Cookie: {name}", HTML).status == 200


def test_under_tls_the_cookie_belongs_to_the_host(tmp_path: Path) -> None:
    """RFC 6265bis, section 4.1.3.2: `__Host-` needs `Secure` and `Path=/`, and no `Domain`."""
    with deployed(tmp_path / "registry", base_url="https://id.example.org") as tls:
        body = urlencode({"token": tls.token("keeper")}).encode()
        origin = "Origin: https://id.example.org"
        cookie = tls.ask("POST", "/sign-in", FORM, origin, HTML, body=body).headers["set-cookie"]
    assert cookie.startswith("__Host-desk=")
    assert "; Secure" in cookie
    assert "; Path=/;" in cookie
    assert "Domain" not in cookie


def test_a_session_is_never_one_that_the_browser_brought(site: Deployment) -> None:
    secret = site.token("fixed")
    brought = "A" * 43
    cookie = sign_in(site, secret, f"Cookie: desk={brought}")
    assert brought not in cookie
    assert site.get("/deposit", f"Cookie: desk={brought}", HTML).status == 303
    again = sign_in(site, secret, cookie)
    assert again != cookie
    assert site.get("/deposit", cookie, HTML).status == 303  # the one before has ended


def test_signing_out_ends_the_session_on_the_server(site: Deployment) -> None:
    cookie = sign_in(site, site.token("leaver"))
    answer = post(site, "/sign-out", {}, cookie)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    there = site.get("/deposit", cookie, HTML)
    assert (there.status, there.headers["location"]) == (303, "/sign-in?to=%2Fdeposit")


def test_a_revoked_token_ends_its_sessions(site: Deployment) -> None:
    cookie = sign_in(site, site.token("revoked"))
    token = site.registry.records.find_token_named("revoked")
    assert token is not None
    import msgspec

    ended = msgspec.structs.replace(token, revoked="2026-01-01T00:00:00Z")
    site.do(SaveToken(token=ended))
    assert site.get("/deposit", cookie, HTML).status == 303


def test_sessions_of_a_token_are_bounded(site: Deployment) -> None:
    secret = site.token("many")
    cookies = [sign_in(site, secret) for _ in range(12)]
    alive = [site.get("/deposit", one, HTML).status == 200 for one in cookies]
    assert sum(alive) == 10
    assert alive[-1]


@pytest.mark.parametrize("secret", ["", "perdure_" + "A" * 43, "<script>", "é" * 50])
def test_another_text_is_no_token(site: Deployment, secret: str) -> None:
    answer = post(site, "/sign-in", {"token": secret})
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert b"<script>" not in answer.body


@pytest.mark.parametrize("place", ["//evil.example/", "https://evil.example/", "/\\evil", "x:y"])
def test_signing_in_leads_to_no_other_server(site: Deployment, place: str) -> None:
    answer = post(site, "/sign-in", {"token": site.token(f"led-{place}"), "to": place})
    assert answer.headers["location"] == "/deposit"


@pytest.mark.parametrize(
    "origin",
    ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "X-None: 1"],
)
def test_a_form_from_elsewhere_is_refused(site: Deployment, origin: str) -> None:
    secret = site.token(f"forged-{origin}")
    cookie = sign_in(site, secret)
    for path, kind, body in (
        ("/sign-in", FORM, urlencode({"token": secret}).encode()),
        ("/sign-out", FORM, b""),
        ("/deposit", MULTIPART, write_parts({"series": SERIES}, (b"a.txt", b"a"))),
    ):
        answer = site.ask("POST", path, kind, origin, cookie, HTML, body=body)
        assert answer.status == 403, path
        assert "set-cookie" not in answer.headers
    assert site.get("/deposit", cookie, HTML).status == 200


def test_no_other_route_reads_the_cookie(site: Deployment) -> None:
    cookie = sign_in(site, site.token("everything"))
    name = site.mint(text(b"a"))
    origin = f"Origin: {site.base}"
    assert site.ask("PUT", f"/pdi://{SERIES}/", cookie, origin, body=b"b").status == 401
    answer = site.post(f"/{name}?withdraw", {"reason": "x"}, cookie, origin)
    assert answer.status == 401
    assert site.get("/tokens", cookie).status == 401


def test_a_form_without_a_session_says_so(site: Deployment) -> None:
    for path, kind in (("/deposit", MULTIPART), (f"/deposit/{'0' * 32}", FORM)):
        answer = site.ask("POST", path, kind, f"Origin: {site.base}", HTML, body=b"x")
        assert answer.status == 401, path


# depositing
# ----------


def test_files_are_reviewed_corrected_and_minted_once(site: Deployment) -> None:
    cookie = sign_in(site, site.token("depositor"))
    body = b"name;town\r\nZo\xc3\xab;\xc3\x85rhus\r\n"
    answer = upload(site, cookie, {"series": SERIES}, (b"t.txt", body))
    assert answer.status == 303
    place = answer.headers["location"]
    review = site.get(place, cookie, HTML).body.decode()
    assert hashlib.sha512(body).hexdigest() in review
    form = {
        "type-0": "text/csv",
        "charset-0": "utf-8",
        "language-0": "da",
        "title": "Byer <b>",
        "creator": "Holm, Zoë; Århus Kommune",
        "act": "mint",
    }
    for _ in range(2):  # the button was pressed twice
        assert post(site, place, form, cookie).headers["location"] == place
    name = read_receipt(site, place, cookie)
    assert name.endswith(".csv.1")
    assert site.get(f"/{name}", "Accept: */*").body == body
    assert site.get(f"/{name}", "Accept: */*").headers["content-type"] == "text/csv; charset=utf-8"
    about = site.get(f"/{name}?info", "Accept: application/json").body
    assert "Byer <b>" in json.dumps(json.loads(about))
    page = site.get(f"/{name}?landing", HTML).body
    assert b"Byer <b>" not in page
    assert b"Byer &lt;b&gt;" in page
    count = int(name.split("/")[-1].split(".")[0])
    after = site.mint(text(b"after"))
    assert int(after.split("/")[-1].split(".")[0]) == count + 1


def test_formats_of_one_document_or_a_document_each(site: Deployment) -> None:
    cookie = sign_in(site, site.token("several"))
    files = ((b"a.txt", b"four score"), (b"a.jpg", JPEG))
    for together, expected in (("yes", 1), ("no", 2)):
        fields = {"series": SERIES, "together": together}
        place = upload(site, cookie, fields, *files).headers["location"]
        post(site, place, {"act": "mint"}, cookie)
        body = site.get(place, cookie, HTML).body.decode()
        assert len(set(re.findall(r">(pdi://[^<]*)</a>", body))) == expected


def test_an_assertion_needs_its_right_in_a_browser_too(site: Deployment) -> None:
    """ "by whoever holds the right `assert`" """
    about = site.mint(text(b"a letter"))
    said = write_assertion((about,), ("commenting",), body="Out of context.")
    rights = {"minting": ("mint",), "asserting": ("mint", "assert")}
    for name, operations in rights.items():
        secret = site.token(f"deposit {name}", operations=operations, authorities=(SERIES,))
        cookie = sign_in(site, secret)
        place = upload(site, cookie, {"series": SERIES}, (b"a.jsonld", said)).headers["location"]
        fields = {"act": "mint", "type-0": assertions.MEDIA_TYPE}
        answer = post(site, place, fields, cookie)
        assert answer.status == (303 if name == "asserting" else 409), answer.body
    found = json.loads(site.get(f"/{about}?assertions", "Accept: application/json").body)
    assert [one["registry"]["by"] for one in found["items"]] == ["deposit asserting"]


def test_a_next_version_is_refused_after_another_change(site: Deployment) -> None:
    cookie = sign_in(site, site.token("versions"))
    name = resource(site.mint(text(b"one")))
    places = [
        upload(site, cookie, {"of": name}, (b"b.txt", b"two %d" % at)).headers["location"]
        for at in range(2)
    ]
    assert post(site, places[0], {"act": "mint"}, cookie).status == 303
    late = post(site, places[1], {"act": "mint"}, cookie)
    assert late.status == 409
    assert b'role="alert"' in late.body
    assert site.get(f"/{name}", "Accept: */*").body == b"two 0"


def read_changes(site: Deployment, place: str, cookie: str) -> tuple[str, list[str], list[str]]:
    """What a review says of the changes: its text, and the lines that are removed and added."""
    page = site.get(place, cookie, HTML).body.decode()
    shown = page.partition("<h2>Plan</h2>")[2]
    lines = [
        [html.unescape(one) for one in re.findall(f"<{tag}>(.*?)</{tag}>", shown, re.DOTALL)]
        for tag in ("del", "ins")
    ]
    return shown, lines[0], lines[1]


def test_a_next_version_is_compared_before_it_is_minted(site: Deployment) -> None:
    cookie = sign_in(site, site.token("comparer"))
    page = b"<p>some <b>markup</b></p>"
    name = resource(site.mint(text(b"one\ntwo\nthree\n"), text(page, "html", "text/html")))
    new = b"one\n<2>\nthree\nfour\n"
    place = upload(site, cookie, {"of": name}, (b"b.txt", new)).headers["location"]
    shown, removed, added = read_changes(site, place, cookie)
    assert (removed, added) == (["two\n"], ["<2>\n", "four\n"])
    assert f'<a href="/{name}.text.1?landing">{name}.text.1</a>' in shown
    assert f"{name}.text.1#char=5,10" in shown  # what is replaced has a name, the new text has not
    assert "The new version does not have the format of .html." in shown
    assert site.get(f"/{name}", "Accept: text/plain").body == b"one\ntwo\nthree\n"
    post(site, place, {"act": "mint"}, cookie)
    diff = site.get(f"/{name}?diff=1,2", "Accept: text/plain").body.decode()
    assert [one[1:] for one in diff.splitlines()[3:] if one[0] in "+-"] == ["two", "<2>", "four"]


def test_a_file_too_long_for_memory_is_compared_too(site: Deployment) -> None:
    cookie = sign_in(site, site.token("long"))
    name = resource(site.mint(text(b"first\nlast\n")))
    long = b"first\n" + b"x" * (9 << 20) + b"\nlast\n"
    place = upload(site, cookie, {"of": name}, (b"b.txt", long)).headers["location"]
    assert any((site.root / "incoming").iterdir())
    assert read_changes(site, place, cookie)[1:] == ([], ["x" * 2000 + "…"])
    post(site, place, {"act": "discard"}, cookie)


def test_pictures_are_compared_as_a_whole(site: Deployment) -> None:
    cookie = sign_in(site, site.token("pictures"))
    name = resource(site.mint(text(JPEG, "jpg", "image/jpeg")))
    for new, expected in ((JPEG, "Both have the same bytes."), (JPEG + b"\0", "The bytes differ.")):
        place = upload(site, cookie, {"of": name}, (b"a.jpg", new)).headers["location"]
        assert expected in read_changes(site, place, cookie)[0]


def test_what_the_depositor_may_not_read_is_not_compared(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    cookie = sign_in(site, site.token("blind", operations=("mint", "commit")))
    closed, gone = (resource(site.mint(text(b"secret\n"))) for _ in range(2))
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(gone), version=1, reason="asked to"))
    for name in (closed, gone):
        answer = upload(site, cookie, {"of": name}, (b"a.txt", b"open\n"))
        assert answer.status == 303, answer.body
        shown, removed, added = read_changes(site, answer.headers["location"], cookie)
        assert "secret" not in shown
        assert (removed, added) == ([], [])
        assert "<h2>What changes</h2>" in shown


def test_a_right_that_the_token_lacks_is_checked_before_a_file(site: Deployment) -> None:
    cookie = sign_in(site, site.token("reader", operations=("bind",)))
    answer = upload(site, cookie, {"series": SERIES}, (b"a.txt", b"x" * 100_000))
    assert answer.status == 403
    unknown = upload(site, cookie, {"series": "x.example.us"}, (b"a.txt", b"x"))
    assert unknown.status == 404
    assert not list((site.root / "incoming").iterdir())


def test_a_draft_belongs_to_its_token(site: Deployment) -> None:
    one = sign_in(site, site.token("one"))
    other = sign_in(site, site.token("other"))
    place = upload(site, one, {"series": SERIES}, (b"a.txt", b"mine")).headers["location"]
    assert site.get(place, other, HTML).status == 404
    assert post(site, place, {"act": "mint"}, other).status == 404
    assert post(site, place, {"act": "discard"}, one).headers["location"] == "/deposit"
    assert site.get(place, one, HTML).status == 404


@pytest.mark.parametrize(
    "name",
    [
        b"../../../etc/cron.d/x",
        b"C:\\\\Windows\\\\x.txt",
        b"<img src=x onerror=alert(1)>.txt",
        b"a\x00b\x07.txt",
        "\u202egpj.exe".encode(),
        b"x" * 5000,
        b'q\\"uote.txt',
    ],
)
def test_names_of_files_are_only_shown(site: Deployment, name: bytes) -> None:
    before = sorted(one.name for one in site.root.iterdir())
    cookie = sign_in(site, site.token(f"hostile-{hashlib.sha1(name).hexdigest()}"))
    answer = upload(site, cookie, {"series": SERIES}, (name, b"some text"))
    assert answer.status == 303, answer.body
    page = site.get(answer.headers["location"], cookie, HTML).body
    assert b"<img src=x" not in page
    assert b"../" not in page.partition(b"<main")[2]
    assert "\u202e".encode() not in page
    assert sorted(one.name for one in site.root.iterdir()) == before or "desk" not in before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no boundary at all",
        write_parts({"series": SERIES}, (b"a.txt", b"x"))[:-20],
        write_parts({f"f{at}": "x" for at in range(200)}),
        write_parts({"series": "x" * 200_000}),
        write_parts({"series": SERIES}, *[(b"a.txt", b"x")] * 60),
        write_parts({"series": SERIES}, (b"\xff\xfe.txt", b"x")),
    ],
    ids=[
        "empty",
        "junk",
        "cut off",
        "many fields",
        "a long field",
        "many files",
        "a name in no charset",
    ],
)
def test_a_broken_form_leaves_nothing(site: Deployment, body: bytes) -> None:
    cookie = sign_in(site, site.token(f"broken-{hashlib.sha1(body).hexdigest()}"))
    fields = (MULTIPART, f"Origin: {site.base}", cookie, HTML)
    answer = site.ask("POST", "/deposit", *fields, body=body)
    assert answer.status in (303, 400, 404, 413), answer.body
    if answer.status == 303:
        assert answer.headers["location"] == "/deposit"
    assert not list((site.root / "incoming").iterdir())


def test_an_upload_that_is_cut_off_leaves_nothing(site: Deployment) -> None:
    cookie = sign_in(site, site.token("cut"))
    body = write_parts({"series": SERIES}, (b"a.bin", b"\x00" * (9 << 20)))
    head = (
        f"POST /deposit HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n{MULTIPART}\r\n{cookie}\r\n"
        f"Origin: {site.base}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with site.connect() as wire:
        wire.sendall(head + body[: 8 << 20])
        wire.shutdown(socket.SHUT_WR)
        while wire.recv(65536):
            pass
    assert not list((site.root / "incoming").iterdir())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("small") / "registry"
    with deployed(root, largest_upload=100_000) as running:
        yield running


def test_a_file_has_the_limit_of_every_upload(small: Deployment) -> None:
    cookie = sign_in(small, small.token("large"))
    answer = upload(small, cookie, {"series": SERIES}, (b"a.bin", b"\x00" * 100_001))
    assert answer.status == 413


# a browser
# ---------


async def submit(browser: Browser, script: str) -> None:
    """Run a script that submits a form, and wait for the page that follows."""
    before = await browser.evaluate("location.href")
    await browser.evaluate(script)
    for _ in range(100):
        there = await browser.evaluate("document.readyState + location.href")
        if there.startswith("complete") and not there.endswith(before):
            return
    raise AssertionError(there)


async def upload_in_browser(browser: Browser, address: str, secret: str, document: Path) -> None:
    """Sign in, choose a file, and go to the page that reviews it."""
    await browser.open(address)
    set_token = f"document.getElementById('token').value = {secret!r};"
    await submit(browser, f"{set_token} document.querySelector('form.desk button').click()")
    root = await browser.call("DOM.getDocument")
    found = await browser.call(
        "DOM.querySelector", nodeId=root["root"]["nodeId"], selector="#files"
    )
    await browser.call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=[str(document)])
    await submit(browser, "document.querySelector('form.desk button').click()")


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
def test_a_depositor_sees_what_changes_in_a_browser(
    site: Deployment, tmp_path: Path, script: bool
) -> None:
    secret = site.token(f"reviser-{script}")
    name = resource(site.mint(text("Zoë\nAda\n".encode(), charset="utf-8")))
    document = tmp_path / "names.txt"
    document.write_text("Zoë\nAda Lovelace\n", "utf-8")

    async def deposit(browser: Browser) -> tuple[str, str, int, str]:
        if not script:
            await browser.forbid_scripts()
        await browser.set_width(320)
        await upload_in_browser(browser, f"{site.base}/deposit?of={name}", secret, document)
        old, new = [
            await browser.evaluate(f"document.querySelector('.difference {tag}').innerText")
            for tag in ("del", "ins")
        ]
        wide = await browser.evaluate("document.documentElement.scrollWidth")
        await browser.evaluate("document.querySelector('button[value=mint]').click()")
        for _ in range(200):
            if "Receipts" in await browser.evaluate("document.title"):
                break
        receipt = await browser.evaluate("document.querySelector('main ul.plain a').textContent")
        return old.strip(), new.strip(), wide, receipt

    old, new, wide, receipt = run_browser(deposit)
    assert (old, new, wide) == ("Ada", "Ada Lovelace", 320)
    assert receipt == f"{name}.utf-8.2"


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
def test_a_depositor_mints_in_a_browser(site: Deployment, tmp_path: Path, script: bool) -> None:
    secret = site.token(f"person-{script}")
    document = tmp_path / "Bericht <1>.txt"
    document.write_text("Bericht über das Jahr 1997\n", "utf-8")

    async def deposit(browser: Browser) -> tuple[str, str, int]:
        if not script:
            await browser.forbid_scripts()
        await browser.set_width(320)
        await upload_in_browser(browser, f"{site.base}/deposit", secret, document)
        shown = await browser.evaluate("document.querySelector('legend').textContent")
        wide = await browser.evaluate("document.documentElement.scrollWidth")
        await browser.evaluate("document.getElementById('title').value = 'Bericht'")
        place = await browser.evaluate("location.href")
        await browser.evaluate("document.querySelector('button[value=mint]').click()")
        for _ in range(200):
            if "Receipts" in await browser.evaluate("document.title"):
                break
        name = await browser.evaluate("document.querySelector('main ul.plain a').textContent")
        assert place
        cookies = await browser.evaluate("document.cookie")
        assert "desk=" not in cookies
        return shown, name, wide

    shown, name, wide = run_browser(deposit)
    assert shown == document.name
    assert wide == 320
    assert site.get(f"/{name}", "Accept: */*").body == document.read_bytes()
    assert str(parse(name)) == name
