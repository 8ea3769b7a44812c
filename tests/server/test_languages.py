"""The languages of pages: which one a reader gets, and that every text has a translation."""

from __future__ import annotations

import asyncio
import gettext
import io
import json
import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import lxml.html
import pytest
from jinja2 import nodes
from tests.server.browser import Browser, run_browser
from tests.server.deployment import Deployment, resource, text

from perdure.archives.pwid.verdict import CaptureVerdict
from perdure.model.verdicts import Verdict
from perdure.policy.assertion_scope import AssertionScope
from perdure.server.common import problems
from perdure.server.pages import script_texts, vocabulary
from perdure.server.pages.languages import CATALOGUES, LANGUAGES
from perdure.server.protocol.head import make_title
from perdure.signing.verdict import SignatureVerdict
from perdure.upkeep.linkcheck.verdict import LinkVerdict
from perdure.upkeep.searching.asking import PLACES

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import translations

HTML = "Accept: text/html"
OTHERS = tuple(LANGUAGES)[1:]


@pytest.fixture(scope="module")
def name(site: Deployment) -> str:
    return site.mint(text(b"one and one"))


def read_language(body: bytes) -> str:
    found = re.search(rb'<html lang="([^"]*)"', body)
    assert found is not None
    return found[1].decode()


# which language a reader gets
# ----------------------------


@pytest.mark.parametrize(
    ("field", "language"),
    [
        ("de", "de"),
        ("de-AT, en;q=0.8", "de"),
        ("DA;q=0.2, fr", "da"),
        ("en, de", "en"),
        ("de;q=0.5, da;q=0.7", "da"),
        ("fr, *;q=0.5", "en"),
        ("de;q=0", "en"),
        ("", "en"),
        (";;,=", "en"),
    ],
)
def test_the_browser_says_which_language(site: Deployment, field: str, language: str) -> None:
    answer = site.get("/", HTML, f"Accept-Language: {field}")
    assert read_language(answer.body) == language


def test_a_choice_is_remembered(site: Deployment, name: str) -> None:
    page = f"/{name}?landing"
    body = site.get(page, HTML, "Accept-Language: da").body.decode()
    links = re.findall(r'href="(/language/[^"]+)" lang="(..)" hreflang="(..)"', body)
    assert [(one, also) for _, one, also in links] == [("en", "en"), ("de", "de")]
    answer = site.get(links[1][0], HTML)
    assert (answer.status, answer.headers["location"]) == (303, page)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("perdure-language=de; ")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    kept = f"Cookie: a=b; {cookie.partition(';')[0]}"
    assert read_language(site.get(page, HTML, "Accept-Language: da", kept).body) == "de"
    unknown = "Cookie: perdure-language=tlh"
    assert read_language(site.get(page, HTML, "Accept-Language: da", unknown).body) == "da"


@pytest.mark.parametrize(
    "place", ["//evil.example/", "/%5Cevil.example/", "http://evil.example/", "evil.example", ""]
)
def test_a_choice_leads_to_no_other_server(site: Deployment, place: str) -> None:
    answer = site.get(f"/language/de?to={place}", HTML)
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_a_choice_splits_no_header(site: Deployment) -> None:
    answer = site.get("/language/de?to=/a%0D%0AX-Evil:%201", HTML)
    assert answer.headers["location"] == "/a%0D%0AX-Evil:%201"
    assert "x-evil" not in answer.headers


def test_an_unknown_language_is_no_page(site: Deployment) -> None:
    assert site.get("/language/tlh", HTML).status == 404


# caches
# ------


def list_pages(name: str) -> list[str]:
    return [
        *("/", "/authorities", "/search", "/problems/gone", "/nowhere", f"/{resource(name)}"),
        *(f"/{name}?{word}" for word in ("landing", "info", "assertions", "citedby", "provenance")),
        *(f"/{name}%23char=0,3", f"/{name}?quote=one", f"/{name}?quote=two"),
        "/pdi://oma.eop.gov.us/",
    ]


