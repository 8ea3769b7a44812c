"""What a deposited file is: its media type, and the charset where it is text.

How it works: pure-magic-rs (libmagic's rules, in memory-safe code) reads the content, and
charset-normalizer the coding of what is neither ASCII nor UTF-8. A `Sampler` keeps of a stream that
passes by what they need, in bounded memory. In this order:

1. Charset: byte-order mark, else pure ASCII, else strict UTF-8, else what HTML or XML declares if
   the content can be in that, else charset-normalizer. Without evidence for another, a text has
   the default of ruling pdi-charset. Content in no charset at all is binary.
2. Type by content. Text is shown to the library as UTF-8, whatever its own coding.
3. The file name then decides between what the content leaves open, and never against it: a binary
   is not text because its name ends in `.html`, what lacks the signature of PNG is no PNG.

What must stay true: nothing is raised for any bytes; no more than `LOOK` bytes are analysed,
however long the content. The depositor has the last word (`resolve_type`). Measurements, and the
libraries that were compared: docs/decisions/type-detection.md.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from pure_magic_rs import MagicDb

from perdure import formats
from perdure.formats import OCTETS, PLAIN_TEXT, MediaType

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

LOOK = 64 * 1024  # bytes
_LOOK_AT_TEXT = 8 * 1024  # bytes: reaches every rule that the library has for text
_PIECE = 1024 * 1024  # bytes decoded at once

Source = Literal["content", "name", "both", "nothing"]


class Detected(msgspec.Struct, frozen=True):
    """What a file was found to be.

    `charset` is None for what is not text, and for text in a coding without an IANA name.
    `source` says what the type rests on: "nothing" goes with application/octet-stream.
    """

    media_type: MediaType
    charset: str | None
    source: Source


class Sample(msgspec.Struct, frozen=True):
    """What detection looks at.

    `head` is the first LOOK bytes, `odd` the first LOOK bytes from the first one beyond ASCII, so
    that it is empty for ASCII. `utf_8` is true if all of the content, head or not, is UTF-8.
    """

    head: bytes
    odd: bytes
    utf_8: bool


class Sampler:
    """Watches a stream pass by and keeps a sample of it: 128 KiB at most, whatever the length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._odd = bytearray()
        self._utf_8: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()

    def feed(self, data: bytes) -> None:
        """The next bytes of the content."""
        for at in range(0, len(data), _PIECE):
            self._feed(data[at : at + _PIECE])

    def sample(self, *, cut: bool = False) -> Sample:
        """What was kept. `cut`: more would follow, so the last character may be incomplete."""
        utf_8 = self._utf_8 is not None and (cut or not self._utf_8.getstate()[0])
        return Sample(bytes(self._head), bytes(self._odd), utf_8)

    def _feed(self, piece: bytes) -> None:
        self._head += piece[: LOOK - len(self._head)]
        if not self._odd and piece.isascii():
            return
        if len(self._odd) < LOOK:
            found = None if self._odd else _beyond_ascii(piece)
            start = found.start() if found else 0
            self._odd += piece[start : start + LOOK - len(self._odd)]
        if self._utf_8 is not None:
            try:
                self._utf_8.decode(piece)
            except UnicodeDecodeError:
                self._utf_8 = None


def detect(content: bytes | Sample, *, name: str | None = None) -> Detected:
    """Media type and charset of a file that begins with these bytes and may have this name.

    Give the sample of a `Sampler` for a charset that holds for all of a long text; of bytes, those
    after the first LOOK are not looked at. Raises nothing.
    """
    if isinstance(content, bytes):
        sampler = Sampler()
        sampler.feed(content[:LOOK])
        content = sampler.sample(cut=len(content) >= LOOK)
    claimed = formats.of_file_name(name) if name else None
    if not content.head:  # nothing contradicts no name
        charset = "us-ascii" if claimed and formats.is_text(claimed) else None
        return Detected(claimed or OCTETS, charset, "name" if claimed else "nothing")
    text = _text(content)
    found, source = _weigh(_by_content(content.head, text), claimed, text=text is not None)
    return Detected(found, text.charset if text and formats.is_text(found) else None, source)


def resolve_type(declared: MediaType | None, detected: Detected) -> MediaType:
    """The media type to record: what the depositor declares, else what was found.

    What HTTP clients declare when they were told nothing is no declaration. A text/* type that
    comes without a charset gets the one that was found.
    """
    said = declared is not None and declared.essence not in _UNSAID
    chosen = declared if declared is not None and said else detected.media_type
    if chosen.major == "text" and chosen.charset is None:
        return chosen.with_charset(detected.charset)
    return chosen


# RFC 9110 section 8.3; the second is what curl says of any --data
_UNSAID = frozenset({"application/octet-stream", "application/x-www-form-urlencoded"})


# type
# ----

