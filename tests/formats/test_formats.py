"""Formats: the rulings' examples, laws over the whole snapshot, and the tool that makes it."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import formats, ids
from perdure.errors import InvalidRequest
from perdure.formats import MediaType
from perdure.ids.pdi_defaults import find_default_scheme

TOOL = Path(__file__).parents[2] / "tools" / "snapshot_iana.py"
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "pdi-token.json").read_text("utf-8"))


def rows(table: str) -> list[list[str]]:
    text = files("perdure.formats.data").joinpath(table).read_text("utf-8")
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


TYPES = rows("media-types.txt")
CHARSETS = rows("charsets.txt")

# RFC 6838 section 4.2: restricted-name
names = st.from_regex(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", fullmatch=True)


# what the draft and the rulings say, word for word
# -------------------------------------------------


@pytest.mark.parametrize(
    ("media_type", "token"),
    [
        # PDI draft section 2.5: "two media types for which <MEDIA-TYPE-TOKEN> is not <MINOR-TYPE>"
        ("text/plain", "text"),
        ("message/header", "header"),
        # "using the <MINOR-TYPE> if it is unique"
        ("text/html", "html"),
        ("image/gif", "gif"),
        ("audio/basic", "basic"),
        ("application/pdf", "pdf"),
        # "or otherwise, concatenating the <MAJOR-TYPE> and <MINOR-TYPE>": registered twice each
        ("audio/mpeg", "audio+mpeg"),
        ("application/xml", "application+xml"),
        ("video/jpeg", "video+jpeg"),  # RFC 3555
        # "MUST encode any reserved characters"; ruling pdi-format
        ("image/svg+xml", "svg%2bxml"),
        ("application/vnd.ms-excel", "vnd%2ems-excel"),
        # not registered
        ("audio/x-unheard-of", "audio+x-unheard-of"),
        ("chemical/x-pdb+gz", "chemical+x-pdb%2bgz"),
        # neither case nor parameters matter
        ("TEXT/HTML; charset=utf-8", "html"),
    ],
)
def test_the_token_of_a_media_type(media_type: str, token: str) -> None:
    assert formats.make_token(media_type) == token
    assert str(formats.find_media_type(token)) == media_type.lower().partition(";")[0]


@pytest.mark.parametrize(
    ("charset", "token"),
    [
        # ruling pdi-charset: "Text in a multi-byte character set takes the IANA character-set
        # token as format"
        ("utf-8", "utf-8"),
        ("UTF-16", "utf-16"),
        ("Shift_JIS", "shift_jis"),
        ("sjis", "shift_jis"),
        ("euc-jp", "euc-jp"),
        ("Extended_UNIX_Code_Packed_Format_for_Japanese", "euc-jp"),
        # "A text file that is pure ASCII or a single-byte charset is `text`"
        ("us-ascii", "text"),
        ("iso-8859-1", "text"),
        ("windows-1252", "text"),
        ("koi8-r", "text"),
        ("never-heard-of", "text"),
    ],
)
def test_the_token_of_plain_text_is_that_of_its_multi_byte_charset(
    charset: str, token: str
) -> None:
    assert formats.make_token("text/plain", charset) == token
    assert formats.make_token(f'text/plain; charset="{charset}"') == token
    assert formats.make_token("text/html", charset) == "html"
    if token != "text":
        assert str(formats.find_media_type(token)) == f"text/plain; charset={token}"


@pytest.mark.parametrize(
    ("alias", "token"),
    [
        # ruling pdi-token: "`mpeg` (used by the draft for video) and common file extensions"
        ("video+mpeg", "mpeg"),
        ("au", "basic"),
        ("jpg", "jpeg"),
        ("image+jpeg", "jpeg"),
        ("tif", "tiff"),
        ("txt", "text"),
        ("htm", "html"),
        ("mp3", "audio+mpeg"),
        ("mov", "quicktime"),
        ("gif", "image+gif"),
        ("text+plain", "text"),
        ("SVG", "svg%2bxml"),
        # PDI draft section 3.4.2: "text/sgml sgml, text/xml xml"
        ("text+xml", "xml"),
        ("text+sgml", "sgml"),
        # RFC 7303 section 9.2: text/xml is an alias for application/xml
        ("xml", "application+xml"),
        ("utf8", "utf-8"),
    ],
)
def test_aliases_name_the_same_representation(alias: str, token: str) -> None:
    assert formats.is_same_format(alias, token)
    assert formats.is_same_format(token, alias)
    spellings = {token, *formats.list_aliases(token)}
    assert alias.lower() in spellings
    assert token in {alias, *formats.list_aliases(alias)}


@pytest.mark.parametrize("case", VECTORS["minted"], ids=lambda case: case["token"])
def test_a_media_type_has_one_token(case: dict[str, str]) -> None:
    """Section 3.4.3: "The following content tokens are defined"; ruling pdi-token: "one type, one
    token"."""
    assert formats.make_token(case["media_type"]) == case["token"]
    assert str(formats.find_media_type(case["token"])) == case["media_type"]


