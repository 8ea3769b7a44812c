"""Metadata and citations over HTTP, from a real server over a real socket."""

from __future__ import annotations

import json

import pytest
from lxml import etree
from tests.metadata.test_bad_records import CMDI, RECORD
from tests.metadata.test_formats import FULL
from tests.server.conftest import Answer
from tests.server.deployment import SHOULDER, Deployment, problem, resource, text

from perdure import metadata
from perdure.ids import parse
from perdure.metadata import xml_text
from perdure.metadata.port import DescribedResource
from perdure.model.commands import Describe

TYPES = {
    "datacite": "application/vnd.datacite.datacite+xml",
    "dc": "application/vnd.oai.dc+xml",
    "jsonld": "application/ld+json",
    "turtle": "text/turtle",
    "csl": "application/vnd.citationstyles.csl+json",
    "bibtex": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
}
UNKNOWN = "pdi://oma.eop.gov.us/1990/01/01/1"
SOURCE = b"To whom it may concern: nothing of what follows has been said by anybody.\r\n"


@pytest.fixture(scope="module")
def named(site: Deployment) -> str:
    """A described document, by its full name."""
    name = site.mint(text(SOURCE, charset="us-ascii"))
    site.do(Describe(identifier=parse(name).resource, about=FULL))
    return name


@pytest.fixture
def blank(site: Deployment) -> str:
    return site.mint(text(SOURCE, charset="us-ascii"))


# giving
# ------


@pytest.mark.parametrize(("name", "media_type"), TYPES.items())
def test_every_format_has_an_address_and_a_media_type(
    site: Deployment, named: str, name: str, media_type: str
) -> None:
    by_address = site.get(f"/{named}?metadata={name}")
    by_accept = site.get(f"/{resource(named)}", f"Accept: {media_type}")
    for answer in (by_address, by_accept):
        assert answer.status == 200
        assert answer.headers["content-type"].partition(";")[0] == media_type
        assert b"Words" in answer.body
        assert answer.headers["etag"] == f'"r2-{name}"'
    assert "accept" in by_accept.headers["vary"]
    assert site.get(f"/{named}?metadata={name}", f'If-None-Match: "r2-{name}"').status == 304


def test_what_is_given_has_both_forms_of_the_identifier(site: Deployment, named: str) -> None:
    """ "the identifier … should in addition to a PID … also be presented in a urlified form"
    (ISO 24619 section 5.3)."""
    root = etree.fromstring(site.get(f"/{named}?metadata=datacite").body)
    (identifier,) = root.iter("{*}identifier")
    assert identifier.text == named
    assert f"{site.base}/{named}" in {one.text for one in root.iter("{*}alternateIdentifier")}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/ld+json", "application/ld+json"),
        ("application/ld+json, text/plain", "text/plain"),
        ("application/ld+json;q=0.5, text/plain;q=0.4", "application/ld+json"),
        ("application/ld+json;q=0.4, text/plain;q=0.5", "text/plain"),
        ("text/plain;q=0.1, text/turtle;q=0.2, application/x-bibtex;q=0.3", "application/x-bibtex"),
        ("application/ld+json, */*;q=0.1", "application/ld+json"),
        ("text/turtle;q=0, */*", "text/plain"),
        ("*/*", "text/plain"),
        ("text/*", "text/plain"),
        ("application/*;q=0.9, text/*;q=0.1", "text/plain"),
        ("application/vnd.datacite.datacite+xml", "application/vnd.datacite.datacite+xml"),
        ("text/x-bibliography", "text/x-bibliography"),
        ("text/x-bibliography; style=apa; q=0.2, text/plain; q=0.3", "text/plain"),
    ],
)
def test_quality_decides_between_the_thing_and_its_metadata(
    site: Deployment, named: str, accept: str, expected: str
) -> None:
    answer = site.get(f"/{resource(named)}", f"Accept: {accept}")
    assert answer.status == 200
    assert answer.headers["content-type"].partition(";")[0] == expected


def test_a_name_with_its_format_means_the_thing(site: Deployment, named: str) -> None:
    assert site.get(f"/{named}", "Accept: application/ld+json").body == SOURCE


