"""The identifiers that a document refers to, found in its text, its markup or its links.

`written` finds identifiers in any text, `markup` says which element or attribute they are in, and
`declared` reads a document of any format.
"""
