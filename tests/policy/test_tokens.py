"""Secrets: spelled alike, never the same, recognised by their digest."""

from __future__ import annotations

import base64
import hashlib

import pytest

from perdure.errors import InvalidRequest
from perdure.policy.tokens import digest_key, digest_secret, is_token, make_token, read_key


def test_new_tokens_differ_and_are_recognised() -> None:
    made = [make_token() for _ in range(100)]
    assert len({text for text, _ in made}) == 100
    for text, kept in made:
        assert is_token(text)
        assert kept == digest_secret(text) == hashlib.sha256(text.encode("ascii")).hexdigest()


def test_other_texts_are_no_tokens() -> None:
    text, _ = make_token()
    for other in ("", text[:-1], text + "A", text.upper(), f" {text}", f"{text}\n", text[8:]):
        assert not is_token(other)


def test_one_key_has_another_digest_under_another_name() -> None:
    key = bytes(range(32))
    assert digest_key("a", key) == hashlib.sha256(b"a\0" + key).hexdigest()
    assert digest_key("a", key) != digest_key("b", key)


def test_a_public_key_has_32_bytes_in_base64() -> None:
    key = bytes(range(32))
    assert read_key(base64.b64encode(key).decode()) == key
    for text in ("", "AAAA", "*", base64.b64encode(key[1:]).decode(), "A" * 45):
        with pytest.raises(InvalidRequest):
            read_key(text)
