"""Whatever happens in a worker, the parent gets an answer, and the next part is cut."""

from __future__ import annotations

import contextlib
import contextvars
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget, PartNotFound, PerdureError, Undecodable
from perdure.errors.processes import ClientLeft
from perdure.extractors import messages
from perdure.extractors.confined import Budget, Confined
from perdure.extractors.errands import Errand, start_errand
from perdure.extractors.port import CHUNK, Decoded, Part, Source, Span, Stream
from perdure.parts import ByteRange, Interval, Selector
from perdure.testing import parts as strategies

WHERE = "misbehaving:"
PLACE = str(Path(__file__).parent)  # where workers find them
OCTETS = "perdure.extractors.octets:EXTRACTOR"


@pytest.fixture(scope="module")
def confined() -> Iterator[Confined]:
    confined = Confined(most=1, budget=Budget(seconds=1, memory=256 << 20))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", PLACE, prepend=os.pathsep)
        yield confined
    confined.close()


@pytest.fixture
def place_of_misbehaving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PLACE, prepend=os.pathsep)


@pytest.fixture
def thing(tmp_path: Path) -> Source:
    return source(tmp_path, b"0123456789", "text/plain")


def cut(confined: Confined, name: str, thing: Source, start: int = 0) -> Part:
    return confined.extract_part(f"{WHERE}{name}", thing, ByteRange(start, start + 1), None)


def still_works(confined: Confined, thing: Source) -> None:
    part = confined.extract_part(OCTETS, thing, ByteRange(2, 5), None)
    assert content(part, thing) == b"234"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("SLEEPING", OverBudget),
        ("SPINNING", OverBudget),
        ("GREEDY", OverBudget),
        ("CRASHING", Undecodable),
        ("MISTAKEN", Undecodable),
        ("FAILING", PartNotFound),
        ("NOWHERE", Undecodable),
    ],
)
def test_what_goes_wrong_in_a_worker(
    confined: Confined, thing: Source, name: str, error: type[PerdureError]
) -> None:
    with pytest.raises(error):
        cut(confined, name, thing)
    still_works(confined, thing)


@pytest.mark.parametrize("what", range(7))
def test_a_worker_that_was_taken_over(confined: Confined, thing: Source, what: int) -> None:
    """It can say what it likes: no code is read from it, and no memory is taken for it."""
    with pytest.raises(Undecodable):
        cut(confined, "FALLEN", thing, what)
    assert not thing.path.with_name("harm").exists()
    still_works(confined, thing)


def test_streams(confined: Confined, thing: Source) -> None:
    part = cut(confined, "STREAMING", thing)
    assert content(part, thing) == b"".join(bytes([n]) * 300_000 for n in range(10))
    still_works(confined, thing)


def test_a_stream_of_little_pieces(confined: Confined, thing: Source) -> None:
    """They come in large ones: each costs a call of another thread and a chunk of HTTP."""
    part = cut(confined, "TRICKLING", thing)
    assert isinstance(part.body, Stream)
    whole = CHUNK // len(b"row\r\n") * len(b"row\r\n")
    assert [*map(len, part.body.chunks)] == [whole, 500_000 - whole]
    still_works(confined, thing)


def test_a_stream_that_nobody_reads_to_its_end(confined: Confined, thing: Source) -> None:
    part = cut(confined, "STREAMING", thing)
    assert isinstance(part.body, Stream)
    assert next(part.body.chunks)
    del part
    still_works(confined, thing)


def test_a_stream_that_nobody_reads_at_all(confined: Confined, thing: Source) -> None:
    """As after HEAD."""
    cut(confined, "STREAMING", thing)
    still_works(confined, thing)


def test_a_stream_that_fails(confined: Confined, thing: Source) -> None:
    part = cut(confined, "FAILING_LATER", thing)
    assert isinstance(part.body, Stream)
    assert next(part.body.chunks) == b"x" * CHUNK
    with pytest.raises(PartNotFound):
        next(part.body.chunks)
    still_works(confined, thing)


def test_who_takes_long_holds_up_no_other_kind(confined: Confined, thing: Source) -> None:
    part = cut(confined, "STREAMING", thing)  # has its worker until somebody has read it all
    still_works(confined, thing)
    with pytest.raises(PartNotFound):
        cut(confined, "FAILING", thing)
    assert content(part, thing)


def test_the_end_waits_for_no_decoder(thing: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for those that are busy nor for those who wait for their turn."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    ending = Confined(most=1, budget=Budget(seconds=60))
    with ThreadPoolExecutor(3) as threads:
        jobs = [threads.submit(cut, ending, "SLEEPING", thing) for _ in range(3)]
        while not ending._busy:
            time.sleep(0.01)
        ending.close()
        errors = [job.exception(30) for job in jobs]
    assert sorted(type(one).__name__ for one in errors) == [
        "DecoderCrashed",
        "Stopping",
        "Stopping",
    ]


def test_work_for_a_client_that_left_is_abandoned(
    thing: Source, place_of_misbehaving: None
) -> None:
    """It ends at once, not after the seconds that it may take, and with no verdict on the bytes."""
    confined = Confined(most=1, budget=Budget(seconds=60, memory=256 << 20))
    errand = Errand("parts")
    with ThreadPoolExecutor(1) as threads, contextlib.closing(confined):
        context = contextvars.copy_context()
        cutting = threads.submit(
            context.run, start_errand, errand, cut, confined, "SLEEPING", thing
        )
        while not confined._busy:
            time.sleep(0.01)
        errand.abandon()
        with pytest.raises(ClientLeft):
            cutting.result(20)
        still_works(confined, thing)
        with pytest.raises(ClientLeft):  # before it began
            contextvars.copy_context().run(start_errand, errand, cut, confined, "SLEEPING", thing)
        still_works(confined, thing)


def test_extents(confined: Confined, thing: Source) -> None:
    (extent,) = confined.list_extents(OCTETS, thing, None)
    assert extent.size == 10


# messages
# --------


@given(strategies.selectors())
def test_every_selector_comes_back(selector: Selector) -> None:
    thing = Source(path=Path("/x/y"), length=9, media_type="text/plain", name="x")
    job = messages.Job("a:b", thing, selector, None, Budget())
    assert messages.read_job(messages.encode(job)) == job
    part = Part(
        selector=selector,
        media_type="x/y",
        body=(b"ab", Span(1, 2)),
        slices=(Span(1, 2),),
        decoded=Decoded(form="rgb8 1x1", sha512="ab"),
        facts={"a": "b"},
    )
    assert messages.read_reply(messages.encode(messages.build_reply(part))) == messages.build_reply(
        part
    )


@given(st.binary(max_size=60))
def test_nothing_else_is_read(data: bytes) -> None:
    with contextlib.suppress(ValueError):  # a DecodeError is one
        messages.read_reply(data)


def test_fractions_are_bounded() -> None:
    """One of a million digits would take a while."""
    interval = Interval(Fraction(10**50), Fraction(10**50 + 1))
    job = messages.Job(
        "a:b", Source(path=Path("x"), length=1, media_type="x/y"), interval, None, Budget()
    )
    with pytest.raises(ValueError, match="Fraction"):
        messages.read_job(messages.encode(job))


def test_errors_come_back() -> None:
    error = PartNotFound(identifier="x", selector="y", extent="z")
    back = messages.rebuild_error(messages.build_failure(error))
    assert type(back) is PartNotFound
    assert str(back) == str(error)
    with pytest.raises(ValueError, match="no error"):
        messages.rebuild_error(messages.FailedReply(("UnheardOf",), {}))
