"""Signatures of Ed25519 are judged the same with libsodium as without it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors.signing import SignatureWrong
from perdure.signing import sodium
from perdure.signing.keys import ED25519, make_ed25519_key, verify_bytes

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RAW = PRIVATE.public_key().public_bytes_raw()

# The curve of RFC 8032 section 5.1, only as far as a dishonest signer needs it.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)
OF_ORDER_8 = (
    14399317868200118260347934320527232580618823971194345261214217575416788799818,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
)
Point = tuple[int, int]


def add(one: Point, other: Point) -> Point:
    (x, y), (u, v) = one, other
    both = D * x * y * u * v
    return (x * v + y * u) * pow(1 + both, -1, P) % P, (y * v + x * u) * pow(1 - both, -1, P) % P


def multiply(point: Point, number: int) -> Point:
    found = (0, 1)
    while number:
        found = add(found, point) if number & 1 else found
        point, number = add(point, point), number >> 1
    return found


def encode(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def sign_dishonestly(text: bytes, in_key: int, in_point: int) -> tuple[bytes, bytes]:
    """A key and a signature whose points have parts of small order: right with the cofactor."""
    secret, nonce = 12345678901234567890, 987654321
    key = encode(add(multiply(BASE, secret), multiply(OF_ORDER_8, in_key)))
    point = encode(add(multiply(BASE, nonce), multiply(OF_ORDER_8, in_point)))
    hash = int.from_bytes(hashlib.sha512(point + key + text).digest(), "little")
    return key, point + ((nonce + hash * secret) % ORDER).to_bytes(32, "little")


def is_right(key: bytes, signature: bytes, text: bytes) -> bool:
    """What OpenSSL says."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except InvalidSignature:
        return False
    return True


def is_accepted(key: bytes, signature: bytes, text: bytes) -> bool:
    try:
        verify_bytes(make_ed25519_key(key), ED25519, signature, text)
    except SignatureWrong:
        return False
    return True


@pytest.fixture
def fresh() -> Iterator[None]:
    sodium._find_verifier.cache_clear()
    yield
    sodium._find_verifier.cache_clear()


def test_libsodium_verifies_what_openssl_has_signed() -> None:
    pytest.importorskip("nacl")
    assert sodium.is_signed(RAW, PRIVATE.sign(b"text"), b"text")
    assert not sodium.is_signed(RAW, PRIVATE.sign(b"text"), b"test")


@pytest.mark.parametrize("in_key", [0, 1, 4])
def test_points_of_small_order_are_judged_as_by_openssl(in_key: int) -> None:
    """RFC 8032 section 5.1.7: "it's sufficient, but not required, to instead check [S]B = R +
    [k]A'"."""
    verdicts = []
    for in_point in range(8):
        for number in range(4):
            text = b"%d" % number
            key, signature = sign_dishonestly(text, in_key, in_point)
            expected = is_right(key, signature, text)
            assert is_accepted(key, signature, text) == expected
            assert expected or not sodium.is_signed(key, signature, text)
            verdicts.append(expected)
    assert len(set(verdicts)) == 2


@given(place=st.integers(0, 511), text=st.binary(max_size=40))
def test_a_changed_bit_is_refused(place: int, text: bytes) -> None:
    """RFC 8032 section 5.1.7: "If any of the decodings fail (including S being out of range), the
    signature is invalid.\""""
    signature = PRIVATE.sign(text)
    changed = (int.from_bytes(signature, "big") ^ 1 << place).to_bytes(64, "big")
    assert is_accepted(RAW, signature, text)
    assert not is_accepted(RAW, changed, text)
    again = int.from_bytes(signature[32:], "little") + ORDER
    assert not is_accepted(RAW, signature[:32] + again.to_bytes(32, "little"), text)
    assert not is_accepted(RAW, signature + text[:1], text[1:]) or not text
    assert not is_accepted(RAW, signature[:-1], text)


@pytest.mark.usefixtures("fresh")
def test_a_libsodium_that_accepts_more_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signature that it is asked about is right with the cofactor only."""
    tried = sign_dishonestly(sodium._TEXT, 0, 1)
    assert tried == (sodium._KEY, sodium._WITH_COFACTOR)
    assert not is_right(*tried, sodium._TEXT)
    names = ("nacl", "nacl.bindings", "nacl.exceptions")
    found = {name: ModuleType(name) for name in names}
    monkeypatch.setattr(found[names[1]], "crypto_sign_BYTES", 64, raising=False)
    monkeypatch.setattr(found[names[1]], "crypto_sign_open", lambda *_: b"", raising=False)
    monkeypatch.setattr(found[names[2]], "CryptoError", ValueError, raising=False)
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert not is_accepted(RAW, bytes(64), b"text")
    assert is_accepted(RAW, PRIVATE.sign(b"text"), b"text")


@pytest.mark.usefixtures("fresh")
def test_openssl_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nacl.bindings", None)
    assert not sodium.is_signed(RAW, PRIVATE.sign(b"text"), b"text")
    assert is_accepted(RAW, PRIVATE.sign(b"text"), b"text")
    assert not is_accepted(RAW, PRIVATE.sign(b"text"), b"test")
