"""Lists of citations: those that held documents declare, and those received from elsewhere.

`citation_index` follows the changes and keeps the links of all held documents, `listing` answers
who cites a name and what it cites, as the reader may see it, and `exporting` writes the answers in
the forms of other services. `received` keeps what other services say, until the operator accepts
it.
"""
