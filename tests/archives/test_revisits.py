"""A revisit has its payload elsewhere: where the record says, where the digest says, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.archives.held_in_memory import SortedCaptures, capture

from perdure.archives.index import cdxj, ranges
from perdure.archives.index.revisits import PayloadSource, find_original
from perdure.archives.library import Library
from perdure.settings import Settings

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
URL = "http://example.org/"
OTHER = "http://example.com/logo.png"
DIGEST, ANOTHER = "sha1:AAAA", "sha1:BBBB"


def revisit(**fields: object) -> object:
    given_ones = {"kind": "revisit", "digest": DIGEST, "offset": 99}
    return capture(URL, "2020-01-03T00:00:00Z", **given_ones | fields)


FIRST = capture(URL, "2020-01-01T00:00:00Z", digest=DIGEST, offset=1)
SECOND = capture(URL, "2020-01-02T00:00:00Z", digest=ANOTHER, offset=2)
ELSEWHERE = capture(OTHER, "2019-01-01T00:00:00Z", digest=DIGEST, offset=3)
LATER = capture(URL, "2021-01-01T00:00:00Z", digest=DIGEST, offset=4)

BASE_32 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # of no bytes
HEXADECIMAL = capture(
    URL, "2020-01-01T00:00:00Z", digest="sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", offset=5
)
SHA_256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("held", "fields", "how", "found"),
    [
        (
            [FIRST, SECOND],
            {"refers_to_uri": URL, "refers_to_date": FIRST.date},
            PayloadSource.SAME_URL,
            FIRST,
        ),
        (
            [ELSEWHERE, FIRST],
            {"refers_to_uri": OTHER, "refers_to_date": ELSEWHERE.date},
            PayloadSource.OTHER_URL,
            ELSEWHERE,
        ),
        ([FIRST, SECOND], {}, PayloadSource.SAME_URL, FIRST),
        ([SECOND, LATER], {}, PayloadSource.SAME_URL, LATER),
        (
            [ELSEWHERE],
            {"refers_to_uri": OTHER, "refers_to_date": "2018-01-01"},
            PayloadSource.OTHER_URL,
            ELSEWHERE,
        ),
        (
            [SECOND],
            {"refers_to_uri": URL, "refers_to_date": SECOND.date},
            PayloadSource.MISSING,
            None,
        ),
        ([SECOND], {}, PayloadSource.MISSING, None),
        ([FIRST], {"digest": ""}, PayloadSource.MISSING, None),
        (
            [SECOND],
            {"digest": "", "refers_to_uri": URL, "refers_to_date": SECOND.date},
            PayloadSource.SAME_URL,
            SECOND,
        ),
        (
            [HEXADECIMAL],
            {"digest": BASE_32, "refers_to_uri": URL, "refers_to_date": HEXADECIMAL.date},
            PayloadSource.SAME_URL,
            HEXADECIMAL,
        ),
        ([HEXADECIMAL], {"digest": BASE_32.lower()}, PayloadSource.SAME_URL, HEXADECIMAL),
        (
            [HEXADECIMAL],
            {"digest": SHA_256, "refers_to_uri": URL, "refers_to_date": HEXADECIMAL.date},
            PayloadSource.SAME_URL,
            HEXADECIMAL,
        ),
        ([HEXADECIMAL], {"digest": SHA_256}, PayloadSource.MISSING, None),
        (
            [],
            {"refers_to_uri": "not a uri", "refers_to_date": "yesterday"},
            PayloadSource.MISSING,
            None,
        ),
    ],
    ids=[
        "same URL, by date",
        "another URL, by date",
        "no reference, same digest earlier",
        "no reference, same digest later",
        "a date that is off",
        "the referred one has other bytes",
        "nothing has these bytes",
        "nothing says which",
        "no digest, by date",
        "a digest in another base, by date",
        "a digest in another base and case",
        "a digest of another algorithm, by date",
        "a digest of another algorithm",
        "nonsense",
    ],
)
def test_where_the_payload_is(
    held: list[object], fields: dict[str, object], how: PayloadSource, found: object
) -> None:
    one = revisit(**fields)
    answer = find_original(SortedCaptures([*held, one]), one)  # type: ignore[list-item,arg-type]
    assert (answer.how, answer.capture) == (how, found)
    assert bool(answer.wanted) is (how is PayloadSource.MISSING)


def test_a_response_has_its_own() -> None:
    assert find_original(SortedCaptures([FIRST]), FIRST).capture == FIRST


@pytest.mark.corpus
def test_revisits_of_real_crawls(tmp_path: Path) -> None:
    """Of pywb's samples (one refers to a capture that is not among them) and of Heritrix 2013,
    which referred to nothing."""
    library = Library(tmp_path, Settings())
    alone = "webrecorder+pywb__sample_archive_warcs_example-url-agnostic-revisit.warc.gz"
    library.add_file(CORPUS / alone)
    [one] = list(ranges.walk_range(library.captures, ranges.IndexRange("", "~")))
    assert find_original(library.captures, one).how is PayloadSource.MISSING
    assert find_original(library.captures, one).wanted == (
        "http://example.iana.org/ at 2013-07-02T19:54:02Z "
        "with sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
    )
    for pattern in ("*warcs_dupes.*", "*pywb*warcs_iana.*", "*20130729-heritrix-*"):
        for path in CORPUS.glob(pattern):
            library.add_file(path)
    revisits = 0
    for one in ranges.walk_range(library.captures, ranges.IndexRange("", "~")):
        if one.kind == "revisit":
            revisits += 1
            answer = find_original(library.captures, one)
            assert answer.how is PayloadSource.SAME_URL
            assert answer.capture is not None
            assert answer.capture.digest == one.digest
            with library.files.open_record(answer.capture) as record:
                assert b"".join(record.read_payload())
    assert revisits > 10
    library.close()


texts = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))


@given(
    uri=texts,
    media_type=texts,
    digest=texts,
    file=texts,
    status=st.none() | st.integers(100, 999),
    offset=st.integers(0, 1 << 60),
    kind=st.sampled_from(["response", "revisit", "resource", "request", "metadata", "x-new"]),
    refers_to_uri=texts,
    date=st.sampled_from(["2020-01-02T03:04:05Z", "2014-01", "2014-01-01T00:00:00.5Z"]),
)
def test_a_line_of_cdxj_is_the_capture(uri: str, date: str, **fields: object) -> None:
    one = capture(uri, date, **fields)
    line = cdxj.format_line(one)
    assert line.count(b"\n") == 1
    assert cdxj.parse_line(line) == one
