"""The tables of `perdure.formats`, as text that can be read in a diff.

`media-types.txt` and `charsets.txt` are made by tools/snapshot_iana.py, the others kept by hand;
docs/reference/formats.md describes them. What must stay true: no token ever changes its meaning.
"""
