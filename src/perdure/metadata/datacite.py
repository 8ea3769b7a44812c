"""DataCite metadata kernel 4 as XML.

Specification: DataCite Metadata Schema 4.7, https://doi.org/10.14454/mzv1-5b55; namespace
`http://datacite.org/schema/kernel-4`, validated with `schemas/datacite-4.7.xsd`. Records of earlier
kernels are upgraded first (`perdure.metadata.datacite_old`).

How it works: `perdure.metadata.datacite_writing` writes a record, and
`perdure.metadata.datacite_reading` reads one.

What must stay true: a written record is valid for every description; if a property that the kernel
requires is missing, the record has the kernel's own code for that, `(:unav)` (appendix 3 of the
documentation). `read_record(write_record(x))` returns everything in x for which the kernel has a
place.
"""

from __future__ import annotations

from perdure.metadata.datacite_reading import read_record
from perdure.metadata.datacite_words import NAME, NAMESPACE, SCHEMA
from perdure.metadata.datacite_writing import write_record
from perdure.metadata.port import Format, Signature

FORMAT = Format(
    name=NAME,
    title="DataCite 4.7 XML",
    media_types=("application/vnd.datacite.datacite+xml",),
    write=write_record,
    read=read_record,
    schema=SCHEMA,
    signature=Signature(opening=(b"<",), marks=(NAMESPACE.rpartition("-")[0].encode(),)),
    place=10,
)