def test_what_is_elsewhere_has_metadata_here(site: Deployment) -> None:
    name = site.mint()
    site.bind(name, "https://a.example/1")
    site.do(Describe(identifier=parse(name).resource, about=FULL))
    assert site.get(f"/{name}").status == 302
    assert site.get(f"/{name}", "Accept: */*").status == 302
    answer = site.get(f"/{name}", "Accept: application/x-bibtex")
    assert (answer.status, answer.body[:6]) == (200, b"@misc{")


# citing
# ------


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("cite=apa", "(2024). Words & <Things>: A corpus"),
        ("cite=mla&locale=de", "„Words & <Things>: A Corpus“"),
        ("cite=iso690&locale=fr", "Disponible à l’adresse"),
        ("cite=iso690-numeric&locale=de", "Verfügbar unter: "),
        ("cite", "Doe, J. &"),
    ],
)
def test_a_citation_has_an_address(site: Deployment, named: str, question: str, words: str) -> None:
    answer = site.get(f"/{named}?{question}")
    line = answer.body.decode()
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/x-bibliography; charset=utf-8"
    assert words in line
    assert f"{site.base}/{named}" in line
    assert f"({named})" in line


def test_a_citation_is_asked_for_as_of_dois(site: Deployment, named: str) -> None:
    field = "Accept: text/x-bibliography; style=iso690; locale=fr"
    answer = site.get(f"/{resource(named)}", field)
    assert "Disponible à l’adresse" in answer.body.decode()
    assert answer.headers["content-language"] == "fr"
    accept = "Accept: text/x-bibliography"
    again = site.get(f"/{resource(named)}", accept, "Accept-Language: nl, de;q=0.5")
    assert again.headers["content-language"] == "de"


def test_bibtex_and_ris_are_styles_too(site: Deployment, named: str) -> None:
    assert site.get(f"/{named}?cite=bibtex").body.startswith(b"@misc{Doe2024-")
    assert site.get(f"/{named}?cite=ris").body.startswith(b"TY  - DATA\r\n")


@pytest.mark.parametrize(
    ("locale", "extent"),
    [("en", "characters 37–51"), ("fr", "caractères 37–51"), ("de", "Zeichen 37–51")],
)
def test_a_part_cites_its_extent(site: Deployment, named: str, locale: str, extent: str) -> None:
    line = site.get(f"/{named}%23char=37,51?cite=apa&locale={locale}").body.decode()
    assert f"({extent}; {named}#char=37,51)" in line
    assert f"{site.base}/{named}%23char=37,51" in line


def test_a_part_that_is_asked_for_apart_cites_its_extent(site: Deployment) -> None:
    name = "hdl:1839/00-0000-0000-0000-0000-4"
    secret = site.token("registers")
    site.post(f"/{name}?register", {"locations": ["https://a.example/1"]}, token=secret)
    line = site.get(f"/{name}?part=t=23,57&cite=apa").body.decode()
    assert f"(23–57 s; {name})" in line
    assert f"{site.base}/{name}?part=t=23,57" in line


@pytest.mark.parametrize(
    "question",
    ["cite=chicago", "cite=apa&locale=x", "cite=apa&locale=../../etc/passwd", "cite=apa&locale=tlh",
     "metadata=marc", "metadata=../secret", "cite=apa%0d%0aX:1"],
)  # fmt: skip
def test_what_is_not_known_is_a_bad_request(site: Deployment, named: str, question: str) -> None:
    problem(site.get(f"/{named}?{question}"), 400, "invalid-request")


def test_metadata_of_the_unknown_is_not_found(site: Deployment) -> None:
    problem(site.get(f"/{UNKNOWN}?metadata"), 404, "not-found")


def test_what_was_withdrawn_can_still_be_cited(site: Deployment, blank: str) -> None:
    secret = site.token("withdraws")
    assert site.post(f"/{blank}?withdraw", {"reason": "a mistake"}, token=secret).status == 200
    assert site.get(f"/{blank}?cite=apa").status == 200
    assert site.get(f"/{blank}").status == 410


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("metadata=datacite", "application/xml"),
        ("metadata=jsonld", "application/json"),
        ("metadata=bibtex", "text/plain; charset=utf-8"),
        ("cite=apa", "text/plain; charset=utf-8"),
    ],
)
def test_browsers_are_given_what_they_show(
    site: Deployment, named: str, question: str, kind: str
) -> None:
    field = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    assert site.get(f"/{named}?{question}", field).headers["content-type"] == kind
    page = site.get(f"/{resource(named)}", field)  # ruling: page-or-thing
    assert page.headers["content-type"].startswith("text/html")


