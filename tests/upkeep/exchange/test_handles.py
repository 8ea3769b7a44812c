"""Batch files and JSON of Handle.Net servers."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from tests.upkeep.exchange.samples import HANDLE_BATCH, HANDLE_JSON, lines, read

from perdure.errors.exchanging import (
    BatchFileOutside,
    BatchFileUnreadable,
    BatchLineMalformed,
    BatchOperationRefused,
    HandleNotAnswered,
    HandleTtlNotSeconds,
    RecordInOtherCharset,
    RecordMalformed,
    RecordWithoutName,
)
from perdure.policy.handles.admins import Permission, read_permissions


def test_a_batch_is_read_with_all_its_values() -> None:
    """Technical manual 4.1, 4.9: "value_index + space + value_type + space + ttl + space +
    permission_set + space + value_data"."""
    first, second = lines("handle-batch", HANDLE_BATCH)
    assert first["id"] == "hdl:21.T14999/A"
    assert second == {
        "id": "doi:10.5072/x",
        "values": [{"index": 7, "type": "URL", "data": "https://b.example/"}],
    }
    url, mail, admin, listed = first["values"]
    assert url == {"index": 1, "type": "URL", "data": "https://a.example/A"}
    assert mail == {
        "index": 2,
        "type": "EMAIL",
        "data": "keeper of A@a.example",
        "ttl": 3600,
        "permissions": "1100",
    }
    assert json.loads(admin["data"])["index"] == 300
    assert json.loads(listed["data"]) == [
        {"handle": "21.T14999/ADMIN", "index": 300},
        {"handle": "21.T14999/B", "index": 301},
    ]


def test_the_permissions_of_a_batch_have_an_order_of_their_own() -> None:
    """Technical manual 4.9: "add handle, delete handle, add naming authority, delete naming
    authority, modify values, remove values, add values, read values, modify administrator, remove
    administrator, add administrator and list handles"."""
    order = ("ADD_HANDLE", "DELETE_HANDLE", "ADD_PREFIX", "DELETE_PREFIX", "MODIFY_VALUE",
             "REMOVE_VALUE", "ADD_VALUE", "READ_VALUE", "MODIFY_ADMIN", "REMOVE_ADMIN", "ADD_ADMIN",
             "LIST_HANDLES")  # fmt: skip
    for place, name in enumerate(order):
        digits = "".join("1" if at == place else "0" for at in range(12))
        (line,) = lines("handle-batch", f"CREATE 1/a\n1 HS_ADMIN 1 1110 ADMIN 300:{digits}:1/a\n")
        granted = read_permissions(json.loads(line["values"][0]["data"])["permissions"])
        assert granted == {Permission(name)}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE 1/a\n1 URL 86400 1110 UTF16 x\n", BatchLineMalformed),
        ("CREATE 1/a\n1 URL never 1110 UTF8 x\n", BatchLineMalformed),
        ("CREATE 1/a\nURL 86400 1110 UTF8 x\n", BatchLineMalformed),
        ("CREATE 1/a\n1 HS_ADMIN 1 1110 ADMIN 300:1:1/a\n", BatchLineMalformed),
        ("CREATE 1/a\n1 HS_VLIST 1 1110 LIST 300;x\n", BatchLineMalformed),
        ("CREATE\n", BatchLineMalformed),
        ("DESTROY 1/a\n", BatchLineMalformed),
        ("DELETE 1/a\n", BatchOperationRefused),
        ("REMOVE 1,2:1/a\n", BatchOperationRefused),
        ("CREATE 1/a\n1 HS_SITE 1 1110 FILE ../outside.bin\n", BatchFileOutside),
        ("CREATE 1/a\n1 HS_SITE 1 1110 FILE missing.bin\n", BatchFileUnreadable),
    ],
)
def test_a_bad_record_has_its_line_and_reason(
    text: str, error: type[Exception], tmp_path: Path
) -> None:
    found = read("handle-batch", f"# a comment\n\n{text}\nCREATE 1/b\n", files=tmp_path / "in")
    assert [one.number for one in found] == [3, 3 + text.count("\n") + 1]
    assert isinstance(found[0].fault, error)
    assert found[0].raw == text
    assert found[1].line == {"id": "hdl:1/b"}


