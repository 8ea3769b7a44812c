"""Names and codes of the DataCite kernel 4."""

from __future__ import annotations

NAMESPACE = "http://datacite.org/schema/kernel-4"
SCHEMA = "http://schema.datacite.org/meta/kernel-4.7/metadata.xsd"
UNAVAILABLE = "(:unav)"
"""The code for a value that is missing (appendix 3 of the kernel's documentation)."""
NO_YEAR = "0000"
"""The year of publication if no one has stated it: the kernel requires four digits."""
NAME = "datacite"
