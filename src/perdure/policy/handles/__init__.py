"""The Handle System's view of a record: typed values with an index. Pure.

How it works: the record of an identifier is projected to handle values and back
(`perdure.policy.handles.values`), so that clients of Handle servers can read and write every
record. A value of type `URL` is a location, and a value of type `10320/loc` contains locations
(`perdure.policy.handles.loc`); all other values are stored unchanged. Values also name the
administrators (`perdure.policy.handles.admins`), with secrets that are stored as hashes
(`perdure.policy.handles.sealing`). `perdure.policy.handles.changes` applies a write to a record,
and `perdure.policy.handles.names` spells identifiers as handles.

Specifications: RFC 3650 and 3651; Handle.Net technical manual, version 9.
"""
