"""The extraction that cuts parts in these tests, with its decoding processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure.reading.extraction import PartExtraction


@pytest.fixture(scope="module")
def extraction() -> Iterator[PartExtraction]:
    extraction = PartExtraction()
    yield extraction
    extraction.close()
