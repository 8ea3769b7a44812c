"""Landing pages and linksets, read by browsers' rules and by the program `signposting`."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from lxml import html
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, text

from perdure.ids import parse
from perdure.model.about import About, Agent, Code, DescriptionText, Relation, Rights
from perdure.model.commands import Alias, Break, Describe, Register, Withdraw
from perdure.model.plain_words import parse_person
from perdure.model.records import Location
from perdure.upkeep.linkcheck.breaking import break_drifted
from perdure.upkeep.linkcheck.state import BoundLocation, Links
from perdure.upkeep.linkcheck.verdict import ExpectedContent, LinkFinding, LinkVerdict

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
NASTY = "</script><script>alert(1)</script> & \"quotes\" 'too' <b>"
EVERY_SCHEME = (
    "pdi://oma.eop.gov.us/1997/09/01/1",
    "hdl:21.T14999/x%y",
    "doi:10.1000/182",
    "ark:12345/x6",
    "urn:isbn:9780141036144",
    "URN:IANA:42117::a1:::",
    "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    policies = "12345/k8 = (:permanent) kept,99999 = (:unas) for tests"
    place = tmp_path_factory.mktemp("landing") / "registry"
    with deployed(place, ark_policies=policies) as running:
        yield running


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    """A described document in two formats and two versions."""
    name = site.mint(
        text(b"first\r\n"), text(b"<p>first", "html", "text/html"), metadata={"note": "x"}
    )
    whole = str(parse(name).whole.resource)
    site.commit(whole, text(b"second\r\n", language="en"))
    about = About(
        titles=(DescriptionText(value="A letter"),),
        creators=(_jane(),),
        year="1997",
        resource_type="Text",
        rights=(Rights(value="CC0", uri="https://creativecommons.org/publicdomain/zero/1.0/"),),
        relations=(Relation(value="10.1000/all", scheme="DOI", relation="IsPartOf"),),
    )
    site.do(Describe(identifier=parse(whole), about=about))
    return whole


def _jane() -> Agent:
    orcid = Code(value="0000-0002-1825-0097", scheme="ORCID")
    return msgspec.structs.replace(parse_person("Doe, Jane"), codes=(orcid,))


def page(answer: Answer) -> html.HtmlElement:
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    return html.document_fromstring(answer.body)


# the page
# --------


def test_it_says_what_the_thing_is(site: Deployment, letter: str) -> None:
    found = page(site.get(f"/{letter}?landing")).text_content()
    for words in ("A letter", letter, "Jane", "1997", "Version 2", "Version 1", "SHA-512", "CC0"):
        assert words in found
    record = site.registry.listings.find_record(parse(letter))
    assert record is not None
    assert record.versions[0].representations[0].sha512 in found


def test_a_browser_gets_it_with_info_and_the_thing_without(site: Deployment, letter: str) -> None:
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    shown = site.get(f"/{letter}?info", f"Accept: {browser}")
    assert page(shown).findtext(".//h1") == "A letter"
    assert page(site.get(f"/{letter}", f"Accept: {browser}")).findtext(".//h1") == "A letter"
    assert site.get(f"/{letter}?bytes", f"Accept: {browser}").body == b"second\r\n"
    assert site.get(f"/{letter}?info").headers["content-type"] == "application/json"


def test_the_citation_stands_there(site: Deployment, letter: str) -> None:
    quote = page(site.get(f"/{letter}?landing")).findtext(".//blockquote")
    assert quote is not None
    assert "Doe, J." in quote
    assert letter in quote


def test_json_ld_is_inside(site: Deployment, letter: str) -> None:
    scripts = page(site.get(f"/{letter}?landing")).findall(".//script")
    assert [one.get("type") for one in scripts] == ["module", "application/ld+json", None]
    said = json.loads(scripts[1].text or "")
    assert said["@context"] == "https://schema.org/"
    assert said["name"] == "A letter"


def test_json_ld_cannot_end_its_script(site: Deployment) -> None:
    """HTML 4.12.1.3: `<!--`, `<script` and `</script` end or change the reading of a script."""
    name = site.bind("hdl:21.T14999/ended", "https://a.example/")
    about = About(titles=(DescriptionText(value="a &lt; </script><!-- > \u00e9"),))
    site.do(Describe(identifier=parse(name), about=about))
    body = site.get(f"/{name}?landing").body.decode()
    written = body.partition('<script type="application/ld+json">')[2].partition("</script>")[0]
    told = r"a \u0026lt; \u003c/script\u003e\u003c!-- \u003e " + "\u00e9"
    assert f'"name": "{told}"' in written
    assert json.loads(written)["name"] == "a &lt; </script><!-- > \u00e9"


def test_the_head_has_the_links_of_the_page_itself(site: Deployment, letter: str) -> None:
    """Links with another context cannot be written in HTML; items are many, and in the linkset."""
    answer = site.get(f"/{letter}?landing")
    links = [(one.get("rel"), one.get("href")) for one in page(answer).findall(".//head/link")]
    name = f"{site.base}/{letter}"
    assert ("cite-as", name) in links
    assert ("linkset", f"{name}?linkset") in links
    assert {rel for rel, _ in links} <= {
        *("cite-as", "type", "author", "license", "collection", "describedby", "linkset"),
        "alternate",  # oEmbed
        *("latest-version", "predecessor-version", "successor-version", "version-history"),
        *("stylesheet", "icon", "search", "canonical", "schema.DC"),
    }
    assert [href for rel, href in links if rel == "cite-as"] == [name]


@pytest.mark.parametrize("name", EVERY_SCHEME)
def test_every_scheme_has_one_and_resolves(site: Deployment, name: str) -> None:
    from perdure.reading.targets import spell_path

    identifier = parse(name)
    site.do(Register(identifier=identifier, locations=(Location(uri="https://a.example/1"),)))
    path = spell_path(identifier)
    # of a PWID every "?" is the item's, but for the words that ask
    assert site.get(f"/{path}").headers["location"] == "https://a.example/1"
    browser = site.get(f"/{path}?info", "Accept: text/html")
    assert str(identifier) in page(browser).text_content()
    assert str(identifier) in page(site.get(f"/{path}?landing")).text_content()
    assert site.get(f"/{path}?linkset").headers["content-type"] == "application/linkset+json"
    assert site.get(f"/{path}?region=eu").headers["location"] == "https://a.example/1"


def test_nothing_that_was_said_is_markup(site: Deployment) -> None:
    name = "hdl:21.T14999/nasty"
    site.do(Register(identifier=parse(name), locations=(Location(uri="https://a.example/'x&y"),)))
    about = About(
        titles=(DescriptionText(value=NASTY),),
        descriptions=(DescriptionText(value=NASTY, kind="Abstract"),),
    )
    site.do(Describe(identifier=parse(name), about=about))
    answer = site.get(f"/{name}?landing")
    found = page(answer)
    assert found.findtext(".//h1") == NASTY
    assert len(found.findall(".//script")) == 3  # the JSON-LD, and our own two
    assert not found.findall(".//b")
    told = found.findtext(".//script[@type='application/ld+json']")
    assert json.loads(told or "")["name"] == NASTY
    assert answer.headers["content-security-policy"].count("'sha256-") == 1
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_no_title_turns_the_name_around(site: Deployment) -> None:
    name = "hdl:21.T14999/turned"
    site.do(Register(identifier=parse(name), locations=(Location(uri="https://a.example/1"),)))
    titles = (DescriptionText(value="a \u202eelgoog\u2066 title"),)
    site.do(Describe(identifier=parse(name), about=About(titles=titles)))
    found = page(site.get(f"/{name}?landing"))
    shown = (found.findtext(".//title"), found.findtext(".//h1"), found.findtext(".//blockquote"))
    assert not any(set(one or "") & set("\u202e\u2066") for one in shown)
    assert "elgoog" in (shown[1] or "")


def test_the_form_for_passages_can_tell_one_of_several(site: Deployment) -> None:
    name = site.mint(text(b"a cat, the cat"))
    forms = page(site.get(f"/{name}?landing")).forms
    form = next(one for one in forms if "quote" in one.fields)
    assert form.method == "GET"
    assert {"quote", "before"} <= set(form.fields.keys())
    assert all(one.label is not None for one in form.inputs)
    path = "/" + form.action.partition("//")[2].partition("/")[2]
    assert site.get(f"{path}?quote=cat&before=").status == 300
    found = site.get(f"{path}?quote=cat&before=the+")
    assert found.status == 303
    assert "char=11,14" in found.headers["location"]


def test_a_tombstone_is_shown(site: Deployment) -> None:
    name = site.mint(text(b"secret\r\n"))
    whole = str(parse(name).whole.resource)
    site.do(Withdraw(identifier=parse(whole), reason="a court said so", by="clerk"))
    shown = site.get(f"/{whole}?landing")
    assert shown.status == 410
    found = "".join(map(str, html.document_fromstring(shown.body).itertext()))
    assert "a court said so" in found
    assert "clerk" in found
    assert site.get(f"/{whole}", "Accept: text/html").status == 410


def test_an_alias_leads_to_what_it_names(site: Deployment) -> None:
    name, alias = "hdl:21.T14999/whole", "doi:10.1000/alias-of-it"
    site.do(Register(identifier=parse(name), locations=(Location(uri="https://a.example/1"),)))
    site.do(Alias(identifier=parse(name), other=parse(alias)))
    for asked in ("", "?landing", "?history", "?linkset"):
        answer = site.get(f"/{alias}{asked}")
        assert answer.status == 302
        assert answer.headers["location"].endswith(f"/{name}{asked}")
    other = "hdl:21.T14999/another"
    site.do(Register(identifier=parse(other), locations=(Location(uri="https://a.example/2"),)))
    site.do(Alias(identifier=parse(other), other=parse(alias)))
    known = site.get(f"/{alias}").status  # now both records and the alias name one another
    assert known == 404


def test_what_is_unknown_has_none(site: Deployment) -> None:
    assert site.get("/hdl:21.T14999/none?landing").status == 404


def test_it_can_be_kept(site: Deployment, letter: str) -> None:
    tag = site.get(f"/{letter}?landing").headers["etag"]
    assert site.get(f"/{letter}?landing", f"If-None-Match: {tag}").status == 304


def test_it_is_accessible(site: Deployment, letter: str) -> None:
    """What WCAG 2.2 asks of a page as plain as this: language, title, one h1, no level left out."""
    found = page(site.get(f"/{letter}?landing"))
    assert found.get("lang") == "en"
    assert found.findtext(".//title") == "A letter"
    levels = [int(one.tag[1]) for one in found.iter("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert len(found.findall(".//main")) == 1
    assert all((one.text_content() or "").strip() for one in found.iter("a"))
    labels = [one.get("aria-labelledby") for one in found.iter("section")]
    assert all(found.get_element_by_id(one) is not None for one in labels if one)


# signposting
# -----------


def _signposts(site: Deployment, *words: str) -> str:
    program = PEERS / "signposting"
    if not program.exists():
        pytest.skip("signposting is not installed")
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["--http", "--html"])
def test_level_1_is_read_by_signposting(site: Deployment, letter: str, how: str) -> None:
    found = _signposts(site, how, f"{site.base}/{letter}?landing")
    said = set(re.findall("<([^>]+)>", found))
    name = f"{site.base}/{letter}"
    assert said >= {
        name,
        "https://schema.org/AboutPage",
        "https://orcid.org/0000-0002-1825-0097",
        "https://creativecommons.org/publicdomain/zero/1.0/",
        f"{name}?metadata=datacite",
        f"{name}?linkset",
        f"{site.base}/doi:10.1000/all",
    }
    relations = set(re.findall(r"^(\w+): <", found, re.MULTILINE))
    assert relations >= {"CiteAs", "Type", "Author", "License", "DescribedBy", "Linkset"}


@pytest.mark.parametrize("accept", ["application/linkset+json", "application/linkset"])
def test_a_linkset_has_all_of_it(site: Deployment, letter: str, accept: str) -> None:
    answer = site.get(f"/{letter}?linkset", f"Accept: {accept}")
    assert answer.headers["content-type"] == accept
    for words in (b"cite-as", b"describedby", b"item", b"describes", b"license", b"collection"):
        assert words in answer.body


def test_level_2_is_read_by_signposting(site: Deployment, letter: str) -> None:
    found = _signposts(site, "--linkset", "-c", f"{site.base}/{letter}?linkset")
    assert re.search(r"Item: .*\.text\.2", found, re.IGNORECASE), found
    assert re.search("describes|CiteAs", found, re.IGNORECASE)


def test_what_was_read_out_of_the_document_is_marked(site: Deployment, letter: str) -> None:
    """Also where that is nothing but a title."""
    name = site.mint(text(b"<html><title>Its own title</title><p>x", "html", "text/html"))
    page = site.get(f"/{name}?landing").body
    assert b">Its own title</h1>" in page
    assert b"extracted from the document itself (HTML)" in page
    assert b"extracted from the document" not in site.get(f"/{letter}?landing").body


def test_a_part_has_not_the_size_and_digest_of_the_whole(site: Deployment, letter: str) -> None:
    whole, part = (
        json.loads(
            re.findall(r'(?s)<script type="application/ld[^>]*>(.*?)</script>', page.body.decode())[
                0
            ]
        )
        for page in (
            site.get(f"/{letter}.text.2?landing"),
            site.get(f"/{letter}.text.2%23char=0,3?landing"),
        )
    )
    (download,) = whole["distribution"]
    assert {"identifier", "contentSize", "contentUrl"} <= download.keys()
    assert "distribution" not in part


def test_a_linkset_is_negotiated(site: Deployment, letter: str) -> None:
    """Where the name leaves the format open, and whatever was answered to others before."""
    for kind in ("application/linkset+json", "application/linkset"):
        for accept in (kind, f"{kind}, */*;q=0.1"):
            answer = site.get(f"/{letter}", f"Accept: {accept}")
            assert (answer.status, answer.headers["content-type"]) == (200, kind)
            assert answer.body == site.get(f"/{letter}?linkset", f"Accept: {kind}").body
    assert site.get(f"/{letter}", "Accept: text/*, application/linkset").body == b"second\r\n"
    site.do(Register(identifier=parse("hdl:21.T14999/set"), locations=(Location(uri="http://a/"),)))
    for _ in range(2):
        answer = site.get("/hdl:21.T14999/set", "Accept: application/linkset+json")
        assert answer.status == 200
        assert site.get("/hdl:21.T14999/set").status == 302


def _has_arrays(target: dict[str, object]) -> bool:
    """ "The value of an extension attribute MUST be represented by an array" (section 4.2.4.3);
    those of section 4.2.4.1 that are not repeatable are strings."""
    strings = {"href", "media", "type", "title"}
    return all(
        isinstance(value, str if name in strings else list) for name, value in target.items()
    )


def test_a_profile_is_in_the_forms_where_it_is_a_string(site: Deployment, letter: str) -> None:
    schema = 'profile="http://schema.datacite.org/meta/'
    assert schema in site.get(f"/{letter}?landing").headers["link"]
    assert schema in site.get(f"/{letter}?linkset", "Accept: application/linkset").body.decode()


def test_a_linkset_is_as_rfc_9264_has_it(site: Deployment, letter: str) -> None:
    """ "The value of the "linkset" member is an array" of objects with an "anchor" each, whose
    other members are relations with arrays of target objects, each with "href" (section 4.2)."""
    contexts = json.loads(site.get(f"/{letter}?linkset").body)["linkset"]
    for context in contexts:
        assert isinstance(context.pop("anchor"), str)
        for targets in context.values():
            assert all(isinstance(one["href"], str) for one in targets)
            assert all(_has_arrays(one) for one in targets)
    assert {"describes"} in [set(one) for one in contexts]


def test_long_lists_are_in_the_linkset_only(site: Deployment) -> None:
    name = "hdl:21.T14999/many"
    places = tuple(Location(uri=f"https://a.example/{one}") for one in range(40))
    site.do(Register(identifier=parse(name), locations=places))
    assert "item" not in site.get(f"/{name}?landing").headers["link"]
    contexts = json.loads(site.get(f"/{name}?linkset").body)["linkset"]
    assert len(contexts[0]["item"]) == 40


# inflections
# -----------


def test_ark_inflections_are_told_apart(site: Deployment) -> None:
    name = "ark:12345/x7"
    site.do(
        Register(identifier=parse(name), contents=(text(b"x\r\n"),), metadata={"title": "Seven"})
    )
    brief, full = site.get(f"/{name}?"), site.get(f"/{name}??")
    for answer in (brief, full):
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.body.startswith(b"erc:\nwho: (:unav)\nwhat: Seven\n")
    assert b"erc-support:" not in brief.body
    # without a policy of the shoulder, nothing is promised
    assert re.search(rb"erc-support:\nwho: .+\nwhat: \(:unav\).+\nwhen: \d{8}\n", full.body)
    assert page(site.get(f"/{name}?info", "Accept: text/html")).findtext(".//h1") == "Seven"


def test_permanence_is_the_policy_of_a_shoulder(site: Deployment) -> None:
    """draft-kunze-ark section 5.1.2: "??" asks for the provider's commitment."""
    for name, promise in (
        ("ark:12345/k8x", "(:permanent) kept"),
        ("ark:99999/fk4k", "(:unas) for"),
    ):
        site.bind(name, "https://a.example/")
        told = site.get(f"/{name}??").body.decode().partition("erc-support:")[2]
        assert f"what: {promise}" in told
        assert site.get(f"/{name}?").status == 200


