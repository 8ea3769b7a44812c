"""Moving a registry to another store of records, or of bytes, while it is in use.

plan       the file `moving.json`: where a move goes, and how far it is
copying    the changes in their order, with what they wrote
comparing  both registries row by row, and the bytes record by record
switching  the settings, in one step
moving     all of it, in the order in which it is safe
"""
