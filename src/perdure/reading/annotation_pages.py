"""Assertions as annotations for other programs: one, a page of them, or a plain array. Pure.

Specifications: Web Annotation Data Model section 5.2 (AnnotationPage), Web Annotation Protocol
section 5.1 (the IRI that a client gave goes to `via`, and `canonical` is kept).

How it works: an annotation is the stored document; only `id`, `via` and `canonical` are those of
its address, and motivations that only this registry has words for (`retracts`, `cito:disputes`) are
the IRIs that they mean. What the registry knows of it (actor, time, scope, retractions) is the
member `registry`, which the context of the page maps to nothing, so that it never becomes a triple.

What must stay true: no other member of a stored document changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.ids import Identifier
from perdure.model.assertions import CONTEXT, STANDARD, find_iri
from perdure.reading.assertions import HeldAssertion, describe_assertion

LEAD = "annotations"
"""The beginning of the paths of containers and annotations."""
_WITH_REGISTRY = [CONTEXT, {"registry": None}]


def find_address(base: str, name: Identifier) -> str:
    """Return the address of an assertion in its container; its name if there is no resolver.

    >>> from perdure.ids import parse
    >>> find_address("https://pid.example", parse("pdi://oma.eop.gov.us/1994/03/21/2.jsonld.1"))
    'https://pid.example/annotations/oma.eop.gov.us/1994/03/21/2'
    """
    series = name.authority_beginning
    text = str(name.resource)
    if not base or not series.startswith("pdi://"):
        return text
    return f"{base}/{LEAD}/{text.removeprefix('pdi://')}"


def find_container(base: str, series: str) -> str:
    """Return the address of the container of a series."""
    return f"{base}/{LEAD}/{series}/"


def write_annotation(held: HeldAssertion, base: str) -> dict[str, Any]:
    """Return an assertion as the annotation at its address."""
    document = dict(held.assertion.document)
    address = find_address(base, held.identifier)
    given = document.get("id")
    if isinstance(given, str) and given not in (address, str(held.identifier)):
        via = document.get("via", [])
        document["via"] = [*(via if isinstance(via, list) else [via]), given]
    first = {"@context": document.pop("@context"), "id": address}
    document.pop("id", None)
    document.setdefault("canonical", str(held.identifier.resource))
    if "motivation" in document:
        document["motivation"] = _write_motivation(document["motivation"])
    return first | document


def _write_motivation(given: object) -> object:
    """Return motivations as the context of Web Annotation reads them.

    >>> _write_motivation(["commenting", "cito:disputes"])
    ['commenting', 'http://purl.org/spar/cito/disputes']
    """
    if isinstance(given, list):
        return [_write_motivation(one) for one in given]
    return find_iri(given) if isinstance(given, str) and given not in STANDARD else given


def write_annotations(found: Sequence[HeldAssertion], base: str) -> list[dict[str, Any]]:
    """Return assertions as a plain array of annotations, as Annotorious reads them."""
    return [write_annotation(held, base) for held in found]


def write_page(
    address: str, found: Sequence[HeldAssertion], base: str, following: str | None = None
) -> dict[str, Any]:
    """Return assertions as an AnnotationPage with an address of its own."""
    page: dict[str, Any] = {
        "@context": _WITH_REGISTRY,
        "id": address,
        "type": "AnnotationPage",
        "items": [
            write_annotation(held, base) | {"registry": describe_assertion(held)} for held in found
        ],
    }
    return page | ({"next": following} if following is not None else {})
