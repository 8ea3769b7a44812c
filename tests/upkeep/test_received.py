"""Reports of citations from elsewhere: queued, fetched safely, shown when accepted, deletable.

Pages are served by a server on the loopback, which a setting must allow, and by none otherwise.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TODAY, Desk, text

from perdure.errors import Forbidden, InvalidRequest
from perdure.errors.citing import (
    NoSuchReport,
    ReportsTooMany,
    ReportsUnreadable,
    SourcePrivate,
)
from perdure.ids import parse
from perdure.model.commands import Restrict
from perdure.model.queries import PUBLIC_READER, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.registry import Registry
from perdure.upkeep.citations.asking import CitationsWanted, ask_citations
from perdure.upkeep.citations.received import CitationReported, ReceivedCitations
from perdure.upkeep.citations.receiving import check_queue, receive_webmention, take_reports
from perdure.upkeep.indexing import open_citations
from perdure.upkeep.transfer.backup import back_up

BASE = "https://id.example"
NAME = f"{TODAY}/1"
PAGES: dict[str, tuple[int, str, str]] = {}


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, kind, body = PAGES.get(self.path, (404, "text/plain", ""))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status == 302:
            self.send_header("Location", body)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    PAGES.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_desk(desk: Desk) -> Desk:
    """A registry with a document, which takes Webmentions and may fetch from the loopback."""
    desk.reopen(webmentions="on", base_url=BASE, private_networks="127.0.0.0/8")
    desk.mint(text("the cited words"))
    return desk


def run(desk: Desk, source: str, target: str = f"{BASE}/{NAME}") -> CitationReported | None:
    """Report, fetch, and return the report with its state; None if it was deleted."""
    with closing(ReceivedCitations(desk.registry)) as received:
        receive_webmention(desk.registry, received, source, target)
        asyncio.run(check_queue(desk.registry, received))
        return next(iter(received.list_reports()), None)


def list_shown(desk: Desk, name: str = NAME) -> list[str]:
    query = Query(identifier=parse(name), reader=PUBLIC_READER)
    with open_citations(desk.registry) as index:
        page = ask_citations(desk.registry, index, query, CitationsWanted("citedby"))
    return [one.source for one in page.received]  # type: ignore[union-attr]


def test_a_page_that_refers_to_a_name_waits_and_is_shown_when_accepted(
    open_desk: Desk, elsewhere: str
) -> None:
    PAGES["/a"] = (200, "text/html", f"<title>A &amp; B</title><a href='{BASE}/{NAME}'>x</a>")
    report = run(open_desk, f"{elsewhere}/a")
    assert report is not None
    assert (report.state, report.title, report.problem) == ("waiting", "A & B", "")
    assert list_shown(open_desk) == []
    with closing(ReceivedCitations(open_desk.registry)) as received:
        received.decide_report(report.number, "accepted")
    assert list_shown(open_desk) == [f"{elsewhere}/a"]
    head = open_desk.registry.head()
    with closing(ReceivedCitations(open_desk.registry)) as received:
        received.delete_report(report.number)
        with pytest.raises(NoSuchReport):
            received.delete_report(report.number)
    assert list_shown(open_desk) == []
    assert open_desk.registry.head() == head  # "never assertions, never changes"


@pytest.mark.parametrize(
    ("status", "kind", "body", "problem"),
    [
        (200, "text/html", "<p>nothing", "does not refer"),
        (200, "text/html", f"<!-- {BASE}/{NAME} -->", "does not refer"),
        (200, "text/html", f'<a href="{BASE}/{TODAY}/2">', "does not refer"),
        (500, "text/html", f'<a href="{BASE}/{NAME}">', "answered 500"),
        (302, "text/html", "http://169.254.169.254/latest", "169.254.169.254"),
        (302, "text/html", "file:///etc/passwd", "file:"),
    ],
)
def test_a_page_that_does_not_refer_to_it_is_refused(
    open_desk: Desk, elsewhere: str, status: int, kind: str, body: str, problem: str
) -> None:
    PAGES["/a"] = (status, kind, body)
    report = run(open_desk, f"{elsewhere}/a")
    assert report is not None
    assert report.state == "refused"
    assert problem in report.problem


def test_text_and_parts_count_as_references(open_desk: Desk, elsewhere: str) -> None:
    PAGES["/a"] = (200, "text/plain", f"see {TODAY}/1.text.1#char=0,3.")
    report = run(open_desk, f"{elsewhere}/a")
    assert report is not None
    assert report.state == "waiting"


@pytest.mark.parametrize(
    ("status", "body", "state"),
    [
        (200, "see {}", "accepted"),
        (503, "", "accepted"),
        (302, "http://10.1.2.3/", "accepted"),
        (200, "nothing", None),
        (404, "", None),
        (410, "", None),
    ],
)
def test_an_accepted_report_is_not_changed_by_who_reports_it_again(
    open_desk: Desk, elsewhere: str, status: int, body: str, state: str | None
) -> None:
    """ "If the receiver received a Webmention in the past with the same source and target": it is
    updated, and deleted if "source returned HTTP 410 Gone" or "removed the link" (3.2.4)."""
    source = f"{elsewhere}/a"
    PAGES["/a"] = (200, "text/plain", f"see {NAME}")
    assert run(open_desk, source) is not None
    PAGES["/a"] = (status, "text/plain", body.format(NAME))
    with closing(ReceivedCitations(open_desk.registry)) as received:
        (report,) = received.list_reports()
        received.decide_report(report.number, "accepted")
        for _ in range(2):
            assert not receive_webmention(open_desk.registry, received, source, f"{BASE}/{NAME}")
            assert list_shown(open_desk) == [source]
        asyncio.run(check_queue(open_desk.registry, received))
        found = [one.state for one in received.list_reports()]
    assert found == ([] if state is None else [state])
    assert list_shown(open_desk) == [source] * len(found)


def test_a_webmention_does_not_change_reports_of_others(open_desk: Desk, elsewhere: str) -> None:
    source = f"{elsewhere}/a"
    report = CitationReported(source=source, target=NAME, kind="scholix", state="accepted")
    with closing(ReceivedCitations(open_desk.registry)) as received:
        received.add_report(report, parse(NAME))
        receive_webmention(open_desk.registry, received, source, f"{BASE}/{NAME}")
        assert asyncio.run(check_queue(open_desk.registry, received)) == []
        assert [one.state for one in received.list_reports()] == ["accepted"]


def test_a_page_that_is_gone_is_deleted_when_reported_again(
    open_desk: Desk, elsewhere: str
) -> None:
    """ "the source returns HTTP 410 … delete" (Webmention, 3.2.4)."""
    PAGES["/a"] = (200, "text/plain", f"see {NAME}")
    assert run(open_desk, f"{elsewhere}/a") is not None
    PAGES["/a"] = (410, "text/plain", "")
    assert run(open_desk, f"{elsewhere}/a") is None


@pytest.mark.parametrize(
    "source", ["http://127.0.0.1/x", "http://[::1]/x", "http://10.1.2.3/", "http://localhost/x"]
)
def test_a_webmention_that_leads_inside_is_refused(desk: Desk, source: str) -> None:
    """ "a Webmention that leads to a private network is refused"."""
    desk.reopen(webmentions="on", base_url=BASE)
    desk.mint(text("the cited words"))
    if "localhost" not in source:
        with pytest.raises(SourcePrivate, match="private network"):
            run(desk, source)
        return
    report = run(desk, source)
    assert report is not None
    assert report.state == "refused"
    assert "public" in report.problem


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("ftp://example.org/", f"{BASE}/{NAME}"),
        ("https://user@example.org/", f"{BASE}/{NAME}"),
        ("https://example.org:25/", f"{BASE}/{NAME}"),
        ("https://example.org/", "https://example.org/other"),
        ("https://example.org/", f"{BASE}/{TODAY}/99"),
        ("https://example.org/", f"{BASE}/{TODAY}/2"),  # closed: no different from unknown
        (f"{BASE}/{NAME}", f"{BASE}/{NAME}"),
    ],
)
def test_a_webmention_that_cannot_be_true_is_not_queued(
    open_desk: Desk, source: str, target: str
) -> None:
    open_desk.mint(text("closed"))
    rule = ReadingRule(about=f"{TODAY}/2", access=Access.CLOSED)
    open_desk.registry.door.execute_command(Restrict(rule=rule))
    with closing(ReceivedCitations(open_desk.registry)) as received:
        with pytest.raises(InvalidRequest):
            receive_webmention(open_desk.registry, received, source, target)
        assert received.list_reports() == []


def test_nothing_is_taken_while_the_setting_is_off(desk: Desk) -> None:
    desk.mint(text("words"))
    with closing(ReceivedCitations(desk.registry)) as received, pytest.raises(Forbidden):
        receive_webmention(desk.registry, received, "https://example.org/", NAME)


def test_the_queue_is_bounded(open_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.upkeep.citations.received.MOST_OF_HOST", 2)
    monkeypatch.setattr("perdure.upkeep.citations.received.MOST_WAITING", 3)
    with closing(ReceivedCitations(open_desk.registry)) as received:

        def report(source: str) -> bool:
            return receive_webmention(open_desk.registry, received, source, NAME)

        assert report("https://a.example/1")
        assert report("https://a.example/2")
        assert not report("https://a.example/2")
        with pytest.raises(ReportsTooMany):
            report("https://a.example/3")
        assert report("https://b.example/1")
        with pytest.raises(ReportsTooMany):
            report("https://c.example/1")


SCHOLIX: dict[str, Any] = {
    "LinkPublicationDate": "2026-11-20",
    "LinkProvider": [{"Name": "Crossref"}],
    "RelationshipType": {"Name": "References"},
    "Source": {
        "Identifier": {
            "ID": "10.1000/182",
            "IDScheme": "DOI",
            "IDURL": "https://doi.org/10.1000/182",
        },
        "Type": {"Name": "literature"},
        "Title": "A paper",
    },
    "Target": {
        "Identifier": [{"ID": "x", "IDScheme": "url", "IDURL": f"{BASE}/{NAME}"}],
        "Type": {"Name": "dataset"},
    },
}
EVENT: dict[str, Any] = {
    "id": "1",
    "type": "events",
    "attributes": {
        "subj-id": "https://doi.org/10.1000/183",
        "obj-id": f"{BASE}/{NAME}",
        "source-id": "crossref",
        "relation-type-id": "references",
        "occurred-at": "2026-11-19T00:00:00.000Z",
    },
}


def take(desk: Desk, form: str, document: Any) -> tuple[tuple[int, int, int], list[Any]]:
    with closing(ReceivedCitations(desk.registry)) as received:
        taken = take_reports(desk.registry, received, json.dumps(document).encode(), form)
        return taken, received.list_reports()


def test_links_of_scholix_wait(open_desk: Desk) -> None:
    turned = SCHOLIX | {
        "RelationshipType": {"Name": "IsReferencedBy"},
        "Source": SCHOLIX["Target"],
        "Target": SCHOLIX["Source"],
    }
    others = [SCHOLIX | {"RelationshipType": {"Name": "IsRelatedTo"}}, 7, {}]
    foreign = SCHOLIX | {"Target": SCHOLIX["Source"]}
    counts, reports = take(open_desk, "scholix", [SCHOLIX, turned, *others, foreign])
    assert counts == (1, 1, 4)
    (one,) = reports
    assert (one.source, one.target, one.state) == ("https://doi.org/10.1000/182", NAME, "waiting")
    assert (one.provider, one.title, one.day) == ("Crossref", "A paper", "2026-11-20")
    assert take(open_desk, "scholix", {"result": [SCHOLIX]})[0] == (0, 1, 0)


def test_events_of_datacite_wait(open_desk: Desk) -> None:
    reverse = dict(EVENT["attributes"])
    reverse |= {
        "relation-type-id": "is-referenced-by",
        "subj-id": f"{BASE}/{NAME}",
        "obj-id": "https://doi.org/10.1000/184",
    }
    counts, reports = take(open_desk, "datacite", {"data": [EVENT, {"attributes": reverse}, None]})
    assert counts == (2, 0, 1)
    assert [one.source for one in reports] == [
        "https://doi.org/10.1000/183",
        "https://doi.org/10.1000/184",
    ]
    assert {one.day for one in reports} == {"2026-11-19", ""} or reports[0].day == "2026-11-19"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff"])
def test_a_file_that_is_no_json_is_refused(open_desk: Desk, data: bytes) -> None:
    with closing(ReceivedCitations(open_desk.registry)) as received:
        with pytest.raises(ReportsUnreadable):
            take_reports(open_desk.registry, received, data, "scholix")
        with pytest.raises(InvalidRequest):
            take_reports(open_desk.registry, received, b"[]", "else")


def test_reports_about_a_withdrawn_document_are_silent(open_desk: Desk) -> None:
    take(open_desk, "scholix", [SCHOLIX])
    with closing(ReceivedCitations(open_desk.registry)) as received:
        received.decide_report(1, "accepted")
    assert list_shown(open_desk) == ["https://doi.org/10.1000/182"]
    open_desk.withdraw(NAME)
    query = Query(identifier=parse(NAME), reader=PUBLIC_READER)
    with open_citations(open_desk.registry) as index:
        page = ask_citations(open_desk.registry, index, query, CitationsWanted("citedby"))
    assert not hasattr(page, "received")


def test_a_backup_has_the_reports(open_desk: Desk, tmp_path: Path) -> None:
    take(open_desk, "scholix", [SCHOLIX])
    for _ in range(2):
        registry = open_desk.registry
        target = tmp_path / "backup"
        list(back_up(open_desk.root, target, registry.store, registry.open_bytes))
        with (
            Registry(target, environment={}) as copy,
            closing(ReceivedCitations(copy)) as received,
        ):
            assert [one.target for one in received.list_reports()] == [NAME]


def test_reports_of_several_writers_wait_for_each_other(desk: Desk) -> None:
    """A report is read before it is written; SQLite fails at once if another writer commits."""
    target = parse(str(desk.mint(text(b"a text")).identifier))
    failures: list[Exception] = []

    def report(writer: int) -> None:
        try:
            with closing(ReceivedCitations(desk.registry)) as received:
                for number in range(25):
                    address = f"https://{writer}.example/{number}"
                    one = CitationReported(source=address, target=str(target), kind="webmention")
                    received.add_report(one, target)
                    received.add_report(one, target)
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=report, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    with closing(ReceivedCitations(desk.registry)) as received:
        assert len(received.list_reports("waiting")) == 75
