"""Looks whether a database server keeps what the store promises, for `perdure doctor`.

How it works: each check reads a few rows of the server's own tables and judges them. Nothing is
written. `docs/reference/postgresql.md` lists what must hold.

What must stay true: a check that may not read what it needs says so; it never reports that all is
well.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime

from perdure.errors.processes import RegistryNotInDatabase
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import (
    Connection,
    check_format,
    connect_database,
    reading_errors,
)
from perdure.storage.store_findings import StoreFinding

_FLUSHING = ("fsync", "full_page_writes")
_CLOCKS_APART = 2.0
"""Seconds by which the clock of a node may differ from that of the primary."""
_GUARDED = ("records", "history", "changes", "epochs", "token_changes", "rules")
"""Tables from which nothing is removed, see `schema.sql`."""
_EMPTIED = ("refers", "staged_refers", "answered")
"""Tables from which a node removes rows."""
_NEEDED = ("SELECT", "INSERT", "UPDATE")
_DAMAGING = ("DELETE", "TRUNCATE", "TRIGGER")
_GUARDS = """
SELECT relname, tgname, tgenabled FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
WHERE relnamespace = %s::regnamespace AND NOT tgisinternal
"""
_RIGHTS = """
SELECT relname, privilege FROM pg_class, unnest(%s::text[]) AS privilege
WHERE relnamespace = %s::regnamespace AND relkind = 'r'
AND has_table_privilege(pg_class.oid, privilege) = %s ORDER BY relname, privilege
"""
_UNCALLABLE = """
SELECT proname FROM pg_proc WHERE pronamespace = %s::regnamespace
AND prorettype <> 'trigger'::regtype AND NOT has_function_privilege(oid, 'EXECUTE') ORDER BY 1
"""
"""Functions that the role may not call. Those of triggers need no right when they run."""
_SET_PATH = "SELECT set_config('search_path', %s, false)"
_HAS_SCHEMA = "SELECT has_schema_privilege(to_regnamespace(%s)::oid, 'USAGE')"
_UNORDERED = """
SELECT relname || '.' || attname FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND atttypid = 'text'::regtype
AND (relname, attname) IN (
  ('records', 'key'), ('history', 'key'), ('refers', 'key'), ('staged_refers', 'key'),
  ('days', 'day'), ('changes', 'first'), ('changes', 'last'), ('tokens', 'name'),
  ('tokens', 'digest'), ('token_changes', 'name'), ('rules', 'key'), ('answered', 'at'))
