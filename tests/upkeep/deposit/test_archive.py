"""A generated archive of 3,000 files in old charsets and formats, with the real ones beside it."""

from __future__ import annotations

import csv
import io
import random
import struct
import wave
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from tests.upkeep.deposit.conftest import Depositor

from perdure import formats

CORPUS = Path(__file__).parents[4] / "shared/corpus"
_FILES = 3000
_GERMAN = (
    "Die Größe des Übermaßes ließ die Bürger äußerst überrascht zurück, während müde Hände über "
    "schöne Gärten flößen könnten und für München große Straßen nötig wären."
)
_RUSSIAN = (
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных "
    "губерний даст мощный толчок подъёму сельского хозяйства."
)
_JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    "何でも薄暗いじめじめした所で泣いていた。"
)
_CHARSETS = (
    ("us-ascii", "Dear reader, this is a letter about names that last."),
    ("utf-8", _GERMAN),
    ("utf-16", _GERMAN),
    ("iso-8859-1", _GERMAN),
    ("cp850", _GERMAN),
    ("koi8-r", _RUSSIAN),
    ("shift_jis", _JAPANESE),
    ("euc-jp", _JAPANESE),
)
_LANGUAGES = {"cp850": "de", "iso-8859-1": "de", "koi8-r": "ru"}


def make_file(number: int, chance: random.Random) -> tuple[str, bytes, str]:
    """The extension, the bytes and the charset of a file; empty if it is not text."""
    kind = number % 12
    if kind < 8:
        charset, text = _CHARSETS[kind]
        return "txt", f"{number}\n{text * 12}\n".encode(charset), charset
    if kind == 8:
        page = f"<!DOCTYPE html><meta charset=iso-8859-1><title>Seite {number}</title><p>Größe"
        return "html", page.encode("latin-1"), "iso-8859-1"
    if kind == 9:
        file = io.BytesIO()
        with wave.open(file, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(chance.randbytes(4000))
        return "wav", file.getvalue(), ""
    if kind == 10:
        head = (
            b"BM" + struct.pack("<IHHI", 54 + 48, 0, 0, 54) + struct.pack("<IiiHH", 40, 4, 4, 1, 24)
        )
        return "bmp", head + bytes(24) + chance.randbytes(48), ""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as package:
        package.writestr("letter.txt", f"letter {number}")
    return "zip", file.getvalue(), ""


@pytest.fixture
def archive(depositor: Depositor) -> dict[str, str]:
    """The charset of each text, by its path. An inventory names some languages."""
    chance = random.Random(1986)
    charsets: dict[str, str] = {}
    rows = []
    for number in range(_FILES):
        extension, data, charset = make_file(number, chance)
        path = (
            f"{1986 + number % 30}/{number % 12 + 1:02}/{number % 28 + 1:02}/F{number}.{extension}"
        )
        depositor.write_file(path, data)
        if charset:
            charsets[path] = charset
        if charset in _LANGUAGES:
            rows.append((path, _LANGUAGES[charset], f"Title {number}"))
    with (depositor.place / "inventory.csv").open("w", newline="") as file:
        csv.writer(file).writerows((("file", "language", "title"), *rows))
    return charsets


def test_an_archive_moves_in_as_a_whole(depositor: Depositor, archive: dict[str, str]) -> None:
    real = [path for path in sorted(CORPUS.glob("*")) if path.is_file() and path.suffix != ".md"]
    for document in real:
        depositor.write_file(f"corpus/{document.name}", document.read_bytes())
    receipts = depositor.deposit(
        inventory=str(depositor.place / "inventory.csv"),
        date_pattern="%Y/%m/%d",
    )
    assert Counter(row["status"] for row in receipts) == {"minted": _FILES + len(real)}
    held = {row["file"]: row["identifier"] for row in receipts}
    assert len(set(held.values())) == _FILES + len(real)
    wrong = Counter[str]()
    for path, charset in archive.items():
        name = held[path]
        version = depositor.desk.record(name.rsplit(".", 2)[0]).versions[0]
        found = version.representations[0].charset or ""
        if not reads_alike(depositor, path, charset, found):
            wrong[charset] += 1
    assert not wrong
    dated = depositor.desk.record(held["1986/01/01/F0.txt"].rsplit(".", 2)[0])
    assert dated.about is not None
    assert dated.about.first_date("Created") == "1986-01-01"
    assert depositor.desk.problems() == []


def reads_alike(depositor: Depositor, path: str, charset: str, found: str) -> bool:
    """Return True if the detected charset reads the same text as the one it was written in."""
    data = (depositor.source / path).read_bytes()
    codec = formats.find_python_codec(found)
    return codec is not None and data.decode(codec, "replace") == data.decode(charset)
