"""Moving identifiers in and out: import and export as JSON Lines, backup, rebuilding a registry.

`lines` is the format; `rows` turns a line into a row for the registry; `importing` and `exporting`
process files; `sorting` brings rows into the order of their keys in bounded memory; `backup` and
`renewal` copy and rebuild complete registries.
"""