def test_a_page_says_that_it_depends_on_the_language(site: Deployment, name: str) -> None:
    """RFC 9110, section 12.5.5: "what parts of a request message, aside from the method and target
    URI, might have influenced the origin server's process for selecting the content"."""
    for page in list_pages(name):
        english = site.get(page, HTML, "Accept-Language: en")
        german = site.get(page, HTML, "Accept-Language: de")
        assert (read_language(english.body), read_language(german.body)) == ("en", "de"), page
        vary = german.headers["vary"].split(", ")
        assert {"accept", "accept-language", "cookie"} <= set(vary), page
        assert len(vary) == len(set(vary)), page
        if "etag" not in english.headers:
            continue
        assert english.headers["etag"] != german.headers["etag"], page
        again = site.get(
            page, HTML, "Accept-Language: de", f"If-None-Match: {german.headers['etag']}"
        )
        other = site.get(
            page, HTML, "Accept-Language: de", f"If-None-Match: {english.headers['etag']}"
        )
        assert (again.status, other.status) == (304, 200), page
        assert set(vary) == set(again.headers["vary"].split(", ")), page


def test_other_forms_do_not_depend_on_it(site: Deployment, name: str) -> None:
    for target in (f"/{name}", f"/{name}?info", f"/{name}?linkset"):
        english = site.get(target, "Accept-Language: en")
        german = site.get(target, "Accept-Language: de", "Cookie: perdure-language=da")
        assert english.body == german.body, target
        assert "cookie" not in german.headers.get("vary", ""), target
        assert english.headers.get("etag") == german.headers.get("etag"), target


# catalogues
# ----------


def test_catalogues_are_up_to_date() -> None:
    messages = {one.id for one in translations.collect_messages() if one.id}
    for language in OTHERS:
        catalogue = translations.read_source(language)
        texts = {one.id for one in catalogue if one.id}
        assert texts == messages, "run make translations"
        assert not catalogue.obsolete
        compiled = (CATALOGUES / f"{language}.mo").read_bytes()
        assert gettext.GNUTranslations(io.BytesIO(compiled)).info()["language"] == language
        assert compiled == translations.compile_source(catalogue), "run make translations"


_VALUES = re.compile(r"%\([a-z_]+\)s")
_TAGS = re.compile(r"<[^>]*>")


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_has_a_translation(language: str) -> None:
    """With the values and the markup of the text itself, and in all its plural forms."""
    for one in translations.read_source(language):
        texts = [one.id] if isinstance(one.id, str) else list(one.id)
        strings = [one.string] if isinstance(one.string, str) else list(one.string or ())
        if not texts[0]:
            continue
        assert not one.fuzzy, texts
        assert len(strings) == len(texts), texts
        for string in strings:
            assert string, texts
            for pattern in (_VALUES, _TAGS):
                assert sorted(pattern.findall(string)) == sorted(pattern.findall(texts[-1])), texts


@pytest.mark.parametrize(("language", "words"), [("de", "Dokument öffnen"), ("da", "Citér")])
def test_a_page_is_in_the_language(site: Deployment, name: str, language: str, words: str) -> None:
    page = site.get(f"/{name}?landing", HTML, f"Accept-Language: {language}").body.decode()
    assert words in page
    for text_of_ours in ("Get the document", "Cite<", "Versions<", "For programs", "Search<"):
        assert text_of_ours not in page


def read_sentences(body: bytes) -> set[str]:
    """The texts of a page with two words or more, without what is said to be English, and code."""
    page: Any = lxml.html.document_fromstring(body.decode())
    for one in page.xpath("//body//*[@lang='en'] | //script | //code | //pre | //bdi"):
        one.drop_tree()
    texts = [*page.xpath("//text()"), *page.xpath("//@title | //@aria-label | //@alt")]
    return {" ".join(one.split()) for one in texts if re.search(r"[a-z]{2} [a-z]{2}", one)}


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_is_left_in_english(site: Deployment, name: str, language: str) -> None:
    """The document is of one word, so what two languages have in common was not translated."""
    word = site.mint(text(b"unwiederbringlich"))
    end = time.monotonic() + 30
    while json.loads(site.get("/search?q=unwiederbringlich").body)["index"]["behind"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    asked = ("landing", "assertions", "citedby", "cites", "history", "quotes", "provenance")
    paths = [f"/{word}?{one}" for one in asked]
    paths += ["/", "/about", "/authorities", "/sign-in", "/nothing", "/search", f"/{word}9"]
    paths += [f"/search?q={one}" for one in ("unwiederbringlich", "nowhere")]
    paths += [f"/{'/'.join(word.split('/')[:count])}/" for count in (3, 4, 5, 6)]
    left = {}
    for path in paths:
        pages = [site.get(path, HTML, f"Accept-Language: {one}") for one in ("en", language)]
        assert read_language(pages[1].body) == language, path
        left[path] = set.intersection(*(read_sentences(one.body) for one in pages))
    assert {path: texts for path, texts in left.items() if texts} == {}


def test_words_of_the_code_are_in_the_vocabulary() -> None:
    """All words that the code can give are listed, so that none is forgotten."""
    assert set(vocabulary.HEALTH) == {str(one) for one in LinkVerdict}
    assert set(vocabulary.SIGNATURES) == {str(one) for one in SignatureVerdict}
    assert set(vocabulary.CITATIONS) == {str(one) for one in Verdict}
    assert set(vocabulary.SCOPES) == {str(one) for one in AssertionScope}
    assert set(vocabulary.CAPTURES) == {one.value for one in CaptureVerdict}
    assert set(vocabulary.PLACES) == set(PLACES)
    titles = {make_title(code) for code in problems.list_explanations()}
    assert set(vocabulary.PROBLEMS) <= titles


class Visible(HTMLParser):
    """Collects what a reader sees or hears of a template, without what is marked."""

    _SPOKEN = frozenset(("alt", "aria-label", "placeholder", "title"))
    _SILENT = frozenset(("bdi", "code", "script", "time"))

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attributes if name in self._SPOKEN and value]
        self._silent += tag in self._SILENT

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self._SILENT

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


