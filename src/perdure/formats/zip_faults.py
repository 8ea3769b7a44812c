"""The exceptions of `zipfile` for a file that is damaged, or that it cannot read."""

from __future__ import annotations

import lzma
import zipfile
import zlib

ZIP_FAULTS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
    RuntimeError, ValueError,
)  # fmt: skip
"""The first four are for damage. RuntimeError is for encrypted members, and its subclass
NotImplementedError for unknown methods. ValueError is for offsets before the beginning of a file in
memory, and its subclass UnicodeDecodeError for names. A file on a disk has OSError for such an
offset, so callers that cannot tell this from a disk that fails catch OSError, too."""
