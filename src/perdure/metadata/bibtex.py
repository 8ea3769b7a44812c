"""BibTeX: one entry, for LaTeX.

Specification: Patashnik, BibTeXing (1988); fields beyond it (`url`, `doi`, `urldate`) are those
that biblatex and common styles support.

What must stay true: for every title, text between braces is balanced and escaped for TeX; the entry
is UTF-8, as biber and BibTeXu read it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from perdure.metadata.citation.markup import replace_markup
from perdure.metadata.csl import WITHDRAWN, make_item, split_given
from perdure.metadata.datacite_writing import find_version
from perdure.metadata.extents import write_extent
from perdure.metadata.port import DescribedResource, Format
from perdure.metadata.resource_types import find_resource_type, guess_type
from perdure.model.about import Agent

_NAME = "bibtex"
_KEY_DIGITS = 10
"""Among a million resources, two have the same ten digits with a probability of a third; their keys
are equal only if they also have the same creator and year."""
_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
    }
)
_IN_URL = str.maketrans({"\\": "%5C", "{": "%7B", "}": "%7D", "%": r"\%", "#": r"\#", " ": "%20"})
_CASED = re.compile(r"(?<![\w\\])(?:[A-Z]\.(?= )|\w+[A-Z]\w*|[A-Z](?=-\w))")
"""Initials, and words with a capital that is not their first letter: `E.`, `DNA`, `H-bond`."""
_COMMANDS = {
    "i": r"\emph",
    "b": r"\textbf",
    "sup": r"\textsuperscript",
    "sub": r"\textsubscript",
    "sc": r"\textsc",
    "span": "",
    "nocase": "",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def write_record(described: DescribedResource) -> bytes:
    """Write the entry, in UTF-8."""
    about = described.about
    general = about.resource_type or guess_type(described.media_type)
    kind = find_resource_type(general).bibtex
    cited = make_item(described)
    issued = (cited.get("issued", {}).get("date-parts") or [[]])[0]
    held_in = about.container
    where = {"article": "journal"}.get(kind, "booktitle")
    fields: dict[str, str] = {
        "author": _write_names(about.creators),
        "editor": _write_names(tuple(one for one in about.contributors if one.role == "Editor")),
        "title": _write_markup(cited.get("title", "")),
        where: _write_markup(held_in.titles[0].value if held_in and held_in.titles else ""),
        "volume": _escape_text(held_in.volume if held_in else ""),
        "number": _escape_text((held_in.issue or held_in.number) if held_in else ""),
        "pages": _escape_text(cited.get("page", "")).replace("–", "--"),
        "publisher": _escape_text(cited.get("publisher", "")),
        "address": _escape_text(cited.get("publisher-place", "")),
        "edition": _escape_text(about.edition),
        "year": _write_year(issued[0]) if issued else "",
        "version": _escape_text(find_version(described)),
        "howpublished": _escape_text(about.resource_kind or general) if kind == "misc" else "",
        "language": _escape_text(about.language),
        "doi": cited.get("DOI", "").translate(_IN_URL),
        "isbn": _escape_text(cited.get("ISBN", "")),
        "issn": _escape_text(cited.get("ISSN", "")),
        "url": described.url.translate(_IN_URL),
        "note": _escape_text(_write_note(described)),
    }
    if kind == "phdthesis":
        fields["school"] = fields.pop("publisher")
    elif kind == "techreport":
        fields["institution"] = fields.pop("publisher")
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if len(issued) > 1 and issued[1] <= len(_MONTHS):
        lines.append(f"  month = {_MONTHS[issued[1] - 1]},")
    year = fields["year"]
    return "\n".join([f"@{kind}{{{_make_key(described, year)},", *lines, "}\n"]).encode()


def _write_year(number: int) -> str:
    return str(number) if number > 0 else f"{-number} BC"


def _write_note(described: DescribedResource) -> str:
    """Write the identifier unless `url` has it; for archived material, also the archive and the
    time; for a withdrawn resource, the day."""
    identifier, archive = described.identifier, described.about.archive
    words = [f"Archived by {archive}"] if archive else []
    if words and identifier.archived is not None:
        words[0] += f" at {identifier.archived.time.replace('T', ' ').replace('Z', ' UTC')}"
    if described.withdrawn:
        words.append(f"{WITHDRAWN}{described.withdrawn}")
    if str(identifier) != described.url:
        words.append(str(identifier))
    return ". ".join(words)


def _make_key(described: DescribedResource, year: str) -> str:
    """Make the citation key: creator and year, or the identifier, in ASCII.

    The digits after it come from the identifier (and the part) alone, so that the key is that of no
    other resource, and stays the same.
    """
    creators = described.about.creators
    who = (creators[0].family or creators[0].display_name) if creators else ""
    who = unicodedata.normalize("NFKD", who)  # separates letters from their accents
    letters = re.sub("[^A-Za-z0-9]", "", who)
    stem = letters + year if letters else str(described.identifier)
    named = str(described.identifier)
    if described.part is not None:
        named = f"{named} {write_extent(described.part, 'en')}"
    digits = hashlib.sha256(named.encode()).hexdigest()[:_KEY_DIGITS]
    return f"{re.sub('[^A-Za-z0-9:.+/-]', '-', stem)}-{digits}"


def _write_names(agents: tuple[Agent, ...]) -> str:
    """Write `Family, Suffix, Given and …`; braces keep the name of an organisation in one piece."""
    return " and ".join(
        _write_person(one)
        if one.is_person and one.family
        else f"{{{_escape_text(one.display_name)}}}"
        for one in agents
    )


def _write_person(one: Agent) -> str:
    given, suffix = split_given(one)
    parts = (_escape_text(part) for part in (one.family, suffix, given) if part)
    # "and" as a separate word would begin the next name
    return ", ".join(f"{{{part}}}" if "and" in part.lower().split() else part for part in parts)


def _write_markup(value: str) -> str:
    """Write a title. Braces keep the case of words that styles would otherwise lower: `DNA`."""
    return replace_markup(
        " ".join(value.split()),
        lambda name, opens: f"{_COMMANDS[name]}{{" if opens else "}",
        lambda text: _CASED.sub(lambda word: f"{{{word[0]}}}", text.translate(_SPECIAL)),
    )


def _escape_text(value: str) -> str:
    return " ".join(value.split()).translate(_SPECIAL)


FORMAT = Format(
    name=_NAME,
    title="BibTeX",
    media_types=("application/x-bibtex", "text/x-bibtex"),
    write=write_record,
    aliases=("bib",),
    is_text=True,
    place=60,
)