@pytest.mark.parametrize("case", VECTORS["read"], ids=lambda case: case["token"])
def test_other_tokens_of_the_type_are_read(case: dict[str, str]) -> None:
    assert str(formats.find_media_type(case["token"])) == case["media_type"]
    assert formats.is_same_format(case["token"], formats.make_token(case["media_type"]))


def test_the_tokens_of_a_release_are_frozen() -> None:
    """Ruling pdi-token: "The table is data, frozen with a release, and a test holds it."

    A new snapshot may add lines. It changes this digest, so compare it with the released table.
    """
    pairs = "\n".join(sorted(f"{name} {token}" for name, token, *_ in TYPES))
    frozen = "1d692607a4b0006f6141df6ce076292094ec7f54e144e8d9ff08d22853620cf0"
    assert hashlib.sha256(pairs.encode()).hexdigest() == frozen


@pytest.mark.parametrize(
    ("written", "canonical"),
    [("shift%5Fjis", "shift_jis"), ("SVG%2BXML", "svg%2bxml"), ("%68tml", "html"), ("%41u", "au")],
)
def test_case_and_needless_escapes_do_not_matter(written: str, canonical: str) -> None:
    """Ruling pdi-escape."""
    assert formats.is_same_format(written, canonical)
    assert formats.find_media_type(written) == formats.find_media_type(canonical) is not None
    assert formats.list_aliases(written) == formats.list_aliases(canonical)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("text", "html"),
        ("text", "utf-8"),
        ("audio+mpeg", "mpeg"),
        ("a", "b"),
        ("gif", "image+gift"),
    ],
)
def test_other_formats_are_not_the_same(a: str, b: str) -> None:
    assert not formats.is_same_format(a, b)
    assert b not in formats.list_aliases(a)


@pytest.mark.parametrize(
    "token", ["", "*", "no-such-type", "a+b+c", "a.b", "a%2", "latin1", "koi8-r"]
)
def test_what_stands_for_no_media_type(token: str) -> None:
    assert formats.find_media_type(token) is None
    assert formats.list_aliases(token) == ()
    assert formats.is_same_format(token, token)


@pytest.mark.parametrize(
    ("token", "extension"),
    [
        ("text", "txt"),
        ("utf-8", "txt"),
        ("header", "txt"),
        ("html", "html"),
        ("basic", "au"),
        ("image+jpeg", "jpg"),
        ("audio+mpeg", "mp3"),
        ("audio+x-wav", "wav"),
        ("video+matroska", "mkv"),  # RFC 9559 section 27
        ("video+x-matroska", "mkv"),
        ("audio+matroska", "mka"),
        ("svg%2bxml", "svg"),
        ("text+x-markdown", "md"),  # the extension of the name to use first: RFC 7763
        ("application+x-unheard%2bxml", "xml"),
        ("application+octet-stream", "bin"),
        ("what", "bin"),
    ],
)
def test_the_extension_of_a_file_name(token: str, extension: str) -> None:
    assert formats.find_extension(token) == extension


