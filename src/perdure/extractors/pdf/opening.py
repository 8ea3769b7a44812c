"""Opening a PDF with PDFium (pypdfium2). Runs in a confined process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perdure.errors.damage import PdfEncrypted
from perdure.extractors.libraries import import_library
from perdure.extractors.port import Source
from perdure.parts import Selector

if TYPE_CHECKING:
    import pypdfium2

EXTRA = "pdf"
_ERR_PASSWORD = 4  # FPDFERR_PASSWORD


@contextmanager
def open_document(source: Source, selector: Selector | str = "") -> Iterator[pypdfium2.PdfDocument]:
    """Open a PDF, for a part or for all of it, and close it.

    Raises DecoderFailed, also for what PDFium cannot do with it meanwhile, PdfEncrypted, or
    MissingLibrary.
    """
    pdfium = import_library("pypdfium2", EXTRA, source, selector)
    with source.open_file() as file:
        try:
            document = pdfium.PdfDocument(file)
            try:
                yield document
            finally:
                document.close()
        except pdfium.PdfiumError as error:
            if getattr(error, "err_code", None) == _ERR_PASSWORD:
                raise PdfEncrypted(**source.subject) from None
            raise source.quote_decoder("PDFium", error) from None