def test_a_type_that_is_named_is_given_by_that_name(site: Deployment, named: str) -> None:
    name = resource(named)
    for kind in (
        "application/vnd.citationstyles.csl+json",
        "text/x-bibtex",
        "application/x-dc+xml",
    ):
        answer = site.get(f"/{name}", f"Accept: text/html;q=0.5, {kind}")
        assert answer.headers["content-type"].partition(";")[0] == kind


@pytest.mark.parametrize("question", ["cite=iso690", "metadata", "metadata=csl"])
def test_caches_are_told_what_an_answer_depends_on(
    site: Deployment, named: str, question: str
) -> None:
    """RFC 9110 section 12.5.5: the language of a citation, and the form for browsers, are chosen
    by Accept-Language and Accept where the address leaves them open."""
    answer = site.get(f"/{named}?{question}", "Accept-Language: de")
    assert answer.headers["vary"] == "accept, accept-language"


# taking
# ------


def put(
    site: Deployment,
    name: str,
    body: bytes,
    kind: str,
    *more: str,
    token: str | None,
    query: str = "",
) -> Answer:
    target = f"/{name}?metadata{query}"
    return site.put(target, body, f"Content-Type: {kind}", *more, token=token)


@pytest.mark.parametrize("name", ["datacite", "dc", "jsonld", "csl", "json"])
def test_metadata_are_put_and_come_back(site: Deployment, blank: str, name: str) -> None:
    kind = metadata.load_formats()[name].media_types[0]
    what = DescribedResource(identifier=parse(blank), about=FULL, url=f"{site.base}/{blank}")
    record = metadata.write_record(what, name)
    answer = put(site, blank, record, kind, token=site.token(f"describes {name}"))
    assert answer.status == 200, answer.body
    assert json.loads(answer.body)["outcome"] == "changed"
    given = json.loads(site.get(f"/{blank}?metadata=csl").body)
    assert given["title"].startswith("Words & <Things>")
    again = put(site, blank, record, kind, token=site.token(f"repeats {name}"))
    assert json.loads(again.body)["outcome"] == "unchanged"


def test_history_says_who_described_it_and_what_was_there_before(
    site: Deployment, blank: str
) -> None:
    for title in ("First", "Second"):
        body = RECORD.format(title=title).encode()
        put(site, resource(blank), body, TYPES["datacite"], token=site.token(f"says {title}"))
    past = json.loads(site.get(f"/{blank}?history").body)["revisions"]
    titles = [(one.get("about") or {}).get("titles", [{}])[0].get("value") for one in past]
    assert titles == [None, "First", "Second"]


def test_cmdi_is_attached_byte_for_byte(site: Deployment, blank: str) -> None:
    whole = resource(blank)
    answer = put(site, whole, CMDI, "application/x-cmdi+xml", token=site.token("attaches"))
    assert answer.status == 200
    for found in (
        site.get(f"/{blank}?metadata=cmdi"),
        site.get(f"/{resource(blank)}", "Accept: application/x-cmdi+xml"),
    ):
        assert (found.status, found.body) == (200, CMDI)
        assert "sandbox" in found.headers["content-security-policy"]  # it may hold a script
        assert found.headers["content-type"] == "application/x-cmdi+xml"


def test_an_attached_record_that_is_not_there_is_not_acceptable(
    site: Deployment, named: str
) -> None:
    problem(site.get(f"/{named}?metadata=cmdi"), 406, "not-acceptable")


def test_who_may_not_describe_changes_nothing(site: Deployment, blank: str) -> None:
    body = RECORD.format(title="T").encode()
    problem(put(site, blank, body, TYPES["datacite"], token=None), 401, "unauthenticated")
    other = site.token("commits only", operations=("commit", "bind"))
    problem(put(site, blank, body, TYPES["datacite"], token=other), 403, "forbidden")
    assert site.registry.records.find_record(parse(blank).key).revision == 1  # type: ignore[union-attr]  # it was just minted


