"""The traffic of the last day: quantiles as Prometheus estimates them, steps, and counters."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from perdure.model.commands import Outcome
from perdure.server.common.metrics import Metrics
from perdure.server.common.traffic import Traffic, TrafficNote, estimate_quantile, list_steps

BOUNDS = (0.1, 0.5, math.inf)


def note(at: float, slow: int, fast: int = 0, failed: int = 0) -> TrafficNote:
    return TrafficNote(at, slow, fast, failed, (slow, 0, 0), BOUNDS)


def test_quantiles_are_those_of_prometheus() -> None:
    """Prometheus, promql/quantile_test.go, TestBucketQuantile (float buckets; linear)."""
    bounds = (0.1, 0.2, 0.5, 1.0, math.inf)
    counts = (10, 20, 30, 40, 0)
    assert estimate_quantile(0.5, bounds, counts) == 0.4  # rank 50: 20 of the 30 in (0.2, 0.5]
    assert estimate_quantile(0.05, bounds, counts) == 0.05
    assert estimate_quantile(1.0, bounds, counts) == 1.0
    # "If the quantile falls into the highest bucket, the upper bound of the 2nd highest bucket"
    assert estimate_quantile(0.99, bounds, (0, 0, 0, 1, 99)) == 1.0
    # "If the bucket has no observations, NaN is returned"
    assert estimate_quantile(0.5, bounds, (0, 0, 0, 0, 0)) is None


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_of_its_value(counts: list[int], share: float) -> None:
    """ "the values of a bucket are spread evenly in it": the estimate is within the bucket."""
    bounds = (1.0, 2.0, 4.0, math.inf)
    values = [at for at, count in enumerate(counts) for _ in range(count)]
    found = estimate_quantile(share, bounds, counts)
    if not values:
        assert found is None
        return
    assert found is not None
    at = values[math.ceil(round(share * len(values), 9)) - 1]
    low = (0.0, 1.0, 2.0, 4.0)[at]
    assert low <= found + 1e-9
    assert found <= min(bounds[at], 4.0) + 1e-9


def test_steps_are_the_differences_of_notes() -> None:
    first, second = list_steps([note(0, 10), note(60, 70, fast=60, failed=2), note(120, 70, 60, 2)])
    assert (first.requests, first.failed, first.rate) == (120, 2, 2.0)
    assert first.median == 0.05
    assert (second.requests, second.median) == (0, None)


def test_a_day_has_at_most_48_steps() -> None:
    traffic = Traffic()
    for minute in range(3000):
        traffic.take_note(note(60.0 * minute, minute))
    steps = traffic.list_steps(note(60.0 * 3000, 3000))
    assert len(steps) == 48
    assert sum(one.requests for one in steps) == 1440  # the older notes are forgotten
    assert {one.ends - one.begins for one in steps} == {1800.0}


def test_a_counter_that_went_back_is_left_out() -> None:
    steps = list_steps([note(0, 10), note(60, 5), note(120, 8)])
    assert [(one.begins, one.requests) for one in steps] == [(60, 3)]


def test_counters_are_read_with_those_of_the_fast_path() -> None:
    metrics = Metrics()
    metrics.count_answer("GET", 200, 0.003, 10)
    metrics.count_answer("GET", 503, 0.3, 10)
    metrics.count_answer("GET", 404, 60.0, 10)
    metrics.fast_writes.minted = 4
    metrics.gather_counts()
    metrics.count_write("mint", Outcome.CREATED)
    found = metrics.read_traffic(7.0)
    assert (found.at, found.slow, found.fast, found.failed) == (7.0, 3, 4, 1)
    taken = dict(zip(found.bounds, found.buckets, strict=True))
    assert [bound for bound in taken if taken[bound]] == [0.005, 1.0, math.inf]
