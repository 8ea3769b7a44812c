"""Assertions: documents that say something about identifiers, as Web Annotations in JSON-LD. Pure.

How it works: `read_assertion` reads the bytes of a document into an `Assertion`: what it is about,
and why it was made (its motivations, as absolute IRIs). `write_assertion` makes the bytes of a new
one. The document has no `id` of its own: it is named by the identifier under which it is kept.

What must stay true: nothing is fetched. A context that is not known is refused, since its words
could mean anything. The work is limited by the length, the depth and the targets of a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import msgspec

from perdure.errors import MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.assertions import (
    AssertionMalformed,
    AssertionTooLong,
    ContextUnknown,
    MotivationUnknown,
)
from perdure.formats.essence import JSON_LD, strip_parameters
from perdure.ids import Identifier, parse
from perdure.ids.name_set import read_set
from perdure.ids.urls import deurlify, find_path
from perdure.parts.annotation import read_annotation

CONTEXT = "http://www.w3.org/ns/anno.jsonld"
MEDIA_TYPE = f'{JSON_LD}; profile="{CONTEXT}"'
LONGEST = 262_144
"""Bytes of an assertion."""
_SHORT = 2048  # bytes of an assertion whose reading is remembered
DEEPEST = 16
"""Objects and lists inside each other."""
MOST = 100
"""Targets of an assertion."""

_OA = "http://www.w3.org/ns/oa#"
PREFIXES = {
    "oa": _OA,
    "cito": "http://purl.org/spar/cito/",
    "prov": "http://www.w3.org/ns/prov#",
    "dcterms": "http://purl.org/dc/terms/",
}
"""The prefixes of motivations. A document may declare them, and those of `VOCABULARIES`, but not
others, in its context."""
VOCABULARIES = {"pd": "urn:perdure:delegation#"}
"""The prefixes of words in bodies (`perdure.model.delegations`)."""
STANDARD = (
    "assessing",
    "bookmarking",
    "classifying",
    "commenting",
    "describing",
    "editing",
    "highlighting",
    "identifying",
    "linking",
    "moderating",
    "questioning",
    "replying",
    "tagging",
)
"""The motivations of Web Annotation Data Model section 3.3.5."""
RETRACTS = f"{PREFIXES['cito']}retracts"
SUPERSEDES = f"{PREFIXES['dcterms']}replaces"
DELEGATES = f"{PREFIXES['prov']}actedOnBehalfOf"
CONJOINS = f"{PREFIXES['prov']}hadMember"
MOTIVATIONS = {word: _OA + word for word in STANDARD} | {
    "retracts": RETRACTS,
    "supersedes": SUPERSEDES,
    "delegates": DELEGATES,
    "signs": "https://w3id.org/security#proof",
    "conjoins": CONJOINS,
}
"""The IRI of each word that is a motivation."""

_WORDS = {iri: word for word, iri in MOTIVATIONS.items()}
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\x00-\x20]+')
_TERM = re.compile("[A-Za-z][A-Za-z0-9_-]{0,63}")
_GROUPS = ("Choice", "Composite", "Independents", "List", "as:Collection")


class AssertionTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that an assertion is about."""

    iri: str
    """As the document spells it."""
    identifier: Identifier | None = None
    """With the part, if the IRI or a FragmentSelector names one. None if the IRI is in no scheme
    that perdure reads, and is not the address of an identifier."""
    selectors: tuple[Mapping[str, Any], ...] = ()
    """The part that is meant, if the IRI does not name it (section 4.2)."""


class Assertion(msgspec.Struct, frozen=True, kw_only=True):
    """An assertion: what it is about, why it was made, and the document."""

    targets: tuple[AssertionTarget, ...]
    motivations: tuple[str, ...]
    """Absolute IRIs, such as `http://www.w3.org/ns/oa#commenting`."""
    document: Mapping[str, Any]
    """Shared by all that read the same bytes: it must not be changed."""

    @property
    def about(self) -> tuple[Identifier, ...]:
        """The identifiers that it is about, each with its version, format and part."""
        named = (one.identifier for one in self.targets if one.identifier is not None)
        return tuple(dict.fromkeys(named))

    @property
    def words(self) -> tuple[str, ...]:
        """The motivations as people write them: `commenting`, `cito:disputes`, or an IRI."""
        return tuple(map(spell_motivation, self.motivations))

    @property
    def body_text(self) -> str:
        """The text of its first body that is one; empty if there is none."""
        value = self.document.get("bodyValue")
        if isinstance(value, str):
            return value
        for one in _list_values(self.document.get("body")):
            text = one.get("value") if isinstance(one, dict) else None
            if isinstance(text, str):
                return text
        return ""

    def retracts(self, name: Identifier) -> bool:
        """Return whether it retracts the assertion that a name with format and version names."""
        return RETRACTS in self.motivations and any(one.matches(name) for one in self.about)


