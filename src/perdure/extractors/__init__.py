"""Cutting parts out of documents: one module for each kind of medium, behind one port.

`perdure.extractors.port` says what an extractor is, `perdure.reading.extraction` which one is
asked.
"""
