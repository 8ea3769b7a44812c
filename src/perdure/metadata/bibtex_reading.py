"""Read an entry of BibTeX (see `perdure.metadata.bibtex`).

How it works: `cut_entries` finds the entries of a file by their braces, and fills in their macros.
`decode_tex` turns accents and other commands of TeX into characters, and drops braces.
`read_record` makes a description from the fields of one entry.

What must stay true: an entry that does not end costs no more than itself; text outside of entries
is a comment, as BibTeX says.

Specification: Patashnik, BibTeXing (1988); biblatex manual, chapter 2, for later fields.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import quote_parser
from perdure.errors.root import count_things
from perdure.metadata.port import LARGEST
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    RelatedItem,
    Subject,
)
from perdure.model.description_checks import check_description
from perdure.model.plain_words import find_year

_NAME = "bibtex"
_OPENING = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_WORD = re.compile(r"[^\s\"#%'(),={}]+")
_MARK = re.compile(r'[{}"\\]')
_BRACKET = re.compile(r"[{})]|\\.", re.DOTALL)
_MONTH_NAMES = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_MONTHS = {month: f"{number:02}" for number, month in enumerate(_MONTH_NAMES, 1)}
_TYPES = {
    "article": "JournalArticle", "book": "Book", "booklet": "Text", "inbook": "BookChapter",
    "incollection": "BookChapter", "inproceedings": "ConferencePaper", "manual": "Text",
    "conference": "ConferencePaper", "mastersthesis": "Dissertation", "misc": "",
    "phdthesis": "Dissertation", "thesis": "Dissertation", "proceedings": "ConferenceProceeding",
    "techreport": "Report", "report": "Report", "unpublished": "Preprint", "dataset": "Dataset",
    "software": "Software", "online": "InteractiveResource", "collection": "Book",
    "periodical": "Journal", "image": "Image", "audio": "Sound", "video": "Audiovisual",
    "standard": "Standard",
}  # fmt: skip
_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328", "b": "\u0331",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø",
    "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ",
    "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ", "S": "§", "P": "¶", "copyright": "©", "pounds": "£",
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textendash": "–",
    "textemdash": "—", "ldots": "…", "dots": "…", "textdegree": "°", "guillemotleft": "«",
    "guillemotright": "»", "textquoteright": "’", "textquoteleft": "‘", "textregistered": "®",
}  # fmt: skip
_STYLES = {"emph": "i", "textit": "i", "textbf": "b", "textsc": "sc", "textsuperscript": "sup",
           "textsubscript": "sub"}  # fmt: skip
_ACCENT = re.compile(
    r"\\(?:([`'^~=.\"])|([uvHcdbkr])(?![A-Za-z]))\s*(?:\{\s*(\\?[A-Za-z])\s*\}|(\\[ij](?![A-Za-z])|[A-Za-z]))"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)(?:\{\}|\s+|(?![A-Za-z]))")
_STYLE = re.compile(rf"\\({'|'.join(_STYLES)})\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}")
_SYMBOL = re.compile(r"\\([%&$#_{}])")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


class BibtexEntry(NamedTuple):
    """An entry of a file."""

    line: int
    kind: str
    """`article`, in lower case."""
    key: str
    raw: str
    fields: Mapping[str, str]
    """Names in lower case, values with TeX in them."""
    fault: str = ""
    macros: str = ""
    """The definitions of the macros that it uses, so that it can be read alone."""


def cut_entries(text: str) -> Iterator[BibtexEntry]:
    """Yield the entries of a file, with its macros filled in."""
    macros = {month: month for month in _MONTHS}
    closings = _Closings(text)
    at, line, counted = 0, 1, 0
    while (opening := _OPENING.search(text, at)) is not None:
        line += text.count("\n", counted, opening.start())
        counted = opening.start()
        kind = opening[1].lower()
        end = closings.find_end(opening.end(), opening[2])
        raw = text[opening.start() : end]
        at = end or opening.end()
        if kind in ("comment", "preamble"):
            continue
        if not end:
            following = _OPENING.search(text, at)
            raw = text[opening.start() : following.start() if following else len(text)]
            yield BibtexEntry(line, kind, "", raw, {}, "its braces are not closed")
            continue
        inside = raw[opening.end() - opening.start() : -1]
        try:
            if kind == "string":
                macros |= _read_pairs(inside, macros)
                continue
            key, comma, rest = inside.partition(",")
            fields = _read_pairs(rest, macros) if comma else {}
            yield BibtexEntry(
                line, kind, key.strip(), raw, fields, macros=_define_macros(rest, macros)
            )
        except ValueError as error:
            yield BibtexEntry(line, kind, "", raw, {}, str(error))


def _define_macros(text: str, macros: Mapping[str, str]) -> str:
    """Return definitions of those macros that a text may use, months aside."""
    words = dict.fromkeys(one.lower() for one in _WORD.findall(text))
    return "".join(
        f"@string{{{name} = {{{macros[name]}}}}}\n"
        for name in words
        if name in macros and name not in _MONTHS
    )


class _Closings:
    """The places at which entries of a file may end, found in one pass.

    How deep a place is in braces is counted from the start of the file. An entry ends at the first
    closing mark after its opening that is as deep as its content.
    """

    def __init__(self, text: str) -> None:
        self._marks, self._depths = array("Q"), array("q")  # after each brace
        self._closings: dict[tuple[str, int], array[int]] = {}
        depth = 0
        for mark in _BRACKET.finditer(text):
            closing = mark[0]
            if closing in "})":
                self._closings.setdefault((closing, depth), array("Q")).append(mark.end())
            if closing in "{}":
                depth += 1 if closing == "{" else -1
                self._marks.append(mark.end())
                self._depths.append(depth)

    def find_end(self, start: int, opening: str) -> int:
        """Return the offset after the end of an entry whose content begins at `start`; 0 if it has
        none.
        """
        before = bisect_right(self._marks, start)
        depth = self._depths[before - 1] if before else 0
        ends = self._closings.get(("}" if opening == "{" else ")", depth), array("Q"))
        found = bisect_right(ends, start)
        return ends[found] if found < len(ends) else 0


def _read_pairs(text: str, macros: Mapping[str, str]) -> dict[str, str]:
    """Read `name = value, …`. Raises ValueError."""
    found: dict[str, str] = {}
    at, length = 0, 0
    while (word := re.compile(r"[\s,]*").match(text, at)) is not None and word.end() < len(text):
        name = _WORD.match(text, word.end())
        equals = re.compile(r"\s*=\s*").match(text, name.end()) if name else None
        if name is None or equals is None:
            raise ValueError(f"{text[word.end() : word.end() + 30]!a} is not NAME = VALUE")
        value, at = _read_value(text, equals.end(), macros, LARGEST - length)
        length += len(value)
        found.setdefault(name[0].lower(), value)
        rest = re.compile(r"\s*(,|\Z)").match(text, at)
        if rest is None:
            raise ValueError(f"a comma is missing before {text[at : at + 30].strip()!a}")
        at = rest.end()
    return found


def _read_value(text: str, at: int, macros: Mapping[str, str], most: int) -> tuple[str, int]:
    """Read strings, numbers and macros with `#` between them, and return the offset after them.

    Raises ValueError also if the value has more than `most` characters: macros double quickly.
    """
    pieces: list[str] = []
    while True:
        if text[at : at + 1] in ('"', "{"):
            end = _find_string_end(text, at)
            pieces.append(text[at + 1 : end - 1])
        else:
            word = _WORD.match(text, at)
            if word is None:
                raise ValueError(f"{text[at : at + 30]!a} is not a value")
            end = word.end()
            pieces.append(macros.get(word[0].lower(), word[0]))
        if sum(map(len, pieces)) > most:
            raise ValueError(f"its values have more than {LARGEST >> 20} MiB")
        joint = re.compile(r"\s*#\s*").match(text, end)
        if joint is None:
            return "".join(pieces), end
        at = joint.end()


def _find_string_end(text: str, at: int) -> int:
    closing = '"' if text[at] == '"' else "}"
    depth, place = 0, at + 1
    while (mark := _MARK.search(text, place)) is not None:
        place = mark.end()
        if mark[0] == "\\":
            place += 1
        elif mark[0] == closing and depth == 0:
            return place
        elif mark[0] in "{}":
            depth += 1 if mark[0] == "{" else -1
    raise ValueError(f"{text[at : at + 30]!a} does not end")


# From TeX
# --------


def decode_tex(text: str) -> str:
    r"""Return text without the commands and braces of TeX; styles become markup.

    >>> decode_tex(r"M{\"u}ller \& {DNA} \emph{E. coli}")
    'Müller & DNA <i>E. coli</i>'
    """
    if "\\" in text:
        text = _SYMBOL.sub(lambda found: _keep_symbol(found[1]), text)
        text = _ACCENT.sub(_compose_accent, text)
        for _ in range(4):  # styles inside of styles
            text, changed = _STYLE.subn(_mark_style, text)
            if not changed:
                break
        text = _COMMAND.sub(lambda found: _LETTERS.get(found[1], f"\\{found[1]} "), text)
    text = text.replace("{", "").replace("}", "").replace("~", "\u00a0")
    text = text.replace("---", "—").replace("--", "–")
    text = " ".join(text.replace("\u00a0", " ").split())
    return text.translate(_SYMBOLS_KEPT)


_SYMBOLS = "%&$#_{}"
_SYMBOLS_KEPT = {0xE000 + place: one for place, one in enumerate(_SYMBOLS)}


def _keep_symbol(symbol: str) -> str:
    """A character for private use, so that an escaped brace is not dropped with the others."""
    return chr(0xE000 + _SYMBOLS.index(symbol))


def _compose_accent(found: re.Match[str]) -> str:
    letter = (found[3] or found[4]).removeprefix("\\")
    return unicodedata.normalize("NFC", letter + _ACCENTS[found[1] or found[2]])


def _mark_style(found: re.Match[str]) -> str:
    return f"<{_STYLES[found[1]]}>{found[2]}</{_STYLES[found[1]]}>"


def decode_url(text: str) -> str:
    r"""Return an address without TeX's escapes: `\%`, `\#`, `\_`, `\url{…}`."""
    text = re.sub(r"\A\\(?:url|href)\{(.*)\}\Z", r"\1", text.strip())
    return re.sub(r"\\([%&$#_{}~])", r"\1", text).replace("{", "").replace("}", "").strip()


