"""The cache of the meanings of headers that clients repeat."""

from __future__ import annotations

from perdure.server.fast.writer_headers import RepeatedHeaders

SECRET = b"pdt_secret"


def _head(name: bytes) -> bytes:
    return b"\r\nAuthorization: Bearer " + SECRET + b"\r\nX-Name: " + name + b"\r\n\r\n"


def test_a_header_is_judged_once_and_never_stored() -> None:
    judged: list[bytes] = []

    def judge(found: dict[bytes, bytes]) -> str | None:
        judged.append(found[b"x-name"])
        return found[b"x-name"].decode() or None

    headers = RepeatedHeaders(judge)
    for _ in range(2):
        assert headers.judge_fields(_head(b"a")) == "a"
        assert headers.judge_fields(_head(b"")) is None
    assert judged == [b"a", b""]
    assert SECRET not in repr(vars(headers)).encode()


def test_a_full_cache_is_emptied_and_goes_on() -> None:
    judged: list[bytes] = []

    def judge(found: dict[bytes, bytes]) -> int:
        judged.append(found[b"x-name"])
        return len(judged)

    headers = RepeatedHeaders(judge)
    for number in range(1025):
        headers.judge_fields(_head(b"%d" % number))
    assert headers.judge_fields(_head(b"1024")) == 1025, "the last one is known"
    assert headers.judge_fields(_head(b"0")) == 1026, "those before were forgotten"