def test_if_match_keeps_two_writers_apart(site: Deployment, blank: str) -> None:
    body, secret = RECORD.format(title="T").encode(), site.token("matches")
    first = put(site, blank, body, TYPES["datacite"], 'If-Match: "r1-datacite"', token=secret)
    assert first.status == 200
    late = RECORD.format(title="Late").encode()
    answer = put(site, blank, late, TYPES["datacite"], 'If-Match: "r1-datacite"', token=secret)
    problem(answer, 412, "precondition-failed")


def test_a_repeated_description_is_written_once(site: Deployment, blank: str) -> None:
    """Whatever its conditions say by then."""
    body, secret = RECORD.format(title="Once").encode(), site.token("repeats")
    more = ('If-Match: "r1"', "Idempotency-Key: the-first")
    first, again = (put(site, blank, body, TYPES["datacite"], *more, token=secret) for _ in "12")
    assert (first.status, again.status) == (200, 200)
    told = [json.loads(one.body) for one in (first, again)]
    assert [one["replayed"] for one in told] == [False, True]
    assert [one["revision"] for one in told] == [2, 2]
    other = RECORD.format(title="Other").encode()
    problem(put(site, blank, other, TYPES["datacite"], *more, token=secret), 400, "invalid-request")


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (RECORD.replace("Dataset", "Datset").encode(), "datacite", 422, "invalid-metadata"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", "datacite", 422, "invalid-metadata"),
        (b"{", "jsonld", 422, "invalid-metadata"),
        (b"x" * (1 << 20) + b"xx", "csl", 413, "too-large"),
        (b"@misc{a}", "bibtex", 415, "content-not-supported"),
    ],
)
def test_what_is_invalid_changes_nothing(
    site: Deployment, blank: str, body: bytes, kind: str, status: int, code: str
) -> None:
    answer = put(site, blank, body, TYPES[kind], token=site.token(f"errs {status} {len(body)}"))
    problem(answer, status, code)
    assert site.registry.records.find_record(parse(blank).key).revision == 1  # type: ignore[union-attr]  # it was just minted


def test_a_licence_that_browsers_would_run_is_refused(site: Deployment, blank: str) -> None:
    """ "perdure refuses … links with schemes that browsers execute" (metadata.md)."""
    body = b'{"@type":"Book","name":"x","license":"javascript:x"}'
    answer = put(site, blank, body, TYPES["jsonld"], token=site.token("is evil"))
    assert answer.status in (400, 422)
    assert "license" not in json.loads(site.get(f"/{blank}?metadata=jsonld").body)


def test_the_receipt_names_what_a_description_cannot_have(site: Deployment, blank: str) -> None:
    body = b'{"@type":"Book","name":"x","audience":"all"}'
    answer = put(site, blank, body, TYPES["jsonld"], token=site.token("drops"))
    assert json.loads(answer.body)["dropped"] == ["audience"]


def test_the_receipt_names_misspelt_members_of_a_patch(site: Deployment, blank: str) -> None:
    body = b'{"titel":"T","titles":[{"value":"T","lang":"de"}],"language":null}'
    fields = (
        f"Authorization: Bearer {site.token('misspells')}",
        "Content-Type: application/merge-patch+json",
    )
    answer = site.ask("POST", f"/{blank}?metadata", *fields, body=body)
    assert (answer.status, json.loads(answer.body)["dropped"]) == (200, ["titel", "titles.lang"])


def test_the_record_as_xml_has_its_metadata_inside(site: Deployment, named: str) -> None:
    """ "a metadata record in XML format and compliant with a declared schema … Citation information
    should be included in the metadata record" (ISO 24619 section 5.3)."""
    answer = site.get(f"/uri-res/N2C?{named}", "Accept: application/xml")
    root = etree.fromstring(answer.body)
    said = root.find("about/{http://datacite.org/schema/kernel-4}resource")
    assert said is not None
    xml_text.load_schema("datacite-4.7.xsd").assertValid(etree.fromstring(etree.tostring(said)))
    shown = json.loads(site.get(f"/{named}?info", "Accept: application/json").body)
    assert shown["about"]["titles"][0]["value"] == "Words & <Things>"