def test_data_may_be_in_files_beside_the_batch(tmp_path: Path) -> None:
    (tmp_path / "key.bin").write_bytes(b"\0\1")
    text = "CREATE 1/a\n1 HS_PUBKEY 1 1110 FILE key.bin\n2 X 1 1110 HEX 0a\n"
    (line,) = lines("handle-batch", text, files=tmp_path)
    key, other = line["values"]
    assert (key["format"], base64.b64decode(key["data"])) == ("base64", b"\0\1")
    assert (other["format"], other["data"]) == ("hex", "0a")


def test_bytes_of_another_charset_refuse_only_their_record() -> None:
    import io

    from perdure.upkeep.exchange import forms
    from perdure.upkeep.exchange.port import ReadingTerms
    from perdure.upkeep.exchange.stream import ConvertedLines

    text = b"CREATE 1/a\n1 X 1 1110 UTF8 M\xfcller\n\nCREATE 1/b\n1 X 1 1110 UTF8 M\xc3\xbcller\n"
    made = ConvertedLines(forms.find_form("handle-batch"), io.BytesIO(text), ReadingTerms())
    good = [json.loads(one) if one else None for one in made.readall().splitlines()]
    assert [one and one["id"] for one in good] == [None, None, None, "hdl:1/b"]
    (fault,) = made.take_faults()
    assert fault.line == 1
    assert fault.error["message"].endswith(RecordInOtherCharset(charset="utf-8").reason)


def test_json_of_a_server_keeps_times_and_permissions() -> None:
    (line,) = lines("handle-json", HANDLE_JSON)
    url, admin = line["values"]
    assert url == {
        "index": 1,
        "type": "URL",
        "data": "https://a.example/A",
        "at": "2019-01-02T03:04:05Z",
    }
    assert (admin["ttl"], admin["permissions"], admin["format"]) == (60, "1100", "admin")
    assert json.loads(admin["data"])["permissions"] == "011111110011"
    assert "attached" not in line


@pytest.mark.parametrize(
    "form",
    [
        HANDLE_JSON,
        HANDLE_JSON[1:-1],
        "\n".join([HANDLE_JSON[1:-1]] * 3),
        json.dumps(json.loads(HANDLE_JSON), indent=2),
        json.dumps({"handles": json.loads(HANDLE_JSON)}),
    ],
)
def test_lists_lines_pages_and_answers_one_after_another_are_read(form: str) -> None:
    found = lines("handle-json", form)
    assert found == lines("handle-json", HANDLE_JSON) * len(found)


def test_a_handle_without_the_values_asked_for_is_known() -> None:
    assert lines("handle-json", '{"responseCode": 200, "handle": "1/a"}') == [{"id": "hdl:1/a"}]


def test_members_without_a_field_are_attached() -> None:
    (answer,) = json.loads(HANDLE_JSON)
    answer["values"][0]["references"] = [{"handle": "1/a", "index": 1}]
    (line,) = lines("handle-json", json.dumps(answer))
    (attached,) = line["attached"]
    assert json.loads(attached["content"]) == answer


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"values": []}', RecordWithoutName),
        ('{"handle": "1/a", "values": [{"index": "x"}]}', RecordMalformed),
        ('{"handle": "1/a", "values": [{"index":1,"type":"X","data":"","ttl":"2030-01-01"}]}',
         HandleTtlNotSeconds),
        ('{"responseCode": 100, "handle": "1/a"}', HandleNotAnswered),
        ("{nonsense}", RecordMalformed),
    ],
)  # fmt: skip
def test_bad_json_is_reported_by_its_position(text: str, error: type[Exception]) -> None:
    first, second = read("handle-json", f'{text}\n{{"handle": "1/b", "values": []}}')
    assert (first.number, second.number) == (1, 2)
    assert isinstance(first.fault, error)
    assert second.line == {"id": "hdl:1/b"}
