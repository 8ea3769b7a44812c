"""The ways in which addresses of captures match an address.

What must stay true: this module imports nothing, since `perdure --help` names these words.
"""

MATCHES = ("exact", "prefix", "host", "domain")
"""All spellings of one address; all addresses that begin with it; its host; its domain."""
