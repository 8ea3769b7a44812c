"""The statement that is signed: one text for one value, and no other text."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.errors.signing import StatementMalformed
from perdure.ids import parse
from perdure.signing.statement import Statement, list_members, parse_statement
from perdure.testing.pdi import series_names

SIGNER = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
TEXT = f"""\
perdure-signature-v1
identifier: pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=0,3
sha512: {"0123456789abcdef" * 8}
length: 3
media-type: text/plain
reading: bytes
role: issuer
signer: {SIGNER}
signed: 2026-11-23T22:30:00Z
"""


def test_a_statement_is_read_and_written() -> None:
    statement = parse_statement(TEXT.encode())
    assert str(statement) == TEXT
    assert statement.identifier == parse("pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=0,3")
    assert (statement.length, statement.role, statement.signer) == (3, "issuer", SIGNER)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("signature-v1", "signature-v2", 1),
        ("perdure", "\ufeffperdure", 1),
        ("1994/03/21", "1994/3/21", 2),  # another spelling of the same name
        ("pdi://oma", "PDI://oma", 2),
        ("1.text.1#char=0,3", "1#char=0,3", 2),  # without format and version
        ("1.text.1#char=0,3", "1.text#char=0,3", 2),
        ("pdi://oma.eop.gov.us/", "nothing", 2),
        ("sha512: 0123456789abcdef", "sha512: 0123456789ABCDEF", 3),
        ("sha512: 0", "sha512: ", 3),
        ("length: 3", "length: 03", 4),
        ("length: 3", "length: -3", 4),
        ("length: 3", "length: ٣", 4),
        ("text/plain", "Text/plain", 5),
        ("text/plain", "text/plain; charset=utf-8", 5),
        ("reading: bytes", "reading: list", 6),
        ("reading: bytes\n", "", 6),
        ("role: issuer", "role: judge", 7),
        ("SHA256:", "MD5:", 8),
        ("30:00Z", "30:00+00:00", 9),
        ("11-23", "02-30", 9),
        ("30:00Z\n", "30:00Z", 10),
        ("30:00Z\n", "30:00Z\n\n", 10),
        ("30:00Z\n", "30:00Z\r\n", 9),
        ("role: issuer\n", "role: issuer\nrole: issuer\n", 8),
        ("length: 3\n", "length: 3 \n", 4),
    ],
)
def test_every_other_spelling_is_refused(old: str, new: str, line: int) -> None:
    """What is signed is one text: "fixed order, nothing optional"."""
    changed = TEXT.replace(old, new, 1)
    assert changed != TEXT
    with pytest.raises(StatementMalformed) as refused:
        parse_statement(changed.encode())
    assert refused.value.line == line


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(StatementMalformed) as refused:
        parse_statement(TEXT.replace("issuer", "iss\xfcer").encode("latin-1"))
    assert (refused.value.line, refused.value.expected) == (7, "UTF-8")
    with pytest.raises(StatementMalformed):
        parse_statement(TEXT.encode() * 100)


@pytest.mark.parametrize("name", ["pdi://a.us/2026/", "pdi://a.us/2026/01/01/*.text.1"])
def test_a_set_of_names_is_signed_as_a_list(name: str) -> None:
    made = Statement(
        identifier=parse(name),
        sha512="0" * 128,
        length=0,
        media_type="text/plain",
        reading="list",
        signer=SIGNER,
        signed="2026-11-23T22:30:00Z",
    )
    assert parse_statement(made.text) == made
    with pytest.raises(StatementMalformed):
        msgspec.structs.replace(made, reading="bytes").__post_init__()


def test_a_list_has_one_order() -> None:
    names = [parse(f"pdi://a.us/2026/01/01/{serial}.text.1") for serial in (2, 10, 1)]
    lines = list_members((name, "0" * 128) for name in names).decode().splitlines()
    assert lines == sorted(lines)
    assert lines == list_members((name, "0" * 128) for name in names[::-1]).decode().splitlines()
    assert list_members([]) == b""


STATEMENTS = st.builds(
    Statement,
    identifier=st.builds(
        "pdi://{}/2026/01/01/{}.{}.{}{}".format,
        series_names().map(str.lower),
        st.integers(1, 10**12),
        st.sampled_from(["text", "html", "pdf"]),
        st.integers(1, 10**6),
        st.sampled_from(["", "#char=0,10", "#elt=1,2"]),
    ).map(parse),
    sha512=st.binary(min_size=64, max_size=64).map(bytes.hex),
    length=st.integers(0, 10**15),
    media_type=st.from_regex("[a-z]{1,9}/[a-z][a-z0-9.+-]{0,20}", fullmatch=True),
    reading=st.sampled_from(["bytes", "rgb8 20x15", "s16le 8000 Hz 1 ch"]),
    role=st.sampled_from(["author", "issuer", "witness"]),
    signer=st.from_regex("SHA256:[A-Za-z0-9+/]{43}", fullmatch=True),
    signed=st.datetimes().map(lambda one: f"{one.isoformat(timespec='seconds')}Z"),
)


@given(STATEMENTS)
def test_a_value_has_one_text(statement: Statement) -> None:
    """ "A text has at most one value and a value exactly one text." """
    assert parse_statement(statement.text) == statement
    assert str(parse_statement(statement.text)) == str(statement)


@given(STATEMENTS, st.data())
def test_a_changed_text_is_another_value(statement: Statement, data: st.DataObject) -> None:
    """ "A text has at most one value": a changed text is refused, or means something else."""
    text = statement.text
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.binary(max_size=2)) + text[at + 1 :]
    assume(changed != text)
    with contextlib.suppress(StatementMalformed):
        assert parse_statement(changed) != statement