# To a description
# ----------------


def read_record(data: bytes) -> About:
    """Read one entry. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        entries = list(cut_entries(data.decode("utf-8-sig")))
        if len(entries) != 1:
            raise ValueError(f"it has {count_things(len(entries), 'entry')}; one is needed")
        if entries[0].fault:
            raise ValueError(entries[0].fault)
    except ValueError as error:
        raise quote_parser(_NAME, "the reader of BibTeX", error) from None
    return describe_entry(entries[0])


def describe_entry(entry: BibtexEntry) -> About:
    """Make a description from an entry. Raises InvalidRequest."""
    fields = {name: decode_tex(value) for name, value in entry.fields.items()}
    get = fields.get
    date = _read_date(fields)
    publisher = get("publisher") or get("school") or get("institution") or get("organization", "")
    place = get("address") or get("location", "")
    keywords = re.split("[;,]", get("keywords", ""))
    return check_description(
        About(
            titles=tuple(_list_titles(fields)),
            creators=tuple(_read_names(entry.fields.get("author", ""))),
            contributors=_list_contributors(entry),
            publisher=Publisher(name=publisher, place=place) if publisher else None,
            year=find_year(date) or find_year(get("year", "")),
            dates=(DescriptionDate(value=date, kind="Issued"),) if date else (),
            language=_read_language(get("langid") or get("language", "")),
            resource_type=_TYPES.get(entry.kind, "Text"),
            resource_kind=get("type", ""),
            subjects=tuple(Subject(value=one.strip()) for one in keywords if one.strip()),
            descriptions=tuple(_list_descriptions(fields)),
            codes=tuple(_list_codes(entry.fields)),
            version=get("version", ""),
            edition=get("edition", ""),
            related=tuple(_list_containers(entry, fields)),
        )
    )


def _list_titles(fields: Mapping[str, str]) -> Iterator[DescriptionText]:
    if title := fields.get("title"):
        yield DescriptionText(value=title)
    if subtitle := fields.get("subtitle"):
        yield DescriptionText(value=subtitle, kind="Subtitle")


def _list_descriptions(fields: Mapping[str, str]) -> Iterator[DescriptionText]:
    for name, kind in (("abstract", "Abstract"), ("note", "Other"), ("annote", "Other")):
        if text := fields.get(name):
            yield DescriptionText(value=text, kind=kind)


def _list_codes(fields: Mapping[str, str]) -> Iterator[Code]:
    for name, scheme in (("doi", "DOI"), ("isbn", "ISBN"), ("url", "URL")):
        if text := fields.get(name):
            yield Code(value=decode_url(text), scheme=scheme)


def _list_contributors(entry: BibtexEntry) -> tuple[Agent, ...]:
    """The editors, unless they edited the container."""
    if entry.kind in ("incollection", "inproceedings", "conference", "inbook"):
        return ()
    editors = _read_names(entry.fields.get("editor", ""))
    return tuple(_give_role(one, "Editor") for one in editors)


def _give_role(agent: Agent, role: str) -> Agent:
    return Agent(
        name=agent.name, given=agent.given, family=agent.family, kind=agent.kind, role=role
    )


def _list_containers(entry: BibtexEntry, fields: Mapping[str, str]) -> Iterator[RelatedItem]:
    get = fields.get
    title = get("journal") or get("journaltitle") or get("booktitle") or get("series", "")
    pages = [one.strip() for one in re.split("[–—-]+", get("pages", "")) if one.strip()]
    issn = get("issn", "")
    if not any((title, pages, issn, get("volume"), get("number"))):
        return
    is_article = bool(get("journal") or get("journaltitle"))
    editors = (
        _read_names(entry.fields.get("editor", ""))
        if entry.kind in ("incollection", "inproceedings", "conference", "inbook")
        else ()
    )
    yield RelatedItem(
        relation="IsPublishedIn",
        resource_type="Journal" if is_article else "Book" if get("booktitle") else "Collection",
        titles=(DescriptionText(value=title),) if title else (),
        contributors=tuple(_give_role(one, "Editor") for one in editors),
        code=Code(value=issn, scheme="ISSN") if issn else None,
        volume=get("volume", ""),
        issue=get("number", "") if is_article else "",
        number="" if is_article else get("number", ""),
        first_page=pages[0] if pages else "",
        last_page=pages[-1] if len(pages) > 1 else "",
    )


def _read_date(fields: Mapping[str, str]) -> str:
    """The date of publication: `date` of biblatex, or year, month and day."""
    if date := fields.get("date"):
        return date
    year = fields.get("year", "")
    month = _MONTHS.get(fields.get("month", "")[:3].lower(), "")
    if not month and fields.get("month", "").isdecimal():
        month = f"{int(fields['month']):02}"
    if not re.fullmatch("[0-9]{4}", year) or not month:
        return year
    day = fields.get("day", "")
    return f"{year}-{month}" + (f"-{int(day):02}" if day.isdecimal() and day.isascii() else "")


def _read_language(word: str) -> str:
    known = {"english": "en", "german": "de", "ngerman": "de", "french": "fr", "spanish": "es",
             "italian": "it", "american": "en-US", "british": "en-GB"}  # fmt: skip
    word = known.get(word.lower(), word)
    return word if re.fullmatch("[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*", word) else ""


def _read_names(text: str) -> list[Agent]:
    """Read names between `and`. A name in braces is that of an organisation."""
    names = []
    for written in _split_names(text):
        bare = written.strip()
        if not bare or bare.lower() == "others":
            continue
        if (
            bare.startswith("{")
            and bare.endswith("}")
            and _Closings(bare).find_end(1, "{") == len(bare)
        ):
            names.append(Agent(name=decode_tex(bare), kind="Organizational"))
            continue
        names.append(_read_person(bare))
    return names


def _split_names(text: str) -> Iterator[str]:
    """Split at `and` outside of braces."""
    start = 0
    for found in _AND.finditer(text):
        before = text[start : found.start()]
        if before.count("{") == before.count("}"):
            yield before
            start = found.end()
    yield text[start:]


def _read_person(text: str) -> Agent:
    """Read `von Last, First`, `von Last, Jr, First` or `First von Last`."""
    parts = [decode_tex(one) for one in _split_at_commas(text)]
    if len(parts) == 1:
        words = parts[0].split()
        first_lower = next((at for at, one in enumerate(words[:-1]) if one[:1].islower()), None)
        at = len(words) - 1 if first_lower is None else first_lower
        family, given = " ".join(words[at:]), " ".join(words[:at])
    elif len(parts) == 2:
        family, given = parts
    else:
        family, given = parts[0], f"{parts[2]}, {parts[1]}"
    if not given:
        return Agent(name=family)
    return Agent(name=f"{family}, {given}", family=family, given=given, kind="Personal")


def _split_at_commas(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
