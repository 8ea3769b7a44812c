"""Write the tables of perdure.formats from local copies of IANA's registries.

How it works: `--types` names copies of the registry of media types, each in one of three forms:
IANA's own CSV files (`application.csv`, `text.csv` …: Name,Template,Reference), the `db.json` of
the package mime-db (its entries with source "iana"), or a `mime.types` file (what it lists and can
be registered). `--extensions` names lists of file name extensions (`mime.types` or `db.json`), the
most trusted first. `--charsets` names IANA's `character-sets-1.csv`; Python's codecs say which
charsets can be decoded and which take several bytes for a character. Without one of them, that
table is left as it is. `--made-from` goes into the header of what is written.

    tools/snapshot_iana.py --made-from 'mime-db 1.54.0; Debian media-types 10.0.0' \\
        --types mime-db/db.json --extensions /etc/mime.types mime-db/db.json

What must stay true: a format token that was ever shipped keeps its meaning, because identifiers
carry it. So the tables of today are read first and no token in them changes; a new registration
that repeats a minor type already taken gets the long token. The same input gives the same output,
byte for byte: no clock, no order of a set.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import encodings.aliases
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "src" / "perdure" / "formats" / "data"

# ruling: pdi-token; the draft's own tokens (sections 2.5, 3.4.1 and 3.4.3; message/header is not in
# the registry), and minor types that were unique when the draft was written
FIXED_TOKENS = {
    "text/plain": "text",
    "message/header": "header",
    "text/html": "html",
    "text/sgml": "sgml",
    "text/xml": "xml",
    "video/mpeg": "mpeg",
    "image/jpeg": "jpeg",
    "application/rtf": "rtf",
    "message/http": "http",
}

# Where the lists disagree about an extension, or an established one is in none of them.
EXTENSIONS = {
    "mk3d": "video/matroska",
    "mka": "audio/matroska",  # RFC 9559, section 27
    "mks": "video/matroska",
    "mkv": "video/matroska",  # RFC 9559, section 27
    "mpv": "video/matroska",
    "sgml": "text/sgml",  # the PDI draft, section 3.4.2
    "xml": "text/xml",  # the PDI draft, section 3.4.2
    "ts": "video/mp2t",
    "wacz": "application/wacz",
    "warc": "application/warc",  # ISO 28500
    "wav": "audio/wav",
}

# The extension that a file of the type is given, where the lists put an odd one first.
USUAL_EXTENSION = {
    "application/postscript": "ps",
    "audio/aac": "aac",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "image/jpeg": "jpg",
    "message/rfc822": "eml",
    "text/javascript": "js",
    "text/plain": "txt",
    "video/matroska": "mkv",
    "video/mpeg": "mpeg",
    "video/quicktime": "mov",
}

# Charsets of several bytes to a character for which Python has no codec to tell so.
MULTI_BYTE = re.compile(
    r"ISO-10646-.*|ISO-Unicode-.*|UNICODE-1-1|SCSU|BOCU-1|CESU-8|UTF-7-IMAP|ISO-2022-.*"
    r"|Extended_UNIX_Code_.*|JIS_Encoding|JIS_C6226-.*|JIS_X0212-1990|CP5\d+|MNEM(ONIC)?|VIQR",
    re.IGNORECASE,
)

# Codecs that Python has under a name of its own. The E and I of ISO 8859-6 and -8 (RFC 1556) tell
# the direction of the text, not its coding.
CODECS = {
    "ibm00858": "cp858",
    "ibm01140": "cp1140",
    "iso-8859-6-e": "iso8859_6",
    "iso-8859-6-i": "iso8859_6",
    "iso-8859-8-e": "iso8859_8",
    "iso-8859-8-i": "iso8859_8",
    "windows-31j": "cp932",
    "windows-874": "cp874",
}

_NAME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")  # RFC 6838 section 4.2
_EXTENSION = re.compile(r"[a-z0-9][a-z0-9_-]*")


def escape(name: str) -> str:
    """A name as it stands in a PDI format.  # ruling: pdi-format"""
    return re.sub(r"[^a-z0-9_-]", lambda c: f"%{ord(c[0]):02x}", name)


def lines(path: Path) -> Iterator[list[str]]:
    """The words of each line that is neither empty nor a comment."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.split()


def registered(path: Path) -> set[str]:
    """The media types that this copy of the registry lists, lower case, without obsolete ones."""
    if path.suffix == ".json":
        entries: dict[str, dict[str, object]] = json.loads(path.read_text("utf-8"))
        found = {name for name, entry in entries.items() if entry.get("source") == "iana"}
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        found = {
            f"{path.stem}/{row['Name'].split()[0]}"
            for row in rows
            if row["Name"] and not re.search("OBSOLETE|DEPRECATED", row["Name"], re.IGNORECASE)
        }
    else:  # names that can never be registered: RFC 6838 section 3.4
        found = {
            words[0]
            for words in lines(path)
            if not re.search(r"^(chemical|inode|x-)|/(x-|example$)", words[0].lower())
        }
    return {name.lower() for name in found}


def extensions(path: Path) -> Iterator[tuple[str, str]]:
    """(extension, media type) in the order of the list."""
    if path.suffix == ".json":
        entries: dict[str, dict[str, list[str]]] = json.loads(path.read_text("utf-8"))
        pairs: Iterable[tuple[str, list[str]]] = (
            (name, entry.get("extensions", [])) for name, entry in entries.items()
        )
    else:
        pairs = ((words[0], words[1:]) for words in lines(path))
    for name, found in pairs:
        for extension in found:
            if _EXTENSION.fullmatch(extension.lower()):
                yield extension.lower(), name.lower()


def tokens(types: set[str], shipped: Mapping[str, str]) -> dict[str, str]:
    """Media type to PDI format token: the minor type where it is unique.  # ruling: pdi-token"""
    chosen = dict(shipped) | FIXED_TOKENS
    bare = {name for name, token in chosen.items() if "+" not in token}
    minors = Counter(name.split("/")[1] for name in types | bare)
    taken = set(chosen.values())
    for name in sorted(types - set(chosen)):
        major, minor = name.split("/")
        short = escape(minor)
        unique = minors[minor] == 1 and short not in taken
        chosen[name] = short if unique else f"{escape(major)}+{short}"
    return chosen