# reading
# -------


def read_assertion(data: bytes) -> Assertion:
    """Read an assertion.

    Raises AssertionTooLong, AssertionMalformed, ContextUnknown, MotivationUnknown, and the errors
    of reading an identifier of a known scheme.
    """
    if len(data) > LONGEST:
        raise AssertionTooLong(limit=LONGEST)
    return _read_short(data) if len(data) <= _SHORT else _read_document(data)


def _read_document(data: bytes) -> Assertion:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise AssertionMalformed(place="", expected="it must be JSON") from None
    if not isinstance(document, dict):
        raise AssertionMalformed(place="", expected="it must be an object of JSON")
    _check_depth(document)
    _check_contexts(_list_values(document.get("@context")))
    if "Annotation" not in _list_values(document.get("type")):
        raise AssertionMalformed(place="type", expected="Annotation")
    _check_body(document)
    targets = tuple(_read_targets(document.get("target"), "target"))
    if not 0 < len(targets) <= MOST:
        raise AssertionMalformed(place="target", expected=f"1 to {MOST} targets")
    words = _list_values(document.get("motivation"))
    motivations = tuple(dict.fromkeys(map(_read_motivation, words)))
    return Assertion(targets=targets, motivations=motivations, document=document)


_read_short = lru_cache(maxsize=512)(_read_document)
"""Assertions are read when they are checked, named, stored and shown, often in a row."""


def find_iri(motivation: str) -> str:
    """Return the IRI of a motivation: a known word, a term such as `cito:disputes`, or an IRI.

    Raises MotivationUnknown.

    >>> find_iri("cito:disputes")
    'http://purl.org/spar/cito/disputes'
    """
    if known := MOTIVATIONS.get(motivation):
        return known
    prefix, colon, term = motivation.partition(":")
    if colon and prefix in PREFIXES and _TERM.fullmatch(term):
        return PREFIXES[prefix] + term
    if prefix in PREFIXES or not _IRI.fullmatch(motivation):
        raise MotivationUnknown(motivation=motivation, known=tuple(MOTIVATIONS))
    return motivation


def spell_motivation(iri: str) -> str:
    """Return the word or the term for an IRI, or the IRI itself.

    >>> spell_motivation("http://purl.org/spar/cito/disputes")
    'cito:disputes'
    """
    if iri in _WORDS:
        return _WORDS[iri]
    for prefix, beginning in PREFIXES.items():
        if iri.startswith(beginning) and _TERM.fullmatch(iri, len(beginning)):
            return f"{prefix}:{iri[len(beginning) :]}"
    return iri


def _read_motivation(given: object) -> str:
    if not isinstance(given, str):
        raise AssertionMalformed(place="motivation", expected="text")
    return find_iri(given)


def _list_values(given: object) -> list[object]:
    """The values of a field that may have one, several or none."""
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _check_depth(document: dict[str, Any]) -> None:
    level: list[dict[str, Any] | list[Any]] = [document]
    for _ in range(DEEPEST):
        inner = [
            each
            for one in level
            for each in (one.values() if isinstance(one, dict) else one)
            if isinstance(each, dict | list)
        ]
        if not inner:
            return
        level = inner
    expected = f"it must have at most {DEEPEST} objects and lists inside each other"
    raise AssertionMalformed(place="", expected=expected)


def _check_contexts(contexts: list[object]) -> None:
    """Raise an error unless the words of Web Annotation have their own meaning (section 3.1)."""
    if CONTEXT not in contexts:
        raise AssertionMalformed(place="@context", expected=CONTEXT)
    for one in contexts:
        if one == CONTEXT:
            continue
        if not isinstance(one, dict):
            raise ContextUnknown(context=str(one))
        for word, meaning in one.items():
            if (PREFIXES | MOTIVATIONS | VOCABULARIES).get(word) != meaning:
                raise ContextUnknown(context=f"{word}: {meaning}")


def _check_body(document: Mapping[str, Any]) -> None:
    value = document.get("bodyValue")
    if value is not None and (not isinstance(value, str) or "body" in document):
        expected = "text, in an assertion without 'body' (section 3.2.5)"
        raise AssertionMalformed(place="bodyValue", expected=expected)
    for one in _list_values(document.get("body")):
        if not isinstance(one, str | dict):
            raise AssertionMalformed(place="body", expected="an IRI or an object")


def _read_targets(given: object, place: str) -> Iterator[AssertionTarget]:
    for one in _list_values(given):
        if isinstance(one, dict) and not {"source", "id"} & one.keys():
            if one.get("type") not in _GROUPS:
                raise AssertionMalformed(place=place, expected="an IRI, or an object with one")
            yield from _read_targets(one.get("items"), f"{place}.items")
        else:
            yield _read_target(one, place)


