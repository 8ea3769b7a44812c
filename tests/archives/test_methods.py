"""Requests other than GET: their answers are indexed with the method, and shadow no page."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.exchanges import Exchange, write_exchanges

from perdure.archives.choosing import choose_capture
from perdure.archives.files.request_bodies import LONGEST_QUERY, append_request, write_query
from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.index import cdx, cdx_lines, cdxj, exporting
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.archives.pwid import verdict
from perdure.archives.withholding import Withholding
from perdure.ids import parse
from perdure.ids.pwid import Pwid
from perdure.settings import Settings

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
API = "http://api.example/activate"
DATE = "2020-01-02T03:04:05Z"
TIME = "20200102030405"
PREFLIGHT = Exchange("OPTIONS", API, DATE, b"", status="204 No Content")
POSTED = Exchange("POST", API, DATE, b"posted", "application/json", b'{"id": 1}')
GOT = Exchange("GET", API, DATE, b"got")


def scan(path: Path) -> list[Capture]:
    met = scan_file(ArchivePlace(path=str(path)), path.name)
    return [one for one in met if isinstance(one, Capture)]


@pytest.mark.parametrize("request_first", [True, False])
@pytest.mark.parametrize("concurrent", [True, False])
def test_a_response_has_the_method_of_its_request(
    tmp_path: Path, *, request_first: bool, concurrent: bool
) -> None:
    path = write_exchanges(
        tmp_path / "a.warc.gz", PREFLIGHT, POSTED, GOT,
        request_first=request_first, concurrent=concurrent,
    )  # fmt: skip
    responses = [one for one in scan(path) if one.kind == "response"]
    assert [(one.method, one.request_body) for one in responses] == [
        ("OPTIONS", ""), ("POST", "id=1"), ("", ""),
    ]  # fmt: skip


def library_of(tmp_path: Path, *exchanges: Exchange) -> Library:
    library = Library(tmp_path, Settings())
    library.add_file(write_exchanges(tmp_path / "a.warc.gz", *exchanges))
    return library


def payload(library: Library, capture: Capture | None) -> bytes:
    assert capture is not None
    with library.files.open_record(capture) as record:
        return b"".join(record.read_payload())


@pytest.mark.parametrize("others", [(PREFLIGHT, POSTED, GOT), (GOT, POSTED, PREFLIGHT)])
def test_get_is_never_answered_with_another_method(
    tmp_path: Path, others: tuple[Exchange, ...]
) -> None:
    library = library_of(tmp_path, *others)
    wanted = verdict.interpret_uri_at(API, TIME)
    found = choose_capture(library.captures, library.files, wanted)
    assert payload(library, found.capture) == b"got"
    assert len(found.fits) == 1
    library.close()


def test_a_page_of_another_second_is_preferred_to_an_answer_to_post(tmp_path: Path) -> None:
    later = GOT._replace(date="2021-01-01T00:00:00Z")
    library = library_of(tmp_path, PREFLIGHT, POSTED, later)
    found = choose_capture(library.captures, library.files, verdict.interpret_uri_at(API, TIME))
    assert (found.verdict, payload(library, found.capture)) == (
        verdict.CaptureVerdict.NEAREST, b"got",
    )  # fmt: skip
    library.close()


def judge_pwid(library: Library, text: str) -> verdict.Judgement:
    pwid = parse(text)
    assert isinstance(pwid, Pwid)
    wanted = verdict.interpret_pwid(pwid)
    return verdict.judge_evidence(wanted, verdict.look_up_evidence(library.captures, wanted))


def test_a_pwid_means_get_and_names_another_method_only_if_there_is_no_other(
    tmp_path: Path,
) -> None:
    """ruling: capture-choice, "Exact PWID: this spelling, this second"."""
    text = f"pwid:a.example:2020-01-02T03.04.05Z:part:{API}"
    library = library_of(tmp_path, POSTED, GOT)
    assert payload(library, judge_pwid(library, text).capture) == b"got"
    library.close()
    (tmp_path / "other").mkdir()
    library = library_of(tmp_path / "other", POSTED)
    found = judge_pwid(library, text)
    assert (found.verdict, payload(library, found.capture)) == (
        verdict.CaptureVerdict.EXACT, b"posted",
    )  # fmt: skip
    library.close()


@pytest.mark.parametrize("most", [10_000_000, 0])
def test_the_index_keeps_method_and_body(tmp_path: Path, most: int) -> None:
    """`most`: in SQLite, and in ZipNum runs."""
    library = Library(tmp_path, Settings(captures_in_sqlite=most))
    library.add_file(write_exchanges(tmp_path / "a.warc.gz", PREFLIGHT, POSTED, GOT))
    found = library.captures.scan_range("", "\U0010ffff", limit=100)
    kept = sorted((one.method, one.request_body) for one in found if one.kind == "response")
    assert kept == [("", ""), ("OPTIONS", ""), ("POST", "id=1")]
    assert library.list_files()[0].methods == 4, "two requests and their responses"
    library.close()


def select(library: Library, question: str) -> list[dict[str, str]]:
    query = cdx.parse_query(question)
    write = cdx_lines.choose_writer("json", query.fields, query.names, resolves=False)
    return [json.loads(write(one)) for one in cdx.select_captures(library.captures, query)]


def test_cdx_lists_what_get_returns_and_others_if_they_are_requested(tmp_path: Path) -> None:
    library = library_of(tmp_path, PREFLIGHT, POSTED, GOT)
    assert [one["status"] for one in select(library, f"url={API}")] == ["200"]
    assert [one["status"] for one in select(library, f"url={API}&closest={TIME}&limit=1")] == [
        "200"
    ]
    [posted] = select(library, f"url={API}&filter=%3Dmethod:POST")
    assert (posted["method"], posted["requestBody"]) == ("POST", "id=1")
    assert posted["urlkey"] == "example,api)/activate?__wb_method=post&id=1"
    assert select(library, f"url={API}%3F__wb_method=POST%26id=1") == [posted]
    assert select(library, f"url={API}%3F__wb_method=POST%26id=2") == []
    assert len(select(library, f"url={API}&matchType=prefix")) == 3
    library.close()


@pytest.mark.parametrize("most", [10_000_000, 0])
def test_a_prefix_is_listed_in_the_order_of_a_cdxj_file(tmp_path: Path, most: int) -> None:
    """`most`: in SQLite, and in ZipNum runs. The query is sorted, so POST may come before GET."""
    library = Library(tmp_path, Settings(captures_in_sqlite=most))
    uris = (API, f"{API}?z=1", f"{API}-2", f"{API}/x", f"{API}z")
    for number, uri in enumerate(uris):
        exchanges = [one._replace(uri=uri) for one in (GOT, POSTED, PREFLIGHT)]
        library.add_file(write_exchanges(tmp_path / f"{number}.warc.gz", *exchanges))
    assert bool(list(tmp_path.glob("captures/runs/*"))) is (most == 0)
    listed = [f"{one['urlkey']} {one['timestamp']}" for one in select(library, f"url={API}*")]
    assert listed == sorted(listed)
    assert len(listed) == 3 * len(uris)
    backwards = select(library, f"url={API}*&sort=reverse")
    assert [f"{one['urlkey']} {one['timestamp']}" for one in backwards] == listed[::-1]
    exported = list(exporting.export_lines(library.captures, every=False))
    assert exported == sorted(exported)
    assert [line.decode().split(" {")[0] for line in exported] == listed
    [posted] = select(library, f"url={API}%3F__wb_method=POST%26id=1")
    library.take_down(
        Withholding(uri=API, match="exact", reason="x", by="x", at="2020-01-01T00:00:00Z")
    )
    assert posted not in select(library, f"url={API}*")
    assert len(select(library, f"url={API}*")) == 3 * len(uris) - 3
    library.close()


@pytest.mark.corpus
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*post-test*")), ids=lambda path: path.name)
def test_bodies_are_written_as_cdxj_indexer_writes_them(path: Path) -> None:
    if not (PEERS / "cdxj-indexer").exists():
        pytest.skip("cdxj-indexer is not installed; see the Makefile")
    done = subprocess.run(
        [PEERS / "cdxj-indexer", "-p", path], capture_output=True, text=True, check=True
    )
    theirs = {}
    for line in done.stdout.splitlines():
        key, _, text = line.split(" ", 2)
        row = json.loads(text)
        theirs[int(row["offset"])] = (key, row.get("method"), row.get("requestBody"))
    ours = {
        one.offset: (cdxj.make_exchanged_key(one), one.method, one.request_body)
        for one in scan(path)
        if one.kind == "response"
    }
    assert ours == theirs


def test_the_body_of_a_form_with_files() -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb c\r\n'
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\n\r\n\xff\r\n'
        b"--x--\r\n"
    )
    assert write_query("POST", "multipart/form-data; boundary=x", body) == "a=b+c&f=%FF"


@given(
    st.sampled_from(["POST", "PUT", "PATCH", "OPTIONS"]),
    st.sampled_from(
        ["application/json", "text/plain", "application/x-www-form-urlencoded", "image/png",
         "multipart/form-data; boundary=x", "multipart/form-data", ""],
    ),
    st.binary() | st.text().map(str.encode)
    | st.recursive(st.none() | st.booleans() | st.floats() | st.text(),
                   lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
    .map(json.dumps).map(str.encode),
)  # fmt: skip
def test_no_body_makes_indexing_fail(method: str, media_type: str, body: bytes) -> None:
    query = write_query(method, media_type, body)
    assert len(query) <= LONGEST_QUERY
    assert append_request("http://a.org/", method, query).startswith("http://a.org/?__wb_method=")