def test_the_commitment_is_that_of_what_is_kept(site: Deployment) -> None:
    """draft-kunze-ark section 5.1.2: what the provider promises of this object."""

    def read_promise(name: str) -> str:
        told = site.get(f"/{name}??").body.decode().partition("erc-support:")[2]
        return told.partition("what: ")[2].partition("\n")[0]

    held = "ark:12345/k8held"
    site.do(Register(identifier=parse(held), contents=(text(b"x"),)))
    located = site.bind("ark:12345/k8there", "https://a.example/")
    assert read_promise(held).endswith("; no version ever changes here")
    assert read_promise(located).endswith("; the resource may move")
    site.do(Withdraw(identifier=parse(held), reason="r"))
    assert read_promise(held) == "(:gone) withdrawn; the name and this statement remain"


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("/ark:12345/k8?", "ARK shoulder 12345/k8"),  # it has a policy
        ("/ark:/12345/k8??", "ARK shoulder 12345/k8"),
        ("/ark:12345/k8?info", "ARK shoulder 12345/k8"),
        ("/ark:12345?", "naming authority 12345"),
        ("/ark:12345/??", "naming authority 12345"),
        ("/ark:99999/fk4?", "ARK shoulder 99999/fk4"),  # known names begin so
    ],
)
def test_inflections_of_shoulders_and_authorities(site: Deployment, target: str, what: str) -> None:
    site.bind("ark:12345/k8x", "https://a.example/")
    site.bind("ark:99999/fk4k", "https://a.example/")
    answer = site.get(target)
    assert answer.status == 200
    assert f"erc:\nwho: {site.base.partition('//')[2]}\nwhat: {what}\n" in answer.body.decode()
    assert (b"erc-support:" in answer.body) == (not target.endswith(("8?", "5?", "4?")))