def test_a_type_that_is_no_metadata_is_not_supported(site: Deployment, blank: str) -> None:
    """ "if the cause was an unsupported media type, the Accept response header field can be used to
    indicate which media types would have been accepted" (RFC 9110 section 15.5.16)."""
    secret = site.token("sends text")
    for kind in ("text/plain", "application/x-research-info-systems"):
        found = put(site, blank, b"x", kind, token=secret)
        problem(found, 415, "content-not-supported")
        accepted = found.headers["accept"].split(", ")
        assert "application/vnd.datacite.datacite+xml" in accepted
        assert kind not in accepted
        assert "text/x-bibliography" not in accepted


def test_plain_json_is_that_of_perdure(site: Deployment, blank: str) -> None:
    own = b'{"titles": [{"value": "Plainly"}]}'
    answer = put(site, blank, own, "application/json", token=site.token("sends JSON"))
    assert answer.status == 200, answer.body
    assert b"Plainly" in site.get(f"/{blank}?metadata=json").body


def test_a_pwid_is_cited_without_being_known_here(site: Deployment) -> None:
    urn = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
    line = site.get(f"/{urn}?cite=apa").body.decode()
    assert "archived by archive.org at 2016-01-22 11:20:29 UTC" in line
    assert "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk" in line
    assert f"{site.base}/{urn}" in line


def test_a_merge_patch_changes_only_the_members_that_it_gives(site: Deployment, blank: str) -> None:
    """RFC 7396 section 1: members are replaced, `null` removes, lists are replaced as a whole."""
    name = blank.rpartition(".")[0].rpartition(".")[0]
    token = site.token(f"patches {name}")
    first = b'{"titles":[{"value":"T"}],"year":"1990","language":"en","publisher":{"name":"P"}}'
    put(site, name, first, "application/vnd.perdure.about+json", token=token)
    patch = b'{"year":"1994","language":null,"publisher":{"place":"Bonn"}}'
    fields = (f"Authorization: Bearer {token}", "Content-Type: application/merge-patch+json")
    answer = site.ask("POST", f"/{name}?metadata", *fields, body=patch)
    assert answer.status == 200, answer.body
    assert json.loads(site.get(f"/{name}?metadata=json").body) == {
        "titles": [{"value": "T"}],
        "year": "1994",
        "publisher": {"name": "P", "place": "Bonn"},
    }
    for bad in (b'{"titles":1}', b"[]", b"no"):
        refused = site.ask("POST", f"/{name}?metadata", *fields, body=bad)
        problem(refused, 422, "invalid-metadata")


OWN = "application/vnd.perdure.about+json"


def test_a_version_has_its_own_metadata_before_the_resources(site: Deployment, blank: str) -> None:
    """ "a reader of a version sees its own before the resource's" (ruling version-metadata), in
    every form and on every page."""
    whole = resource(blank)
    token = site.token(f"describes levels of {whole}")
    about = b'{"titles":[{"value":"Letters"}],"creators":[{"name":"Lederberg, Joshua"}]}'
    assert put(site, whole, about, OWN, token=token).status == 200
    answer = put(site, f"{whole}.*.1", b'{"titles":[{"value":"Proofs"}]}', OWN, token=token)
    assert json.loads(answer.body)["identifier"] == f"{whole}.*.1"
    put(site, f"{blank}%23char=3,7", b'{"titles":[{"value":"Whom"}]}', OWN, token=token)
    titles = {whole: b"Letters", blank: b"Proofs", f"{blank}%23char=3,7": b"Whom"}
    for name, title in titles.items():
        for form in (*TYPES, "json"):
            body = site.get(f"/{name}?metadata={form}").body
            assert title in body, (name, form)
            assert b"Lederberg" in body
        for question in ("cite=apa", "landing"):
            body = site.get(f"/{name}?{question}", "Accept: text/html").body
            assert title in body, (name, question)
    assert b"Proofs" in site.get(f"/{whole}.*.1?metadata=json").body
    seen = json.loads(site.get(f"/{blank}?info", "Accept: application/json").body)
    assert seen["about"]["titles"] == [{"value": "Proofs"}]
    narrower = [(one["identifier"], one["about"]["titles"][0]["value"]) for one in seen["narrower"]]
    assert narrower == [(f"{whole}.*.1", "Proofs"), (f"{blank}#char=3,7", "Whom")]
    record = etree.fromstring(site.get(f"/{blank}?info", "Accept: application/xml").body)
    path = "narrower/description/about/{*}resource/{*}titles/{*}title"
    assert [one.text for one in record.iterfind(path)] == ["Proofs", "Whom"]
    past = json.loads(site.get(f"/{whole}?history").body)["revisions"]
    assert [next(iter(one["changes"])) for one in past[1:]] == ["about", "narrower", "narrower"]