def type_table(copies: list[Path], lists: list[Path], shipped: Path) -> Iterator[str]:
    """The lines of the table of media types."""
    known = {name: (token, found) for name, token, *found in lines(shipped)}
    types = {name for copy in copies for name in registered(copy)}
    types = {name for name in types if all(map(_NAME.fullmatch, name.split("/")))}
    chosen = tokens(types, {name: token for name, (token, _) in known.items()})

    owner = dict(EXTENSIONS)
    pairs = [pair for path in lists for pair in extensions(path)]
    pairs += [(extension, name) for name, (_, found) in known.items() for extension in found]
    for extension, name in sorted(pairs, key=lambda pair: pair[1] not in types):
        owner.setdefault(extension, name)  # a registered type before all others, then first come
    of_type: dict[str, list[str]] = {}
    for extension, name in owner.items():
        of_type.setdefault(name, []).append(extension)
    for name in sorted(chosen.keys() | of_type.keys()):
        major, minor = name.split("/")
        token = chosen.get(name, f"{escape(major)}+{escape(minor)}")
        usual = USUAL_EXTENSION.get(name)
        found = sorted(of_type.get(name, []), key=lambda one: one != usual)
        yield " ".join([name, token, *found])


def codec_of(names: list[str]) -> str | None:
    """Python's name of the text codec that knows the charset under one of its names."""
    for name in [CODECS.get(name.lower(), name) for name in names]:
        try:
            found = codecs.lookup(name)
        except LookupError:
            continue
        return found.name
    return None


def multi_byte(name: str, codec: str | None) -> bool:
    """Whether a character may take more than one byte.  # ruling: pdi-charset"""
    if codec is None:
        return MULTI_BYTE.fullmatch(name) is not None
    return any(len(chr(point).encode(codec, "ignore")) > 1 for point in range(0x3000))


def normal(name: str) -> str:
    """A charset's name as names are compared."""
    return name.lower().replace("_", "-")


def charset_table(path: Path) -> Iterator[str]:
    """The lines of the table of charsets: preferred name, kind, Python's codec, other names."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            [row["Preferred MIME Name"] or row["Name"], row["Name"], *row["Aliases"].split()]
            for row in csv.DictReader(file)
        ]
    registered_names = {normal(name) for names in rows for name in names}
    python_names: dict[str, list[str]] = {}
    for alias, module in sorted(encodings.aliases.aliases.items()):
        codec = codec_of([module])
        if codec is not None:
            python_names.setdefault(codec, [codec, module]).append(alias)
    first_with = {codec: names[0] for names in reversed(rows) if (codec := codec_of(names))}
    for name, *others in rows:  # Python's names go to the charset that its codec is named after
        codec = codec_of([name, *others])
        if codec is not None and normal(codec) == normal(name):
            first_with[codec] = name
    for name, *others in rows:
        codec = codec_of([name, *others])
        names = {normal(other): other for other in reversed(others)}
        if codec is not None and first_with[codec] == name:
            also = {normal(other): other for other in reversed(python_names.get(codec, []))}
            names = {key: also[key] for key in also if key not in registered_names} | names
        names.pop(normal(name), None)
        kind = "multi" if multi_byte(name, codec) else "single"
        yield " ".join([name, kind, codec or "-", *reversed(names.values())])


def write(path: Path, made_from: str, columns: str, table: Iterable[str]) -> None:
    """Replace one table, whole."""
    header = f"# Made by tools/snapshot_iana.py from: {made_from}\n# Columns: {columns}\n"
    path.write_text(header + "".join(f"{line}\n" for line in table), "utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--made-from", required=True, help="names and versions of the copies")
    parser.add_argument("--types", type=Path, nargs="+", default=[], metavar="COPY")
    parser.add_argument("--extensions", type=Path, nargs="+", default=[], metavar="LIST")
    parser.add_argument("--charsets", type=Path, metavar="CSV")
    parser.add_argument("--into", type=Path, default=DATA, metavar="DIRECTORY")
    options = parser.parse_args(arguments)
    if options.types:
        shipped = options.into / "media-types.txt"
        shipped.touch()
        table = list(type_table(options.types, options.extensions, shipped))
        write(shipped, options.made_from, "media type, PDI format token, extensions", table)
    if options.charsets:
        shipped = options.into / "charsets.txt"
        columns = "charset, bytes to a character, Python codec, other names"
        write(shipped, options.made_from, columns, charset_table(options.charsets))


if __name__ == "__main__":
    main(sys.argv[1:])