@pytest.mark.parametrize("target", ["/ark:12345/zz?", "/ark:12347?", "/hdl:12345?"])
def test_what_is_no_shoulder_here(site: Deployment, target: str) -> None:
    assert site.get(target).status in (400, 404)


@pytest.mark.parametrize(
    ("behind", "added"),
    [("XY", "XY"), ("/c1.v2", "/c1.v2"), (".v2", ".v2"), ("-q", "q"), ("/c1X", "/c1X")],
)
def test_what_follows_an_ark_is_passed_on(site: Deployment, behind: str, added: str) -> None:
    """As N2T and EZID do, with a delimiter or without ("suffix passthrough")."""
    site.bind("ark:12345/m5np", "https://a.example/map")
    answer = site.get(f"/ark:12345/m5np{behind}")
    assert (answer.status, answer.headers["location"]) == (302, f"https://a.example/map{added}")
    for question in ("?info", "?", "??"):
        led = site.get(f"/ark:12345/m5np{behind}{question}")
        there = f"{site.base}/ark:12345/m5np{question}"
        assert (led.status, led.headers["location"]) == (302, there)


@pytest.mark.parametrize(
    ("target", "path", "has_links"),
    [
        ("/{}", "ark:12345/n6/c3.v2", False),
        ("/{}", "ark:12345/n6XY", False),
        ("/uri-res/N2L?{}", "ark:12345/n6/c3.v2", False),
        ("/uri-res/N2R?{}", "ark:12345/n6/c3.v2", False),
        ("/{}", "ark:12345/n6?part=page=2", True),
        ("/{}", "ark:12345/n6%23page=2", True),
        ("/uri-res/N2L?{}", "ark:12345/n6%23page=2", True),
    ],
)
def test_a_redirected_part_is_cited_by_its_name_once(
    site: Deployment, target: str, path: str, has_links: bool
) -> None:
    """RFC 8574: `cite-as` is the preferred URI of the context, and every link leads somewhere."""
    site.bind("ark:12345/n6", "https://a.example/map.pdf")
    answer = site.get(target.format(path))
    assert answer.status in (302, 303)
    links = {
        rel: href for href, rel in re.findall(r'<([^>]*)>; rel="([^"]*)', answer.headers["link"])
    }
    assert links["cite-as"] == "/" + path.replace("%23", "?part=")
    again = site.get(links["cite-as"])
    assert (again.status, again.headers["location"]) == (302, answer.headers["location"])
    assert ("linkset" in links) is has_links
    for link in links.values():
        assert site.get(link).status in (200, 302), link