def test_the_record_shows_a_part_as_its_metadata_do(site: Deployment, blank: str) -> None:
    """ "its `about` is what a reader of the requested name sees" (docs/reference/metadata.md): also
    for a part of an open version, and for a name that cannot include its part."""
    token = site.token(f"describes parts of {blank}")
    kind = "Content-Type: text/plain"
    minted = site.put(f"/ark:{SHOULDER}", SOURCE, kind, token=token)
    whole, ark = resource(blank), json.loads(minted.body)["identifier"]
    for name, target in (
        (whole, f"{whole}%23char=3,7?"),
        (blank, f"{blank}%23char=3,7?"),
        (ark, f"{ark}?part=char=3,7&"),
    ):
        assert put(site, name, b'{"titles":[{"value":"Letters"}]}', OWN, token=token).status == 200
        part = b'{"titles":[{"value":"Whom"}]}'
        answer = site.put(f"/{target}metadata", part, f"Content-Type: {OWN}", token=token)
        assert answer.status == 200, answer.body
        seen = json.loads(site.get(f"/{target}info", "Accept: application/json").body)
        assert seen["about"] == {"titles": [{"value": "Whom"}]}, target
        record = etree.fromstring(site.get(f"/{target}info", "Accept: application/xml").body)
        assert record.findtext("about/{*}resource/{*}titles/{*}title") == "Whom", target


def test_a_description_is_never_stored_as_bytes(site: Deployment, blank: str) -> None:
    """An escaped name of a parameter is still its name (RFC 3986 section 2.3)."""
    token = site.token(f"describes {blank} with an escaped word")
    answer = site.put(
        f"/{blank}?metad%61ta", b'{"year":"1994"}', f"Content-Type: {OWN}", token=token
    )
    assert answer.status == 200, answer.body
    assert site.get(f"/{blank}").body == SOURCE
    assert json.loads(site.get(f"/{blank}?metad%61t%61=json").body) == {"year": "1994"}


@pytest.mark.parametrize("ask", ["put", "post"])
def test_a_part_may_precede_the_question(site: Deployment, blank: str, ask: str) -> None:
    """Parameters have no order: `?part=…&metadata` is `?metadata&part=…`, in writes, too."""
    token = site.token(f"describes a part of {blank} by {ask}")
    about = b'{"titles":[{"value":"Whom"}]}'
    target = f"/{blank}?part=char=3,7&metadata"
    if ask == "put":
        answer = site.put(target, about, f"Content-Type: {OWN}", token=token)
    else:
        answer = site.post(target, json.loads(about), f"Content-Type: {OWN}", token=token)
    assert answer.status == 200, answer.body
    assert b"Whom" in site.get(f"/{blank}%23char=3,7?cite=apa").body
    assert b"Whom" not in site.get(f"/{blank}?cite=apa").body


def test_a_merge_patch_changes_only_the_level_that_it_names(site: Deployment, blank: str) -> None:
    token = site.token(f"patches a level of {blank}")
    put(site, resource(blank), b'{"titles":[{"value":"T"}],"year":"1990"}', OWN, token=token)
    put(site, blank, b'{"year":"1994","language":"en"}', OWN, token=token)
    patch = b'{"year":null}'
    fields = (f"Authorization: Bearer {token}", "Content-Type: application/merge-patch+json")
    assert site.ask("POST", f"/{blank}?metadata", *fields, body=patch).status == 200
    assert json.loads(site.get(f"/{blank}?metadata=json").body) == {
        "titles": [{"value": "T"}],
        "year": "1990",
        "language": "en",
    }


