"""Codes for missing values are nobody's name, in whatever format they come."""

from __future__ import annotations

import pytest

from perdure import metadata
from perdure.model.about import About

DATACITE = """<?xml version="1.0"?>
<resource xmlns="http://datacite.org/schema/kernel-4">
  <identifier identifierType="DOI">10.1/x</identifier>
  <creators><creator><creatorName>(:unkn)</creatorName></creator></creators>
  <titles><title>(:unav)</title></titles>
  <publisher>(:unav)</publisher>
  <publicationYear>2001</publicationYear>
  <resourceType resourceTypeGeneral="Dataset"/>
  <contributors><contributor contributorType="Editor">
    <contributorName>(:null)</contributorName></contributor></contributors>
</resource>"""
DUBLIN_CORE = """<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>(:tba)</dc:title>
  <dc:creator>(:unas)</dc:creator><dc:publisher>(:none)</dc:publisher>
  <dc:subject>(:unal)</dc:subject><dc:description>(:unac)</dc:description>
  <dc:date>2001</dc:date></oai_dc:dc>"""
RECORDS = {
    "datacite": DATACITE,
    "dc": DUBLIN_CORE,
    "csl": '{"type":"book","title":"(:unav)","author":[{"literal":"(:unkn)"}],'
    '"publisher":"(:tba)"}',
    "jsonld": '{"@context":"https://schema.org","@type":"Book","name":"(:tba)",'
    '"author":{"@type":"Person","name":"(:none)"},"publisher":{"name":"(:unav)"}}',
    "json": '{"titles":[{"value":"(:unap)"}],"creators":[{"name":"(:unkn)"}],'
    '"publisher":{"name":"(:unav)"},"year":"2001"}',
}


@pytest.mark.parametrize("format", RECORDS)
def test_a_code_for_a_missing_value_is_not_kept(format: str) -> None:
    about = metadata.read_record(RECORDS[format].encode(), format)
    kept = about.titles, about.creators, about.contributors, about.subjects, about.descriptions
    assert kept == ((), (), (), (), ())
    assert about.publisher is None
    assert about != About(), "the rest of the record is kept"