# What always begins with its signature: a library that does not see it says that it is not this.
_SIGNED = frozenset(
    """
    application/gzip application/pdf application/warc application/zip application/x-bzip2
    application/x-xz application/x-7z-compressed application/vnd.rar audio/basic audio/flac
    audio/wav font/woff font/woff2 image/bmp image/gif image/jpeg image/png image/tiff
    image/webp
    """.split()  # noqa: SIM905  (a table reads better than a list of quotes)
)

# Formats on which others are built, and the major types of those: there the name tells more.
_BUILT_UPON = {
    "application/zip": ("application", "model"),
    "image/tiff": ("image",),
    "video/mp4": ("audio", "video"),
    "video/x-ms-asf": ("audio", "video"),
}


@cache
def _library() -> MagicDb:
    return MagicDb()  # reads its rules, once: 30 ms, 16 MB


def _by_content(head: bytes, text: _Coding | None) -> MediaType:
    """The type that the bytes speak for; text/plain or octet-stream where they leave it open."""
    shown = text.as_utf_8(head[:_LOOK_AT_TEXT]) if text else head
    found = _by_library(shown)
    if text is None:
        return OCTETS if found.major == "text" else found
    # A guess at a language from a few words, or at a table from its commas, needs the name.
    guess = found.minor.startswith("x-") or found.minor in ("csv", "troff")
    return PLAIN_TEXT if found == OCTETS or (found.major == "text" and guess) else found


def _by_library(data: bytes) -> MediaType:
    try:
        best = _library().best_magic_buffer(data)
        named = best.mime_type
        if named == OCTETS.essence and best.strength > 0:  # it knows what it is, but no type for it
            weaker = (rule.mime_type for rule in _library().all_magics_buffer(data))
            named = next((other for other in weaker if other != named), named)
        return formats.preferred(MediaType.parse(named).with_charset(None))
    except ValueError:  # "magic identification failed", or a name that is no media type
        return OCTETS


def _weigh(
    content: MediaType, claimed: MediaType | None, *, text: bool
) -> tuple[MediaType, Source]:
    """Whether content or name decides."""
    if claimed == content:
        return content, "nothing" if content == OCTETS else "both"
    if claimed is not None and _allows(content, claimed, text=text):
        return claimed, "name"
    return content, "nothing" if content == OCTETS else "content"


def _allows(content: MediaType, claimed: MediaType, *, text: bool) -> bool:
    """Whether what the content was found to be leaves it open to be what the name says."""
    if formats.is_text(claimed):
        structured = claimed.minor.endswith(("xml", "json"))
        same_kind = content.minor.endswith("xml") and claimed.minor.endswith("xml")
        return text and (
            content == PLAIN_TEXT or (formats.is_text(content) and (same_kind or not structured))
        )
    if text or claimed.essence in _SIGNED:
        return False
    return content == OCTETS or claimed.major in _BUILT_UPON.get(content.essence, ())


# charset
# -------

_MARKS = (  # in this order: the mark of UTF-32LE begins with that of UTF-16LE
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16"),
)

# What stands in no text: control characters, but for bell to return, Ctrl-Z (the end of a DOS
# text), and shift out, shift in and escape (ISO 2022).
_CONTROL = re.compile(r"[\0-\x06\x10-\x19\x1c-\x1f\x7f]")
_CONTROL_BYTES = bytes(point for point in range(256) if _CONTROL.match(chr(point)))
_STRAY = 1024  # ASCII and UTF-8 stay text with one of them, but for NUL, in so many bytes

# What is told by its NULs, where there is no mark
_WIDE = ["utf_16_be", "utf_16_le", "utf_32_be", "utf_32_le"]

# IANA's preferred MIME names: where several codings give the same text, one of these is meant.
_USUAL = (
    *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10)),
    *("iso2022_jp", "iso2022_kr", "shift_jis", "euc_jp", "euc_kr", "gb2312", "big5", "koi8_r"),
)

_DECLARING = 1024  # bytes in which HTML looks for a charset; XML has it in the first line
_DEFAULT = frozenset({"iso8859-1", "latin_1"})
_BROADER = {"gb2312": "gbk", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}
"""What is written under the names of smaller sets (Encoding Standard section 4.2)."""

# Single-byte codings of Latin letters differ in a few of them. So the default stands against near
# guesses where there are too few letters beyond ASCII to tell the language, and where this is one
# that ISO 8859-1 was made for (names of charset-normalizer), unless another is told better. Where
# the guess is the same such language, told well and written with characters that ISO 8859-1 has,
# the default stands against any: nobody writes French in windows-1257.
_WESTERN = frozenset(
    {"Dutch", "English", "Finnish", "French", "German", "Indonesian", "Italian", "Norwegian"}
    | {"Portuguese", "Spanish", "Swedish"}
)
_NEAR = 0.02  # of charset-normalizer's measure of disorder, 0 to 1
_TOO_FEW = 32  # letters beyond ASCII
_TOLD = 0.6  # of charset-normalizer's measure of coherence with a language, 0 to 1
_CHANCE = 4  # characters that a multi-byte coding may find in anything
_TELLING = 256  # bytes: so many without a control character are some text, whatever its coding