def test_a_level_is_given_without_what_it_inherits(site: Deployment, blank: str) -> None:
    """ "Metadata are said of a resource, of one version, of one format or of a part, and stay
    there" (ruling version-metadata)."""
    token = site.token(f"reads the levels of {blank}")
    whole = resource(blank)
    said: dict[str, dict[str, object]] = {
        whole: {"titles": [{"value": "T"}], "year": "1990"},
        f"{whole}.*.1": {"year": "1994"},
        f"{whole}.text": {"language": "en"},
        blank: {"edition": "second"},
        f"{blank}%23char=3,7": {"titles": [{"value": "Whom"}]},
    }
    for name, about in said.items():
        put(site, name, json.dumps(about).encode(), OWN, token=token)
    for name, about in said.items():
        answer = site.get(f"/{name}?metadata&level=own")
        assert answer.headers["content-type"].partition(";")[0] == OWN
        assert json.loads(answer.body) == about
        merged = site.get(f"/{name}?metadata=json")
        assert answer.headers["etag"] != merged.headers["etag"]
    assert json.loads(site.get(f"/{blank}?metadata=json").body)["titles"] == [{"value": "T"}]
    assert json.loads(site.get(f"/{blank}%23char=0,2?metadata&level=own").body) == {}
    turtle = site.get(f"/{whole}.text?metadata=turtle&level=own").body
    assert b'dcterms:language "en"' in turtle
    assert b'"T"' not in turtle


def test_what_is_given_of_a_level_can_be_sent_back(site: Deployment, blank: str) -> None:
    token = site.token(f"changes the own level of {blank}")
    whole = resource(blank)
    put(site, whole, b'{"titles":[{"value":"T"}],"year":"1990"}', OWN, token=token)
    put(site, blank, b'{"year":"1994"}', OWN, token=token)
    given = site.get(f"/{blank}?metadata&level=own")
    changed = json.dumps(json.loads(given.body) | {"language": "en"}).encode()
    fields = (f"Content-Type: {OWN}", f"If-Match: {given.headers['etag']}")
    assert site.put(f"/{blank}?metadata", changed, *fields, token=token).status == 200
    put(site, whole, b'{"titles":[{"value":"U"}]}', OWN, token=token)
    assert json.loads(site.get(f"/{blank}?metadata=json").body) == {
        "titles": [{"value": "U"}],
        "year": "1994",
        "language": "en",
    }


def test_attached_records_have_levels(site: Deployment, blank: str) -> None:
    token = site.token(f"attaches to {blank}")
    put(site, resource(blank), CMDI, "application/x-cmdi+xml", token=token)
    assert site.get(f"/{blank}?metadata=cmdi").status == 200
    problem(site.get(f"/{blank}?metadata=cmdi&level=own"), 406, "not-acceptable")
    assert site.get(f"/{resource(blank)}?metadata=cmdi&level=own").status == 200


def test_a_level_that_is_none_is_refused(site: Deployment, blank: str) -> None:
    problem(site.get(f"/{blank}?metadata&level=version"), 400, "invalid-request")
    assert site.get(f"/{blank}?level=version").body == SOURCE  # not a question of ours


@pytest.mark.parametrize(
    ("ending", "status", "code"),
    [
        (".text.9", 404, "no-such-version"),
        (".pdf.1", 406, "not-acceptable"),
        (".text.1%23char=0,9999", 416, "part-out-of-range"),
        (".*.9", 404, "no-such-version"),
    ],
)
def test_only_what_exists_is_described(
    site: Deployment, blank: str, ending: str, status: int, code: str
) -> None:
    """Ruling part-exists."""
    token = site.token(f"describes {ending} of {blank}")
    answer = put(site, f"{resource(blank)}{ending}", b'{"year":"1994"}', OWN, token=token)
    problem(answer, status, code)


def test_a_level_of_an_undescribed_resource_is_told_so(site: Deployment, blank: str) -> None:
    token = site.token(f"describes only {blank}")
    answer = put(site, blank, b'{"year":"1994"}', OWN, token=token)
    assert json.loads(answer.body)["undescribed"] == resource(blank)
