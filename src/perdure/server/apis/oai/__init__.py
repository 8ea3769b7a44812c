"""OAI-PMH 2.0: the records of a registry, for harvesters (`/oai`).

Specification: The Open Archives Initiative Protocol for Metadata Harvesting, version 2.0.

`requests` reads what a harvester asks, `sets` divides the records, `documents` writes the answers
in XML, and `harvesting` answers the six verbs from `perdure.reading.harvest`.
"""
