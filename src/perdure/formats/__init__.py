"""Media types, charsets, and the tokens that represent them in the format field of a PDI.

How it works: five tables in perdure/formats/data are read on first use and never change after that.
tools/snapshot_iana.py makes the first two from IANA's registries; the others are kept by hand:

1. `media-types.txt`: each registered type with its token and its file name extensions;
2. `charsets.txt`: each registered charset, whether its characters may take several bytes, Python's
   codec for it, and its other names;
3. `synonyms.txt`: types that are different names of one format;
4. `textual.txt`: text types other than `text/*`;
5. `files.txt`: extensions that mean another type in a file name than as a token.

`make_token` converts a media type to its only canonical token. `find_media_type` reads any token:
canonical ones, charsets, the long form `major+minor` of every type, and file name extensions.

What must stay true: `find_media_type(make_token(m))` returns m for every type; different types have
different tokens; a token never changes its meaning, because published identifiers contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple, Self

import msgspec

from perdure.errors.contents import MalformedMediaType

# RFC 9110 section 5.6: token, OWS, quoted-string (without obs-text, since values go into headers)
_TCHARS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_OWS = r"[ \t]*"
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*"'
# RFC 6838 section 4.2: names of types and subtypes; narrower than RFC 9110's token, so that the
# range "text/*" is not a type
_NAME = r"[0-9A-Za-z][0-9A-Za-z!#$&^_.+-]{0,126}"
_LONGEST_TOKEN = 3 * (127 + 1 + 127)  # characters: two names and the mark between them, all escaped

_ESSENCE = re.compile(rf"{_OWS}({_NAME})/({_NAME})")
_PARAMETER = re.compile(rf"{_OWS};{_OWS}(?:({_TCHARS})=(?:({_TCHARS})|({_QUOTED})))?")
_END = re.compile(rf"{_OWS}\Z")

# ruling: pdi-format
_WORD = r"(?:[a-z0-9_-]|%[0-9a-f]{2})+"
_FORMAT = re.compile(rf"({_WORD})(?:\+({_WORD}))?")


class MediaType(msgspec.Struct, frozen=True):
    """A media type (RFC 9110 section 8.3.1) in lower case, with its parameters in order.

    >>> str(MediaType.parse('Text/HTML ;Charset="UTF-8"'))
    'text/html; charset=utf-8'
    """

    major: str
    minor: str
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the value of a Content-Type header. Raises InvalidRequest.

        Names and the charset are lower-cased. If a parameter is given twice, the first counts.
        """
        essence = _ESSENCE.match(text)
        if essence is None:
            raise MalformedMediaType(text=text)
        at = essence.end()
        parameters: dict[str, str] = {}
        while not _END.match(text, at):
            found = _PARAMETER.match(text, at)
            if found is None:
                raise MalformedMediaType(text=text, at=at)
            at = found.end()
            if found[1]:
                name = found[1].lower()
                value = found[2] or re.sub(r"\\(.)", r"\1", found[3][1:-1])
                parameters.setdefault(name, value.lower() if name == "charset" else value)
        return cls(essence[1].lower(), essence[2].lower(), tuple(parameters.items()))

    @property
    def essence(self) -> str:
        """`major/minor`, without parameters."""
        return f"{self.major}/{self.minor}"

    @property
    def charset(self) -> str | None:
        """The parameter `charset`, or None."""
        return dict(self.parameters).get("charset")

    def with_charset(self, charset: str | None) -> MediaType:
        """Return the same type with this charset, or without a charset for None."""
        kept = tuple(pair for pair in self.parameters if pair[0] != "charset")
        added = () if charset is None else (("charset", charset.lower()),)
        return MediaType(self.major, self.minor, added + kept)

    def __str__(self) -> str:
        return "; ".join(
            [self.essence, *(f"{name}={_write_value(v)}" for name, v in self.parameters)]
        )


OCTETS = MediaType("application", "octet-stream")
PLAIN_TEXT = MediaType("text", "plain")


def _write_value(text: str) -> str:
    if re.fullmatch(_TCHARS, text):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


# the tables
# ----------


class Charset(msgspec.Struct, frozen=True):
    """A charset of IANA's registry. Its name is the preferred one, in lower case."""

    name: str
    multi_byte: bool
    codec: str | None


class _Types(NamedTuple):
    token: dict[str, str]  # of a listed type
    listed: dict[str, str]  # the type of a canonical token
    of_extension: dict[str, str]
    extensions: dict[str, tuple[str, ...]]


def _read_rows(name: str) -> Iterator[list[str]]:
    from importlib.resources import files  # its import takes long, and most commands need no table

    text = files("perdure.formats.data").joinpath(name).read_text("utf-8")
    for line in text.splitlines():
        if words := line.partition("#")[0].split():
            yield words


@cache
def _load_types() -> _Types:
    rows = [(name, token, tuple(found)) for name, token, *found in _read_rows("media-types.txt")]
    return _Types(
        {name: token for name, token, _ in rows},
        {token: name for name, token, _ in rows},
        {extension: name for name, _, found in rows for extension in found},
        {name: found for name, _, found in rows},
    )


