"""RFC 7089, asked by us and by `memento_client`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed

PYTHON = Path(__file__).parents[2] / ".peers" / "bin" / "python"
DR = "http://www.dr.dk/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("memento")
    warc = Warc(place / "a.warc.gz")
    for year in (2014, 2015, 2016, 2017, 2018):
        warc.response(DR, f"{year}-01-22T11:20:29Z", b"%d" % year)
    warc.response("http://a.example/x?y=1&z=%20", "2016-01-22T11:20:29Z", b"query")
    warc.response("http://gone.example/", "2016-01-22T11:20:29Z", b"gone", status="404 Not Found")
    path = warc.finish()
    with deployed(place / "registry") as running:
        running.registry.archive.add_file(path)
        yield running


def links(answer: Answer) -> dict[str, tuple[str, str]]:
    """Relation to target and datetime."""
    found = re.findall(
        r'<([^>]*)>; rel="([^"]*)"(?:[^,<]*datetime="([^"]*)")?', answer.headers["link"]
    )
    return {relation: (target, moment) for target, relation, moment in found}


def timegate(site: Deployment, uri: str, moment: str | None) -> Answer:
    fields = () if moment is None else (f"Accept-Datetime: {moment}",)
    return site.get(f"/timegate/{uri}", *fields)


def test_a_timegate_redirects_to_the_nearest(site: Deployment) -> None:
    """Section 4.1: 302, Vary and Link with `original`; no Memento-Datetime."""
    answer = timegate(site, DR, "Sat, 01 Aug 2015 00:00:00 GMT")
    assert answer.status == 302
    assert answer.headers["location"] == f"{site.base}/replay/20160122112029id_/{DR}"
    assert "accept-datetime" in answer.headers["vary"]
    assert "memento-datetime" not in answer.headers
    found = links(answer)
    assert found["original"][0] == DR
    assert found["timemap"][0] == f"{site.base}/timemap/json/{DR}"
    assert found["first memento"] == (
        f"{site.base}/replay/20140122112029id_/{DR}",
        "Wed, 22 Jan 2014 11:20:29 GMT",
    )
    assert found["prev memento"][1] == "Thu, 22 Jan 2015 11:20:29 GMT"
    assert found["memento"][1] == "Fri, 22 Jan 2016 11:20:29 GMT"
    assert found["next memento"][1] == "Sun, 22 Jan 2017 11:20:29 GMT"
    assert found["last memento"][1] == "Mon, 22 Jan 2018 11:20:29 GMT"


def test_without_a_date_it_is_the_newest(site: Deployment) -> None:
    answer = timegate(site, DR, None)
    assert "/20180122112029id_/" in answer.headers["location"]
    assert "last memento" in links(answer)
    only = timegate(site, "http://gone.example/", "Sat, 01 Aug 2015 00:00:00 GMT")
    assert "first last memento" in links(only)


def test_dates_far_away(site: Deployment) -> None:
    early = timegate(site, DR, "Thu, 01 Jan 1970 00:00:00 GMT")
    assert "/20140122112029id_/" in early.headers["location"]
    late = timegate(site, DR, "Sun, 07 Feb 2106 06:28:16 GMT")
    assert "/20180122112029id_/" in late.headers["location"]


@pytest.mark.parametrize(
    "moment",
    [
        "yesterday",
        "2015-08-01",
        "Sat, 01 Aug 2015 00:00:00 CET",
        "x" * 999,
        "Sat, 41 Aug 2015 00:00:00 GMT",
    ],
)
def test_what_is_no_date_is_400(site: Deployment, moment: str) -> None:
    """ "the TimeGate MUST respond with a 400 'Bad Request'" (section 4.5.3)."""
    assert timegate(site, DR, moment).status == 400


def test_an_unknown_uri_is_404(site: Deployment) -> None:
    answer = timegate(site, "http://nobody.example/", None)
    assert answer.status == 404
    assert links(answer)["original"][0] == "http://nobody.example/"
    for address in ("timegate", "timemap/link"):
        nothing = site.get(f"/{address}/http://nobody.example/")
        assert (nothing.status, json.loads(nothing.body)["code"]) == (404, "not-captured")
    assert site.get("/timemap/xml/http://nobody.example/").status == 404
    assert site.get("/timegate/").status == 400


def test_a_memento_says_what_it_is_one_of(site: Deployment) -> None:
    answer = site.get(f"/replay/20160122112029id_/{DR}")
    assert (answer.status, answer.body) == (200, b"2016")
    assert answer.headers["memento-datetime"] == "Fri, 22 Jan 2016 11:20:29 GMT"
    assert links(answer)["original"][0] == DR
    assert links(answer)["timegate"][0] == f"{site.base}/timegate/{DR}"
    gone = site.get("/replay/20160122112029id_/http://gone.example/")
    assert (gone.status, gone.body) == (404, b"gone")
    assert gone.headers["memento-datetime"] == "Fri, 22 Jan 2016 11:20:29 GMT"


def test_uris_with_queries(site: Deployment) -> None:
    uri = "http://a.example/x?y=1&z=%20"
    answer = timegate(site, uri, None)
    assert answer.headers["location"] == f"{site.base}/replay/20160122112029id_/{uri}"
    target = answer.headers["location"].removeprefix(site.base)
    assert site.get(target).body == b"query"
    for form in ("http:/a.example/x?y=1&z=%20", "http%3A//a.example/x%3Fy%3D1%26z%3D%2520"):
        assert site.get(f"/replay/20160122112029id_/{form}").body == b"query"


def test_timemaps(site: Deployment) -> None:
    link = site.get(f"/timemap/link/{DR}")
    assert link.headers["content-type"] == "application/link-format"
    lines = link.body.decode().rstrip("\n").split(",\n")
    assert lines[0] == f'<{DR}>; rel="original"'
    assert lines[1] == f'<{site.base}/timegate/{DR}>; rel="timegate"'
    assert lines[2] == (
        f'<{site.base}/timemap/link/{DR}>; rel="self"; type="application/link-format"; '
        'from="Wed, 22 Jan 2014 11:20:29 GMT"; until="Mon, 22 Jan 2018 11:20:29 GMT"'
    )
    assert len(lines) == 3 + 5
    assert 'rel="first memento"' in lines[3]
    assert 'rel="last memento"' in lines[-1]
    found = json.loads(site.get(f"/timemap/json/{DR}").body)
    assert found["original_uri"] == DR
    assert [one["datetime"] for one in found["mementos"]["list"]][:2] == [
        "2014-01-22T11:20:29Z",
        "2015-01-22T11:20:29Z",
    ]
    assert found["mementos"]["last"]["uri"] == f"{site.base}/replay/20180122112029id_/{DR}"


CLIENT = """
import datetime, json, sys
from memento_client import MementoClient
client = MementoClient(timegate_uri=sys.argv[1], check_native_timegate=False)
found = client.get_memento_info(sys.argv[2], datetime.datetime(2015, 8, 1), org_response=None)
print(json.dumps(found, default=str))
"""


def test_memento_client_finds_its_way(site: Deployment) -> None:
    """memento_client 0.6.1 asks the original, too: here a page of ours, as nothing is on line."""
    if not PYTHON.exists():
        pytest.skip("memento_client is not installed (make unit)")
    memento = f"{site.base}/replay/20140122112029id_/{DR}"  # whose original it then looks for
    done = subprocess.run(
        [PYTHON, "-c", CLIENT, f"{site.base}/timegate/", memento],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["original_uri"] == DR
    assert found["mementos"]["closest"] == {
        "datetime": "2016-01-22 11:20:29",
        "http_status_code": 200,
        "uri": [f"{site.base}/replay/20160122112029id_/{DR}"],
    }
    assert found["mementos"]["first"]["datetime"] == "2014-01-22 11:20:29"
    assert found["mementos"]["next"]["datetime"] == "2017-01-22 11:20:29"
