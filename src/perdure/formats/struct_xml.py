"""Structs as XML, and the schema of that XML: one mapping, made from the types of their fields.

How it works: each field is an element, and a field with several values is as many elements, whose
name is in the singular (`mediaType`, `title`). They are in the order of the struct. A field that
has its default is left out. Bytes are in base64, and so is a text with a character that XML does
not have; its attribute `encoding` says so. `write_schema` writes the same as an XML Schema.

What must stay true: `read_struct(write_struct(value)) == value`; an element that is unknown or
missing, or that comes too often, is an error.
"""

from __future__ import annotations

import base64
import binascii
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar
from xml.etree import ElementTree

import msgspec

from perdure.formats.xml_characters import NOT_IN_XML

_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_PLAIN = {int: "integer", bool: "boolean", bytes: "base64Binary"}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_SINGULAR = {"aliases": "alias"}
_NOT_PLURAL = ("rights",)
Struct = TypeVar("Struct", bound=msgspec.Struct)


class _Field(NamedTuple):
    name: str
    tag: str
    kind: Any
    """`str`, `int`, `bool`, `bytes` or a struct."""
    is_list: bool
    is_required: bool
    default: Any


def name_element(field: str, *, is_list: bool = False) -> str:
    """Return the name of the element of a field.

    >>> name_element("media_type"), name_element("titles", is_list=True), name_element("sha512")
    ('mediaType', 'title', 'sha512')
    """
    if is_list and field not in _NOT_PLURAL:
        field = _SINGULAR.get(field, field.removesuffix("s"))
    first, *others = field.split("_")
    return first + "".join(map(str.capitalize, others))


@cache
def _list_fields(kind: type) -> tuple[_Field, ...]:
    found: list[_Field] = []
    for one in msgspec.structs.fields(kind):
        inner, is_list = _simplify_type(one.type)
        default = None if one.required else one.default
        if default is msgspec.NODEFAULT:
            default = one.default_factory()
        tag = name_element(one.name, is_list=is_list)
        found.append(_Field(one.name, tag, inner, is_list, one.required, default))
    return tuple(found)


def _simplify_type(kind: Any) -> tuple[Any, bool]:
    """Return the type of one value, and whether there are several."""
    if typing.get_origin(kind) is tuple:
        return _simplify_type(typing.get_args(kind)[0])[0], True
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        (kind,) = (one for one in typing.get_args(kind) if one is not type(None))
    return kind, False


# writing
# -------


def write_struct(value: msgspec.Struct, tag: str, attributes: str = "") -> str:
    """Write a struct as an element. `attributes` are written as they are."""
    return f"<{tag}{attributes}>\n{''.join(_write_fields(value))}</{tag}>\n"


def _write_fields(value: msgspec.Struct) -> Iterator[str]:
    for field in _list_fields(type(value)):
        found = getattr(value, field.name)
        if field.is_list:
            yield from (_write_value(one, field.tag) for one in found)
        elif field.is_required or found != field.default:
            yield _write_value(found, field.tag)


def _write_value(value: Any, tag: str) -> str:
    if isinstance(value, msgspec.Struct):
        return write_struct(value, tag)
    if isinstance(value, bytes):
        return f"<{tag}>{base64.b64encode(value).decode()}</{tag}>\n"
    if isinstance(value, bool):
        return f"<{tag}>{str(value).lower()}</{tag}>\n"
    if isinstance(value, int):
        return f"<{tag}>{value}</{tag}>\n"
    if NOT_IN_XML.search(value):
        coded = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
        return f'<{tag} encoding="base64">{coded}</{tag}>\n'
    return f"<{tag}>{value.translate(_ESCAPED)}</{tag}>\n"


# reading
# -------


