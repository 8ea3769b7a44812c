"""Members that lie in another archive, which is asked: a resolver of our own in its place."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell
from tests.server.deployment import Deployment, deployed

from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember

FAR = "far.example.org"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
IANA = CORPUS / "webrecorder+pywb__sample_archive_warcs_iana.warc.gz"
HOME = "http://www.iana.org/"


SMALL = "http://a.example/"
AT = "2016-01-22T11:20:29Z"


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """An archive of others, which holds iana.org as it was on 2014-01-26 at 20:06:24."""
    root = tmp_path_factory.mktemp("far") / "registry"
    warc = Warc(root.parent / "a.warc.gz")
    warc.response(f"{SMALL}old", AT, b"it moved", ("Location", f"{SMALL}new"), status="302 Found")
    warc.response(f"{SMALL}new", AT, b"new")
    warc.response(f"{SMALL}no", AT, b"no such page", status="404 Not Found")
    with deployed(root, archive_id=FAR) as running:
        running.registry.archive.add_file(IANA)
        running.registry.archive.add_file(warc.finish())
        yield running


@pytest.fixture
def near(shell: Shell, far: Deployment) -> Shell:
    """A registry that knows of it, and may ask it."""
    (shell.root / "archives.toml").write_text(
        f"""
        [[archive]]
        id = "{FAR}"
        access = "open"
        timegate = "{far.base}/timegate/{{uri}}"
        [[archive.patterns]]
        url = "{far.base}/replay/{{time}}/{{uri}}"
        raw = "{far.base}/replay/{{time}}id_/{{uri}}"
        [[archive]]
        id = "silent.example.org"
        access = "open"
        timegate = "http://127.0.0.1:9/timegate/{{uri}}"
        [[archive.patterns]]
        url = "http://127.0.0.1:9/{{time}}/{{uri}}"
        """
    )
    settings = shell.root / "perdure.toml"
    added = 'archives_file = "archives.toml"\nprivate_networks = ["127.0.0.0/8"]\n'
    settings.write_text(settings.read_text() + added)
    return shell


def states(shell: Shell, *pwids: str, ask: bool) -> list[tuple[str, dict[str, object]]]:
    (name,) = shell.lines("collection", "make", "-", stdin="\n".join(pwids))
    words = ("collection", "check", name, "--json", *(("--ask",) if ask else ()))
    code = 1 if ask and len(pwids) > 1 else 0
    report = json.loads(shell.run(*words, code=code).stdout)
    return [(one["state"], one) for one in report["checked"]]


def pwid(time: str, uri: str = HOME, archive: str = FAR) -> str:
    return f"pwid:{archive}:{time}:part:{uri}"


@pytest.mark.corpus
def test_archives_are_asked_if_one_says_so(near: Shell) -> None:
    exact = pwid("2014-01-26T20.06.24Z")
    assert [state for state, _ in states(near, exact, ask=False)] == ["unverified"]
    [(state, told)] = states(near, exact, ask=True)
    assert state == "exact"
    assert re.fullmatch("sha512:[0-9a-f]{128}", str(told["digest"]))


@pytest.mark.corpus
def test_what_an_archive_has_not_exactly(near: Shell) -> None:
    found = states(
        near,
        pwid("2014-01-26T20.06.24Z"),
        pwid("2014-01-26T20.06.20Z"),
        pwid("2016-01-01T00.00.00Z"),
        pwid("2014-01-26T20.06.24Z", "http://www.iana.org/not/there"),
        pwid("2014-01-26T20.06.24Z", archive="silent.example.org"),
        ask=True,
    )
    assert [state for state, _ in found] == ["exact", "nearest", "nearest", "absent", "unreadable"]
    assert found[1][1]["delta"] == 4
    assert int(str(found[2][1]["delta"])) < 0


@pytest.mark.corpus
def test_what_is_read_is_the_capture_itself(near: Shell) -> None:
    """RFC 7089 section 4.2: a memento has the status that was archived, a redirect or an error."""
    listed = [pwid("2016-01-22T11.20.29Z", f"{SMALL}{one}") for one in ("old", "new", "no")]
    (name,) = near.lines("collection", "make", "-", stdin="\n".join(listed))
    report = json.loads(near.run("collection", "check", name, "--json", "--ask").stdout)
    assert [(one["state"], one["digest"]) for one in report["checked"]] == [
        ("exact", f"sha512:{hashlib.sha512(body).hexdigest()}")
        for body in (b"it moved", b"new", b"no such page")
    ]


@pytest.mark.corpus
def test_bytes_that_changed_in_an_archive(near: Shell) -> None:
    """ "re-check later shows drift (digest changed …)": the collection says what it was."""
    one = CollectionMember(identifier=pwid("2014-01-26T20.06.24Z"), digest="sha512:" + "0" * 128)
    other = CollectionMember(
        identifier=pwid("2014-01-26T20.06.25Z", f"{HOME}_css/2013.1/screen.css")
    )
    text = members.write_collection(Collection(title="t", members=(one, other)))
    (name,) = near.lines("collection", "make", "-", stdin=text)
    report = json.loads(near.run("collection", "check", name, "--ask", "--json", code=1).stdout)
    assert [one["state"] for one in report["checked"]] == ["digest changed", "exact"]