@cache
def _load_charsets() -> dict[str, Charset]:
    table: dict[str, Charset] = {}
    for name, kind, codec, *others in _read_rows("charsets.txt"):
        one = Charset(name.lower(), kind == "multi", None if codec == "-" else codec)
        table |= {_normalise_charset(spelling): one for spelling in (name, *others)}
    return table


@cache
def _load_synonyms() -> dict[str, str]:
    return {name: first for first, *others in _read_rows("synonyms.txt") for name in others}


@cache
def _load_textual_types() -> frozenset[str]:
    return frozenset(word for words in _read_rows("textual.txt") for word in words)


@cache
def _load_file_types() -> _Types:
    rows = [(name, tuple(found)) for name, *found in _read_rows("files.txt")]
    of_extension = {extension: name for name, found in rows for extension in found}
    return _Types({}, {}, of_extension, dict(rows))


def _normalise_charset(charset: str) -> str:
    return charset.lower().replace("_", "-")


# charsets
# --------


def find_charset(name: str) -> Charset | None:
    """Return the charset that IANA or Python knows by this name, in any case, or None.

    >>> find_charset("latin1").name
    'iso-8859-1'
    """
    return _load_charsets().get(_normalise_charset(name.strip()))


def find_python_codec(name: str) -> str | None:
    """Return Python's codec for a charset; None if Python has none, or the charset is unknown.

    >>> find_python_codec("Windows-31J")
    'cp932'
    """
    found = find_charset(name)
    return found.codec if found else None


def decode_unlabelled(text: bytes) -> str:
    """Decode a text without a charset: UTF-8 or, if it is not, ISO 8859-1, which older programs
    wrote.

    >>> decode_unlabelled("Åse".encode()), decode_unlabelled("Åse".encode("latin-1"))
    ('Åse', 'Åse')
    """
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


_DECLARED = re.compile(
    rb"""<\?xml\s[^>]*?\bencoding\s*+=\s*+["']([\w.:-]++)|<meta\s[^>]*?\bcharset\s*+=\s*+["']?+([\w.:-]++)""",
    re.IGNORECASE,
)


def find_declared_charset(head: bytes) -> str | None:
    """Return the charset declared at the beginning of an HTML or XML document, or None.

    >>> find_declared_charset(b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>")
    'koi8-r'
    """
    found = _DECLARED.search(head)
    return (found[1] or found[2]).decode("ascii") if found else None


# tokens
# ------


def make_token(media_type: MediaType | str, charset: str | None = None) -> str:
    """Return the canonical PDI format of a media type. Raises InvalidRequest if it is invalid.

    `charset` overrides the type's own parameter. PDI draft sections 2.5 and 3.4.1.

    >>> make_token("text/plain"), make_token("image/svg+xml"), make_token("audio/mpeg")
    ('text', 'svg%2bxml', 'audio+mpeg')
    >>> make_token("text/plain", "Shift_JIS"), make_token("text/html", "Shift_JIS")
    ('shift_jis', 'html')
    """
    parsed = MediaType.parse(media_type) if isinstance(media_type, str) else media_type
    if parsed.essence == PLAIN_TEXT.essence:
        known = _load_charsets().get(_normalise_charset(charset or parsed.charset or ""))
        if known is not None and known.multi_byte:  # ruling: pdi-charset
            return _escape_name(known.name)
    listed = _load_types().token.get(parsed.essence)  # ruling: pdi-token
    return listed or f"{_escape_name(parsed.major)}+{_escape_name(parsed.minor)}"


def find_media_type(token: str) -> MediaType | None:
    """Return the media type that a PDI format represents, or None if it is unknown.

    A charset represents text/plain in that charset. Case and unnecessary escapes are ignored.

    >>> str(find_media_type("AU")), str(find_media_type("utf-8"))
    ('audio/basic', 'text/plain; charset=utf-8')
    """
    return _read_token(token) if len(token) <= _LONGEST_TOKEN else None


@lru_cache(maxsize=4096)
def _read_token(token: str) -> MediaType | None:
    canonical = _canonicalise_token(token)
    if canonical is None:
        return None
    types = _load_types()
    if canonical in types.listed:
        return _split_essence(types.listed[canonical])
    major, plus, minor = map(_unescape_word, canonical.partition("+"))
    if plus:
        legal = re.fullmatch(_NAME, major) and re.fullmatch(_NAME, minor)
        return MediaType(major, minor) if legal else None
    known = _load_charsets().get(_normalise_charset(major))
    if known is not None and known.multi_byte:
        return PLAIN_TEXT.with_charset(known.name)
    extension = types.of_extension.get(major)
    return _split_essence(extension) if extension else None


def is_same_format(a: str, b: str) -> bool:
    """Return True if two PDI formats name the same representation, even if their texts differ.

    >>> (is_same_format("au", "BASIC"), is_same_format("jpg", "image+jpeg"),
    ...  is_same_format("text", "html"))
    (True, True, False)
    """
    return _find_identity(a) == _find_identity(b)


