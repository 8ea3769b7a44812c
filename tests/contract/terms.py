"""The language of outcomes: names and lists in one spelling, whichever face gave them."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from tests.contract.fixture import BASE

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.reading.targets import read_identifier


def read_name_at(address: str) -> str:
    """The name at an address of this resolver; the address itself if it is another one."""
    if not address.startswith(f"{BASE}/"):
        return spell_name(address)
    return spell_name(str(read_identifier(address.removeprefix(f"{BASE}/"))))


def spell_name(text: str) -> str:
    """A name in its canonical form; any other text as it is."""
    try:
        return str(parse(text))
    except PerdureError:
        return text


def name_record(text: str) -> str:
    """The name of the record of a name: a PDI without part, format and version."""
    name = parse(read_name_at(text)).whole
    return str(name.resource) if isinstance(name, Pdi) else str(name)


def make_list(names: Iterable[str]) -> dict[str, object]:
    """A list of names and addresses. The order is not a part of the contract."""
    return {"is": "list", "of": sorted({read_name_at(one) for one in names})}


def read_picture(data: bytes) -> dict[str, object]:
    """The pixels of an image, row by row."""
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(data)).convert("RGB")
    width, height = image.size
    pixels = [[bytes(image.getpixel((x, y))).hex() for x in range(width)] for y in range(height)]
    return {"is": "picture", "pixels": pixels}