USUAL = {  # as their specifications have them, or everybody
    "application/epub+zip": "epub",
    "application/gzip": "gz",  # RFC 6713
    "application/javascript": "js",
    "application/json": "json",  # RFC 8259 section 11
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/xhtml+xml": "xhtml",
    "application/xml": "xml",  # RFC 7303 section 9.1
    "application/zip": "zip",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tiff",  # RFC 3302
    "image/webp": "webp",
    "text/css": "css",
    "text/csv": "csv",  # RFC 4180 section 3
    "text/html": "html",
    "text/javascript": "js",  # RFC 9239
    "text/markdown": "md",
    "text/plain": "txt",
    "text/xml": "xml",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/quicktime": "mov",
    "video/webm": "webm",
}


@pytest.mark.parametrize("media_type", USUAL)
def test_the_usual_extension(media_type: str) -> None:
    assert formats.find_extension(formats.make_token(media_type)) == USUAL[media_type]


# laws over everything that is shipped
# ------------------------------------


def test_every_shipped_token_gives_its_media_type_back() -> None:
    for name, token, *_ in TYPES:
        assert formats.make_token(name) == token
        assert str(formats.find_media_type(token)) == name


def test_every_shipped_token_is_unique_and_a_legal_canonical_pdi_format() -> None:
    tokens = [token for _, token, *_ in TYPES]
    tokens += sorted({formats.make_token("text/plain", name) for name, *_ in CHARSETS} - {"text"})
    assert len(tokens) == len(set(tokens))
    for token in tokens:
        # ruling pdi-format: "letters, digits, hyphen, `_`, `%hh`, and one literal `+`"
        assert re.fullmatch(r"([a-z0-9_-]|%[0-9a-f]{2})+(\+([a-z0-9_-]|%[0-9a-f]{2})+)?", token)
        written = f"pdi://a.us/2026/11/20/1.{token}.1"
        assert str(ids.parse(written)) == written


def test_a_minor_type_alone_stands_for_one_type_only() -> None:
    """PDI draft section 2.5: "using the <MINOR-TYPE> if it is unique"."""
    bare = [name for name, token, *_ in TYPES if "+" not in token]
    minors = [name.partition("/")[2] for name in bare]
    assert len(minors) == len(set(minors))
    assert len(bare) > 2000


def test_every_extension_is_claimed_by_one_type() -> None:
    extensions = [extension for _, _, *found in TYPES for extension in found]
    assert len(extensions) == len(set(extensions))


def test_a_token_implies_the_fragment_scheme_of_its_major_type() -> None:
    """Ruling pdi-fragment-default; the table in perdure.ids never follows the snapshot."""
    schemes = {"text": "char", "image": "rect", "audio": "sec", "video": "sec"}
    for name, token, *_ in TYPES:
        assert find_default_scheme(token) in (None, schemes.get(name.partition("/")[0]))


def test_a_synonym_stands_in_one_line() -> None:
    words = [word for row in rows("synonyms.txt") for word in row if "/" in word]
    assert len(words) == len(set(words))
    for word in words:
        assert formats.find_preferred_type(
            formats.find_preferred_type(MediaType.parse(word))
        ) == formats.find_preferred_type(MediaType.parse(word))


def test_no_two_charsets_share_a_name() -> None:
    owner: dict[str, str] = {}
    for name, _, _, *others in CHARSETS:
        for spelling in (name, *others):
            key = spelling.lower().replace("_", "-")
            assert owner.setdefault(key, name) == name
            found = formats.find_charset(spelling)
            assert found is not None
            assert found.name == name.lower()