def _read_target(given: object, place: str) -> AssertionTarget:
    if not isinstance(given, dict):
        return _make_target(given, place, [])
    if "source" not in given:
        return _make_target(given["id"], f"{place}.id", [])
    source = given["source"]
    if isinstance(source, dict):
        source = source.get("id")
    return _make_target(source, f"{place}.source", _list_values(given.get("selector")))


def _make_target(iri: object, place: str, selectors: list[object]) -> AssertionTarget:
    if not isinstance(iri, str) or not _IRI.fullmatch(iri):
        raise AssertionMalformed(place=place, expected="an absolute IRI")
    selected = [_read_selector(one) for one in selectors]
    identifier = None if _is_beginning(iri) else find_identifier(iri)
    if identifier is not None and identifier.fragment is None and len(selected) == 1:
        identifier = _narrow_target(identifier, selected[0])
    return AssertionTarget(iri=iri, identifier=identifier, selectors=tuple(selected))


def _read_selector(given: object) -> Mapping[str, Any]:
    """Return a selector. One that is named by its IRI has nothing else: it is not fetched."""
    if isinstance(given, str) and _IRI.fullmatch(given):
        return {"id": given}
    if not isinstance(given, dict):
        raise AssertionMalformed(place="selector", expected="an object, or the IRI of one")
    return given


def _is_beginning(iri: str) -> bool:
    """Return True if an IRI is the beginning of names, and not a name: `URN:IANA:42117::*`."""
    if not iri.endswith("*"):
        return False
    try:
        parse(iri)
    except MalformedIdentifier:
        with suppress(PerdureError):
            return bool(read_set(iri))
    except UnknownScheme:
        pass
    return False


def find_identifier(iri: str) -> Identifier | None:
    """Return the identifier that an IRI is, or that it is an address of; None for other IRIs.

    An address at a public resolver, or of a PDI or an ARK at any, is one of the identifier.
    """
    if not iri[:8].lower().startswith(("http://", "https://")):
        try:
            return parse(iri)
        except UnknownScheme:
            return None
    address, _, part = iri.partition("#")
    try:
        path = find_path(address)
        if path is None:
            found = deurlify(address)
        else:
            name, _, query = path.partition("?")
            found = parse(name.replace("%23", "#", 1))
            part = query.removeprefix("part=") if query.startswith("part=") else part
        narrowed = found.with_part(unquote(part)) if part and found.fragment is None else None
    except PerdureError:
        return None
    return found if narrowed is None else narrowed


def _narrow_target(source: Identifier, selector: Mapping[str, Any]) -> Identifier:
    """Return the identifier of the part that a FragmentSelector selects, or else of its source.

    Other selectors select nothing that the name of a part can say.
    """
    if selector.get("type") != "FragmentSelector":
        return source
    try:
        part = source.with_part(str(read_annotation(selector)))
    except PerdureError:
        return source
    return source if part is None else part


def may_be_assertion(media_type: str) -> bool:
    """Return True if documents of a media type may be assertions.

    >>> may_be_assertion(MEDIA_TYPE), may_be_assertion("application/json")
    (True, False)
    """
    return strip_parameters(media_type) == JSON_LD


def find_targets(data: bytes) -> tuple[str, ...]:
    """Return the names that an assertion is about; empty if the data is another document."""
    try:
        return tuple(map(str, read_assertion(data).about))
    except PerdureError:
        return ()


# writing
# -------


def write_assertion(
    targets: tuple[str, ...],
    motivations: tuple[str, ...] = (),
    *,
    body: str = "",
    creator: str = "",
    created: str = "",
    group: str = "",
) -> bytes:
    """Write an assertion about some targets, as JSON-LD in UTF-8 that ends in a line feed.

    `body` is plain text, `creator` an IRI, `created` a time such as `2026-11-24T06:00:00Z`, `group`
    the type of the set of all targets, such as `Choice`; what is empty is left out. Raises the
    errors of `read_assertion`.
    """
    words = [word if word in STANDARD else find_iri(word) for word in motivations]
    fields: dict[str, object] = {
        "@context": CONTEXT,
        "type": "Annotation",
        "motivation": _pack_values(words),
        "creator": creator,
        "created": created,
        "body": body and {"type": "TextualBody", "value": body, "format": "text/plain"},
        "target": {"type": group, "items": list(targets)} if group else _pack_values(targets),
    }
    kept = {name: value for name, value in fields.items() if value}
    data = msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n"
    read_assertion(data)
    return data


def _pack_values(values: Sequence[str]) -> object:
    """Return the only value of a field, or the list of all of them."""
    return values[0] if len(values) == 1 else list(values)
