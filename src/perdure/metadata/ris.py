"""RIS: one record, for reference managers.

Specification: RIS format of Research Information Systems (2011), as programs read it: tag, two
blanks, hyphen, blank, value; `TY` first and `ER` last; lines end with CRLF.

What must stay true: a value never contains a line break, so that no value can add a tag.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.metadata.csl import WITHDRAWN, make_item
from perdure.metadata.datacite_writing import find_version
from perdure.metadata.port import DescribedResource, Format
from perdure.metadata.resource_types import find_resource_type, guess_type
from perdure.model.about import Agent

_NAME = "ris"


def write_record(described: DescribedResource) -> bytes:
    """Write the record, in UTF-8."""
    lines = (
        f"{tag}  - {' '.join(value.split())}" for tag, value in _list_fields(described) if value
    )
    return ("\r\n".join((*lines, "ER  - ")) + "\r\n").encode()


def _list_fields(described: DescribedResource) -> Iterator[tuple[str, str]]:
    about = described.about
    cited = make_item(described)
    general = about.resource_type or guess_type(described.media_type)
    yield "TY", "ELEC" if about.archive else find_resource_type(general).ris
    yield from (("AU", _write_name(one)) for one in about.creators)
    yield from (("ED", _write_name(one)) for one in about.contributors if one.role == "Editor")
    yield "TI", cited.get("title", "")
    held_in = about.container
    if held_in is not None:
        yield "T2", held_in.titles[0].value if held_in.titles else ""
        yield "VL", held_in.volume
        yield "IS", held_in.issue or held_in.number
        yield "SP", held_in.first_page
        yield "EP", held_in.last_page
    issued = (cited.get("issued", {}).get("date-parts") or [[]])[0]
    if issued and issued[0] > 0:  # RIS has no form for other years
        yield "PY", f"{issued[0]:04}"
        yield "DA", "/".join([f"{issued[0]:04}", *(f"{part:02}" for part in issued[1:])])
    yield "PB", cited.get("publisher", "")
    yield "CY", cited.get("publisher-place", "")
    yield "ET", about.edition or find_version(described)
    yield "LA", about.language
    yield from (("KW", one.value) for one in about.subjects)
    yield "AB", cited.get("abstract", "")
    yield "SN", cited.get("ISBN", "") or cited.get("ISSN", "")
    yield "DO", cited.get("DOI", "")
    yield "DB", about.archive
    yield "N1", f"{WITHDRAWN}{described.withdrawn}" if described.withdrawn else ""
    yield "ID", str(described.identifier)
    yield "UR", described.url


def _write_name(agent: Agent) -> str:
    if agent.is_person and agent.family:
        return f"{agent.family}, {agent.given}".rstrip(", ")
    return agent.display_name


FORMAT = Format(
    name=_NAME,
    title="RIS",
    media_types=("application/x-research-info-systems",),
    write=write_record,
    is_text=True,
    place=70,
)