def test_the_longest_known_beginning_passes_on(site: Deployment) -> None:
    site.bind("ark:12345/n5", "https://a.example/n5/")
    site.bind("ark:12345/n5b", "https://b.example/")
    answer = site.get("/ark:12345/n5bc")
    assert answer.headers["location"] == "https://b.example/c"
    assert site.get("/ark:12345/n5ac").headers["location"] == "https://a.example/n5/ac"


def test_the_bytes_lead_back_to_the_page(site: Deployment, letter: str) -> None:
    """Level 1, content resources: `cite-as`, `describedby`, `collection`."""
    found = _signposts(site, "--http", f"{site.base}/{letter}.text.1")
    assert f"Collection: <{site.base}/{letter}?landing>" in found
    assert f"Linkset: <{site.base}/{letter}?linkset> application/linkset+json" in found
    assert "CiteAs:" in found


# withdrawn pages, and parts that never existed
# ---------------------------------------------

ASKED = ("landing", "metadata=jsonld", "metadata=datacite", "metadata=csl", "cite=apa", "linkset")


def test_a_withdrawn_page_tells_nothing_of_what_was_in_it(site: Deployment) -> None:
    """ "Serve the bytes of IDENTIFIER no more, for ever"  # ruling: tombstone-silence"""
    told = b"<title>Jane Doe, HIV positive</title><meta name=author content=Who><p>Record of Jane"
    name = site.mint(text(told, "html", "text/html"))
    whole = str(parse(name).whole.resource)
    assert b"Jane Doe" in site.get(f"/{whole}?landing").body
    site.do(Withdraw(identifier=parse(whole), reason="GDPR art. 17"))
    assert site.get(f"/{whole}").status == 410
    for target in (whole, name, f"{name}%23char=0,20"):
        for asked in ASKED:
            answer = site.get(f"/{target}?{asked}")
            assert not re.search(b"Jane|Who", answer.body), (target, asked)