class _Coding(NamedTuple):
    """The coding of a text: Python's name of it, and IANA's if there is one."""

    codec: str
    charset: str | None

    def as_utf_8(self, data: bytes) -> bytes:
        """The same text in UTF-8, without a character that is cut off at the end."""
        return data.decode(self.codec, "ignore").encode()


_ASCII = _Coding("ascii", "us-ascii")


def _text(sample: Sample) -> _Coding | None:
    """The coding of the content; None where it is not text."""
    head = sample.head
    for mark, codec, charset in _MARKS:
        possible = head.startswith(mark) and (sample.utf_8 or charset != "utf-8")
        if possible and _reads_as_text(head, codec):
            return _Coding(codec, charset)
    if b"\0" in head:
        return _guess(head)  # UTF-16 or UTF-32 without a mark, or binary
    strays = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if strays and (strays * _STRAY > len(head) or not sample.utf_8):
        return None
    if not sample.odd:
        escaped = _guess(head) if b"\x1b" in head else None
        return escaped or _ASCII
    if sample.utf_8:
        return _Coding("utf-8", "utf-8")
    data = head if _beyond_ascii(head) else head[:_DECLARING] + b"\n" + sample.odd
    return _declared(data) or _guess(data)


def _declared(data: bytes) -> _Coding | None:
    """The coding that HTML or XML declares; None where it does not, or the data is in another."""
    said = formats.declared_charset(data[:_DECLARING])
    codec = said and formats.python_codec(said)
    if not said or not codec or said.encode().decode(codec, "replace") != said:
        return None  # what could be read in ASCII is not in UTF-16, say
    if codec in _DEFAULT:
        return _default(data)
    for one in (codec, _BROADER.get(codec)):
        if one and _reads_as_text(data, one):
            return _named(one)
    return None


def _guess(data: bytes) -> _Coding | None:
    """The coding that explains the data best, by charset-normalizer."""
    import charset_normalizer  # takes a tenth of all our imports, for texts that are rare today

    if len(data) >= LOOK:  # between words, so that no character is cut in two
        data = data[: max(data.rfind(b" "), data.rfind(b"\n")) + 1] or data
    nulls = data.count(0)
    matches = charset_normalizer.from_bytes(
        data, cp_isolation=_WIDE if nulls else None, cp_exclusion=None if nulls else _WIDE
    )
    best = matches.best()
    if best is None:
        return None if nulls or len(data) < _TELLING else _Coding("latin_1", None)
    decoded = str(best)
    if _CONTROL.search(decoded):
        return None
    if nulls:
        return _named(best.encoding) if best.languages or nulls * 4 > len(data) else None
    if best.encoding == "utf_8":  # which it is only here: the rest of the content is not
        return _default(data)
    letters = sum(not character.isascii() for character in decoded)
    if best.multi_byte_usage > 0:
        return _default(data) if letters < _CHANCE else _named(_usual(best))
    basic = not re.search(rb"[\x80-\x9f]", data)
    if not best.languages or any(_stands(match, best, letters, basic=basic) for match in matches):
        return _default(data)
    return _named(_usual(best))


def _stands(
    match: CharsetMatch,
    best: CharsetMatch,
    letters: int,
    *,
    basic: bool,
) -> bool:
    """Whether this match is the default, and explains the data about as well as the best.

    `basic`: the data has none of the bytes that are no characters in ISO 8859-1.
    """
    default = not {"latin_1", "cp1252"}.isdisjoint({match.encoding, *match.could_be_from_charset})
    western = not _WESTERN.isdisjoint(match.languages[:1])
    better = match.coherence >= best.coherence or not _WESTERN.isdisjoint(best.languages[:1])
    near = (letters < _TOO_FEW or (western and better)) and match.chaos <= best.chaos + _NEAR
    same = western and match.languages[0] == best.languages[0]
    return default and (near or (basic and same and match.coherence >= _TOLD))


def _usual(match: CharsetMatch) -> str:
    """The codec to name where several give the same text: a usual one, or one that has a name."""
    same = [match.encoding, *match.could_be_from_charset]
    usual = [codec for codec in _USUAL if codec in same]
    return next((codec for codec in (*usual, *same) if formats.charset(codec)), match.encoding)


def _named(codec: str) -> _Coding:
    known = formats.charset(codec)
    return _Coding(codec, known.name if known else None)


def _default(data: bytes) -> _Coding:
    """ISO 8859-1, or with characters where that has none, its extension.  # ruling: pdi-charset"""
    extended = re.search(rb"[\x80-\x9f]", data) and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)
    return _named("cp1252" if extended else "latin_1")


def _reads_as_text(head: bytes, codec: str) -> bool:
    try:
        decoded = codecs.getincrementaldecoder(codec)().decode(head, len(head) < LOOK)
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(decoded) is None


def _beyond_ascii(data: bytes) -> re.Match[bytes] | None:
    return re.search(rb"[\x80-\xff]", data)
