"""Records sent to do harm, or that are just wrong: refused, with line and reason."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import msgspec
import pytest

from perdure import metadata
from perdure.errors import InvalidMetadata, InvalidRequest, PerdureError, TooLarge
from perdure.errors.records import (
    DoctypeForbidden,
    ItemTypeMissing,
    MembersUnknown,
    NotOneItem,
    RecordUnparsable,
    VariableNotText,
)
from perdure.metadata import cmdi
from perdure.metadata.port import LARGEST
from perdure.model.about import About, DescriptionText, Rights
from perdure.model.merging import patch_description

RECORD = """<?xml version="1.0"?>
<resource xmlns="http://datacite.org/schema/kernel-4">
  <identifier identifierType="DOI">10.1/x</identifier>
  <creators><creator><creatorName>A</creatorName></creator></creators>
  <titles><title>{title}</title></titles>
  <publisher>P</publisher>
  <publicationYear>2024</publicationYear>
  <resourceType resourceTypeGeneral="Dataset"/>
</resource>
"""
CMDI = b"""<?xml version="1.0"?>
<cmd:CMD xmlns:cmd="http://www.clarin.eu/cmd/1" CMDVersion="1.2">\r
 <cmd:Header><cmd:MdProfile>clarin.eu:cr1:p_1288172614023</cmd:MdProfile></cmd:Header>
 <cmd:Resources/><cmd:Components/>
