"""A file of any form, opened for an import: decompressed, recognised, converted.

How it works: gzip is recognised by its first bytes, and so is a ZIP archive, of which the only
member is read, as EZID sends its downloads. If the form is not named, the beginning of the file
decides. Tables, BibTeX and RIS come in many charsets, so theirs is detected; the other forms are in
UTF-8.

What must stay true: opening a file twice gives the same lines; nothing is decompressed in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from perdure.errors.depositing import TableNotText, TableUnreadable
from perdure.errors.exchanging import CharsetNotDecoded, FormNotRecognised
from perdure.errors.root import count_things
from perdure.formats import find_python_codec
from perdure.upkeep.exchange import forms, jsonl, mapping
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms
from perdure.upkeep.exchange.stream import ConvertedLines
from perdure.upkeep.transfer.importing import ImportSource

_HEAD = 64 << 10  # bytes
_PIECE = 1 << 20  # bytes
_OWN_LINE = re.compile(rb'\s*\{"id"(?!\s*:\s*"10\.)')  # DataCite's have no label
_MANY_CHARSETS = frozenset(("csv", "bibtex", "ris"))


class SourceChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A file to import, and everything that was said about it."""

    path: Path
    form: ExchangeForm
    terms: ReadingTerms
    charset: str = ""
    """The name of the charset, if it was detected."""

    @property
    def is_own(self) -> bool:
        """True if the file has lines that an import reads itself."""
        return self.form is jsonl.FORM

    @property
    def key(self) -> str:
        """All that decides to which lines the file is converted."""
        facts = (self.form.name, self.terms.charset, self.terms.mapping, self.terms.columns)
        return "" if self.is_own else msgspec.json.encode(facts).decode()


def choose_source(
    path: Path,
    *,
    form: str = "",
    files: Path | None = None,
    charset: str = "",
    entries: tuple[tuple[str, str], ...] = (),
    columns: tuple[str, ...] = (),
) -> SourceChoice:
    """Choose the form and the charset of a file, if they are not named; `entries` is a mapping.

    A file whose form is not clear has perdure's own lines. Raises UnknownExchangeForm,
    CharsetNotDecoded, and TableUnreadable if its beginning cannot be read.
    """
    chosen = _choose_form(path, form)
    detected, codec = "", "utf-8"
    if charset:
        found = find_python_codec(charset)
        if found is None:
            raise CharsetNotDecoded(charset=charset)
        codec = found
    elif chosen.name in _MANY_CHARSETS:
        detected, codec = detect_charset(path)
    terms = ReadingTerms(
        files=files or path.parent, charset=codec, mapping=entries, columns=columns
    )
    return SourceChoice(path=path, form=chosen, terms=terms, charset=detected)


def _choose_form(path: Path, form: str) -> ExchangeForm:
    if form:
        return jsonl.FORM if form == jsonl.FORM.name else forms.find_read_form(form)
    try:
        with open_binary(path) as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise TableUnreadable(path=path.name, fault=error.strerror or str(error)) from None
    if path.suffix.lower() in jsonl.FORM.suffixes and _OWN_LINE.match(head):
        return jsonl.FORM
    name = path.name.lower().removesuffix(".gz").removesuffix(".zip")
    try:
        return forms.guess_form(head, name)
    except FormNotRecognised:
        return jsonl.FORM


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or what is compressed in it. Raises OSError."""
    with path.open("rb") as file:
        magic = file.read(4) if file.seekable() else b""
        if magic:
            file.seek(0)
        if magic[:2] == b"\x1f\x8b":
            import gzip

            with gzip.open(file) as inside:
                yield cast(BinaryIO, inside)
        elif magic == b"PK\x03\x04":
            import zipfile

            with zipfile.ZipFile(file) as archive:
                members = [one for one in archive.infolist() if not one.is_dir()]
                if len(members) != 1:
                    found = count_things(len(members), "member")
                    raise OSError(f"it has {found}; perdure reads a ZIP archive with one")
                with archive.open(members[0]) as member:
                    yield cast(BinaryIO, member)
        else:
            yield file


def detect_charset(path: Path) -> tuple[str, str]:
    """Return the charset of a text file and Python's name for it.

    Raises TableUnreadable, or TableNotText if it is not text.
    """
    from perdure.formats.detect import Sampler, detect_type  # loads all magic numbers

    sampler = Sampler()
    try:
        with open_binary(path) as file:
            while piece := file.read(_PIECE):
                sampler.feed(piece)
    except OSError as error:
        raise TableUnreadable(path=path.name, fault=error.strerror or str(error)) from None
    charset = detect_type(sampler.take_sample(), name="table.csv").charset
    codec = find_python_codec(charset) if charset else None
    if charset is None or codec is None:
        raise TableNotText(path=path.name)
    usual = {"us-ascii": "utf-8", "iso-8859-1": "cp1252"}  # of programs on Windows
    return charset, usual.get(charset.lower(), codec)


@contextmanager
def open_source(choice: SourceChoice, files: Path | None) -> Iterator[ImportSource]:
    """Open a file as the source of an import. Raises OSError."""
    base = files or choice.path.parent
    with open_binary(choice.path) as file:
        resumable = choice.path if choice.path.is_file() else None
        if choice.is_own:
            yield ImportSource(file, base, resumable)
            return
        lines = ConvertedLines(choice.form, file, choice.terms)
        yield ImportSource(
            cast(BinaryIO, lines),
            base,
            resumable,
            key=choice.key,
            unit=choice.form.unit,
            take_faults=lines.take_faults,
        )


def write_refused(choice: SourceChoice, target: Path, reasons: Mapping[int, str]) -> None:
    """Write the refused records of a file, by their numbers, to a file that can be given back.

    Raises OSError.
    """
    terms = choice.terms
    if choice.form.describe_table is not None:
        with open_binary(choice.path) as file:
            terms = choice.form.describe_table(file, terms)
    with open_binary(choice.path) as file:
        refused = [
            (record, reasons[record.number])
            for record in choice.form.read(file, choice.terms)
            if record.number in reasons
        ]
    text = choice.form.refuse(refused, terms)
    target.write_bytes(text.encode("utf-8", "surrogateescape"))


def read_mapping_option(text: str) -> tuple[tuple[str, str], ...]:
    """Read a mapping, or the file that is named after an `@`. Raises InvalidRequest."""
    if not text.startswith("@"):
        return mapping.read_mapping(text)
    try:
        return mapping.read_mapping(Path(text[1:]).read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise TableUnreadable(path=text[1:], fault=str(error)) from None
