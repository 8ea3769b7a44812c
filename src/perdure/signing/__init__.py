"""Signatures of documents: statements, keys, and the forms of signatures.

How it works: a signature is made of a statement, one exact text that says what is signed
(`statement`). `keys` has one form of public key for all kinds of signatures. `ssh` and `minisign`
make and verify signatures; each kind is one module.

What must stay true: nothing here reads a registry. The statement alone is signed, never the bytes
of a document, so that a signature cannot be moved to another name, part or use.
"""
