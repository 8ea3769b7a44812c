"""pyhandle's own test suites, run unchanged against `perdure serve`.

pyhandle 1.5.0 is installed in a place of its own (`.peers`) and run there as a program. Its suites
read where the server is from a file beside them, so they run from a copy. What the suites cannot
pass is listed by name with the reason, and must fail: whichever begins to pass is looked at.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text

from perdure.registry import initialise

PEERS = Path(__file__).parents[2] / ".peers"
PREFIX = "21.T14999"
ADMIN = f"{PREFIX}/B2HANDLE_INTEGRATION_TESTS"
USER = f"300:{ADMIN}"
PASSWORD = "correct horse: battery/staple"
PERMISSIONS = "011111110011"

_NEEDS_CLIENT = "the test gives no 'client', and the library's own check of credentials raises"
_NOT_IMPLEMENTED = "the library raises NotImplementedError for additional_URLs"
CANNOT_PASS = {
    "test_global_resolve": "asks hdl.handle.net",
    "test_instantiate_with_credentials": _NEEDS_CLIENT,
    "test_instantiate_with_credentials_config": _NEEDS_CLIENT,
    "test_instantiate_with_credentials_config_override": _NEEDS_CLIENT,
    "test_instantiate_with_credentials_inexistentuser": _NEEDS_CLIENT,
    "test_register_handle": _NOT_IMPLEMENTED,
    "test_generate_and_register_handle": _NOT_IMPLEMENTED,
    "test_delete_handle_inexistent": "expects None, where the library raises since",
}


def admin_value(handle: str = ADMIN) -> dict[str, object]:
    value = {"handle": handle, "index": 300, "permissions": PERMISSIONS}
    return {"index": 100, "type": "HS_ADMIN", "data": {"format": "admin", "value": value}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("pyhandle") / "registry"
    initialise(root, handle_prefixes=(PREFIX,), mutable_prefixes=(PREFIX,), handle_admins=(USER,))
    with deployed(root, basic_authentication="always") as running:
        token = running.token("founder")
        secret = {"index": 300, "type": "HS_SECKEY", "data": PASSWORD}
        body = json.dumps({"values": [secret, admin_value()]}).encode()
        assert running.put(f"/api/handles/{ADMIN}", body, token=token).status == 200
        values = [{"index": 111 * n, "type": f"TEST{n}", "data": f"val{n}"} for n in (1, 3)]
        values += [{"index": 2222, "type": "TEST2", "data": "val2"}, admin_value()]
        values += [{"index": 4, "type": "TEST4", "data": "val4"}]
        body = json.dumps({"values": values}).encode()
        assert running.put(f"/api/handles/{PREFIX}/READ", body, token=token).status == 200
        yield running


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library, in which the suites can be told where the server is."""
    installed = next(PEERS.glob("lib/python3*/site-packages/pyhandle"))
    place = tmp_path_factory.mktemp("library")
    shutil.copytree(installed, place / "pyhandle", ignore=shutil.ignore_patterns("__pycache__"))
    return place