def test_a_charset_is_multi_byte_where_python_needs_several_bytes_for_a_character() -> None:
    for name, kind, codec, *_ in CHARSETS:
        if codec == "-":
            assert formats.find_python_codec(name) is None
            continue
        assert codecs.lookup(codec).name == codec
        longest = max(len(chr(point).encode(codec, "ignore")) for point in range(0x3000))
        assert (kind == "multi") == (longest > 1), name


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("us-ascii", "ascii"),
        ("latin1", "iso8859-1"),
        ("L1", "iso8859-1"),
        ("csISOLatin1", "iso8859-1"),
        ("latin_1", "iso8859-1"),
        ("windows-874", "cp874"),
        ("Windows-31J", "cp932"),
        ("IBM00858", "cp858"),
        ("utf8", "utf-8"),
        ("ISO-8859-8-I", "iso8859-8"),
        ("JIS_C6226-1983", None),
        ("hex", None),
        ("rot13", None),
        ("", None),
    ],
)
def test_the_python_codec_of_a_charset(name: str, codec: str | None) -> None:
    assert formats.find_python_codec(name) == codec


# laws over everything that could be
# ----------------------------------


@given(names, names)
def test_every_possible_media_type_comes_back_from_its_token(major: str, minor: str) -> None:
    found = MediaType(major, minor)
    assert formats.find_media_type(formats.make_token(found)) == found


@given(st.text() | st.from_regex(r"[a-z%+0-9A-F_-]*", fullmatch=True))
def test_any_text_may_be_asked_for_as_a_format(text: str) -> None:
    found = formats.find_media_type(text)
    if found is not None:
        assert MediaType.parse(str(found)) == found
        assert formats.is_same_format(text, formats.make_token(found))
    assert formats.is_same_format(text, text.upper() if text.isascii() else text)
    formats.find_extension(text)


values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.just("\t"))
parameters = st.dictionaries(st.from_regex(r"[a-z0-9!#$-]+", fullmatch=True), values)


@given(names, names, parameters)
def test_parsing_undoes_writing(major: str, minor: str, given_: dict[str, str]) -> None:
    given_ |= {"charset": given_["charset"].lower()} if "charset" in given_ else {}
    written = MediaType(major, minor, tuple(given_.items()))
    assert MediaType.parse(str(written)) == written


@given(st.text() | st.from_regex(r'[a-z]+/[a-z]+( ?; ?[a-z]+="?[a-z\\"]*"?)*', fullmatch=True))
def test_parsing_any_text_raises_nothing_but_our_error(text: str) -> None:
    try:
        parsed = MediaType.parse(text)
    except InvalidRequest as error:
        assert str(error)  # noqa: PT017  (either outcome is right, and both are checked)
    else:
        assert MediaType.parse(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # RFC 9110 section 8.3.1: "The following examples are all equivalent"
        ("text/html;charset=utf-8", "text/html; charset=utf-8"),
        ('Text/HTML;Charset="utf-8"', "text/html; charset=utf-8"),
        ('text/html; charset="utf-8"', "text/html; charset=utf-8"),
        ("text/html;charset=UTF-8", "text/html; charset=utf-8"),
        # parameters = *( OWS ";" OWS [ parameter ] )
        (" text/html ; ; charset=utf-8 ; ", "text/html; charset=utf-8"),
        ('a/b; title="x \\"y\\" \\\\ z"; N=V', 'a/b; title="x \\"y\\" \\\\ z"; n=V'),
        ("a/b; x=1; X=2", "a/b; x=1"),
        ('a/b; x=""', 'a/b; x=""'),
    ],
)
def test_reading_a_media_type(text: str, canonical: str) -> None:
    assert str(MediaType.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "text",
            "text/",
            "/html",
            "text/*",
            "*/*",
            "text/html/x",
            "text/ html",
            "text/html x",
        ),
        *("text/html; charset", "text/html; charset=", "text/html; charset =utf-8"),
        *('a/b; x="', 'a/b; x="\x7f"', "a/b; x=é", "text/html\r\nX: 1", "tëxt/html"),
        "a/" + "b" * 128,
    ],
)
def test_what_is_no_media_type(text: str) -> None:
    with pytest.raises(InvalidRequest, match="RFC 9110"):
        MediaType.parse(text)
    with pytest.raises(InvalidRequest):
        formats.make_token(text)


