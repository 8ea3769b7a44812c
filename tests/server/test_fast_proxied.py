"""Kept documents of other resolvers: the fast path answers as the plain way does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import SERIES, Clock
from tests.server.both_ways import BothWays
from tests.server.test_delegations import delegate
from tests.server.test_proxy_cache import keep

from perdure.model.commands import Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.registry import initialise
from perdure.server.common.proxy_cache import DIRECTORY, ProxyCache, make_proxy_cache
from perdure.server.fast.proxied import MOST_OPEN, ReadyDocuments
from perdure.upkeep.delegating import revoke_delegation

OLD = "pdi://press.oma.eop.gov.us/1993/01/20/"
NOWHERE = "http://127.0.0.1:9"
"""A resolver that may not be asked, so what is not kept is 502."""
WEEK = 604_800
DOCUMENTS = {
    f"{OLD}empty.text.1": b"",
    f"{OLD}short.text.1": b"Dear Madam,\r\n",
    f"{OLD}longer.html.1": b"x" * 20_000,
    f"{OLD}large.html.1": b"x" * 300_000,
}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[BothWays]:
    initialise(tmp_path / "registry", series=(SERIES,))
    ways = BothWays(tmp_path / "registry")
    delegate(ways.desk, "pdi://press.oma.eop.gov.us/1993/", NOWHERE, how="proxy")
    for name, data in DOCUMENTS.items():
        keep(find_cache(ways), name, data, link="<https://a.example/>; rel=x", vary="accept")
    yield ways
    ways.close()


def find_cache(ways: BothWays) -> ProxyCache:
    """The cache as another process opens it."""
    return make_proxy_cache(ways.desk.root, ways.desk.registry.settings)


def list_open(ways: BothWays) -> list[str]:
    """The kept documents that this process has open, also those that have no name any more."""
    place = str(ways.desk.root / DIRECTORY)
    found = []
    for fd in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(fd.readlink()))
        except OSError:  # the descriptor by which the directory is read
            continue
    return [one for one in found if one.startswith(place)]


def require_same(ways: BothWays, target: str, *fields: str, method: str = "GET") -> bytes | None:
    """Ask both ways, and require the same answer, of the same second. Returns the fast one."""
    fast = b""
    for _ in range(3):  # one of them may have been answered in the next second
        plain = ways.ask_plainly(target, *fields, method=method)
        answer = ways.ask_fast(target, *fields, method=method)
        if answer in (None, plain):
            return answer
        fast = answer or b""
    assert fast == plain
    return fast


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_both_ways_answer_the_same(both: BothWays, name: str, method: str) -> None:
    """ "an answer from here is the same, byte for byte, as the plain way's" """
    for fields in (
        (),
        ("Accept: text/html",),
        ("Accept: application/json",),
        ("Accept-Encoding: gzip, br",),
        ("Authorization: Bearer abc",),
        ("Cookie: a=b",),
        *[(f"Range: bytes={one}",) for one in ("0-0", "3-7", "5-", "12-99999", "-5", "7-3")],
        *[(f"Range: bytes={one}",) for one in ("13-13", "400000-400001", "1-2,4-5", "x")],
        ("Range: bytes=0-3", "Accept: text/html"),
        ("Range: bytes=0-3", 'If-Range: "1"'),
        ("If-None-Match: *",),
        ('If-None-Match: "1"',),
        ("If-Modified-Since: Sat, 29 Oct 2030 19:43:31 GMT",),
        ("Via: 1.1 varnish",),
        ("Via: 1.1 id.example",),
        ("Prefer: resolve=redirect",),
        ("Expect: 100-continue",),
        ("Host: other.example",),
    ):
        for _ in range(2):  # new, and remembered
            require_same(both, f"/{name}", *fields, method=method)


@pytest.mark.parametrize("fields", [(), ("Range: bytes=3-7",), ("Accept: text/html",)])
def test_kept_documents_are_answered_fast(both: BothWays, fields: tuple[str, ...]) -> None:
    for name, data in DOCUMENTS.items():
        fast = require_same(both, f"/{name}", *fields)
        if len(data) > 256 << 10:
            assert fast is None
        else:
            assert fast is not None
            assert b"; hit; ttl=" in fast
    assert len(list_open(both)) == 3


def test_only_full_names_lead_to_documents(both: BothWays) -> None:
    for name in (
        f"{OLD}short",
        f"{OLD}short.text",
        f"{OLD}none.text.1",
        f"{OLD}short.text.1#char=1",
    ):
        assert both.ask_fast(f"/{name}") is None


def test_what_is_removed_or_replaced_is_not_answered(both: BothWays) -> None:
    """The entry of another process counts at once, also if it has replaced or removed ours."""
    name = f"{OLD}short.text.1"
    before = require_same(both, f"/{name}")
    keep(find_cache(both), name, b"Dear Sir,\r\n\r\n\r\n")  # a liar, but of the same length
    after = require_same(both, f"/{name}")
    assert before is not None
    if after is None:  # the plain way may have answered the first time
        after = require_same(both, f"/{name}")
    assert after is not None
    assert after.endswith(b"Dear Sir,\r\n\r\n\r\n")
    shutil.rmtree(both.desk.root / DIRECTORY)
    assert both.ask_fast(f"/{name}") is None
    assert both.ask_fast(f"/{name}") is None
    assert both.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 502")
    keep(find_cache(both), name, b"Dear Madam,\r\n")
    assert require_same(both, f"/{name}") is not None


def test_the_space_of_removed_documents_is_freed(both: BothWays) -> None:
    for name in DOCUMENTS:
        both.ask_fast(f"/{name}")
    assert len(list_open(both)) == 3
    shutil.rmtree(both.desk.root / DIRECTORY)
    both.fast.drop_outdated()  # the server does so each second
    assert list_open(both) == []


def test_a_delegation_that_ends_ends_the_answers(both: BothWays) -> None:
    """ "nothing … revoked is served" """
    name = f"{OLD}short.text.1"
    assert require_same(both, f"/{name}") is not None
    made = both.desk.registry.delegations.list_all()[0]
    revoke_delegation(both.desk.registry, made.identifier)
    assert both.ask_fast(f"/{name}") is None
    assert both.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 404")
    delegate(both.desk, OLD, "https://resolver.archives.example/")
    found = require_same(both, f"/{name}")
    assert found is not None
    assert found.startswith(b"HTTP/1.1 307")
    delegate(both.desk, f"{OLD}", NOWHERE, how="proxy")
    found = require_same(both, f"/{name}")
    assert found is not None
    assert found.startswith(b"HTTP/1.1 200")


def test_a_delegation_holds_until_its_day(both: BothWays) -> None:
    """ "the same delegation still in force on that day" """
    clock = both.desk.clock
    assert isinstance(clock, Clock)
    other = "pdi://house.example.us/"
    delegate(both.desk, other, NOWHERE, how="proxy", effective="2026-12-01")
    name = f"{other}1997/09/01/1.text.1"
    keep(find_cache(both), name, b"x")
    assert require_same(both, f"/{name}") is None
    clock.set("2026-12-01T00:00:00")
    assert require_same(both, f"/{name}") is not None
    delegate(both.desk, other, NOWHERE, how="refer", effective="2026-12-02")
    assert require_same(both, f"/{name}") is not None
    clock.set("2026-12-02T00:00:00")
    assert both.ask_fast(f"/{name}") is None
    assert both.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 300")


def test_a_record_that_is_added_wins(both: BothWays) -> None:
    """ "For reading, a record that is here wins" """
    name = f"{OLD}short.text.1"
    assert require_same(both, f"/{name}") is not None
    both.desk.bind(name.removesuffix(".text.1"), "https://a.example/here", register=True)
    found = both.ask_fast(f"/{name}") or b""
    assert b"; hit; ttl=" not in found
    assert b"; hit; ttl=" not in both.ask_plainly(f"/{name}")


def test_rules_close_what_another_resolver_keeps(both: BothWays) -> None:
    """Issue of the reading rights: "Decided in the read door only, and so obeyed by every face"."""
    name = f"{OLD}short.text.1"
    assert require_same(both, f"/{name}") is not None
    for about, status in ((f"pdi://{SERIES}/1996/", b"200"), (OLD, b"403")):
        rule = ReadingRule(about=about, access=Access.CLOSED)
        both.desk.registry.door.execute_command(Restrict(rule=rule))
        assert both.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 " + status)
        assert (require_same(both, f"/{name}") is None) is (status == b"403")
    delegate(both.desk, OLD, "https://resolver.archives.example/")
    assert both.ask_fast(f"/{name}") is None
    assert both.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 403")


def test_a_document_expires(tmp_path: Path) -> None:
    """Answered "for `pinned_seconds`; then its resolver is asked again" """
    now = 1_000_000.0
    cache = ProxyCache(tmp_path, bound=1 << 20, seconds=WEEK, clock=lambda: now)
    keep(cache, f"{OLD}1.text.1", b"x")
    documents = ReadyDocuments(cache, "id.example")
    found = documents.find_document(f"{OLD}1.text.1")
    assert found is not None
    for seconds, rest in ((0, WEEK), (0.5, WEEK - 1), (1, WEEK - 1), (WEEK - 0.5, 0)):
        now = 1_000_000 + seconds
        answer = found.write_answer(None)
        assert answer is not None
        assert f'cache-status: "id.example"; hit; ttl={rest}\r\n'.encode() in answer
        assert f"cache-control: public, max-age={rest}\r\n".encode() in answer
    now = 1_000_000 + WEEK
    assert found.write_answer(None) is None
    now = 999_999
    again = documents.find_document(f"{OLD}1.text.1")
    assert again is None or again.write_answer(None) is None


def test_few_files_are_open(both: BothWays) -> None:
    """Whatever is asked for: a process may open only so many files."""
    cache, names = find_cache(both), [f"{OLD}{number}.text.1" for number in range(MOST_OPEN + 20)]
    for name in names:
        keep(cache, name, name.encode())
    for _ in range(2):
        for name in names:
            found = both.ask_fast(f"/{name}")
            assert found is not None
            assert found.endswith(b"\r\n\r\n" + name.encode())
            assert len(list_open(both)) <= MOST_OPEN