AND attcollation <> 'pg_catalog."C"'::regcollation ORDER BY 1
"""
_STANDBYS = """
SELECT coalesce(nullif(application_name, ''), pid::text), state, sync_state
FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'
"""


def examine_database(address: DatabaseAddress) -> list[StoreFinding]:
    """Examine the server, the tables and the role of a registry. Raises Unavailable.

    A role that may not read the tables is a finding: all is read from the server's own tables.
    """
    with reading_errors(address), closing(connect_database(address)) as connection:
        schema = address.schema
        connection.execute(
            "SELECT set_config('search_path', %s, false)", (f"{schema}, pg_catalog",)
        )
        missing = _list_missing_rights(connection, address)
        if not {_schema_right(schema), "SELECT of meta"} & set(missing):
            check_format(connection, address)
        return [
            _examine_flushing(connection),
            _examine_standbys(connection),
            _examine_checksums(connection),
            _examine_clock(connection),
            _examine_order(connection, schema),
            _examine_guards(connection, schema),
            judge_rights(missing),
            _examine_damaging_rights(connection, schema),
        ]


def _show(connection: Connection, setting: str) -> str:
    """The value of a setting as it holds for this role."""
    row = connection.execute("SELECT current_setting(%s)", (setting,)).fetchone()
    return str(row[0]) if row else ""


# What a commit means
# -------------------


def _examine_flushing(connection: Connection) -> StoreFinding:
    """Is a commit on the disk of the primary when it is acknowledged?"""
    values = {name: _show(connection, name) for name in (*_FLUSHING, "synchronous_commit")}
    wrong = [name for name, value in values.items() if value == "off"]
    seen = ", ".join(f"{name} = {value}" for name, value in values.items())
    if wrong:
        advice = (
            f"set {' and '.join(wrong)} to on, for the server and for this role: without it, a "
            "crash of the primary loses or damages what was acknowledged"
        )
        return StoreFinding("flushing", "error", seen, advice)
    return StoreFinding("flushing", "ok", seen)


def _examine_standbys(connection: Connection) -> StoreFinding:
    """Is a commit on a second machine when it is acknowledged?"""
    rows = connection.execute(_STANDBYS).fetchall()
    named = _show(connection, "synchronous_standby_names")
    return judge_standbys(named, _show(connection, "synchronous_commit"), rows)


def judge_standbys(
    named: str, commit: str, rows: list[tuple[str, str | None, str | None]]
) -> StoreFinding:
    """Judge the values of `synchronous_standby_names` and `synchronous_commit`, and the standbys.

    A row of a standby has its name, state and `sync_state`. The last two are None if the role may
    not read them.
    """
    following = ", ".join(sorted(f"{name} ({how or 'hidden'})" for name, _, how in rows))
    seen = f"synchronous_standby_names = '{named}', following: {following or 'none'}"
    if not named and rows:
        advice = (
            "name the standbys in synchronous_standby_names (Patroni: synchronous_mode: true): "
            "replication is asynchronous, so a failover loses what was acknowledged last"
        )
        return StoreFinding("standbys", "error", seen, advice)
    if not named:
        advice = "set up a synchronous standby: what is on the disk of this server is on no other"
        return StoreFinding("standbys", "warning", seen, advice)
    if commit in ("off", "local"):
        advice = f"set synchronous_commit to on: with '{commit}', no commit waits for a standby"
        return StoreFinding("standbys", "error", seen, advice)
    if any(how is None for _, _, how in rows):
        advice = "let the role see whether a standby follows: GRANT pg_read_all_stats TO it"
        return StoreFinding("standbys", "note", seen, advice)
    if not any(how in ("sync", "quorum") for _, _, how in rows):
        advice = "start the synchronous standby: until it follows, each write waits for it"
        return StoreFinding("standbys", "error", seen, advice)
    if commit == "remote_write":
        advice = "set synchronous_commit to on: the standby has acknowledged writes in memory only"
        return StoreFinding("standbys", "warning", seen, advice)
    return StoreFinding("standbys", "ok", seen)


def _examine_checksums(connection: Connection) -> StoreFinding:
    """Does the server notice damaged pages?"""
    value = _show(connection, "data_checksums")
    if value == "on":
        return StoreFinding("checksums", "ok", "data_checksums = on")
    advice = "stop the server and run 'pg_checksums --enable': damage to its files stays unseen"
    return StoreFinding("checksums", "note", f"data_checksums = {value}", advice)


# Time and order
# --------------


def _examine_clock(connection: Connection) -> StoreFinding:
    """Do the clocks of node and primary agree?"""
    before = datetime.now(UTC)
    row = connection.execute("SELECT clock_timestamp()").fetchone()
    return judge_clock(before, row[0] if row else before, datetime.now(UTC))


def judge_clock(before: datetime, there: datetime, after: datetime) -> StoreFinding:
    """Judge the primary's time, which was read between two moments of this machine."""
    early, late = (before - there).total_seconds(), (there - after).total_seconds()
    apart = max(early, late, 0.0)
    if apart <= _CLOCKS_APART:
        return StoreFinding("clocks", "ok", f"less than {_CLOCKS_APART:g} seconds apart")
    which = "behind" if early > 0 else "ahead of"
    seen = f"the primary is {apart:.1f} seconds {which} this machine"
    advice = (
        "synchronise both clocks (chrony, systemd-timesyncd): names have the day of the primary, "
        "tokens and rules end by the clock of this machine"
    )
    return StoreFinding("clocks", "error", seen, advice)


