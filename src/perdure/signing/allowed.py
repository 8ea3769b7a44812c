"""Lists of allowed signers, in the form of OpenSSH: who is trusted, with which key, and when.

    # principals  options  key
    ann@a.example namespaces="perdure-signature-v1",valid-before="20300101Z" ssh-ed25519 AAAA…

How it works: each line names one or more principals and a key. Its options say for which uses the
key counts, and from when until when. `ssh-keygen -Y verify -f` reads the same file.

What must stay true: a list means the same on every machine, so a time without `Z` is read as UTC. A
line for a certificate authority, or with a kind of key that perdure does not verify, trusts no key
here. Every other line that OpenSSH would refuse is an error: a typing mistake must not make a key
count for longer.

Specification: ssh-keygen(1), ALLOWED SIGNERS; ssh_config(5), PATTERNS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from perdure.errors.signing import KeyMalformed, SignersMalformed
from perdure.signing.keys import ALGORITHMS, PublicKey, read_public_line
from perdure.signing.statement import DOMAIN

LONGEST = 1 << 20
"""Bytes of a list."""
_WORD = re.compile(r'(?:[^\s"]++|"[^"]*+")+')
_KEY_WORD = re.compile(r"(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+")
_OPTION = re.compile(r'([A-Za-z-]+)(?:="([^"]*)")?(?:,|\Z)')
_TIME = re.compile("([0-9]{8})(?:([0-9]{4})([0-9]{2})?)?Z?")
_KNOWN = frozenset({"cert-authority", "namespaces", "valid-after", "valid-before"})


class AllowedSigner(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a key, its principals, and the time in which it counts."""

    principals: tuple[str, ...]
    key: PublicKey
    valid_after: str = ""
    """The first second in which it may sign, as `2026-11-23T22:30:00Z`; empty if any may be it."""
    valid_before: str = ""
    """The first second in which it may sign no more."""


class AllowedSigners(msgspec.Struct, frozen=True):
    """A list of allowed signers."""

    signers: tuple[AllowedSigner, ...] = ()
    text: bytes = b""
    """The list as it was read."""

    def find_signers(self, fingerprint: str) -> tuple[AllowedSigner, ...]:
        """Return the lines that have a key."""
        return tuple(one for one in self.signers if one.key.fingerprint == fingerprint)

    def find_key(self, fingerprint: str) -> PublicKey | None:
        """Return the key with this fingerprint, if a line has it."""
        return next((one.key for one in self.find_signers(fingerprint)), None)


def parse_allowed_signers(data: bytes) -> AllowedSigners:
    """Read a list of allowed signers. Raises SignersMalformed."""
    if len(data) > LONGEST:
        raise SignersMalformed(line=1, expected=f"at most {LONGEST} bytes in its list")
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SignersMalformed(line=line, expected="only UTF-8") from None
    found = (
        _parse_line(at, line)
        for at, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )
    return AllowedSigners(tuple(one for one in found if one is not None), data)


def write_allowed_signer(
    principal: str, key: PublicKey, *, valid_after: str = "", valid_before: str = ""
) -> str:
    """Return the line of a key, without its line break. Raises SignersMalformed.

    The times are those of the form: `20261123Z`.
    """
    options = [f'namespaces="{DOMAIN}"']
    for name, time in (("valid-after", valid_after), ("valid-before", valid_before)):
        options += [f'{name}="{time}"'] if time else []
    line = f"{principal} {','.join(options)} {key.line}"
    known = parse_allowed_signers(line.encode()).signers
    if len(known) != 1 or known[0].key != key or known[0].principals != (principal,):
        raise SignersMalformed(line=1, expected="a name of the signer without blanks and commas")
    return line


def _parse_line(at: int, line: str) -> AllowedSigner | None:
    """Read a line; None if it trusts no key for statements."""
    words = [word[0] for word in _WORD.finditer(line)]
    options: Mapping[str, str] = {}
    if len(words) > 1 and not _KEY_WORD.fullmatch(words[1]):
        options = _parse_options(at, words.pop(1))
    if len(words) < 3:
        raise SignersMalformed(line=at, expected="principals, a kind of key and a key")
    principals = tuple(one for one in words[0].replace('"', "").split(",") if one)
    namespaces = options.get("namespaces", "*")
    if "cert-authority" in options or words[1] not in ALGORITHMS:
        return None
    try:
        key = read_public_line(f"{words[1]} {words[2]}")
    except KeyMalformed:
        raise SignersMalformed(line=at, expected=f"a key of the kind {words[1][:40]}") from None
    if not principals or not matches_pattern_list(DOMAIN, namespaces):
        return None
    return AllowedSigner(
        principals=principals,
        key=key,
        valid_after=_read_time(at, options.get("valid-after")),
        valid_before=_read_time(at, options.get("valid-before")),
    )


def _parse_options(at: int, text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        option = _OPTION.match(text, position)
        name = option[1].lower() if option else ""
        if option is None or name not in _KNOWN or name in found:
            raise SignersMalformed(line=at, expected=f"options out of {', '.join(sorted(_KNOWN))}")
        if (name == "cert-authority") != (option[2] is None):
            raise SignersMalformed(line=at, expected=f"a value of {name} in quotation marks")
        found[name] = option[2] or ""
        position = option.end()
    return found


def _read_time(at: int, text: str | None) -> str:
    if text is None:
        return ""
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        day, minute, second = found.groups()
        moment = datetime.strptime(  # noqa: DTZ007  (UTC, as the module says)
            f"{day}{minute or '0000'}{second or '00'}", "%Y%m%d%H%M%S"
        )
    except ValueError:
        raise SignersMalformed(line=at, expected="a time such as 20261123Z") from None
    return f"{moment.isoformat()}Z"


def matches_pattern_list(text: str, patterns: str) -> bool:
    """Return True if a list of patterns matches, and none that begins with `!` does.

    >>> matches_pattern_list("git", "*,!file"), matches_pattern_list("file", "*,!file")
    (True, False)
    """
    is_matched = False
    for pattern in patterns.split(","):
        wanted = pattern.removeprefix("!")
        spelled = "".join(
            _WILDCARDS.get(one, re.escape(one)) for one in re.sub(r"\*+", "*", wanted)
        )
        if re.fullmatch(spelled, text):
            if pattern.startswith("!"):
                return False
            is_matched = True
    return is_matched


_WILDCARDS = {"*": ".*", "?": "."}