@pytest.mark.growth
def test_reading_a_media_type_takes_linear_time() -> None:
    """A ReDoS would not end before the time limit of the test."""
    for hostile in (
        "a/b" + ";" * 200_000 + "x",
        'a/b; x="' + "\\" * 200_001,
        "a/b" + " " * 200_000,
    ):
        with pytest.raises(InvalidRequest):
            MediaType.parse(hostile + "\0")


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        *(("text/plain", True), ("text/x-anything", True), ("application/xhtml+xml", True)),
        *(("image/svg+xml", True), ("application/json", True), ("message/header", True)),
        *(("application/ld+json; profile=x", True), ("application/xml", True)),
        *(("image/gif", False), ("application/pdf", False), ("application/octet-stream", False)),
        *(("application/vnd.x+zip", False), ("application/x+xml+gzip", False)),
    ],
)
def test_what_is_text(media_type: str, text: bool) -> None:
    assert formats.is_text(media_type) is text


# the tool
# --------


def snapshot(into: Path, *arguments: str | Path) -> str:
    command = [sys.executable, TOOL, "--made-from", "test 1", "--into", into, *arguments]
    subprocess.run([str(word) for word in command], check=True)
    return "".join(path.read_text("utf-8") for path in sorted(into.iterdir()))


def test_a_token_once_shipped_keeps_its_meaning(tmp_path: Path) -> None:
    """Ruling pdi-token goes by the snapshot; the namespace of PDIs is monotonic (section 2.1)."""
    copies = tmp_path / "copies"
    into = tmp_path / "data"
    copies.mkdir()
    into.mkdir()
    audio, video = copies / "audio.csv", copies / "video.csv"
    head = "Name,Template,Reference\n"
    audio.write_text(f"{head}new,audio/new,[RFC1]\nold (OBSOLETED by x),audio/old,[RFC1]\n")
    video.write_text(f"{head}new,video/new,[RFC2]\ntwice,video/twice,[RFC2]\n")

    first = snapshot(into, "--types", audio)
    assert "\naudio/new new\n" in first
    assert "audio/old" not in first
    second = snapshot(into, "--types", audio, video)
    assert "\naudio/new new\n" in second
    assert "\nvideo/new video+new\n" in second
    assert "\nvideo/twice twice\n" in second
    assert snapshot(into, "--types", audio, video) == second
    assert "\nvideo/twice twice\n" in snapshot(into, "--types", audio)


def test_the_tool_reads_mime_types_files_and_mime_db(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    into = tmp_path / "data"
    copies.mkdir()
    into.mkdir()
    listed = copies / "mime.types"
    listed.write_text("# comment\naudio/basic\tau snd\nchemical/x-pdb pdb\ntext/X-Tex tex\n")
    db = copies / "db.json"
    db.write_text(
        '{"image/svg+xml": {"source": "iana", "extensions": ["svg"]},'
        ' "audio/wave": {"source": "apache", "extensions": ["au"]}}'
    )
    made = snapshot(into, "--types", listed, db, "--extensions", listed, db)
    for line in (
        "audio/basic basic au snd",
        "image/svg+xml svg%2bxml svg",
        "chemical/x-pdb chemical+x-pdb pdb",
        "text/x-tex text+x-tex tex",
        "text/plain text",
        "message/header header",
    ):
        assert f"\n{line}\n" in made
    assert "audio/wave" not in made


def test_the_shipped_tables_are_what_the_tool_makes_of_themselves(tmp_path: Path) -> None:
    shipped = Path(str(files("perdure.formats.data").joinpath("media-types.txt"))).read_text(
        "utf-8"
    )
    (tmp_path / "media-types.txt").write_text(shipped, "utf-8")
    nothing = tmp_path.parent / "empty.types"
    nothing.write_text("")
    made = snapshot(tmp_path, "--types", nothing)
    assert sorted(made.splitlines()[2:]) == sorted(shipped.splitlines()[2:])
