"""A registry whose documents are expensive to answer for, and the names of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from perdure.ids import parse
from perdure.model.collection import MEDIA_TYPE, Collection, CollectionMember, write_collection
from perdure.model.commands import Assign, Bind, Commit, Content, Mint, SaveToken
from perdure.model.records import Location, Token, Value
from perdure.policy.operations import OPERATIONS
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise

SERIES = "oma.eop.gov.us"
SHOULDER = "99999/fk4"
TEMPLATED = "hdl:21.T14999/templated"
"""A handle with a template that tries fifty expressions, each with 250 steps for a character."""
_TESTS = f'<if value="extension" test="matches" expression="{".*" * 80}b"/>' * 50
_TEMPLATE = f'<namespace><template delimiter="@">{_TESTS}<value/></template></namespace>'
POLITE = f"/pdi://{SERIES}/1997/09/01/7.html.1"
LARGEST = 512 << 20
"""Bytes of the document that slow clients read."""
_PIECE = 1 << 20
_MEMBERS = 20_000
_NAMES = 3000
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


class TargetSite:
    """The names of what the registry holds; `largest` is the length of its longest document."""

    def __init__(self, root: Path, *, largest: int = LARGEST) -> None:
        initialise(root, series=(SERIES,), shoulders=(SHOULDER,))
        self.secret, digest = make_token()
        with Registry(root) as registry:
            door = registry.door
            token = Token(name="hostile", digest=digest, operations=OPERATIONS, authorities=("*",))
            door.execute_command(SaveToken(token=token))
            place = (Location(uri="https://archive.example.org/7"),)
            for number in range(1, _NAMES):
                name = f"pdi://{SERIES}/{1990 + number % 30}/{number % 12 + 1:02}/01/x{number}"
                door.execute_command(Bind(identifier=parse(name), locations=place, register=True))
            door.execute_command(Bind(identifier=parse(POLITE[1:]), locations=place, register=True))
            values = (
                Value(index=1, type="URL", data=place[0].uri),
                Value(index=2, type="HS_NAMESPACE", data=_TEMPLATE),
            )
            door.execute_command(Assign(identifier=parse(TEMPLATED), values=values))
            self.stem = door.execute_command(Mint(authority=SHOULDER, locations=place)).identifier
            lines = [b"Line %d of a text of which parts are read.\r\n" % n for n in range(90_000)]
            self.text = _mint(registry, lines)
            whole = parse(self.text).resource
            with registry.spool() as spool:
                spool.write(b"".join(reversed(lines)))
                content = spool.finish_content(format="text", media_type="text/plain")
            door.execute_command(Commit(identifier=whole, contents=(content,)))
            self.versions = str(whole)
            rows = [b"<row n='%d'><a>%d</a></row>" % (n, n) for n in range(20_000)]
            markup = [b"<?xml version='1.0'?><all>", *rows, b"</all>"]
            self.markup = _mint(registry, markup, "xml", "text/xml")
            items = [b"<p class=x><b>%d</b> <i>words</i></p>\n" % n for n in range(30_000)]
            page = [b"<!DOCTYPE html><title>x</title><body>", *items]
            self.page = _mint(registry, page, "html", "text/html")
            self.own_page = _mint(registry, page, "html", "text/html", SHOULDER)
            self.table = _mint(
                registry, (b"%d,%d,x\n" % (n, n) for n in range(200_000)), "csv", "text/csv"
            )
            self.pdf = _mint(registry, _write_pdf(2000), "pdf", "application/pdf")
            self.bomb = _mint(registry, [_write_bomb()], "docx", _DOCX)
            members = tuple(
                CollectionMember(identifier=f"pdi://{SERIES}/2001/01/01/x{n}")
                for n in range(_MEMBERS)
            )
            made = write_collection(Collection(members=members))
            self.collection = _mint(registry, [made], "json", MEDIA_TYPE)
            self.huge = _mint(
                registry, (bytes(_PIECE) for _ in range(largest // _PIECE)), "octet-stream"
            )


def _mint(
    registry: Registry,
    pieces: Iterable[bytes],
    format: str = "text",
    media_type: str = "text/plain",
    authority: str = SERIES,
) -> str:
    """Mint a document, and return its full name, or an ARK."""
    if format == "octet-stream":
        media_type = "application/octet-stream"
    with registry.spool() as spool:
        for piece in pieces:
            spool.write(piece)
        content: Content = spool.finish_content(format=format, media_type=media_type)
        minted = registry.door.execute_command(Mint(authority=authority, contents=(content,)))
    return f"{minted.identifier}"


def _write_pdf(count: int) -> Iterator[bytes]:
    """A PDF with pages of text."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%b]>>"
        % (count, b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(count))),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number in range(count):
        lines = b"".join(
            b"1 0 0 1 50 %d Tm (Page %d, line %d of a long report) Tj\n" % (y, number, y)
            for y in range(60, 780, 12)
        )
        drawn = b"BT /F1 9 Tf\n" + lines + b"ET"
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (5 + 2 * number)
        )
        objects.append(b"<</Length %d>>\nstream\n%b\nendstream" % (len(drawn), drawn))
    written = io.BytesIO(b"%PDF-1.4\n")
    written.seek(0, 2)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(written.tell())
        written.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    begin = written.tell()
    written.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    written.write(b"".join(b"%010d 00000 n \n" % one for one in places))
    written.write(b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1))
    written.write(b"startxref\n%d\n%%%%EOF\n" % begin)
    yield written.getvalue()


def _write_bomb() -> bytes:
    """A text document whose XML is a thousand times as long as its file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        with package.open("word/document.xml", "w", force_zip64=True) as entry:
            entry.write(
                b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/'
                b'main"><w:body><w:p><w:r><w:t>'
            )
            for _ in range(600):
                entry.write(b"x" * _PIECE)
            entry.write(b"</w:t></w:r></w:p></w:body></w:document>")
    return file.getvalue()
