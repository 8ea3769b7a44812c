"""The faces in the manner of other services: EZID, DataCite's REST API, OAI-PMH.

How it works: each answers over HTTP in its own words; these are read as the tools of that service
read them. `tests.contract.over_http` sends the requests.
"""

from __future__ import annotations

import json
import re
from urllib.parse import unquote
from xml.etree import ElementTree

from tests.contract.table import Outcome
from tests.contract.terms import name_record, read_name_at
from tests.server.conftest import Answer

_OAI = "{http://www.openarchives.org/OAI/2.0/}"
_KERNEL = "{http://datacite.org/schema/kernel-4}"
_EZID_ERRORS = {
    "no such identifier": "not-found",
    "malformed identifier ": "malformed-identifier",
    "is not available as ": "not-acceptable",
}


def read_ezid(answer: Answer, question: str) -> Outcome:
    """The first line: `success: ` and the identifier that answers, or `error: ` and why not."""
    line = answer.body.decode().partition("\n")[0]
    told = re.fullmatch("success: ([^ ]+)(?: in_lieu_of [^ ]+)?", line)
    if told is not None:
        return {"is": "described", "as": name_record(unquote(told[1]))}  # ANVL escapes `%`
    return {"is": next((is_ for words, is_ in _EZID_ERRORS.items() if words in line), line)}


def read_datacite(answer: Answer, question: str) -> Outcome:
    if answer.status == 404:
        return {"is": "not-found"}
    data = json.loads(answer.body)["data"]
    match question:
        case "location":
            return {"is": "redirect", "to": read_name_at(data["attributes"]["url"])}
        case "metadata":
            return {"is": "metadata", "about": data["attributes"]["doi"]}
    return {"is": "described", "as": f"doi:{data['id']}"}


def read_oai(answer: Answer, question: str) -> Outcome:
    """The record, the status of its header, or the code of the error (OAI-PMH 2.0 section 3.6)."""
    root = ElementTree.fromstring(answer.body)
    error = root.find(f"{_OAI}error")
    if error is not None:
        code = error.get("code", "")
        return {"is": {"idDoesNotExist": "not-found"}.get(code, code)}
    header = root.find(f".//{_OAI}header")
    assert header is not None
    if header.get("status") == "deleted":
        return {"is": "gone"}
    found = root.find(f".//{_KERNEL}resource/{_KERNEL}identifier")
    assert found is not None
    return {"is": "metadata", "about": found.text}


READERS = {"EZID": read_ezid, "DataCite": read_datacite, "OAI-PMH": read_oai}
"""By the names of the faces."""
