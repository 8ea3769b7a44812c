"""`make demo`: a registry with real documents, resolved in every way that perdure knows.

How it works: it makes a registry in `demo-registry/`, deposits a directory of old files, mints the
project's own README and a page of its documentation as text and as HTML, commits a second version,
mints an image and a sound made on the spot, binds a handle to a location, starts the resolver on a
free port, and then runs each `curl` that it shows (if curl is not installed, `curl.py` beside this
file sends the same requests); describes and cites a document; captures a page of the resolver into
a web archive of its own, and mints a collection of all that; checks quotations of a document,
asserts that one is out of context, composes a page of quotations, signs the document, and closes it
until a day; finds documents by their words. `--check` stops the resolver at the end instead of
leaving it running.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from markdown_it import MarkdownIt

from stage import CURL, PROJECT, console, curl, free_port, heading, run_perdure, wait_for

REGISTRY = PROJECT / "demo-registry"
SERIES = "demo.perdure.us"
WEB_ARCHIVE = f"""
archive_id = "{SERIES}"
private_networks = ["127.0.0.0/8"]  # for the demonstration captures a page of its own
"""
DISPUTED = """SELECT ?assertion ?about {
  ?assertion <http://www.w3.org/ns/oa#motivatedBy> <http://purl.org/spar/cito/disputes> ;
             <http://www.w3.org/ns/oa#hasTarget> ?about }"""
PERDURE = [sys.executable, "-m", "perdure.cli", "-C", str(REGISTRY)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="stop the resolver at the end")
    options.add_argument("--port", type=int, default=0, help="port of the resolver")
    chosen = options.parse_args()

    shutil.rmtree(REGISTRY, ignore_errors=True)
    heading("1. A registry, a directory that moves in, and documents")
    perdure("init", str(REGISTRY), "--series", SERIES, "--shoulder", "99999/fk4")
    settings = REGISTRY / "perdure.toml"
    settings.write_text(settings.read_text() + WEB_ARCHIVE)
    show_deposit()
    readme = mint_page("README.md")
    mint_page("docs/tutorial/first-registry.md")
    names = [
        mint(draw_picture()),
        mint(sing_tone()),
    ]
    perdure("bind", "--register", "hdl:10.9999/perdure-demo", "https://example.org/perdure")
    perdure("alias", readme, "hdl:10.9999/perdure-demo")

    heading("2. The resolver")
    if CURL != ["curl"]:
        console.print("curl is not installed: examples/curl.py sends the requests shown here.")
    with serving(chosen.port) as base:
        show_resolution(base, readme, names)
        heading("3. Described and cited")
        show_description(base, readme)
        heading("4. A web archive, and a collection")
        show_archive(base, readme, names)
        heading("5. Quoted, disputed, signed and closed")
        show_quotations(base, readme)
        show_citations(base, readme)
        show_signatures(readme)
        show_rights(base, readme)
        heading("6. Found again")
        show_search(base)
        heading("7. Nothing was changed")
        perdure("verify")
        perdure("history", readme)
        console.print(f"\n[bold]The resolver is at {base}[/] — open it in a browser.")
        console.print(
            f"The registry is {REGISTRY.relative_to(PROJECT)}/; its bytes are WARC files."
        )
        if not chosen.check:
            console.print("Press Ctrl-C to stop it.")
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return 0


def show_deposit() -> None:
    """A directory with an inventory: a plan first, then names, receipts and a report."""
    with tempfile.TemporaryDirectory() as directory:
        source, inventory = Path(directory) / "archive", Path(directory) / "inventory.csv"
        write_archive(source)
        table = (
            "Datei;Titel;Verfasser;Sprache\n"
            "1997/09/01/letter.txt;Die Straße;Müller, Anna;de\n"
            "1998/01/20/letter (copy).txt;;;de\n"
        )
        inventory.write_bytes(table.encode("cp1252"))
        words = ["deposit", str(source), "--metadata", str(inventory), "--series", SERIES]
        words += ["--date-pattern", "%Y/%m/%d"]
        perdure(*words, "--dry-run")
        job = Path(perdure(*words).strip().splitlines()[-1])
        perdure("cite", f"@{job / 'receipts.csv'}", "--style", "iso690")


def write_archive(source: Path) -> None:
    """Files as people leave them: formats, versions, old charsets, copies and a link."""
    letter = "Die Größe der Straße überraschte alle Bürger. ".encode("cp850") * 20
    files: dict[str, bytes] = {
        "1997/09/01/letter.txt": letter,
        "1997/09/01/page.html": b"<!DOCTYPE html><title>A page of 1997</title><p>Names that last",
        "1997/09/01/page.txt": b"Names that last",
        "1998/01/20/memo.v1.txt": b"A first draft of the memo.",
        "1998/01/20/memo.v2.txt": b"The memo, as it was sent.",
        "1998/01/20/letter (copy).txt": letter,
        "1998/01/20/empty.txt": b"",
    }
    for name, data in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (source / "link").symlink_to("1997")


def mint_page(source: str) -> str:
    """A page of the project as text and as HTML, in two versions."""
    text = (PROJECT / source).read_text("utf-8")
    with tempfile.TemporaryDirectory() as directory:
        first = write_page(Path(directory), "first", text)
        second = write_page(Path(directory), "second", f"{text}\nThis line is new in version 2.\n")
        name = mint(*first)
        perdure("commit", name, *second)
    return name


def write_page(directory: Path, stem: str, text: str) -> tuple[str, str]:
    plain, page = directory / f"{stem}.txt", directory / f"{stem}.html"
    plain.write_text(text)
    rendered = MarkdownIt("commonmark").enable("table").render(text)
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><title>{stem}</title>{rendered}')
    return str(plain), str(page)


def mint(*arguments: str) -> str:
    output = perdure("--json", "mint", "--series", SERIES, *arguments)
    return str(json.loads(output)["identifier"])


def draw_picture() -> str:
    """A small PNG, written by hand: a gradient of 64 × 64 pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack("!I", len(body)) + kind + body + struct.pack("!I", zlib.crc32(kind + body))
        )

    rows = b"".join(
        b"\0" + bytes(value for x in range(64) for value in (4 * x, 4 * y, 128)) for y in range(64)
    )
    head = struct.pack("!IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    path = REGISTRY / "incoming" / "picture.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return str(path)


def sing_tone() -> str:
    """Half a second of 440 Hz as an AU file, 16-bit at 8 kHz."""
    samples = [round(12_000 * math.sin(2 * math.pi * 440 * n / 8000)) for n in range(4000)]
    path = REGISTRY / "incoming" / "tone.au"
    head = struct.pack("!4sIIIII", b".snd", 24, 2 * len(samples), 3, 8000, 1)
    path.write_bytes(head + struct.pack(f"!{len(samples)}h", *samples))
    return str(path)


def show_resolution(base: str, readme: str, others: list[str]) -> None:
    resource = readme.rsplit(".", 2)[0]
    day = resource.rpartition("/")[0] + "/"
    curl("the exact bytes of version 1", "-s", f"{base}/{readme}", lines=3)
    curl("its headers: what was served, for how long, and its digest", "-sI", f"{base}/{readme}")
    curl(
        "without a version: the newest one, named in Content-Location",
        "-sI",
        f"{base}/{resource}",
    )
    curl(
        "the request that the draft of 1997 meant", "-s", "--request-target", readme, base, lines=3
    )
    curl(
        "as HTML, by asking for it", "-s", "-H", "Accept: text/html", f"{base}/{resource}", lines=2
    )
    curl("twenty bytes of it", "-s", "-i", "-r", "0-19", f"{base}/{readme}", lines=20)
    curl(
        "what is known about it", "-s", f"{base}/{resource}?info", "-H", "Accept: application/json"
    )
    curl("THTTP: where is it? (RFC 2169)", "-s", f"{base}/uri-res/N2Ls?urn:{readme}")
    curl("THTTP: what else is it called?", "-s", f"{base}/uri-res/N2Ns?urn:{readme}")
    curl("a handle, bound to a location", "-si", f"{base}/hdl:10.9999/perdure-demo", lines=4)
    curl("everything of today", "-s", "-H", "Accept: text/uri-list", f"{base}/{day}")
    curl(
        "every HTML version ever",
        "-s",
        "-H",
        "Accept: text/uri-list",
        f"{base}/pdi://{SERIES}/*/*/*/*.html.*",
    )
    for name in others:
        curl("an image, a sound", "-sI", f"{base}/{name}", lines=3)
    show_parts(base, readme, *others)
    curl("what never existed", "-si", f"{base}/{day}999.text.1")


def show_parts(base: str, text: str, picture: str, sound: str) -> None:
    page = f"{text.rsplit('.', 2)[0]}.html.1"
    curl("a part: characters 13 to 40", "-s", f"{base}/{text}%23char=13,40")
    curl("and what they are", "-sI", f"{base}/{text}%23char=13,40", lines=20)
    curl(
        "a sentence becomes its identifier",
        "-si",
        f"{base}/{text}?quote=Names+that+outlive+servers.",
        lines=3,
    )
    curl("a part of a page: tags 4 to 5", "-s", f"{base}/{page}%23elt=4,5")
    curl("a part of the image: pixels", "-sI", f"{base}/{picture}%23rect=(8,8),(24,16)")
    curl("a part of the sound: a quarter of a second", "-sI", f"{base}/{sound}%23msec=100,350")
    curl("a part that never was", "-si", f"{base}/{text}%23char=0,99999999", lines=1)


def show_description(base: str, text: str) -> None:
    resource = text.rsplit(".", 2)[0]
    said = {
        "type": "report",
        "title": "perdure: names that outlive servers",
        "author": [{"family": "Lovelace", "given": "Ada"}],
        "issued": {"date-parts": [[2026, 11, 21]]},
        "publisher": "The Demonstration Press",
    }
    record = REGISTRY / "incoming" / "description.json"
    record.write_text(json.dumps([said]))
    perdure("metadata", "set", text, str(record))
    curl("as a reference list has it", "-s", f"{base}/{text}?cite=apa")
    curl("in German, as ISO 690 has it", "-s", f"{base}/{text}?cite=iso690&locale=de")
    perdure("cite", f"{text}#char=13,40", "--style", "mla", "--url", f"{base}/{text}")
    curl(
        "as DOIs are asked",
        "-s",
        "-H",
        "Accept: application/vnd.datacite.datacite+xml",
        f"{base}/{resource}",
    )
    curl("all links, for programs (RFC 9264)", "-s", f"{base}/{resource}?linkset")


def show_archive(base: str, text: str, others: list[str]) -> None:
    page = f"{base}/{text.rsplit('.', 2)[0]}.html.1"
    pwid = perdure("archive", "capture", page).strip().splitlines()[-1]
    perdure("pwid", "cite", pwid, "--title", "perdure", "--url", f"{base}/{pwid}")
    curl("a page as it was, by its PWID: exact, or an honest no", "-s", f"{base}/{pwid}")
    curl(
        "what there is of it, as a CDX server tells", "-s", "-G", f"{base}/cdx", "-d", f"url={page}"
    )
    curl("and as Memento tells (RFC 7089)", "-sI", f"{base}/timegate/{page}")
    listed = REGISTRY / "incoming" / "corpus.txt"
    members = (f"{text}#char=13,40", *others, pwid)
    listed.write_text("# title: All that was shown\n" + "".join(f"{one}\n" for one in members))
    made = perdure("collection", "make", str(listed), "--series", SERIES).strip().splitlines()[-1]
    curl("its third member", "-sI", f"{base}/{made}%23member=3", lines=6)
    perdure("collection", "check", made)


def show_quotations(base: str, text: str) -> None:
    quoted = perdure("get", f"{text}#char=13,40")
    before = "The report promises "
    article = mint_text(f'{before}"{quoted}" Nobody contradicts.\n')
    cited = f"{text}#char=13,40"
    perdure("verify", f"{article}@{len(before) + 1}={cited}")
    wrong = mint_text(f'{before}"{quoted.replace("outlive", "outlast")}" Somebody should.\n')
    path = f"{wrong}@{len(before) + 1}={cited.replace('#', '%23')}"
    curl("a quotation that is not exact, and the verdict", "-si", f"{base}/{path}")
    citation = f"{article}@{len(before) + 1}={cited}"
    perdure("assert", citation, "--motivation", "cito:disputes", "--body", "Out of context.")
    perdure("assertions", article)
    curl("assertions, as web annotations", "-s", f"{base}/{article}?assertions")
    if find_spec("pyoxigraph"):  # of the extra `triples`
        perdure("sparql", DISPUTED, "--form", "csv")
    perdure("conjoin", cited, f"{text}#char=0,9", "--body", "A name for both.")
    show_composite(base, cited)


def show_composite(base: str, cited: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "page.html"
        path.write_text(f'<!doctype html><title>Promises</title><q cite="{cited}"></q>')
        composite = perdure("compose", str(path), "--series", SERIES).split()[0]
    perdure("provenance", composite)
    curl("a page made of parts of others", "-s", f"{base}/{composite}")


def show_citations(base: str, text: str) -> None:
    """A quotation that names its source, and one that does not."""
    mint_text(f"As {text}#char=13,40 has it.\n")
    perdure("cited-by", f"{text}#char=13,40")
    curl("who cites it, for programs", "-s", f"{base}/{text}?citedby", lines=1)
    words = " ".join((PROJECT / "README.md").read_text("utf-8").split()[20:45])
    with tempfile.TemporaryDirectory() as directory:
        draft = Path(directory) / "draft.txt"
        draft.write_text(f"Somebody writes: {words.upper()}\n")
        perdure("quotes", "find", str(draft))


def show_signatures(text: str) -> None:
    key = Ed25519PrivateKey.generate()
    path = REGISTRY / "incoming" / "key"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    listed = mint_text(f"ada@press.example {public}\n").rsplit(".", 2)[0]
    settings = REGISTRY / "perdure.toml"
    settings.write_text(f'{settings.read_text()}allowed_signers = ["{SERIES}={listed}"]\n')
    perdure("sign", text, "--key", str(path))
    path.unlink()
    perdure("verify", "--signatures")


def show_rights(base: str, text: str) -> None:
    perdure("restrict", text, "--until", "2094-10-20", "--reason", "the author asked for it")
    curl("closed until a day, in every face", "-si", f"{base}/{text}")
    perdure("restrict", text, "--lift")
    curl("and open again", "-sI", f"{base}/{text}", lines=1)


def show_search(base: str) -> None:
    """Search for a phrase of the README, and open the part that contains it."""
    found = perdure("search", '"persistent identifier"', "--format", "text", "--limit", "1")
    hits = [line.strip() for line in found.splitlines() if "#char=" in line]
    perdure("get", hits[0])
    curl("the same for programs", "-s", f"{base}/search?q=%22persistent+identifier%22&limit=1")
    perdure("cite", "@search:tutorial", "--style", "apa")


def mint_text(text: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "note.txt"
        path.write_text(text)
        return mint(str(path))


@contextlib.contextmanager
def serving(port: int) -> Iterator[str]:
    port = port or free_port()
    command = [*PERDURE, "serve", "--port", str(port)]
    console.print(f"[green]$ perdure serve --port {port}[/]")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def perdure(*arguments: str) -> str:
    return run_perdure(REGISTRY, *arguments)


if __name__ == "__main__":
    sys.exit(main())
