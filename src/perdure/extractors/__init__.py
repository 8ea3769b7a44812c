"""Extractors: one module for each kind of medium, behind one port.

`perdure.extractors.port` defines an extractor. `perdure.reading.extraction` chooses the extractor
for a part.
"""
