"""The files of other systems, read for an import and written by an export: one form, one file."""