def list_aliases(token: str) -> tuple[str, ...]:
    """Return all other formats that name the same representation, the canonical one first.

    >>> list_aliases("au")
    ('basic', 'audio+au', 'audio+basic', 'audio+ulaw', 'audio+x-au', 'audio+x-basic', ...
    """
    canonical = _canonicalise_token(token) or token
    return tuple(
        one for one in _list_spellings().get(_find_identity(token), ()) if one != canonical
    )


def list_tokens(name: str) -> tuple[str, ...]:
    """Return all tokens of a media type or a format; for plain text, also those of its charsets.

    >>> list_tokens("text/html")
    ('html', 'htm', 'shtml', 'text+html')
    >>> "utf-8" in list_tokens("text")
    True
    """
    token = (make_token(name) if "/" in name else name).lower()
    found = [_canonicalise_token(token) or token, token, *list_aliases(token)]
    if is_same_format(token, "text"):
        charsets = (one for one in _load_charsets().values() if one.multi_byte)
        found += sorted({_escape_name(one.name) for one in charsets})
    return tuple(dict.fromkeys(found))


def find_extension(token: str) -> str:
    """Return the file name extension for a representation in this format, without the dot.

    >>> (find_extension("svg%2bxml"), find_extension("utf-8"),
    ...  find_extension("application+x-unheard-of"))
    ('svg', 'txt', 'bin')
    """
    found = find_media_type(token)
    if found is None:
        return "bin"
    for name in (find_preferred_type(found).essence, found.essence):
        for table in (_load_types(), _load_file_types()):
            if listed := table.extensions.get(name):
                return listed[0]
    suffix = found.minor.rpartition("+")[2]  # RFC 6839
    if suffix in ("json", "xml", "yaml", "zip") and suffix != found.minor:
        return suffix
    return "txt" if is_text(found) else "bin"


# media types
# -----------


def find_preferred_type(media_type: MediaType) -> MediaType:
    """Return a type under its preferred name: audio/x-wav becomes audio/wav."""
    name = _load_synonyms().get(media_type.essence)
    if name is None:
        return media_type
    major, _, minor = name.partition("/")
    return MediaType(major, minor, media_type.parameters)


def find_type_by_name(name: str) -> MediaType | None:
    """Return the media type that the extension of a file name indicates, or None.

    >>> str(find_type_by_name("us-vp2.AU")), str(find_type_by_name("film.srt"))
    ('audio/basic', 'application/x-subrip')
    """
    if "." not in name:
        return None
    extension = name.rpartition(".")[2].lower()
    tables = (_load_file_types(), _load_types())
    found = next((one for table in tables if (one := table.of_extension.get(extension))), None)
    return find_preferred_type(_split_essence(found)) if found else None


def is_text(media_type: MediaType | str) -> bool:
    """Return True if a representation of the type is a sequence of characters in a charset."""
    parsed = MediaType.parse(media_type) if isinstance(media_type, str) else media_type
    suffix = parsed.minor[parsed.minor.rfind("+") :]
    return parsed.major == "text" or not _load_textual_types().isdisjoint({parsed.essence, suffix})


def _split_essence(text: str) -> MediaType:
    major, _, minor = text.partition("/")
    return MediaType(major, minor)


def _find_identity(token: str) -> str:
    """Return a text that equal formats share; the token itself if it is unknown."""
    found = find_media_type(token)
    return (
        str(find_preferred_type(found)) if found else (_canonicalise_token(token) or token.lower())
    )


@cache
def _list_spellings() -> dict[str, tuple[str, ...]]:
    """Return all tokens for each representation, canonical ones first."""
    types = _load_types()
    long = [
        _spell_long_form(name)
        for name in (*types.token, *_load_synonyms(), *_load_synonyms().values())
    ]
    charsets = [_escape_name(name) for name, one in _load_charsets().items() if one.multi_byte]
    canonical = [*types.listed, *(_escape_name(one.name) for one in _load_charsets().values())]
    table: dict[str, dict[str, None]] = {}
    for token in (*canonical, *sorted({*long, *types.of_extension, *charsets})):
        if find_media_type(token) is not None:
            table.setdefault(_find_identity(token), {})[token] = None
    return {identity: tuple(tokens) for identity, tokens in table.items()}


def _spell_long_form(essence: str) -> str:
    return "+".join(map(_escape_name, essence.split("/")))


# writing a name in a PDI  # ruling: pdi-format
# ------------------------------


def _escape_name(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]", lambda found: f"%{ord(found[0]):02x}", name)


def _unescape_word(word: str) -> str:
    return re.sub(r"%([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), word)


def _canonicalise_token(token: str) -> str | None:
    """Return the token in lower case without unnecessary escapes; None if it is illegal."""
    lower = token.lower()
    if not token.isascii() or _FORMAT.fullmatch(lower) is None:
        return None
    return re.sub(r"%[0-9a-f]{2}", _unescape_literal, lower)


def _unescape_literal(escaped: re.Match[str]) -> str:
    character = _unescape_word(escaped[0])
    return character.lower() if re.fullmatch(r"[0-9A-Za-z_-]", character) else escaped[0]
