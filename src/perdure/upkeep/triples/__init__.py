"""Assertions as triples: an index that SPARQL can query, and nanopublications.

`quads` makes triples of an assertion, `triple_index` keeps them (a follower of the changes),
`querying` answers questions, and `nanopublications` writes and reads the form of other registries.
"""
