"""The Handle System's view of a record: typed values with an index. Pure.

How it works: what perdure keeps of an identifier is projected to handle values and back
(`perdure.policy.handles.values`), so that clients of Handle servers read and write every record. A
value of type `URL` is a location, and so are those in a `10320/loc` (`perdure.policy.handles.loc`);
all other values are kept as they came. Who may write is said in values, too
(`perdure.policy.handles.admins`), with secrets that are kept as hashes
(`perdure.policy.handles.sealing`). `perdure.policy.handles.changes` decides what a write makes of a
record, and `perdure.policy.handles.names` how an identifier is spelled as a handle.

Specifications: RFC 3650 and 3651; Handle.Net technical manual, version 9.
"""