def test_a_part_that_never_existed_is_not_described(site: Deployment) -> None:
    """ "A citation, description, link set or page of a part of what is held here is given only if
    the part is there; else the answer is the part's own"  # ruling: part-exists
    """
    name = site.mint(text(b"Twenty-one characters"))
    for asked in (*ASKED, "info"):
        assert site.get(f"/{name}%23char=0,21?{asked}").status == 200, asked
        assert site.get(f"/{name}%23char=0,99999999?{asked}").status == 416, asked
    assert site.get(f"/uri-res/N2C?{name}%23char=0,99999999").status == 416
    whole = str(parse(name).whole.resource)
    for other, part, status in (
        ("text.9", "char=0,3", 404),
        ("pdf.1", "page=3", 406),
        ("pdf", "page=3", 406),
    ):
        path = f"{whole}.{other}%23{part}"
        assert site.get(f"/{path}").status == status
        for asked in (*ASKED, "info"):
            assert site.get(f"/{path}?{asked}").status == status, (path, asked)
        assert site.get(f"/uri-res/N2C?{path}").status == status, path


def test_a_page_does_not_call_reserved_what_was_bound(site: Deployment) -> None:
    """Reserved is a name that was bound to nothing yet  # ruling: pdi-reserved-name"""
    name = site.mint()
    assert "Reserved: " in page(site.get(f"/{name}?landing")).text_content()
    site.bind(name, "https://a.example/once")
    site.do(Break(identifier=parse(name), uri="https://a.example/once"))
    answer = site.get(f"/{name}?landing")
    assert answer.status == 410
    assert b"no longer bound" in answer.body
    assert b"eserved" not in answer.body


