"""Records of earlier DataCite kernels, turned into records of the present one.

Specification: DataCite Metadata Schema 3.1 (https://doi.org/10.5438/0010) and 2.2
(https://doi.org/10.5438/0005); the changes are those that the documentation of 4.0 lists.

How it works: `upgrade_record` changes a parsed record in place, and the reader of kernel 4
validates and reads the result. In kernels 2 and 3, points and boxes were texts of two and four
numbers, funders were contributors, and the general type was optional. Up to 4.2, an affiliation
could be empty or have a language (https://github.com/datacite/schema/issues/57); `relax_record`
removes that.

What must stay true: a valid record of an earlier kernel becomes a valid record of kernel 4, and
elements keep their line numbers.
"""

from __future__ import annotations

from typing import Any

from perdure.model.kernel_words import FUNDER_SCHEMES

NAMESPACES = frozenset(
    f"http://datacite.org/schema/kernel-{version}" for version in ("2.0", "2.1", "2.2", "3")
)
_TYPES = {"Film": "Audiovisual"}
_DATES = {"StartDate": "Other", "EndDate": "Other"}
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def upgrade_record(root: Any, namespace: str) -> None:
    """Turn a record into one of kernel 4, whose namespace is given."""
    for one in root.iter("{*}*"):
        name = one.tag.rpartition("}")[2]
        one.tag = f"{{{namespace}}}{name}"
    for name in ("lastMetadataUpdate", "metadataVersionNumber"):
        root.attrib.pop(name, None)
    make = _Maker(namespace)
    parts = {one.tag.rpartition("}")[2]: one for one in root if isinstance(one.tag, str)}
    if "resourceType" not in parts:
        root.append(make.element("resourceType", "", resourceTypeGeneral="Other"))
    general = root.find(f"{{{namespace}}}resourceType")
    kind = general.get("resourceTypeGeneral", "Other")
    general.set("resourceTypeGeneral", _TYPES.get(kind, kind))
    if "rights" in parts:  # one, without a list, in kernel 2
        rights = make.element("rightsList", "")
        root.replace(parts["rights"], rights)
        rights.append(parts["rights"])
    for date in parts.get("dates", ()):
        date.set("dateType", _DATES.get(date.get("dateType"), date.get("dateType", "Other")))
    _upgrade_places(parts.get("geoLocations", ()), make)
    _upgrade_funders(root, parts.get("contributors"), make)


def relax_record(root: Any) -> None:
    """Remove from a record of kernel 4 what only 4.0, 4.1 and 4.2 allow."""
    for one in list(root.iter("{*}affiliation")):
        one.attrib.pop(_LANG, None)
        if not "".join(one.itertext()).strip():
            one.getparent().remove(one)


class _Maker:
    """Makes elements in one namespace."""

    def __init__(self, namespace: str) -> None:
        from lxml import etree

        self._make = etree.Element
        self._namespace = namespace

    def element(self, name: str, text: str, **attributes: str) -> Any:
        made = self._make(f"{{{self._namespace}}}{name}", attributes)
        made.text = text
        return made


def _upgrade_places(places: Any, make: _Maker) -> None:
    for place in places:
        for shape in place:
            name = shape.tag.rpartition("}")[2]
            numbers = (shape.text or "").replace(",", " ").split()
            if name == "geoLocationPoint" and len(numbers) == 2:
                names = ["pointLatitude", "pointLongitude"]
            elif name == "geoLocationBox" and len(numbers) == 4:  # south-west, then north-east
                names = ["southBoundLatitude", "westBoundLongitude"]
                names += ["northBoundLatitude", "eastBoundLongitude"]
            else:
                continue
            shape.text = None
            shape.extend(make.element(*pair) for pair in zip(names, numbers, strict=True))


def _upgrade_funders(root: Any, contributors: Any, make: _Maker) -> None:
    """Turn contributors who fund into references to funding."""
    if contributors is None:
        return
    funders = [one for one in contributors if one.get("contributorType") == "Funder"]
    if not funders:
        return
    references = make.element("fundingReferences", "")
    for one in funders:
        contributors.remove(one)
        reference = make.element("fundingReference", "")
        reference.append(make.element("funderName", "".join(one[0].itertext()).strip()))
        for code in one[1:]:
            scheme = code.get("nameIdentifierScheme")
            if code.tag.endswith("}nameIdentifier") and (code.text or "").strip():
                kind = scheme if scheme in FUNDER_SCHEMES else "Other"
                reference.append(
                    make.element("funderIdentifier", code.text.strip(), funderIdentifierType=kind)
                )
                break
        references.append(reference)
    root.append(references)
    if not len(contributors):
        root.remove(contributors)