def run(copy: Path, *suites: str) -> dict[str, bool]:
    """Which tests of some suites pass, by name."""
    cases = copy / "pyhandle" / "tests" / "testcases"
    files = [str(path) for suite in suites for path in sorted(cases.glob(suite))]
    command = [str(PEERS / "bin/python"), "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "NO_PROXY": "*"}
    done = subprocess.run(
        [*command, "--rootdir", str(copy), *files],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    lines = re.findall(r"^(PASSED|FAILED|ERROR) \S+/(\S+)", done.stdout, re.MULTILINE)
    assert lines, done.stdout + done.stderr
    return {name: outcome == "PASSED" for outcome, name in lines}


def tell(copy: Path, site: Deployment) -> None:
    template = "testvalues_for_integration_tests_%s.json"
    resources = copy / "pyhandle" / "tests" / "resources"
    told = json.loads((resources / (template % "template_PUBLIC")).read_text())
    told |= {
        "user": USER,
        "password": PASSWORD,
        "handle_server_url_read": site.base,
        "handle_server_url_write": site.base,
        "url_extension_REST_API": "/api/handles/",
        "handle_for_read_tests": f"{PREFIX}/READ",
        "handle_globally_resolvable": "10876/CR/20",
        "handle_to_be_created": f"{PREFIX}/NEW",
        "handle_to_be_modified": f"{PREFIX}/MODIFIED",
    }
    (resources / (template % "IGNORE")).write_text(json.dumps(told))


def test_the_units_of_the_library(copy: Path) -> None:
    found = run(copy, "*_unit_test.py")
    assert len(found) == 135
    assert all(found.values()), found


@pytest.mark.parametrize(
    ("suite", "passing"),
    [
        ("handleclient_read_integration_test.py", 8),
        ("handleclient_write_integration_test.py", 14),
    ],
)
def test_the_library_reads_and_writes(
    copy: Path, site: Deployment, suite: str, passing: int
) -> None:
    tell(copy, site)
    found = run(copy, suite)
    names = {name.rpartition("::")[2]: passed for name, passed in found.items()}
    assert {name for name in names if not names[name]} == CANNOT_PASS.keys() & names
    assert sum(found.values()) == passing


PDIS = """
import sys
from pyhandle.handleclient import PyHandleClient
from pyhandle.handleexceptions import GenericHandleError, HandleNotFoundException

base, user, password, handle, other = sys.argv[1:]
client = PyHandleClient("rest").instantiate_with_username_and_password(base, user, password)
record = client.retrieve_handle_record_json(handle)
assert record["handle"] == handle
assert client.get_value_from_handle(handle, "CHECKSUM").startswith("sha512:")
client.modify_handle_value(handle, DESC="a letter")
assert client.get_value_from_handle(handle, "DESC") == "a letter"
client.delete_handle_value(handle, "DESC")
assert client.get_value_from_handle(handle, "DESC") is None
assert client.register_handle(other, "http://a.example/letter") == other
assert client.get_value_from_handle(other, "URL") == "http://a.example/letter"
try:
    client.delete_handle(handle)
except GenericHandleError:
    print("kept")
"""


def test_the_library_reads_and_writes_pdis(copy: Path, site: Deployment) -> None:
    """Issue 5 H: "and, as `pdi/…`, for PDIs: read and write". A PDI is never deleted."""
    name = site.mint(text(b"To whom it may concern")).replace("pdi://", "pdi/")
    other = f"pdi/{SERIES}/1997/09/01/letter.html.1"
    done = subprocess.run(
        [PEERS / "bin/python", "-c", PDIS, site.base, USER, site.token("librarian"), name, other],
        env=os.environ | {"PYTHONPATH": str(copy), "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("kept\n", 0), done.stderr
    answer = site.get(f"/{other.replace('pdi/', 'pdi://')}")
    assert answer.headers["location"] == "http://a.example/letter"


BATCHED = """
import sys
from pyhandle.handleclient import PyHandleClient

base, handle = sys.argv[1:]
client = PyHandleClient("rest").instantiate_for_read_access(handle_server_url=base)
record = client.retrieve_handle_record(handle)
print(sorted(record.items()))
"""


def test_the_library_reads_what_a_batch_brought(copy: Path, site: Deployment) -> None:
    """A batch of the old server is imported, and its clients go on with the new address."""
    batch = (
        "CREATE 21.T14999/BATCH\n1 URL 86400 1110 UTF8 https://a.example/batch\n"
        "2 EMAIL 86400 1110 UTF8 keeper@a.example\n3 KEY 86400 1100 UTF8 not for readers\n"
    )
    subprocess.run(
        [
            sys.executable,
            "-m",
            "perdure.cli",
            "-C",
            site.root,
            "import",
            "-",
            "--from",
            "handle-batch",
        ],
        input=batch.encode(),
        capture_output=True,
        check=True,
    )
    done = subprocess.run(
        [PEERS / "bin/python", "-c", BATCHED, site.base, "21.T14999/BATCH"],
        env=os.environ | {"PYTHONPATH": str(copy), "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == str(
        [("EMAIL", "keeper@a.example"), ("URL", "https://a.example/batch")]
    ), done.stderr