</cmd:CMD>"""


def with_prologue(prologue: str, title: str = "T") -> bytes:
    return RECORD.format(title=title).replace("?>\n", f"?>\n{prologue}\n", 1).encode()


def test_the_record_is_good() -> None:
    assert metadata.read_record(RECORD.format(title="T").encode(), "datacite").title == "T"


_LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(10))


@pytest.mark.parametrize("format", ["datacite", "dc"])
@pytest.mark.parametrize(
    "prologue",
    [
        f"<!DOCTYPE resource [{_LAUGHS}]>",
        '<!DOCTYPE resource [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE resource [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>',
        '<!DOCTYPE resource SYSTEM "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE resource PUBLIC "-//A//B" "x.dtd">',
        "<!DOCTYPE resource>",
    ],
    ids=["laughs", "file", "parameter", "external", "public", "bare"],
)
def test_a_document_type_declaration_is_refused(prologue: str, format: str) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        metadata.read_record(with_prologue(prologue, "&a9;" if "a9" in prologue else "T"), format)
    assert caught.value == DoctypeForbidden(format=format, line=2)


def test_a_stylesheet_is_not_run_and_xinclude_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    sheet = f'<?xml-stylesheet type="text/xsl" href="file://{secret}"?>'
    assert metadata.read_record(with_prologue(sheet), "datacite").title == "T"
    include = (
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" '
        f'href="file://{secret}" parse="text"/>'
    )
    with pytest.raises(InvalidMetadata) as caught:
        metadata.read_record(RECORD.format(title=include).encode(), "datacite")
    assert "SECRET" not in str(caught.value)


def test_hints_where_schemas_lie_are_not_followed(tmp_path: Path) -> None:
    """What a record says of the schemas of its namespaces is not looked at."""
    lax = tmp_path / "lax.xsd"
    lax.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:x">'
        '<xs:element name="nonsense"/></xs:schema>'
    )
    record = RECORD.format(title="T").replace(
        "<resource ",
        '<resource xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="urn:x file://{lax} '
        'http://datacite.org/schema/kernel-4 file:///dev/zero" ',
    )
    assert metadata.read_record(record.encode(), "datacite").title == "T"


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        (("Dataset", "Datset"), 8, "The value 'Datset' is not an element of the set"),
        (("<publisher>P</publisher>", ""), 2, "Missing child element(s)"),
        (("2024", "MMXXIV"), 7, "'MMXXIV' is not accepted by the pattern"),
        (("</titles>", ""), 9, "mismatched tag"),
        (("<title>T", "<titel>T"), 5, "mismatched tag"),
        (("<titles>", "<headings/><titles>"), 5, "This element is not expected"),
        (("kernel-4", "kernel-1"), 2, "the root is"),
    ],
)
def test_what_is_invalid_is_refused_with_line_and_reason(
    broken: tuple[str, str], line: int, reason: str
) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        metadata.read_record(RECORD.format(title="T").replace(*broken).encode(), "datacite")
    assert caught.value.line == line
    assert reason in caught.value.reason
    assert f"at line {line}" in str(caught.value)


@pytest.mark.parametrize("format", ["datacite", "dc", "jsonld", "csl", "json"])
def test_fifty_megabytes_are_refused(format: str) -> None:
    with pytest.raises(TooLarge):
        metadata.read_record(b'{"a": "' + b"x" * (50 << 20) + b'"}', format)


_NONSENSE = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"<",
    b"<a",
    b"<a/>",
    b"[]",
    b"{}",
    b"null",
    b'"text"',
    b"[1]",
    b"[" * 100_000,
    b'{"@graph":[]}',
    b'{"@type":[[[]]]}',
    b'{"type":5}',
    b'{"type":"book","author":"Doe"}',
    b'{"type":"book","author":[5]}',
    b'{"type":"book","issued":{"date-parts":[["x"]]}}',
    b'{"type":"book","issued":{"date-parts":[[1e400]]}}',
    b'{"type":"book","title":{"a":1}}',
    b'{"type":"book","title":"\\ud800"}',
    b'{"type":"book","title":"\\u0000"}',
    b'{"@type":"Dataset","name":"a","license":"javascript:alert(1)"}',
    b'{"@type":"Dataset","creator":{"sameAs":"javascript:alert(1)","name":"x"}}',
    b'<?xml version="1.0" encoding="no-such"?><a/>',
    b'<?xml version="1.0" encoding="utf-7"?><a/>',
    b"<a>" * 100_000,
    b'<a xmlns:x="urn:x"><x:b></a>',
]


@pytest.mark.parametrize("format", ["datacite", "dc", "jsonld", "csl", "json"])
@pytest.mark.parametrize("data", _NONSENSE, ids=lambda one: repr(one[:40]))
def test_nonsense_is_an_error_of_ours_or_a_description(data: bytes, format: str) -> None:
    with contextlib.suppress(PerdureError):
        metadata.read_record(data, format)


@pytest.mark.parametrize(
    ("data", "members"),
    [
        (b'{"title":"T","creator":"A"}', ("title", "creator")),
        (b'{"titles":[],"titel":"T"}', ("titel",)),
        (b'{"titel":null}', ("titel",)),
        (b'{"rights":[{"text":"T"}],"places":[{}]}', ("rights.text",)),
    ],
)
def test_a_record_of_which_nothing_would_be_kept_is_refused(
    data: bytes, members: tuple[str, ...]
) -> None:
    """To store it would erase the description that the resource has."""
    with pytest.raises(MembersUnknown) as raised:
        metadata.read_record(data, "json")
    assert raised.value.members == members
    assert "the format does not know" in str(raised.value)


def test_an_item_of_which_nothing_is_known_is_left_out() -> None:
    """It would be stored as an empty item, or replace what the description has by nothing."""
    record = b'{"titles":[{"value":"T"}],"rights":[{"text":"a"},{"value":"b"}]}'
    found = metadata.read_record(record, "json")
    assert found == About(titles=(DescriptionText(value="T"),), rights=(Rights(value="b"),))
    patch = b'{"titles":[{"value":"T"}],"rights":[{"text":"a"}],"places":[],"year":null}'
    kept = metadata.read_merge_patch(patch, "json")
    assert msgspec.json.decode(kept) == {"titles": [{"value": "T"}], "places": [], "year": None}
    with pytest.raises(MembersUnknown, match=r"'rights\.text'"):
        metadata.read_merge_patch(b'{"rights":[{"text":"a"}]}', "json")
    described = About(titles=found.titles, rights=found.rights)
    patched = patch_description(described, {"rights": [{"text": "a"}, {"value": "c"}]})
    assert [one.value for one in patched.rights] == ["c"]


@pytest.mark.parametrize("data", [b"{}", b'{"titles":[]}', b'{"language":""}'])
def test_an_empty_record_removes_a_description(data: bytes) -> None:
    """ "To remove a description, send `{}` as `json`" (metadata.md)."""
    assert metadata.read_record(data, "json") == About()


def test_a_patch_without_a_known_member_is_refused() -> None:
    with pytest.raises(MembersUnknown, match="'titel'"):
        metadata.read_merge_patch(b'{"titel":"T"}', "json")
    assert metadata.read_merge_patch(b'{"titel":"T","titles":null}', "json")
    assert metadata.read_merge_patch(b"{}", "json") == b"{}"


def test_cmdi_is_kept_byte_for_byte() -> None:
    one = cmdi.read_attachment(CMDI)
    assert one.content == CMDI
    assert one.schema == "clarin.eu:cr1:p_1288172614023"
    assert metadata.guess_format(CMDI) == "cmdi"


@pytest.mark.parametrize(
    "data",
    [
        b"<CMD/>",
        CMDI.replace(b"cmd/1", b"cmd/9"),
        CMDI.replace(b"<cmd:Components/>", b""),
        CMDI[:-4],
        b'<!DOCTYPE x [<!ENTITY y "z">]>' + CMDI[22:],
    ],
)
def test_what_is_no_cmdi_is_not_attached(data: bytes) -> None:
    with pytest.raises(InvalidMetadata):
        cmdi.read_attachment(data)


def test_cmdi_too_large_is_not_attached() -> None:
    with pytest.raises(TooLarge):
        cmdi.read_attachment(CMDI + b" " * LARGEST)


def test_formats_that_are_written_only_are_not_read() -> None:
    with pytest.raises(InvalidRequest):
        metadata.read_record(b"@misc{a}", "bibtex")
    with pytest.raises(InvalidRequest):
        metadata.find_format("marc")
    with pytest.raises(InvalidMetadata):
        metadata.guess_format(b"@misc{a}")


@pytest.mark.parametrize("part", ["--5", "\u00b2", "9" * 5000, "-", "", 10**30, "spring"])
def test_a_part_of_a_date_that_is_no_number_says_nothing(part: str | int) -> None:
    data = json.dumps({"type": "book", "issued": {"date-parts": [[part]]}}).encode()
    assert metadata.read_record(data, "csl").dates == ()


@pytest.mark.parametrize(
    ("data", "format", "parser"),
    [
        (b"<a", "dc", "expat"),
        (RECORD.replace("Dataset", "Datset").encode(), "datacite", "libxml2"),
        (b"{", "json", "msgspec"),
        (b"{", "csl", "msgspec"),
    ],
)
def test_the_words_of_a_parser_are_data_beside_its_name(
    data: bytes, format: str, parser: str
) -> None:
    with pytest.raises(RecordUnparsable) as caught:
        metadata.read_record(data, format)
    assert caught.value.parser == parser
    assert caught.value.fault == caught.value.reason != ""


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"[]", NotOneItem()),
        (b"{}", ItemTypeMissing()),
        (b'{"type":"book","title":{"a":1}}', VariableNotText(variable="title")),
    ],
)
def test_a_rule_of_ours_is_a_class(data: bytes, error: InvalidMetadata) -> None:
    with pytest.raises(InvalidMetadata) as caught:
        metadata.read_record(data, "csl")
    assert caught.value == error
