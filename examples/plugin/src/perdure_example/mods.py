"""MODS, the metadata format of libraries, as far as titles, creators, years and languages go.

Specification: https://www.loc.gov/standards/mods/v3/mods-3-8.xsd; namespace
`http://www.loc.gov/mods/v3`.

What must stay true: `read(write(x))` says of x what MODS has a place for here.
"""

from __future__ import annotations

from perdure.errors.records import ElementsMissing, RootNotOfFormat
from perdure.metadata import xml_text
from perdure.metadata.port import DescribedResource, Format, Signature
from perdure.metadata.xml_text import collect_text, wrap_elements, write_element
from perdure.model.about import About, Agent, DescriptionText
from perdure.model.description_checks import check_description

_NAME = "mods"
NAMESPACE = "http://www.loc.gov/mods/v3"
_IN = {"m": NAMESPACE}
_BEGIN = f'<?xml version="1.0" encoding="UTF-8"?>\n<mods xmlns="{NAMESPACE}" version="3.8">'
_ROLE = wrap_elements("role", [write_element("roleTerm", "creator", type="text")])


def write(described: DescribedResource) -> bytes:
    """A record. Text is UTF-8."""
    about = described.about
    titles = (
        wrap_elements("titleInfo", [write_element("title", one.value)]) for one in about.titles
    )
    names = (
        wrap_elements("name", [write_element("namePart", one.name), _ROLE], type=_type_of(one))
        for one in about.creators
    )
    origin = wrap_elements("originInfo", [write_element("dateIssued", about.year)])
    language = wrap_elements(
        "language",
        (write_element("languageTerm", one, type="code") for one in [about.language] if one),
    )
    identifier = write_element(
        "identifier", str(described.identifier), type=described.identifier.kind
    )
    place = wrap_elements("location", [write_element("url", described.url)])
    return "".join(
        [_BEGIN, *titles, *names, origin, language, identifier, place, "</mods>\n"]
    ).encode()


def _type_of(agent: Agent) -> str:
    return "corporate" if agent.kind == "Organizational" else "personal"


def read(data: bytes) -> About:
    """Return the content of a record. Raises InvalidMetadata or TooLarge."""
    root = xml_text.parse_xml(data, _NAME)
    if root.tag != f"{{{NAMESPACE}}}mods":
        raise RootNotOfFormat(
            format=_NAME,
            line=root.sourceline,
            root=str(root.tag),
            needed="mods",
            namespace=NAMESPACE,
        )
    titles = [collect_text(one) for one in root.iterfind("m:titleInfo/m:title", _IN)]
    if not any(titles):
        raise ElementsMissing(format=_NAME, line=root.sourceline, elements=("titleInfo/title",))
    creators = [
        Agent(
            name=" ".join(collect_text(part) for part in one.iterfind("m:namePart", _IN)),
            kind="Organizational" if one.get("type") == "corporate" else "Personal",
        )
        for one in root.iterfind("m:name", _IN)
    ]
    years = [collect_text(one)[:4] for one in root.iterfind("m:originInfo/m:dateIssued", _IN)]
    languages = [collect_text(one) for one in root.iterfind("m:language/m:languageTerm", _IN)]
    return check_description(
        About(
            titles=tuple(DescriptionText(value=one) for one in titles if one),
            creators=tuple(creators),
            year=next(iter(years), ""),
            language=next(iter(languages), ""),
        )
    )


FORMAT = Format(
    name=_NAME,
    title="MODS 3.8 XML",
    media_types=("application/mods+xml",),
    write=write,
    read=read,
    schema=NAMESPACE,
    signature=Signature(opening=(b"<",), marks=(NAMESPACE.encode(),)),
)
