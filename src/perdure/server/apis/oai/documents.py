"""The answers of OAI-PMH as XML: the frame of every answer, headers, records and lists.

How it works: every answer repeats the request (section 3.2). Text from a request or a record is
escaped; characters that XML does not have are replaced.

What must stay true: every answer is valid by the schema of the protocol, whatever was asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.formats.xml_characters import replace_not_xml
from perdure.metadata.xml_text import DECLARATION, escape_text, write_attributes, write_element
from perdure.server.apis.oai.requests import HarvestError

NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
SCHEMA = "http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd"
MEDIA_TYPE = "text/xml; charset=utf-8"
GRANULARITY = "YYYY-MM-DDThh:mm:ssZ"
_ROOT = (
    f'<OAI-PMH xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    f'xsi:schemaLocation="{NAMESPACE} {SCHEMA}">\n'
)
_UNREPEATED = ("badVerb", "badArgument")
"""Errors after which the arguments are not repeated (section 3.2)."""


def write_document(now: str, address: str, given: dict[str, str], body: str) -> bytes:
    """Write an answer: the time, the request with its arguments, and the body."""
    shown = write_attributes({name: replace_not_xml(value) for name, value in given.items()})
    request = f"<request{shown}>{escape_text(replace_not_xml(address))}</request>\n"
    date = f"<responseDate>{now}</responseDate>\n"
    return f"{DECLARATION}{_ROOT}{date}{request}{body}</OAI-PMH>\n".encode()


def write_error(now: str, address: str, given: dict[str, str], error: HarvestError) -> bytes:
    """Write the answer of a request that failed."""
    kept = {} if error.code in _UNREPEATED else given
    body = write_element("error", replace_not_xml(error.text), code=error.code)
    return write_document(now, address, kept, f"{body}\n")


def write_identity(name: str, address: str, earliest: str, contact: str) -> str:
    """Write the description of the repository (section 4.2)."""
    return "".join(
        (
            "<Identify>\n",
            write_element("repositoryName", name),
            write_element("baseURL", address),
            write_element("protocolVersion", "2.0"),
            write_element("adminEmail", contact),
            write_element("earliestDatestamp", earliest),
            write_element("deletedRecord", "persistent"),
            write_element("granularity", GRANULARITY),
            "\n</Identify>\n",
        )
    )


def write_format(prefix: str, schema: str, namespace: str) -> str:
    """Write one format of metadata (section 4.4)."""
    inner = (
        write_element("metadataPrefix", prefix),
        write_element("schema", schema),
        write_element("metadataNamespace", namespace),
    )
    return f"<metadataFormat>{''.join(inner)}</metadataFormat>\n"


def write_set(name: str, title: str, description: bytes | None = None) -> str:
    """Write one set (section 4.6), with its description in XML."""
    said = f"{write_element('setSpec', name)}{write_element('setName', replace_not_xml(title))}"
    if description is not None:
        text = description.decode().removeprefix(DECLARATION)
        said += f"<setDescription>\n{text}</setDescription>"
    return f"<set>{said}</set>\n"


def write_header(identifier: str, at: str, names: Iterable[str], *, is_deleted: bool) -> str:
    """Write the header of a record, with the names of its sets (section 2.5)."""
    status = ' status="deleted"' if is_deleted else ""
    inner = (
        write_element("identifier", identifier),
        write_element("datestamp", at),
        *(write_element("setSpec", name) for name in names),
    )
    return f"<header{status}>{''.join(inner)}</header>\n"


def write_record(header: str, metadata: bytes | None) -> str:
    """Write a record; one that was deleted has no metadata."""
    if metadata is None:
        return f"<record>{header}</record>\n"
    text = metadata.decode().removeprefix(DECLARATION)
    return f"<record>{header}<metadata>\n{text}</metadata></record>\n"


def write_list(verb: str, entries: Iterable[str], token: str | None, passed: int) -> str:
    """Write a list, with the token for its rest: None in a list that was never divided, empty at
    the end of one that was (section 3.5)."""
    end = "" if token is None else f'<resumptionToken cursor="{passed}">{token}</resumptionToken>\n'
    return f"<{verb}>\n{''.join(entries)}{end}</{verb}>\n"
