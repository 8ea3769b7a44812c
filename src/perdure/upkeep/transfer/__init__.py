"""Moving identifiers in and out: import and export as JSON Lines, backup, a registry made anew.

`lines` is the format; `rows` turns a line into what the registry loads; `importing` and `exporting`
go through files; `sorting` brings rows into the order of their keys in bounded memory; `backup`
and `renewal` copy and rebuild whole registries.
"""
