"""Detection of a deposited file's media type and, if it is text, its charset.

How it works: pure-magic-rs (libmagic's rules, in memory-safe code) analyses the content, and
charset-normalizer detects codings other than ASCII and UTF-8. A `Sampler` keeps the bytes that they
need from a stream, in bounded memory. The steps are:

1. Charset: byte-order mark, else pure ASCII, else strict UTF-8, else the charset that HTML or XML
   declares if the content is valid in it, else by the letters of the stated language, or by signs
   inside of words, which are letters in charsets of DOS and old Macintoshes
   (`perdure.formats.alphabets`), else charset-normalizer. Without evidence for another
   charset, a text has the default of ruling pdi-charset. Content that fits no charset is binary.
2. Type by content. The library receives text as UTF-8, whatever its own coding.
3. The file name then decides between the types that the content allows, and never contradicts it:
   the name `x.html` does not make a binary file text, and a file without PNG's signature is not a
   PNG.

What must stay true: no bytes raise an error; at most `LOOK` bytes are analysed, however long the
content. The depositor has the last word (`resolve_type`). Measurements and a comparison of
libraries: docs/decisions/type-detection.md.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from pure_magic_rs import MagicDb

from perdure import formats
from perdure.formats import OCTETS, PLAIN_TEXT, MediaType, alphabets

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

LOOK = 64 * 1024  # bytes
_LOOK_AT_TEXT = 8 * 1024  # bytes: reaches every rule that the library has for text
_PIECE = 1024 * 1024  # bytes decoded at once

Source = Literal["content", "name", "both", "nothing"]


class DetectedType(msgspec.Struct, frozen=True):
    """The detected type of a file.

    `charset` is None if the file is not text, or if its coding has no IANA name. `source` is the
    evidence for the type: "nothing" occurs with application/octet-stream.
    """

    media_type: MediaType
    charset: str | None
    source: Source


class Sample(msgspec.Struct, frozen=True):
    """The bytes that detection analyses.

    `head` is the first LOOK bytes. `odd` is LOOK bytes from the first one beyond ASCII, so it is
    empty for ASCII. `utf_8` is true if the complete content, beyond the head too, is UTF-8.
    """

    head: bytes
    odd: bytes
    utf_8: bool


class Sampler:
    """Keeps a sample of at most 128 KiB from a stream of any length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._odd = bytearray()
        self._utf_8: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the content."""
        for at in range(0, len(data), _PIECE):
            self._feed_piece(data[at : at + _PIECE])

    def take_sample(self, *, cut: bool = False) -> Sample:
        """Return the sample. `cut`: more bytes follow, so the last character may be incomplete."""
        utf_8 = self._utf_8 is not None and (cut or not self._utf_8.getstate()[0])
        return Sample(bytes(self._head), bytes(self._odd), utf_8)

    def _feed_piece(self, piece: bytes) -> None:
        self._head += piece[: LOOK - len(self._head)]
        if not self._odd and piece.isascii():
            return
        if len(self._odd) < LOOK:
            found = None if self._odd else _find_beyond_ascii(piece)
            start = found.start() if found else 0
            self._odd += piece[start : start + LOOK - len(self._odd)]
        if self._utf_8 is not None:
            try:
                self._utf_8.decode(piece)
            except UnicodeDecodeError:
                self._utf_8 = None


def detect_type(
    content: bytes | Sample, *, name: str | None = None, language: str | None = None
) -> DetectedType:
    """Detect media type and charset of a file from its first bytes and, optionally, its name and
    the language of its text.

    Pass the sample of a `Sampler` to get a charset that is valid for a complete long text. If you
    pass bytes, only the first LOOK are analysed. Raises nothing.
    """
    if isinstance(content, bytes):
        sampler = Sampler()
        sampler.feed(content[:LOOK])
        content = sampler.take_sample(cut=len(content) >= LOOK)
    claimed = formats.find_type_by_name(name) if name else None
    if not content.head:  # an empty file cannot contradict its name
        charset = "us-ascii" if claimed and formats.is_text(claimed) else None
        return DetectedType(claimed or OCTETS, charset, "name" if claimed else "nothing")
    text = _detect_coding(content, language)
    found, source = _weigh_evidence(
        _detect_by_content(content.head, text), claimed, text=text is not None
    )
    return DetectedType(found, text.charset if text and formats.is_text(found) else None, source)


def resolve_type(declared: MediaType | None, detected: DetectedType) -> MediaType:
    """Return the media type to record: the declared one, else the detected one.

    The default types of HTTP clients do not count as declared. A text/* type without a charset gets
    the detected charset.
    """
    said = declared is not None and declared.essence not in _UNSAID
    chosen = declared if declared is not None and said else detected.media_type
    if chosen.major == "text" and chosen.charset is None:
        return chosen.with_charset(detected.charset)
    return chosen


# RFC 9110 section 8.3; the second is curl's default for --data
_UNSAID = frozenset({"application/octet-stream", "application/x-www-form-urlencoded"})


# type
# ----

# Types that always begin with their signature: if the library does not find it, the file has
# another type.
_SIGNED = frozenset(
    """
    application/gzip application/pdf application/warc application/zip application/x-bzip2
    application/x-xz application/x-7z-compressed application/vnd.rar audio/basic audio/flac
    audio/wav font/woff font/woff2 image/bmp image/gif image/jpeg image/png image/tiff
    image/webp
    """.split()  # noqa: SIM905  (a table reads better than a list of quotes)
)

# Formats on which others are built, and the major types of those: the name is more specific.
_BUILT_UPON = {
    "application/zip": ("application", "model"),
    "image/tiff": ("image",),
    "video/mp4": ("audio", "video"),
    "video/x-ms-asf": ("audio", "video"),
}


# The library has no rule for it: the number of the first cue, and its times
_SUBRIP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,64}[0-9]{1,9}[ \t]{0,8}\r?\n"
    rb"[0-9]{1,3}:[0-9]{2}:[0-9]{2},[0-9]{3} --> [0-9]{1,3}:[0-9]{2}:[0-9]{2},[0-9]{3}"
)


@cache
def _load_library() -> MagicDb:
    return MagicDb()  # loads its rules once: 30 ms, 16 MB


def _detect_by_content(head: bytes, text: _Coding | None) -> MediaType:
    """Return the type that the bytes indicate; text/plain or octet-stream if they are unclear."""
    shown = text.as_utf_8(head[:_LOOK_AT_TEXT]) if text else head
    found = _ask_library(shown)
    if text is None:
        return OCTETS if found.major == "text" else found
    if found.major == "text" and _SUBRIP.match(shown):
        return MediaType("application", "x-subrip")
    # A language guessed from a few words, or a table guessed from commas, needs the name.
    guess = found.minor.startswith("x-") or found.minor in ("csv", "troff")
    return PLAIN_TEXT if found == OCTETS or (found.major == "text" and guess) else found


def _ask_library(data: bytes) -> MediaType:
    try:
        best = _load_library().best_magic_buffer(data)
        named = best.mime_type
        if named == OCTETS.essence and best.strength > 0:  # it knows the format, but no type for it
            weaker = (rule.mime_type for rule in _load_library().all_magics_buffer(data))
            named = next((other for other in weaker if other != named), named)
        return formats.find_preferred_type(MediaType.parse(named).with_charset(None))
    except ValueError:  # "magic identification failed", or a name that is not a media type
        return OCTETS


def _weigh_evidence(
    content: MediaType, claimed: MediaType | None, *, text: bool
) -> tuple[MediaType, Source]:
    """Decide between the type by content and the type by name."""
    if claimed == content:
        return content, "nothing" if content == OCTETS else "both"
    if claimed is not None and _allows_claim(content, claimed, text=text):
        return claimed, "name"
    return content, "nothing" if content == OCTETS else "content"


def _allows_claim(content: MediaType, claimed: MediaType, *, text: bool) -> bool:
    """Return True if the type by content allows the type by name."""
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

# Characters that text does not contain: control characters except bell to return, Ctrl-Z (the end
# of a DOS text), and shift out, shift in and escape (ISO 2022).
_CONTROL = re.compile(r"[\0-\x06\x10-\x19\x1c-\x1f\x7f]")
_CONTROL_BYTES = bytes(point for point in range(256) if _CONTROL.match(chr(point)))
_STRAY = 1024  # ASCII and UTF-8 may have one of them, except NUL, in this number of bytes

# Codings recognised by their NULs if there is no mark
_WIDE = ["utf_16_be", "utf_16_le", "utf_32_be", "utf_32_le"]

# IANA's preferred MIME names: if several codings decode to the same text, prefer one of these.
_USUAL = (
    *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10)),
    *("iso2022_jp", "iso2022_kr", "shift_jis", "euc_jp", "euc_kr", "gb2312", "big5", "koi8_r"),
)

_DECLARING = 1024  # bytes in which HTML looks for a charset; XML has it in the first line
_DEFAULT = frozenset({"iso8859-1", "latin_1"})
_BROADER = {"gb2312": "gbk", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}
"""Broader sets that use the names of smaller ones (Encoding Standard section 4.2)."""

# Single-byte codings of Latin letters differ in only a few of them. So the default prevails over
# near guesses if there are too few letters beyond ASCII to recognise the language, or if the
# language is one that ISO 8859-1 was made for (names of charset-normalizer), unless another is
# recognised better. If the guess is the same such language, recognised well and written with
# characters of ISO 8859-1, the default prevails over any guess: French is not written in
# windows-1257.
_WESTERN = frozenset(
    {"Dutch", "English", "Finnish", "French", "German", "Indonesian", "Italian", "Norwegian"}
    | {"Portuguese", "Spanish", "Swedish"}
)
_NEAR = 0.02  # of charset-normalizer's measure of disorder, 0 to 1
_TOO_FEW = 32  # letters beyond ASCII
_TOLD = 0.6  # of charset-normalizer's measure of coherence with a language, 0 to 1
_CHANCE = 4  # characters that a multi-byte coding may find in anything
_TELLING = (
    256  # bytes: without a control character, this number of bytes is text, whatever its coding
)


class _Coding(NamedTuple):
    """The coding of a text: Python's name for it, and IANA's if there is one."""

    codec: str
    charset: str | None

    def as_utf_8(self, data: bytes) -> bytes:
        """Return the same text in UTF-8, without an incomplete character at the end."""
        return data.decode(self.codec, "ignore").encode()


_ASCII = _Coding("ascii", "us-ascii")


def _detect_coding(sample: Sample, language: str | None) -> _Coding | None:
    """Detect the coding of the content; None if it is not text."""
    head = sample.head
    for mark, codec, charset in _MARKS:
        possible = head.startswith(mark) and (sample.utf_8 or charset != "utf-8")
        if possible and _reads_as_text(head, codec):
            return _Coding(codec, charset)
    if b"\0" in head:
        return _guess_coding(head)  # UTF-16 or UTF-32 without a mark, or binary
    strays = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if strays and (strays * _STRAY > len(head) or not sample.utf_8):
        return None
    if not sample.odd:
        escaped = _guess_coding(head) if b"\x1b" in head else None
        return escaped or _ASCII
    if sample.utf_8:
        return _Coding("utf-8", "utf-8")
    data = head if _find_beyond_ascii(head) else head[:_DECLARING] + b"\n" + sample.odd
    declared = _find_declared_coding(data)
    spelled = alphabets.find_codec(data, language) if language and declared is None else None
    if declared is None and spelled is None:
        spelled = alphabets.find_old_codec(data)
    return declared or (_name_coding(spelled) if spelled else _guess_coding(data))


def _find_declared_coding(data: bytes) -> _Coding | None:
    """Return the coding that HTML or XML declares, or None if it declares no coding that fits."""
    said = formats.find_declared_charset(data[:_DECLARING])
    codec = said and formats.find_python_codec(said)
    if not said or not codec or said.encode().decode(codec, "replace") != said:
        return None  # a declaration read as ASCII cannot be in UTF-16, for example
    if codec in _DEFAULT:
        return _choose_default(data)
    for one in (codec, _BROADER.get(codec)):
        if one and _reads_as_text(data, one):
            return _name_coding(one)
    return None


def _guess_coding(data: bytes) -> _Coding | None:
    """Return the coding that explains the data best, according to charset-normalizer."""
    import charset_normalizer  # takes a tenth of all import time, for texts that are rare today

    if len(data) >= LOOK:  # between words, so that no character is split
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
        return _name_coding(best.encoding) if best.languages or nulls * 4 > len(data) else None
    if best.encoding == "utf_8":  # only this part is UTF-8: the rest of the content is not
        return _choose_default(data)
    letters = sum(not character.isascii() for character in decoded)
    if best.multi_byte_usage > 0:
        return _choose_default(data) if letters < _CHANCE else _name_coding(_choose_codec(best))
    basic = not re.search(rb"[\x80-\x9f]", data)
    if not best.languages or any(
        _default_stands(match, best, letters, basic=basic) for match in matches
    ):
        return _choose_default(data)
    return _name_coding(_choose_codec(best))


def _default_stands(
    match: CharsetMatch,
    best: CharsetMatch,
    letters: int,
    *,
    basic: bool,
) -> bool:
    """Return True if this match is the default, and explains the data about as well as the best.

    `basic`: every byte of the data is a character in ISO 8859-1.
    """
    default = not {"latin_1", "cp1252"}.isdisjoint({match.encoding, *match.could_be_from_charset})
    western = not _WESTERN.isdisjoint(match.languages[:1])
    better = match.coherence >= best.coherence or not _WESTERN.isdisjoint(best.languages[:1])
    near = (letters < _TOO_FEW or (western and better)) and match.chaos <= best.chaos + _NEAR
    same = western and match.languages[0] == best.languages[0]
    return default and (near or (basic and same and match.coherence >= _TOLD))


def _choose_codec(match: CharsetMatch) -> str:
    """Choose a codec if several decode to the same text: a common one, or one with a name."""
    same = [match.encoding, *match.could_be_from_charset]
    usual = [codec for codec in _USUAL if codec in same]
    return next((codec for codec in (*usual, *same) if formats.find_charset(codec)), match.encoding)


def _name_coding(codec: str) -> _Coding:
    known = formats.find_charset(codec)
    return _Coding(codec, known.name if known else None)


def _choose_default(data: bytes) -> _Coding:
    """Return ISO 8859-1, or its extension if that is needed.  # ruling: pdi-charset"""
    extended = re.search(rb"[\x80-\x9f]", data) and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", data)
    return _name_coding("cp1252" if extended else "latin_1")


def _reads_as_text(head: bytes, codec: str) -> bool:
    try:
        decoded = codecs.getincrementaldecoder(codec)().decode(head, len(head) < LOOK)
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(decoded) is None


def _find_beyond_ascii(data: bytes) -> re.Match[bytes] | None:
    return re.search(rb"[\x80-\xff]", data)
