"""The index of citations: the links of all held documents, kept by a follower of the changes.

How it works: `followers/citations.sqlite` has a row for each link of a held document
(`perdure.reading.links`) to a name of another record: how it refers, its place, the day of the
document, and the cited name, with version, format and part in columns of their own. Rows are found
by the citing document, or by the key of the cited record, newest first.

If the cited name is a citation itself (`a@103=b`), the document also claims that `a` cites `b`. The
claim is a row of its own (`claimed`), with the citing side that it states.

What must stay true: an index says what documents refer to, never whether that is true: verdicts are
computed on request (`perdure.reading.citations`). Everything is as the documents are now;
what a reader may see is decided when the rows are read (`listing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from perdure.ids import Identifier
from perdure.reading.links.declared import DeclaredLink, list_links
from perdure.registry import Registry
from perdure.upkeep.changes.document_index import DOCUMENTS, DocumentIndex, HeldDocument

FILE = Path("followers", "citations.sqlite")
HOW = ("cite", "href", "src", "data", "xinclude", "xlink", "tei", "jats", "markdown", "pdf", "text")
CLAIMED = "claimed"
KINDS = (*(f"declared:{one}" for one in HOW), CLAIMED)
"""How a citation is known; the position is its number in the database. Only append."""
_MOST_CLAIMS = 8  # of one citation, as deep as citations are nested
_NO_KIND = -1  # of quotations that are found when they are asked for, and have no rows
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class IndexedCitation(NamedTuple):
    """A row: a document refers to a name, or claims that another one does."""

    number: int
    document: int
    source: str
    """The name of the document whose bytes say so."""
    citing: str | None
    """For a claim, the citing side; otherwise it is the document."""
    origin: str | None
    extent: int
    cited: str
    kind: str
    day: str
    version: int | None
    format: str | None
    part: str | None
    """Of the cited name."""


_COLUMNS = (
    "citation.id, citation.document, document.name, citation.citing, citation.origin,"
    " citation.extent, citation.cited, citation.kind, citation.day, citation.version,"
    " citation.format, citation.part"
)


class RowFilter(NamedTuple):
    """The rows that are wanted. Days are inclusive; empty ones do not limit."""

    kinds: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def write_condition(self) -> tuple[str, list[Any]]:
        """Return a condition in SQL, to be appended, and its values."""
        text = ""
        values: list[Any] = []
        if self.kinds:
            marks = ", ".join("?" * len(self.kinds))
            text += f" AND citation.kind IN ({marks})"
            values += [_NUMBERS.get(one, _NO_KIND) for one in self.kinds]
        if self.since:
            text += " AND citation.day >= ?"
            values.append(self.since)
        if self.until:
            text += " AND citation.day <= ?"
            values.append(self.until)
        return text, values


class CitationIndex(DocumentIndex):
    """The index of one registry. For one thread."""

    format = (
        4  # 1 without the links of packages and archives, 2 of captures, 3 without places there
    )
    schema = (
        DOCUMENTS
        + """
    CREATE TABLE IF NOT EXISTS target (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS citation (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, target INTEGER NOT NULL,
        kind INTEGER NOT NULL, day TEXT NOT NULL, cited TEXT NOT NULL, version INTEGER,
        format TEXT, part TEXT, origin TEXT, extent INTEGER NOT NULL, citing TEXT, citing_key TEXT
    );
    CREATE INDEX IF NOT EXISTS citation_target ON citation (target, day, id);
    CREATE INDEX IF NOT EXISTS citation_kind ON citation (target, kind, day, id);
    CREATE INDEX IF NOT EXISTS citation_document ON citation (document, id);
    CREATE INDEX IF NOT EXISTS citation_claim ON citation (citing_key, id)
        WHERE citing_key IS NOT NULL;
    CREATE TABLE IF NOT EXISTS archive_file (name TEXT PRIMARY KEY, stamp TEXT NOT NULL);
    """
    )
    tables = ("document", "target", "citation", "archive_file")

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry, FILE)
        self._bases = tuple(filter(None, (registry.settings.base_url,)))

    # following
    # ---------

    def is_batch_full(self) -> bool:
        return False  # the changes of a page are committed together

    def add_contents(self, number: int, document: HeldDocument) -> None:
        name, held, day = document
        source = self.registry.documents.open_source(name, held)
        for link in list_links(self.registry.parts, source, self._bases):
            for kind, citing, link_of in _list_statements(link):
                if link_of.target.key != (name if citing is None else citing).key:
                    self._add_row(number, day, kind, citing, link_of)

    def _add_row(
        self, document: int, day: str, kind: str, citing: Identifier | None, link: DeclaredLink
    ) -> None:
        target = link.target
        version, part = target.version, _read_part(target)
        self.connection.execute(
            "INSERT INTO citation (document, target, kind, day, cited, version, format, part,"
            " origin, extent, citing, citing_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document,
                self._find_target(target.key),
                _NUMBERS[kind],
                day,
                str(target),
                version if isinstance(version, int) else None,
                target.format,
                part,
                None if link.origin is None else str(link.origin),
                link.extent,
                None if citing is None else str(citing),
                None if citing is None else citing.key,
            ),
        )

    def _find_target(self, key: str) -> int:
        query = "SELECT id FROM target WHERE key = ?"
        row = self.connection.execute(query, (key,)).fetchone()
        if row is not None:
            return int(row[0])
        self.connection.execute("INSERT INTO target (key) VALUES (?)", (key,))
        return self.connection.last_insert_rowid()

    def remove_contents(self, number: int) -> None:
        query = "SELECT DISTINCT target FROM citation WHERE document = ?"
        targets = self.connection.execute(query, (number,)).fetchall()
        self.connection.execute("DELETE FROM citation WHERE document = ?", (number,))
        self.connection.executemany(
            "DELETE FROM target WHERE id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM citation WHERE target = ?1)",
            targets,
        )

    # captured pages
    # --------------

    def list_archive_files(self) -> dict[str, str]:
        """Return the archive files whose pages were read, each with its stamp."""
        return dict(self.connection.execute("SELECT name, stamp FROM archive_file"))

    def note_archive_file(self, name: str, stamp: str) -> None:
        """Note that the pages of an archive file were read."""
        self.connection.execute("INSERT OR REPLACE INTO archive_file VALUES (?, ?)", (name, stamp))

    def forget_archive_file(self, name: str) -> None:
        """Remove the pages of an archive file."""
        query = "SELECT id FROM document WHERE reading = ?"
        rows: list[tuple[Any, ...]] = self.connection.execute(
            query, (_spell_file(name),)
        ).fetchall()
        for (number,) in rows:
            self.remove_contents(number)
            self.connection.execute("DELETE FROM document WHERE id = ?", (number,))
        self.connection.execute("DELETE FROM archive_file WHERE name = ?", (name,))

    def add_capture(
        self, file: str, name: Identifier, day: str, links: Sequence[DeclaredLink]
    ) -> None:
        """Add a page in an archive file. Of several with one name, the first one counts."""
        self.connection.execute(
            "INSERT OR IGNORE INTO document (key, name, sha512, reading, day)"
            " VALUES (?, ?, '', ?, ?)",
            (name.key, str(name), _spell_file(file), day),
        )
        if not self.connection.changes():
            return
        number = self.connection.last_insert_rowid()
        for link in links:
            for kind, citing, link_of in _list_statements(link):
                self._add_row(number, day, kind, citing, link_of)

    # looking up
    # ----------

    def has_target(self, key: str) -> bool:
        """Return True if a document refers to the record with a key."""
        query = "SELECT 1 FROM target WHERE key = ?"
        return self.connection.execute(query, (key,)).fetchone() is not None

    def list_targets(self, low: str, end: str) -> Iterator[str]:
        """Yield the keys of cited records in [low, end), in order."""
        query = "SELECT key FROM target WHERE key >= ? AND key < ? ORDER BY key"
        for (key,) in self.connection.execute(query, (low, end)):
            yield str(key)

    def list_citing(
        self, key: str, wanted: RowFilter, after: tuple[str, int] | None = None
    ) -> Iterator[IndexedCitation]:
        """Yield the citations of a record, the newest first; those after a day and a number."""
        condition, values = wanted.write_condition()
        if after is not None:
            condition += " AND (citation.day, citation.id) < (?, ?)"
            values += after
        index = "citation_kind" if len(wanted.kinds) == 1 else "citation_target"
        table = f"citation INDEXED BY {index} JOIN document ON document.id = citation.document"
        query = "SELECT id FROM target WHERE key = ?"
        found = self.connection.execute(query, (key,)).fetchone()
        if found is not None:
            condition = "citation.target = ?" + condition
            order = "citation.day DESC, citation.id DESC"
            yield from self._read_rows(table, condition, order, [found[0], *values])

    def list_documents(
        self, low: str, end: str, after: tuple[str, int] = ("", 0)
    ) -> Iterator[tuple[str, int, str]]:
        """Yield key, number and name of the documents of records in [low, end), in order; those
        that are not before a key and a number.
        """
        query = (
            "SELECT key, id, name FROM document WHERE key >= ? AND key < ?"
            " AND (key, id) >= (?, ?) ORDER BY key, id"
        )
        yield from self.connection.execute(query, (low, end, *after))

    def list_cited(
        self, document: int, wanted: RowFilter, after: int = 0
    ) -> Iterator[IndexedCitation]:
        """Yield the citations of a document in its order; those after a number. No claims."""
        condition, values = wanted.write_condition()
        table = (
            "citation INDEXED BY citation_document JOIN document ON document.id = citation.document"
        )
        condition = (
            "citation.document = ? AND citation.id > ? AND citation.citing_key IS NULL" + condition
        )
        yield from self._read_rows(table, condition, "citation.id", [document, after, *values])

    def list_claims(
        self, low: str, end: str, wanted: RowFilter, after: tuple[str, int] = ("", 0)
    ) -> Iterator[IndexedCitation]:
        """Yield the claims about what the records in [low, end) cite, in the order of their keys;
        those after a key and a number.
        """
        condition, values = wanted.write_condition()
        table = (
            "citation INDEXED BY citation_claim JOIN document ON document.id = citation.document"
        )
        condition = (
            "citation.citing_key >= ? AND citation.citing_key < ?"
            " AND (citation.citing_key, citation.id) > (?, ?)" + condition
        )
        order = "citation.citing_key, citation.id"
        yield from self._read_rows(table, condition, order, [low, end, *after, *values])

    def _read_rows(
        self, table: str, condition: str, order: str, values: list[Any]
    ) -> Iterator[IndexedCitation]:
        """Yield rows. All texts of the query are in this module."""
        query = f"SELECT {_COLUMNS} FROM {table} WHERE {condition} ORDER BY {order}"  # noqa: S608
        for row in self.connection.execute(query, values):
            found = IndexedCitation(*row)
            yield found._replace(kind=KINDS[int(found.kind)])

    def count_rows(self) -> int:
        """Return the number of all rows."""
        row = self.connection.execute("SELECT count(*) FROM citation").fetchone()
        return int(row[0]) if row else 0


def _spell_file(name: str) -> str:
    """Return what the row of a captured page has instead of the reading of a document."""
    return f"capture in {name}"


def _list_statements(
    link: DeclaredLink,
) -> Iterator[tuple[str, Identifier | None, DeclaredLink]]:
    """Yield what a link says: that it refers to its target and, if that is a citation, what that
    citation claims.
    """
    if link.target.is_pattern:
        return
    yield f"declared:{link.how}", None, link
    target, left = link.target, _MOST_CLAIMS
    while target.is_citation and target.cited is not None and left:
        origin = str(target).partition("@")[2].partition("=")[0]
        claim = link._replace(target=target.cited, origin=_read_number(origin), extent=0)
        yield CLAIMED, target.whole, claim
        target, left = target.cited, left - 1


def _read_number(origin: str) -> int | None:
    return int(origin) if origin.isascii() and origin.isdigit() else None


def _read_part(target: Identifier) -> str | None:
    if target.is_citation:
        return None
    return str(target.fragment) if target.fragment is not None else target.part