# levels  # ruling: version-metadata
# ------


def read_sections(answer: Answer, label: str) -> dict[str, str]:
    """The text below each `h3` of a section, by the text of the `h3`."""
    found: dict[str, str] = {}
    section = page(answer).find(f".//section[@aria-labelledby='{label}']")
    assert section is not None
    for one in section:
        if one.tag == "h3":
            heading = " ".join("".join(map(str, one.itertext())).split())
            found[heading] = ""
        elif found:
            found[heading] += " ".join("".join(map(str, one.itertext())).split())
    return found


def test_a_page_says_which_level_says_what(site: Deployment) -> None:
    """ "Metadata are said of a resource, of one version, of one format or of a part, and stay
    there" (ruling version-metadata)."""
    name = site.mint(text(b"first\r\n"), text(b"<p>first", "html", "text/html"))
    site.commit(name, text(b"second\r\n"), text(b"<p>second", "html", "text/html"))
    whole = name.rsplit(".", 2)[0]
    said = {
        whole: About(titles=(DescriptionText(value="A letter"),), creators=(_jane(),)),
        f"{whole}.*.1": About(year="1994", descriptions=(DescriptionText(value=NASTY),)),
        f"{whole}.text": About(language="en"),
        name: About(edition="proof"),
        f"{name}#char=0,3": About(titles=(DescriptionText(value="Its beginning"),)),
    }
    for one, about in said.items():
        site.do(Describe(identifier=parse(one), about=about))
    shown = read_sections(site.get(f"/{name}?landing"), "levels")
    assert list(shown) == [
        "The resource",
        "The format text",
        "Version 1",
        "Version 1 in the format text (this name)",
        "Other levels with a description",
    ]
    assert "Jane Doe" in shown["The resource"] or "Doe, Jane" in shown["The resource"]
    assert "1994" in shown["Version 1"]
    assert "Jane" not in shown["Version 1"]
    assert "alert(1)" in shown["Version 1"]
    assert "proof" in shown["Version 1 in the format text (this name)"]
    assert "char=0,3" in shown["Other levels with a description"]
    body = site.get(f"/{name}?landing").body
    assert b"<script>alert" not in body
    part = read_sections(site.get(f"/{name}%23char=0,3?landing"), "levels")
    assert "Its beginning" in part["Version 1 in the format text: part char=0,3 (this name)"]
    other = read_sections(site.get(f"/{whole}.html.2?landing"), "levels")
    own = other["Version 2 in the format html (this name)"]
    assert own == "No description of its own."
    assert set(other) == {
        "The resource",
        "Version 2 in the format html (this name)",
        "Other levels with a description",
    }
    links = page(site.get(f"/{whole}?landing")).findall(".//section[@aria-labelledby='levels']//a")
    addresses = [str(one.get("href")) for one in links]
    assert "https://orcid.org/0000-0002-1825-0097" in addresses
    for address in addresses:
        assert address.startswith("https://") or site.get(address).status == 200