def _examine_order(connection: Connection, schema: str) -> StoreFinding:
    """Are keys compared by code points? Ranges of keys are wrong in every other order."""
    wrong = [name for (name,) in connection.execute(_UNORDERED, (schema,))]
    if not wrong:
        return StoreFinding("collation", "ok", "C")
    seen = f"other than C: {', '.join(wrong)}"
    advice = 'restore the tables as perdure makes them: ALTER COLUMN … TYPE text COLLATE "C"'
    return StoreFinding("collation", "error", seen, advice)


# What was written stays
# ----------------------


def _examine_guards(connection: Connection, schema: str) -> StoreFinding:
    """Do the triggers stand that refuse to remove or rewrite?"""
    role = _show(connection, "session_replication_role")
    standing: set[str] = set()
    for table, name, enabled in connection.execute(_GUARDS, (schema,)):
        if enabled in ("O", "A") and role == "origin":
            standing |= {name} if table in _GUARDED else set()
    missing = sorted(
        f"{table}_{what}"
        for table in _GUARDED
        for what in ("hold", "stay")
        if not any(name in standing for name in (f"{table}_{what}", f"{table}_{what}s"))
    )
    if not missing:
        return StoreFinding("guards", "ok", f"{len(standing)} triggers refuse to forget")
    advice = (
        "enable them (ALTER TABLE … ENABLE TRIGGER …, session_replication_role = origin), or "
        "restore them from the tables of a new registry; then run 'perdure verify'"
    )
    return StoreFinding("guards", "error", f"not in force: {', '.join(missing)}", advice)


def judge_rights(missing: list[str]) -> StoreFinding:
    """May the role do what a node does? `missing` lists the rights that it lacks."""
    if not missing:
        return StoreFinding("rights", "ok", "the role reads, adds and revises")
    advice = "grant them as docs/reference/postgresql.md says, or connect as another role"
    return StoreFinding("rights", "error", f"missing: {', '.join(missing)}", advice)


def _list_missing_rights(connection: Connection, address: DatabaseAddress) -> list[str]:
    """The rights that a node needs and the role lacks, such as `INSERT of changes`.

    Raises RegistryNotInDatabase if there is no such schema.
    """
    schema = address.schema
    ((may_use,),) = connection.execute(_HAS_SCHEMA, (schema,)).fetchall()
    if may_use is None:
        raise RegistryNotInDatabase(address=address.shown, schema=schema)
    missing = [] if may_use else [_schema_right(schema)]
    missing += _list_rights(connection, schema, _NEEDED, granted=False)
    to_remove = _list_rights(connection, schema, ("DELETE",), granted=False)
    missing += [one for one in to_remove if one.rpartition(" ")[2] in _EMPTIED]
    uncallable = connection.execute(_UNCALLABLE, (schema,))
    return missing + [f"EXECUTE of {name}" for (name,) in uncallable]


def _schema_right(schema: str) -> str:
    return f"USAGE of schema {schema}"


def _examine_damaging_rights(connection: Connection, schema: str) -> StoreFinding:
    """May the role do more than a node does?"""
    row = connection.execute(
        "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    advice = (
        "let nodes connect as a role with fewer rights (docs/reference/postgresql.md): a mistake, "
        "or a thief of its password, could remove what was written"
    )
    if row is not None and row[0]:
        return StoreFinding("role", "warning", "a superuser, whom no right restrains", advice)
    rights = _list_rights(connection, schema, _DAMAGING, granted=True)
    wrong = [one for one in rights if one.rpartition(" ")[2] in _GUARDED]
    if wrong:
        return StoreFinding("role", "warning", f"may {', '.join(wrong)}", advice)
    return StoreFinding("role", "ok", "cannot remove what was written")


def _list_rights(
    connection: Connection, schema: str, rights: tuple[str, ...], *, granted: bool
) -> list[str]:
    """The rights to tables, such as `DELETE of history`, that the role has, or does not have."""
    found = connection.execute(_RIGHTS, (list(rights), schema, granted))
    return [f"{right} of {table}" for table, right in found]
