"""`make demo-network`: names are handed over to another resolver, and no link breaks.

How it works: three resolvers run on this machine, each in a process and a directory of its own
(`demo-network/`): that of an office, that of the archives, and a mirror of the office. A name
server (bind, if it is installed) leads to them. Each name of the office is asked for at its
address, before and after everything that happens: the hand-over, the death of a resolver by
SIGKILL, and an old backup that comes back and gives out a name that the archives gave out, too.

What must stay true: an answer that is not the one from before ends the demonstration with an error.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from stage import PROJECT, console, curl, free_port, heading, run_perdure, wait_for

PLACE = PROJECT / "demo-network"
SERIES = "oma.eop.gov.us"
ARCHIVES = "archive.nara.gov.us"
SECONDS = 60.0
"""The time that a mirror has to follow."""


class Answer(NamedTuple):
    """What a reader gets at the end of all redirects between resolvers."""

    status: int
    content: str
    """The digest of the bytes, or the address outside of the network."""


class Site:
    """A resolver: a registry directory, served on a port of its own."""

    def __init__(self, name: str) -> None:
        self.root, self.port = PLACE / name, free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def perdure(self, *arguments: str, code: int = 0) -> str:
        return run_perdure(self.root, *arguments, code=code)

    def create(self, series: str) -> None:
        self.perdure("init", str(self.root), "--series", series)
        settings = self.root / "perdure.toml"
        settings.write_text(f'{settings.read_text()}base_url = "{self.base}"\n')

    def start(self, root: Path | None = None) -> None:
        """Serve the registry, or another one at the same address."""
        root = root or self.root
        console.print(
            f"[green]$ perdure serve -C {root.relative_to(PROJECT)} --port {self.port}[/]"
        )
        command = [sys.executable, "-m", "perdure.cli", "serve", "-C", str(root)]
        command += ["--port", str(self.port), "--workers", "1"]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for(self.port, self._process)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """End the process as a power cut does."""
        if self._process is not None:
            console.print(f"[green]$ kill -9 {self._process.pid}[/]")
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def make_token(self, name: str) -> str:
        """A token of a mirror, in a file whose path is returned."""
        given = self.perdure("token", "create", name, "--operation", "mirror", "--authority", "*")
        path = PLACE / f"{name}.token"
        path.write_text(given)
        return str(path)

    def read_head(self) -> str:
        return run_quietly(self.root, "head")[1]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="stop the resolvers at the end")
    chosen = options.parse_args()

    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    os.environ["PERDURE_PRIVATE_NETWORKS"] = "127.0.0.0/8"
    os.environ["XDG_CACHE_HOME"] = str(PLACE / "cache")
    office, archives, mirror = Site("office"), Site("archives"), Site("mirror")
    with contextlib.ExitStack() as opened:
        for site in (office, archives, mirror):
            opened.callback(site.stop)
        play(office, archives, mirror)
        console.print(
            f"\n[bold]The resolvers are at {office.base}, {archives.base} and {mirror.base}.[/]"
        )
        if not chosen.check:
            console.print("Press Ctrl-C to stop them.")
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return 0


def play(office: Site, archives: Site, mirror: Site) -> None:
    heading("1. An office, the archives, and a mirror of the office")
    office.create(SERIES)
    archives.create(ARCHIVES)
    archives.perdure("mint", write_file("guide.txt", "How to use the archives.\n"))
    names = write_names(office)
    office.start()
    archives.start()
    token = office.make_token("mirror")
    mirror.perdure("mirror", "add", office.base, "--token-file", token, "--base-url", mirror.base)
    mirror.start()
    wait_until_followed(mirror, office)
    before = ask_all(office, names)
    compare(names, before, mirror)
    find_by_name_server(names[0], office.perdure("dns", SERIES))
    office.perdure("backup", str(PLACE / "backup"))

    heading("2. The names are handed over")
    hand_over(office, archives)
    wait_until_followed(mirror, office)
    curl("the old address refers to the new one", "-sI", f"{office.base}/{names[0]}", lines=3)
    compare(names, before, office, archives, mirror)

    heading("3. The next number is given out by the archives")
    office.perdure("list", f"pdi://{SERIES}/")
    office.perdure("mint", "--series", SERIES, write_file("late.txt", "too late\n"), code=10)
    minted = archives.perdure(
        "mint", "--series", SERIES, write_file("next.txt", "The first one of the archives.\n")
    ).strip()
    names.append(minted)
    before |= ask_all(archives, [minted])
    compare(names, before, office, archives, mirror)

    heading("4. The resolver of the office is killed")
    zone = office.perdure("dns", SERIES)
    office.kill()
    compare(names, before, archives, mirror)
    find_by_name_server(minted, zone)

    heading("5. A backup of the office comes back, and gives the same number out again")
    backup = PLACE / "backup"
    number = minted.split("/")[-1].split(".")[0]
    run_perdure(backup, "promote", "--highest", f"{SERIES}={int(number) - 1}")
    again = run_perdure(backup, "mint", write_file("other.txt", "Something else.\n")).strip()
    require(again == minted, f"the backup gives out {minted}, too")
    office.start(backup)
    wait_until(lambda: read_verdict(mirror) == "stopped", "the mirror refuses the backup")
    mirror.perdure("mirror", "status", code=1)
    compare(names, before, archives, mirror)

    heading("6. The mirror follows the archives")
    mirror.stop()
    token = archives.make_token("second-mirror")
    mirror.perdure("mirror", "follow", archives.base, "--token-file", token)
    mirror.start()
    wait_until_followed(mirror, archives)
    mirror.perdure("mirror", "status")
    curl("now the mirror answers itself", "-sI", f"{mirror.base}/{minted}", lines=1)
    compare(names, before, archives, mirror)
    mirror.stop()
    mirror.perdure("mirror", "follow", office.base, code=4)
    mirror.start()

    heading("7. The office is repaired: its own directory is served again")
    office.stop()
    office.start()
    compare(names, before, office, archives, mirror)
    for site in (office, archives, mirror):
        site.perdure("verify", "--all")
    console.print(f"\n[bold]{len(names)} names, no link broke.[/]")


# The names
# ---------


def write_names(office: Site) -> list[str]:
    """Give out names of all kinds, and return them."""

    def mint(*arguments: str) -> str:
        return office.perdure("mint", "--series", SERIES, *arguments).strip()

    def split(name: str) -> str:
        return name.rsplit(".", 2)[0]

    speech = mint(write_file("speech.txt", "My fellow citizens.\n"))
    office.perdure("commit", speech, write_file("speech-2.txt", "My fellow citizens!\n"))
    letter = mint("--day", "1993/09/01", write_file("letter.txt", "Dear Sir,\n"))
    page = mint("--location", "https://clinton.archives.example/", "--type", "text/html")
    office.perdure("alias", split(speech), "hdl:10.9999/speech")
    secret = mint(write_file("secret.txt", "Not for this century.\n"))
    office.perdure("restrict", split(secret), "--until", "2094-10-20")
    wrong = mint(write_file("wrong.txt", "An error.\n"))
    office.perdure("withdraw", split(wrong), "--reason", "published in error")
    return [
        speech,
        split(speech),
        f"{speech}#char=3,9",
        letter,
        split(letter),
        page,
        "hdl:10.9999/speech",
        secret,
        wrong,
    ]


def write_file(name: str, text: str) -> str:
    path = PLACE / name
    path.write_text(text)
    return str(path)


# Readers
# -------


def ask_all(site: Site, names: list[str]) -> dict[str, Answer]:
    return {name: ask(f"{site.base}/{quote(name, safe=':/=,')}") for name in names}


def ask(url: str) -> Answer:
    """Ask for a name as a browser does: redirects within this network are followed."""
    for _ in range(5):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", parts.path)
            answer = connection.getresponse()
            body = answer.read()
        location = answer.headers.get("Location", "")
        if urlsplit(location).hostname != parts.hostname:
            is_body = answer.status == 200
            content = hashlib.sha256(body).hexdigest() if is_body else location
            return Answer(answer.status, content)
        url = location
    sys.exit(f"{url}: too many redirects")


def compare(names: list[str], before: dict[str, Answer], *sites: Site) -> None:
    """Ask for every name at each address. End the demonstration if an answer is another one."""
    for site in sites:
        found = ask_all(site, names)
        for name in names:
            require(found[name] == before[name], f"{name} at {site.base}: {found[name]}")
        told = ", ".join(str(found[name].status) for name in names)
        console.print(f"[bold]{len(names)} names at the {site.root.name}, as before:[/] {told}")


def require(is_so: bool, fault: str) -> None:
    if not is_so:
        sys.exit(f"this must not happen: {fault}")


def run_quietly(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "perdure.cli", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"within {SECONDS:.0f} seconds, this did not happen: {what}")
        time.sleep(0.1)


def wait_until_followed(mirror: Site, origin: Site) -> None:
    head = origin.read_head()
    wait_until(lambda: mirror.read_head() == head, "the mirror follows")
    last = json.loads(head)
    console.print(f"the mirror has everything, up to change {last['epoch']}.{last['number']}")


def read_verdict(mirror: Site) -> str:
    return str(json.loads(run_quietly(mirror.root, "mirror", "status", "--json")[1])["verdict"])


# The act
# -------


def hand_over(office: Site, archives: Site) -> None:
    key, public = write_key("office")
    own, _ = write_key("archives")
    token = office.make_token("archives")
    office.perdure("hand-over", f"pdi://{SERIES}/", "--to", archives.base, "--key", key)
    words = ["take-over", office.base, "--token-file", token, "--from-key", public, "--key", own]
    archives.perdure(*words)


def write_key(name: str) -> tuple[str, str]:
    """A new key pair; the paths of its two files."""
    key, path = Ed25519PrivateKey.generate(), PLACE / f"{name}.key"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = path.with_suffix(".pub")
    public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    return str(path), str(public)


# The name server
# ---------------


def find_by_name_server(name: str, zone: str) -> None:
    """Find the resolver of a name on a machine that knows nothing but a name server."""
    program = shutil.which("named", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        console.print("bind is not installed, so no name server leads to the resolvers.")
        return
    with serving_zone(program, zone) as address:
        os.environ["PERDURE_NAME_SERVERS"] = address
        stranger = PLACE / "a-machine-without-a-registry"
        run_perdure(stranger, "discover", name, "--no-cache")
        shutil.rmtree(PLACE / "cache", ignore_errors=True)
        run_perdure(stranger, "get", name)
        del os.environ["PERDURE_NAME_SERVERS"]


@contextlib.contextmanager
def serving_zone(program: str, zone: str) -> Iterator[str]:
    """Serve the zone of the series with bind, and yield the address of the name server."""
    place, port = PLACE / "bind", free_port()
    place.mkdir(exist_ok=True)
    lines = "@ 60 IN SOA ns hostmaster 1 3600 600 86400 60\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n"
    (place / "zone").write_text(f"$ORIGIN {SERIES}.\n$TTL 60\n{lines}{zone}")
    (place / "named.conf").write_text(
        f'options {{ directory "{place}"; pid-file "{place}/named.pid"; session-keyfile none; '
        f"listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no; "
        f'dnssec-validation no; managed-keys-directory "{place}"; }};\ncontrols {{}};\n'
        f'zone "{SERIES}" {{ type primary; file "{place}/zone"; }};\n'
    )
    command = [program, "-g", "-c", str(place / "named.conf"), "-n", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