def test_a_page_lists_no_more_levels_than_a_reader_can_use(site: Deployment) -> None:
    name = site.mint(text(b"x" * 300))
    for at in range(105):
        part = parse(f"{name}#char={at},{at + 1}")
        site.do(Describe(identifier=part, about=About(language="en")))
    shown = read_sections(site.get(f"/{name}?landing"), "levels")["Other levels with a description"]
    assert shown.count(": part char=") == 100
    assert "There are 5 more" in shown


def test_a_page_of_a_version_says_if_the_description_is_inherited(
    site: Deployment, letter: str
) -> None:
    version = page(site.get(f"/{letter}.text.2?landing"))
    assert version.find(".//section[@aria-labelledby='levels']") is None
    (link,) = [
        one
        for one in version.findall(".//p[@class='small']/a")
        if "description is that of the resource" in one.getparent().text_content()
    ]
    assert site.get(str(link.get("href"))).status == 200
    assert link.text_content() == letter
    assert "that of the resource" not in page(site.get(f"/{letter}?landing")).text_content()


# changed content  # ruling: drift
# ---------------

_BOUND, _FOUND = hashlib.sha512(b"bound").hexdigest(), hashlib.sha512(b"found").hexdigest()


def _note_drift(site: Deployment, uri: str) -> LinkFinding:
    """As `perdure check-links` does if the content of a location is not the one that was bound."""
    links = Links(site.root)
    with links.hold_lock():
        run = links.begin_run(uri, [BoundLocation(uri, ExpectedContent(uri, _BOUND, 5))])
        finding = LinkFinding(
            uri=uri,
            verdict=LinkVerdict.DRIFT,
            status=200,
            reason="the digest differs",
            checked="2026-11-20T01:02:03Z",
            sha512=_FOUND,
            size=1234,
        )
        links.save_findings(run, [finding])
    links.close()
    return finding


