"""What an index has against what a PWID asks for."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.held_in_memory import SortedCaptures, capture

from perdure.archives.port import Capture
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Judgement,
    format_distance,
    interpret_pwid,
    interpret_uri_at,
    judge_elsewhere,
    judge_evidence,
    look_up_evidence,
    measure_delta,
)
from perdure.ids.pwid import parse_pwid
from perdure.model.timestamps import find_span

DR = "http://www.dr.dk/"


def verdict(pwid: str, *held: Capture, nearest: bool = False) -> Judgement:
    wanted = interpret_pwid(parse_pwid(pwid))
    return judge_evidence(wanted, look_up_evidence(SortedCaptures(held), wanted), nearest=nearest)


def test_the_drafts_own_example_is_exact_although_http_has_no_empty_path() -> None:
    """ "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk" (section 4)."""
    held = capture(DR, "2016-01-22T11:20:29Z")
    found = verdict("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk", held)
    assert (found.verdict, found.capture, found.delta) == (CaptureVerdict.EXACT, held, 0)


@pytest.mark.parametrize(
    "other",
    [
        "https://www.dr.dk/",
        "http://dr.dk/",
        "http://www.dr.dk/#top",
        "http://WWW.dr.dk/",
        "http://www.dr.dk:80/",
    ],
)
def test_the_same_key_is_not_the_same_uri(other: str) -> None:
    held = capture(other, "2016-01-22T11:20:29Z")
    assert held.key == capture(DR, "2016-01-22T11:20:29Z").key
    name = f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}"
    refused = verdict(name, held)
    assert (refused.verdict, refused.capture) == (CaptureVerdict.OTHER_URI, None)
    assert refused.offered == (held,)
    given_ = verdict(name, held, nearest=True)
    assert (given_.verdict, given_.capture, given_.delta) == (CaptureVerdict.OTHER_URI, held, 0)


@pytest.mark.parametrize(
    ("uri", "item"),
    [
        ("http://a.dk/b c", "http://a.dk/b%20c"),
        ('http://a.dk/?<"b">', "http://a.dk/?%3C%22b%22%3E"),
    ],
)
def test_what_no_pwid_can_say_is_written_as_an_escape(uri: str, item: str) -> None:
    held = capture(uri, "2016-01-22T11:20:29Z")
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{item}", held)
    assert (found.verdict, found.capture) == (CaptureVerdict.EXACT, held)


def test_the_uri_asked_for_wins_over_others_of_its_second() -> None:
    first, second = (capture(uri, "2016-01-22T11:20:29Z") for uri in ("http://dr.dk/", DR))
    assert verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", first, second).capture == second


def test_one_second_off_is_an_honest_no() -> None:
    held = [capture(DR, f"2016-01-22T11:20:{second}Z") for second in ("20", "28", "31")]
    name = f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}"
    refused = verdict(name, *held)
    assert (refused.verdict, refused.capture) == (CaptureVerdict.ABSENT, None)
    assert refused.offered == (held[1], held[2], held[0])
    found = verdict(name, *held, nearest=True)
    assert (found.verdict, found.capture, found.delta) == (CaptureVerdict.NEAREST, held[1], -1)
    assert found.sentence == "nearest -00:00:01"


def test_nothing_at_all_is_absent_even_if_the_nearest_will_do() -> None:
    name = f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}"
    held = capture("http://elsewhere.dk/", "2016-01-22T11:20:29Z")
    for nearest in (False, True):
        assert verdict(name, held, nearest=nearest) == Judgement(verdict=CaptureVerdict.ABSENT)


def test_the_nearest_is_the_nearest_in_time_then_in_spelling() -> None:
    """Ruling capture-choice: among all spellings of one key, and both differences are told."""
    close = capture("https://www.dr.dk/", "2016-01-22T11:20:30Z")
    same = capture(DR, "2016-01-22T11:20:30Z", file="z.warc.gz")
    far = capture(DR, "2016-01-22T12:20:29Z")
    pwid = f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}"
    found = verdict(pwid, close, far, nearest=True)
    assert (found.capture, found.delta, found.other_uri) == (close, 1, True)
    assert found.sentence == "nearest +00:00:01, other URI"
    found = verdict(pwid, close, same, far, nearest=True)
    assert (found.capture, found.delta, found.other_uri) == (same, 1, False)


def test_twice_in_a_second_with_the_same_bytes_is_no_riddle() -> None:
    held = [
        capture(DR, "2016-01-22T11:20:29Z", kind=kind, digest="sha1:A", offset=at)
        for at, kind in enumerate(("revisit", "response"))
    ]
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", *held)
    assert (found.capture, found.is_ambiguous) == (held[1], False)
    held.append(capture(DR, "2016-01-22T11:20:29Z", digest="sha1:B", offset=9))
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", *held)
    assert found.is_ambiguous
    assert len(found.fits) == 3


def test_a_day_fits_all_of_its_captures() -> None:
    held = [capture(DR, f"2016-01-{day}T11:20:29Z", digest=f"sha1:{day}") for day in range(21, 24)]
    found = verdict(f"pwid:a.org:2016-01-22:part:{DR}", *held)
    assert (found.verdict, found.fits) == (CaptureVerdict.EXACT, (held[1],))
    assert verdict(f"pwid:a.org:2016-01:part:{DR}", *held).is_ambiguous
    assert verdict(f"pwid:a.org:2016:part:{DR}", *held).fits == tuple(held)


def test_a_date_that_says_less_than_the_reference_is_not_exact() -> None:
    """Nothing is invented: a capture dated `2014-01` was not recorded on the first at midnight."""
    held = capture(DR, "2014-01")
    assert verdict(f"pwid:a.org:2014-01:part:{DR}", held).verdict is CaptureVerdict.EXACT
    found = verdict(f"pwid:a.org:2014-01-01T00.00.00Z:part:{DR}", held)
    assert (found.verdict, found.offered) == (CaptureVerdict.ABSENT, (held,))


def test_fractions_tell_captures_of_one_second_apart() -> None:
    held = [
        capture(DR, f"2016-01-22T11:20:29.{part}Z", digest=f"sha1:{part}")
        for part in ("000000001", "000000002", "5")
    ]
    name = "urn:pwid:a.org:2016-01-22T11:20:29{}Z:part:http://www.dr.dk/"
    assert verdict(name.format(".000000002"), *held).capture == held[1]
    assert verdict(name.format(".50"), *held).capture == held[2]
    assert verdict(name.format(".6"), *held).verdict is CaptureVerdict.ABSENT
    assert verdict(name.format(""), *held).is_ambiguous


def test_other_records_do_not_hide_what_is_near() -> None:
    held = [
        capture(DR, f"2016-01-22T11:{at:02}:30Z", kind="metadata", offset=at) for at in range(60)
    ]
    page = capture(DR, "2015-01-22T11:20:29Z")
    found = verdict(f"pwid:a.org:2016-01-22T12.20.29Z:part:{DR}", *held, page, nearest=True)
    assert found.capture == page


def test_the_extremes_of_time() -> None:
    for date in ("1970-01-01T00:00:00Z", "2106-02-07T06:28:16Z", "2016-12-31T23:59:60Z"):
        held = capture(DR, date)
        assert verdict(f"urn:pwid:a.org:{date}:part:{DR}", held).verdict is CaptureVerdict.EXACT


def test_coverage_chooses_the_kind_of_record() -> None:
    page = capture(DR, "2016-01-22T11:20:29Z", digest="sha1:A")
    image = capture(DR, "2016-01-22T11:20:29Z", kind="resource", media_type="image/png", offset=1)
    note = capture(DR, "2016-01-22T11:20:29Z", kind="metadata", media_type="text/plain", offset=2)
    name = f"pwid:a.org:2016-01-22T11.20.29Z:{{}}:{DR}"
    assert verdict(name.format("snapshot"), page, image, note).fits == (image,)
    assert verdict(name.format("snapshot"), page, note).verdict is CaptureVerdict.ABSENT
    assert verdict(name.format("recording"), page, image, note).verdict is CaptureVerdict.ABSENT
    assert verdict(name.format("part"), note).verdict is CaptureVerdict.ABSENT
    assert verdict(name.format("part"), page, image, note).fits == (page,)
    assert verdict(name.format("other"), note).fits == (note,)


def test_what_is_said_of_other_archives() -> None:
    assert judge_elsewhere(access="closed", moved=True).verdict is CaptureVerdict.CLOSED
    assert judge_elsewhere(access="mixed", moved=True).verdict is CaptureVerdict.MOVED
    assert judge_elsewhere(access="open", moved=False).verdict is CaptureVerdict.UNVERIFIED


def test_the_words_are_those_of_the_documentation() -> None:
    assert [one.token for one in CaptureVerdict] == [
        "exact",
        "same-second-other-uri",
        "nearest",
        "absent",
        "closed-but-known",
        "moved",
        "unverified",
    ]


_FIRST, _LAST = dt.datetime(1970, 1, 1), dt.datetime(2106, 12, 31)  # noqa: DTZ001  (all are UTC)
moments = st.datetimes(_FIRST, _LAST)


def _dated(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@given(st.lists(moments, max_size=60), moments, st.booleans())
def test_the_nearest_is_the_nearest(
    held: list[dt.datetime], wanted: dt.datetime, more: bool
) -> None:
    """Against a search of everything."""
    captures = SortedCaptures(capture(DR, _dated(one)) for one in held)
    question = interpret_uri_at(DR, wanted.strftime("%Y%m%d%H%M%S"))
    found = judge_evidence(question, look_up_evidence(captures, question), nearest=True)
    if not held:
        assert found.verdict is CaptureVerdict.ABSENT
        return
    assert found.capture is not None
    seconds = [(one.replace(microsecond=0) - wanted.replace(microsecond=0)) for one in held]
    best = min(abs(one.total_seconds()) for one in seconds)
    assert abs(measure_delta(question, found.capture)) == best
    assert (found.verdict is CaptureVerdict.EXACT) == (best == 0)


@given(moments)
def test_a_span_covers_its_moment_at_every_precision(moment: dt.datetime) -> None:
    text = _dated(moment)
    for date in (text, f"{text[:16]}Z", text[:10], text[:7], text[:4]):
        first, last = find_span(date)
        assert first <= moment.strftime("%Y%m%d%H%M%S") <= last
        assert len(first) == len(last) == 14


def test_a_look_up_reads_little_whatever_there_is() -> None:
    start = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    captures = SortedCaptures(
        capture(DR, _dated(start + dt.timedelta(hours=hour))) for hour in range(20_000)
    )
    question = interpret_uri_at(DR, "20010101000001")
    look_up_evidence(captures, question)
    assert captures.read <= 64


def test_what_is_exact_needs_no_neighbours() -> None:
    start = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    captures = SortedCaptures(
        capture(DR, _dated(start + dt.timedelta(hours=hour))) for hour in range(200)
    )
    question = interpret_uri_at(DR, "20000103000000")
    evidence = look_up_evidence(captures, question)
    assert captures.read == 1
    assert judge_evidence(question, evidence).verdict is CaptureVerdict.EXACT


def test_distances_are_written_for_people() -> None:
    assert format_distance(0) == "+00:00:00"
    assert format_distance(-(86400 * 2 + 61)) == "-2 d 00:01:01"


# the URI, the date and the kind
# ------------------------------


def test_the_letter_exact_uri_comes_first() -> None:
    """Both are the URI asked for: HTTP has no empty path. The one written so is preferred."""
    short, long = (capture(uri, "2016-01-22T11:20:29Z") for uri in ("http://www.dr.dk", DR))
    for wanted, other in ((short, long), (long, short)):
        found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{wanted.uri}", other, wanted)
        assert (found.verdict, found.capture, found.fits) == (
            CaptureVerdict.EXACT,
            wanted,
            (wanted,),
        )


def test_a_date_that_says_just_as_much_comes_before_the_exact_letters() -> None:
    second = capture("http://www.dr.dk", "2016-01-22T11:20:29Z")
    finer = capture(DR, "2016-01-22T11:20:29.5Z", offset=7)
    day = capture(DR, "2016-01-22", offset=9)
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", finer, second)
    assert found.fits == (finer,)  # 14 digits each: the letters decide
    found = verdict(f"pwid:a.org:2016-01-22:part:{DR}", second, day)
    assert found.fits == (day,)


@pytest.mark.parametrize(
    ("kinds", "best"),
    [
        (("resource", "response"), "response"),
        (("conversion", "resource"), "resource"),
        (("conversion", "revisit"), "revisit"),
    ],
)
def test_what_was_transferred_comes_before_what_was_made_of_it(
    kinds: tuple[str, ...], best: str
) -> None:
    held = [
        capture(DR, "2016-01-22T11:20:29Z", kind=kind, offset=at) for at, kind in enumerate(kinds)
    ]
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", *held)
    assert [one.kind for one in found.fits] == [best]
    everything = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:other:{DR}", *held)
    assert {one.kind for one in everything.fits} == set(kinds)


@pytest.mark.parametrize(
    ("digests", "ambiguous"),
    [(("sha1:A", "sha1:A"), False), (("sha1:A", "sha1:B"), True), (("", ""), True)],
)
def test_different_bytes_that_fit_equally_are_a_choice(
    digests: tuple[str, str], ambiguous: bool
) -> None:
    held = [
        capture(DR, "2016-01-22T11:20:29Z", digest=digest, offset=at)
        for at, digest in enumerate(digests)
    ]
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", *held)
    assert found.is_ambiguous is ambiguous


@pytest.mark.parametrize(
    ("coverage", "media_type", "fits"),
    [
        ("snapshot", "image/png", True),
        ("snapshot", "application/pdf", True),
        ("snapshot", "text/html", False),
        ("recording", "video/mp4", True),
        ("recording", "audio/ogg", True),
        ("recording", "application/warc", True),
        ("recording", "application/wacz", True),
        ("recording", "application/pdf", False),
        ("page", "image/png", True),
    ],
)
def test_a_coverage_wants_records_of_its_kind(coverage: str, media_type: str, fits: bool) -> None:
    held = capture(DR, "2016-01-22T11:20:29Z", media_type=media_type)
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:{coverage}:{DR}", held)
    assert found.verdict is (CaptureVerdict.EXACT if fits else CaptureVerdict.ABSENT)


def test_a_time_within_a_span_is_no_time_away() -> None:
    wanted = interpret_pwid(parse_pwid(f"pwid:a.org:2016-01-22:part:{DR}"))
    for date, seconds in (
        ("2016-01-21T23:59:58Z", -2),
        ("2016-01-22T00:00:00Z", 0),
        ("2016-01-22T23:59:59Z", 0),
        ("2016-01-23T00:00:04Z", 5),
    ):
        assert measure_delta(wanted, capture(DR, date)) == seconds


def test_of_two_as_near_the_earlier_is_offered_first() -> None:
    held = [capture(DR, f"2016-01-22T11:20:{second}Z") for second in ("31", "27")]
    found = verdict(f"pwid:a.org:2016-01-22T11.20.29Z:part:{DR}", *held, nearest=True)
    assert (found.capture, found.delta) == (held[1], -2)


# Answers to other requests than GET
# ----------------------------------

AT = "pwid:a.org:2016-01-22T11.20.29Z:{}:http://www.dr.dk/"


def test_the_answer_to_a_get_is_meant_before_that_to_a_post() -> None:
    first = capture(DR, "2016-01-22T11:20:29Z", file="a.warc.gz", method="POST")
    second = capture(DR, "2016-01-22T11:20:29Z", file="b.warc.gz")
    found = verdict(AT.format("page"), first, second)
    assert (found.verdict, found.capture) == (CaptureVerdict.EXACT, second)


@pytest.mark.parametrize(
    ("coverage", "fields", "is_meant"),
    [
        ("page", {"kind": "response"}, True),
        ("page", {"kind": "metadata"}, False),
        ("snapshot", {"media_type": "image/png"}, True),
        ("snapshot", {"media_type": "text/html"}, False),
        ("other", {"kind": "metadata"}, True),
    ],
)
def test_the_answer_to_a_post_is_meant_if_nothing_else_is_there(
    coverage: str, fields: dict[str, str], *, is_meant: bool
) -> None:
    held = capture(DR, "2016-01-22T11:20:29Z", method="POST", **fields)
    found = verdict(AT.format(coverage), held)
    assert found.capture == (held if is_meant else None)
