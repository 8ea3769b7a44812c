"""Packages as the specifications describe them, made by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

ODF = "application/vnd.oasis.opendocument."
OOXML = "application/vnd.openxmlformats-officedocument."
_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_ODF_SPACES = " ".join(
    f'xmlns:{prefix}="{_OASIS}{space}:1.0"'
    for prefix, space in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("style", "style"), ("manifest", "manifest"), ("presentation", "presentation"),
    )
)  # fmt: skip
_TRANSITIONAL = "http://schemas.openxmlformats.org/"
_EXTERNAL = ' TargetMode="External"'
_STRICT = "http://purl.oclc.org/ooxml/"


def write_zip(members: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP file whose first member is stored, as OpenDocument and EPUB require of `mimetype`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, (name, data) in enumerate(members.items()):
            archive.writestr(name, data, method if number else zipfile.ZIP_STORED)
    return file.getvalue()


def write_odf(kind: str, body: str, **more: str) -> bytes:
    """An OpenDocument; `more` has further members, with `_` for `.` in their names."""
    content = (
        f"<office:document-content {_ODF_SPACES}><office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    members = {"mimetype": f"{ODF}{kind}", "content.xml": content}
    for name, data in more.items():
        place = "META-INF/manifest.xml" if name == "manifest" else f"{name}.xml"
        members[place] = data.replace("SPACES", _ODF_SPACES)
    return write_zip(members)


def write_ooxml(main: str, parts: Mapping[str, str], *, strict: bool = False) -> bytes:
    """An Office Open XML document.

    `parts` are by name. In them, W, S, P, A, M and R stand for the declarations of namespaces;
    relationships are written `kind=ID=target` in a part whose name ends in `.rels`; a target with a
    colon is outside the package.
    """
    base, year = (_STRICT, "") if strict else (_TRANSITIONAL, "2006/")
    kinds = f"{base}officeDocument/{year}relationships"
    spaces = {
        "W": f'xmlns:w="{base}wordprocessingml/{year}main"',
        "S": f'xmlns="{base}spreadsheetml/{year}main"',
        "P": f'xmlns:p="{base}presentationml/{year}main"',
        "A": f'xmlns:a="{base}drawingml/{year}main"',
        "M": f'xmlns:m="{base}officeDocument/{year}math"',
        "R": f'xmlns:r="{kinds}"',
        "MC": 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"',
    }
    members = {"[Content_Types].xml": "<Types/>"}
    for name, data in {"_rels/.rels": f"officeDocument=r1=/{main}", **parts}.items():
        if name.endswith(".rels"):
            related = "".join(
                f'<Relationship Id="{fields[1]}" Type="{kinds}/{fields[0]}" Target="{fields[2]}"'
                f"{_EXTERNAL if ':' in fields[2] else ''}/>"
                for fields in (line.split("=", 2) for line in data.split())
            )
            members[name] = (
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
                f'relationships">{related}</Relationships>'
            )
            continue
        for mark, declaration in spaces.items():
            data = data.replace(f"@{mark} ", f"{declaration} ").replace(
                f"@{mark}>", f"{declaration}>"
            )
        members[name] = data
    return write_zip(members)