def test_a_page_shows_the_evidence_of_changed_content(site: Deployment) -> None:
    """Section 3.6.2 of the draft: "If the URI changes, the indirect binding MUST be broken".

    With `on_drift = "notice"`, the location stays bound, and with `"break"` it does not; both are
    told with the time, the digests and the sizes.
    """
    name, uri = "pdi://oma.eop.gov.us/1997/09/01/50", "https://a.example/<b>drifted"
    place = Location(uri=uri, sha512=_BOUND, size=5, version=1, format="pdf")
    site.do(Register(identifier=parse(name), locations=(place,)))
    address = f"/{name}?landing"
    assert page(site.get(address)).find(".//section[@aria-labelledby='changed']") is None
    before = site.get(address).headers["etag"]
    assert re.fullmatch('"[^"]*"', before)
    revision = before.strip('"')
    finding = _note_drift(site, uri)
    checked = site.get(address).headers["etag"]
    assert re.fullmatch(f'"{re.escape(revision)}-[0-9a-f]{{8}}"', checked)
    assert site.get(address).headers["etag"] == checked
    listed = json.loads(site.get(f"/{name}?locations", "Accept: application/json").body)
    (health,) = [one["health"] for one in listed["locations"]]
    assert (health["found_sha512"], health["found_size"]) == (_FOUND, 1234)
    for bound in (True, False):
        (shown,) = read_sections(site.get(address), "changed").values()
        assert list(read_sections(site.get(address), "changed")) == [uri]
        for words in (
            "2026-11-20",
            "version 1, pdf",
            _BOUND,
            "5 bytes",
            _FOUND,
            "1 234 bytes",
        ):
            assert words in shown
        assert ("still bound" in shown) is bound
        assert ("no longer bound" in shown) is not bound
        assert b"<b>drifted" not in site.get(address).body
        site.bind(name, "https://a.example/whole")
        list(break_drifted(site.registry, [finding]))


def test_a_page_shows_no_evidence_that_is_not_public(site: Deployment) -> None:
    """# ruling: tombstone-silence"""
    name, uri = "pdi://oma.eop.gov.us/1997/09/01/51", "https://a.example/silent"
    place = Location(uri=uri, sha512=_BOUND, size=5)
    site.do(Register(identifier=parse(name), locations=(place,)))
    _note_drift(site, uri)
    assert _FOUND in site.get(f"/{name}?landing").body.decode()
    site.do(Withdraw(identifier=parse(name), reason="a court said so"))
    answer = site.get(f"/{name}?landing")
    assert answer.status == 410
    assert _FOUND.encode() not in answer.body