PROPER = frozenset(
    (
        *("APA", "BibTeX", "CSL-JSON", "ISO", "MLA", "PWID", "RFC", "RIS", "SHA-512", "TimeGate"),
        *("Atom", "OAI-PMH", "OpenSearch", "ResourceSync"),
        *("TimeMap", "URI", "URN", "ark", "doi", "http", "pdf", "pdi", "perdure", "sha512", "urn"),
    )
)
"""Words that are the same in every language."""


@pytest.mark.parametrize(
    "path", sorted(translations.PAGES.rglob("*.html")), ids=lambda one: str(one.name)
)
def test_every_text_of_a_template_is_marked(path: Path) -> None:
    environment = jinja2.Environment(extensions=("jinja2.ext.i18n",))
    environment.install_null_translations()  # type: ignore[attr-defined]
    tree = environment.parse(path.read_text("utf-8"))
    data = (one.data for one in tree.find_all(nodes.TemplateData))
    seen = Visible()
    seen.feed(re.sub(r"(</?)\0", r"\1x", "\0".join(data)).replace("\0", " "))
    words = re.findall(r"[A-Za-z][A-Za-z0-9-]+", " ".join(seen.texts))
    assert not [one for one in words if one not in PROPER]


def test_only_constants_are_marked() -> None:
    """A translation is markup of ours, so nothing else may become one."""
    environment = jinja2.Environment(extensions=("jinja2.ext.i18n",))
    for path in translations.PAGES.rglob("*.html"):
        for call in environment.parse(path.read_text("utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("_", "gettext"):
                assert isinstance(call.args[0], nodes.Const), (path, call.lineno)


# scripts
# -------


@pytest.mark.parametrize(
    "path", sorted(script_texts.SCRIPTS.glob("*.js")), ids=lambda one: one.name
)
def test_every_text_of_a_script_is_marked(path: Path) -> None:
    """A constant of two words, or with a capital letter, is for people, unless it is code."""
    source = re.sub(r"(?m)^\s*//.*$|//.*$|^import .*$", "", path.read_text("utf-8"))
    source = re.sub(r'\b_\("(?:[^"\\]|\\.)*"', "_(", source)
    texts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', source)
    shown = [one for one in texts if re.match(r"[A-Z✓✗]|[a-z]+ [a-z]", one)]
    assert not [one for one in shown if one not in CODE]


CODE = frozenset(("Accept", "OpenSeadragon"))
"""Names in scripts that begin with a capital letter."""


@pytest.mark.parametrize("language", OTHERS)
def test_scripts_speak_the_language_of_the_page(site: Deployment, name: str, language: str) -> None:
    async def read_button(browser: Browser) -> str:
        fields = {"Accept-Language": language}
        await browser.call("Network.setExtraHTTPHeaders", headers=fields)
        await browser.open(f"{site.base}/{name}?landing")
        for _ in range(100):
            found = await browser.evaluate("document.querySelector('main > .copy')?.textContent")
            if found:
                break
            await asyncio.sleep(0.05)
        return str(found)

    words = {"de": "Kopieren", "da": "Kopiér"}
    assert run_browser(read_button) == words[language]
