"""Handing names over to another registry, with everything that they name: both sides of the act.

`handing` is the side of the predecessor, `taking` that of the successor. Between them is a package
(`packing`, `checking`): a BagIt bag with the changes (`selecting`), the documents as OCFL objects
(`objects`), the statement of the predecessor and its signature. A successor that can reach the
predecessor makes the same package itself (`sources`).
"""