def read_struct(element: ElementTree.Element, kind: type[Struct]) -> Struct:
    """Read a struct from an element, in any namespace. Raises ValueError with what is wrong."""
    known = {field.tag: field for field in _list_fields(kind)}
    given: dict[str, Any] = {}
    for child in element:
        tag = str(child.tag).rpartition("}")[2]
        field = known.get(tag)
        if field is None:
            raise ValueError(f"'{tag}' is not known in '{_spell_tag(element)}'")
        value = _read_value(child, field.kind)
        if field.is_list:
            given.setdefault(field.name, []).append(value)
        elif field.name in given:
            raise ValueError(f"'{tag}' comes twice in '{_spell_tag(element)}'")
        else:
            given[field.name] = value
    for field in known.values():
        if field.is_required and field.name not in given:
            raise ValueError(f"'{field.tag}' is missing in '{_spell_tag(element)}'")
        if field.is_list and field.name in given:
            given[field.name] = tuple(given[field.name])
    return kind(**given)


def _spell_tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _read_value(element: ElementTree.Element, kind: Any) -> Any:
    if issubclass(kind, msgspec.Struct):
        return read_struct(element, kind)
    if len(element):
        raise ValueError(f"'{_spell_tag(element)}' contains other elements")
    text = element.text or ""
    coding = element.get("encoding")
    if kind is str and coding is None:
        return text
    if coding not in (None, "base64"):
        raise ValueError(f"'{_spell_tag(element)}' has an unknown encoding")
    if kind is int or kind is bool:
        return _read_plain(text.strip(), kind, _spell_tag(element))
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
        return data.decode("utf-8", "surrogatepass") if kind is str else data
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"'{_spell_tag(element)}' is not in base64") from None


def _read_plain(text: str, kind: type, tag: str) -> int | bool:
    if kind is bool and text in _BOOLEANS:
        return _BOOLEANS[text]
    digits = text.removeprefix("-")
    if kind is int and digits.isascii() and digits.isdecimal() and len(digits) < 20:
        return int(text)
    raise ValueError(f"'{tag}' is not of type {_PLAIN[kind]}")


# the schema
# ----------


def write_schema(kind: type[msgspec.Struct], tag: str, namespace: str) -> str:
    """Write the XML Schema of the elements that `write_struct` writes of a type."""
    found: dict[str, type] = {}
    _collect_types(kind, found)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{namespace}"',
        f'    targetNamespace="{namespace}" elementFormDefault="qualified">',
        f'  <xs:element name="{tag}" type="{kind.__name__}"/>',
        *_TEXT_TYPE,
    ]
    for name, one in found.items():
        lines += [f'  <xs:complexType name="{name}">', "    <xs:sequence>"]
        lines += [f"      {_declare_field(field)}" for field in _list_fields(one)]
        lines += ["    </xs:sequence>", "  </xs:complexType>"]
    return "\n".join((*lines, "</xs:schema>", ""))


_TEXT_TYPE = (
    '  <xs:complexType name="Text">',
    "    <xs:simpleContent>",
    '      <xs:extension base="xs:string">',
    '        <xs:attribute name="encoding">',
    "          <xs:simpleType>",
    '            <xs:restriction base="xs:string">',
    '              <xs:enumeration value="base64"/>',
    "            </xs:restriction>",
    "          </xs:simpleType>",
    "        </xs:attribute>",
    "      </xs:extension>",
    "    </xs:simpleContent>",
    "  </xs:complexType>",
)


def _collect_types(kind: type, found: dict[str, type]) -> None:
    if kind.__name__ in found:
        return
    found[kind.__name__] = kind
    for field in _list_fields(kind):
        if issubclass(field.kind, msgspec.Struct):
            _collect_types(field.kind, found)


def _declare_field(field: _Field) -> str:
    if field.kind is str:
        kind = "Text"
    elif issubclass(field.kind, msgspec.Struct):
        kind = field.kind.__name__
    else:
        kind = f"xs:{_PLAIN[field.kind]}"
    least = "" if field.is_required else ' minOccurs="0"'
    most = ' maxOccurs="unbounded"' if field.is_list else ""
    return f'<xs:element name="{field.tag}" type="{kind}"{least}{most}/>'
