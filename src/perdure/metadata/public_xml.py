"""The public record as XML: our own format of metadata for harvesters, with nothing left out.

How it works: `perdure.formats.struct_xml` maps the fields of `PublicRecord` to elements, and writes
the XML Schema from the same types.

What must stay true: `read_public_record(write_public_record(record))` is the record.
"""

from __future__ import annotations

from xml.etree import ElementTree

from perdure.errors.records import RootNotOfFormat, quote_parser
from perdure.formats.struct_xml import read_struct, write_schema, write_struct
from perdure.metadata.xml_text import DECLARATION, write_attributes
from perdure.model.public_records import PublicRecord

NAMESPACE = "urn:perdure:record:1"
ROOT = "record"
FORMAT = "perdure"
"""The name of the format, as harvesters call it."""
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


def write_public_record(record: PublicRecord, schema: str = "") -> bytes:
    """Write a public record; `schema` is the address of its XML Schema."""
    named = {"xmlns": NAMESPACE}
    if schema:
        named |= {"xmlns:xsi": _INSTANCE, "xsi:schemaLocation": f"{NAMESPACE} {schema}"}
    return (DECLARATION + write_struct(record, ROOT, write_attributes(named))).encode()


def read_public_record(data: bytes) -> PublicRecord:
    """Read a public record. The XML has no document type declaration. Raises InvalidMetadata."""
    try:
        root = ElementTree.fromstring(data)  # noqa: S314  # the caller refused declarations
    except ElementTree.ParseError as error:
        raise quote_parser(FORMAT, "expat", error) from error
    if root.tag != f"{{{NAMESPACE}}}{ROOT}":
        raise RootNotOfFormat(
            format=FORMAT, line=None, root=root.tag, needed=ROOT, namespace=NAMESPACE
        )
    try:
        return read_struct(root, PublicRecord)
    except ValueError as error:
        raise quote_parser(FORMAT, "perdure", error) from error


def write_record_schema() -> bytes:
    """Write the XML Schema of public records."""
    return write_schema(PublicRecord, ROOT, NAMESPACE).encode()
