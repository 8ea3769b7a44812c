"""The statement that is signed: one UTF-8 text that says what a signature is about.

    perdure-signature-v1
    identifier: pdi://oma.eop.gov.us/1994/03/21/1.text.1
    sha512: ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a…
    length: 3
    media-type: text/plain
    reading: bytes
    role: author
    signer: SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU
    signed: 2026-11-23T22:30:00Z

How it works: the lines have this order, and none may be missing, repeated or spelled in another
way. `identifier` is canonical and names a format and a version, if its scheme can; it may name a
part. `sha512` and `length` are those of the text or bytes that `reading` says: `bytes` are those of
the representation or of the part; `list` is, for an interval or a pattern, the list that
`list_members` makes; any other reading is the decoded form of a part, such as `rgb8 20x15`, and has
the length 0 (ruling part-digest). `signer` is the fingerprint of the key (RFC 4253, as `ssh-keygen
-l` prints it), and `signed` the time according to the signer.

What must stay true: a text has at most one value and a value exactly one text, so a signature of
the text is one of the value. The first line is also the domain of each form of signature. A new
form of the statement has another first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, get_args

import msgspec

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.errors.signing import StatementMalformed
from perdure.ids import Identifier, parse

DOMAIN = "perdure-signature-v1"
"""The first line of a statement, and the use for which keys sign it."""
Role = Literal["author", "issuer", "witness"]
"""The signer's part: wrote the content, published it under this name, or saw it."""
BYTES = "bytes"
LIST = "list"
LIST_TYPE = "text/plain"
"""The media type of a statement about a list."""
LONGEST = 16_384
"""Bytes of a statement. The identifier has at most 8,192 characters."""

_SHA512 = re.compile("[0-9a-f]{128}")
_LENGTH = re.compile("0|[1-9][0-9]{0,17}")
_NAME = "[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"
_MEDIA_TYPE = re.compile(f"{_NAME}/{_NAME}")
_READING = re.compile("[A-Za-z0-9.,-]{1,32}(?: [A-Za-z0-9.,-]{1,32}){0,7}")
_SIGNER = re.compile("SHA256:[A-Za-z0-9+/]{43}")
_SIGNED = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_ROLES: tuple[str, ...] = get_args(Role)
_FIELDS = (
    "identifier",
    "sha512",
    "length",
    "media-type",
    "reading",
    "role",
    "signer",
    "signed",
)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that a signer states about one identifier. `str()` is the text that is signed.

    Raises StatementMalformed if a field has no place in a statement.
    """

    identifier: Identifier
    sha512: str
    length: int
    """Bytes."""
    media_type: str
    """In lower case, without parameters."""
    reading: str = BYTES
    role: str = "author"
    signer: str
    """The fingerprint of the key that signs."""
    signed: str
    """The time according to the signer, in UTC, such as `2026-11-23T22:30:00Z`."""

    def __post_init__(self) -> None:
        _check_identifier(self.identifier, self.reading)
        _check_line(3, _SHA512, self.sha512, "a SHA-512 of 128 lower-case digits")
        _check_line(4, _LENGTH, str(self.length), "a length in bytes")
        _check_line(5, _MEDIA_TYPE, self.media_type, "a media type in lower case")
        _check_line(6, _READING, self.reading, "the name of a reading")
        if self.role not in _ROLES:
            raise StatementMalformed(line=7, expected=f"one of the roles {', '.join(_ROLES)}")
        _check_line(8, _SIGNER, self.signer, "the SHA-256 fingerprint of a key")
        _check_line(9, _SIGNED, self.signed, "a time in UTC")
        try:
            datetime.fromisoformat(self.signed)
        except ValueError:
            raise StatementMalformed(line=9, expected="a time that exists") from None

    def __str__(self) -> str:
        return (
            f"{DOMAIN}\n"
            f"identifier: {self.identifier}\n"
            f"sha512: {self.sha512}\n"
            f"length: {self.length}\n"
            f"media-type: {self.media_type}\n"
            f"reading: {self.reading}\n"
            f"role: {self.role}\n"
            f"signer: {self.signer}\n"
            f"signed: {self.signed}\n"
        )

    @property
    def text(self) -> bytes:
        """The bytes that are signed."""
        return str(self).encode()

    @property
    def identifier_line(self) -> str:
        """The second line, without its end."""
        return f"identifier: {self.identifier}"


def parse_statement(text: bytes) -> Statement:
    """Read a statement. Raises StatementMalformed if it is not in its one exact form."""
    if len(text) > LONGEST:
        raise StatementMalformed(line=1, expected=f"of a text of at most {LONGEST} bytes")
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise StatementMalformed(line=line, expected="UTF-8") from None
    if lines[0] != DOMAIN:
        raise StatementMalformed(line=1, expected=DOMAIN)
    values: list[str] = []
    for at, name in enumerate(_FIELDS, 1):
        written = lines[at] if at < len(lines) else ""
        if not written.startswith(f"{name}: "):
            raise StatementMalformed(line=at + 1, expected=f"that of the field {name}")
        values.append(written[len(name) + 2 :])
    if lines[len(_FIELDS) + 1 :] != [""]:
        raise StatementMalformed(line=len(_FIELDS) + 2, expected="the end after one line feed")
    identifier, sha512, length, media_type, reading, role, signer, signed = values
    _check_line(4, _LENGTH, length, "a length in bytes")
    return Statement(
        identifier=_read_identifier(identifier),
        sha512=sha512,
        length=int(length),
        media_type=media_type,
        reading=reading,
        role=role,
        signer=signer,
        signed=signed,
    )


def list_members(members: Iterable[tuple[Identifier, str]]) -> bytes:
    """Return the list that a statement about an interval or a pattern is about.

    Each line has an identifier with its version and format, a space, and the SHA-512 of its bytes.
    The lines are in the order of their bytes. An empty list is an empty text.
    """
    lines = sorted(f"{identifier} {sha512}\n".encode() for identifier, sha512 in members)
    return b"".join(lines)


def _check_identifier(identifier: Identifier, reading: str) -> None:
    is_list = identifier.is_interval or identifier.is_pattern
    if is_list != (reading == LIST):
        expected = "list for an interval or a pattern, and another one for other names"
        raise StatementMalformed(line=6, expected=expected)
    if is_list or (identifier.version is not None and identifier.format is not None):
        return
    can_name_version = identifier.whole.at(format="text", version=1).version is not None
    if can_name_version:
        raise StatementMalformed(line=2, expected="an identifier with its format and version")


def _read_identifier(text: str) -> Identifier:
    try:
        identifier = parse(text)
    except (MalformedIdentifier, UnknownScheme):
        raise StatementMalformed(line=2, expected="an identifier") from None
    if str(identifier) != text:
        raise StatementMalformed(line=2, expected="an identifier in its canonical form")
    return identifier


def _check_line(line: int, pattern: re.Pattern[str], text: str, expected: str) -> None:
    if not pattern.fullmatch(text):
        raise StatementMalformed(line=line, expected=expected)
