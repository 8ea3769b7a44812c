"""Signatures of documents: statements, keys, forms of signatures, trust and verdicts.

How it works: a signature is made of a statement, one exact text that says what is signed
(`statement`). `keys` has one form of public key for all forms of signatures. `ssh`, `minisign`,
`jws` and `cms` are forms, one module each; `document` joins a statement and its signature.
`allowed` reads lists of trusted keys, and `verdict` says whether a signature counts.

What must stay true: nothing here reads a registry. The statement alone is signed, never the bytes
of a document, so that a signature cannot be moved to another name, part or use.
"""
