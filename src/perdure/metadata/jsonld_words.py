"""Words that the model and schema.org share, for writing and reading JSON-LD."""

from __future__ import annotations

CSL_TYPE = "application/vnd.citationstyles.csl+json"
DIGEST = "sha-512"
"""The `propertyID` of a digest: schema.org has a property for SHA-256 only."""

CONTRIBUTORS = {"Editor": "editor", "Translator": "translator", "Sponsor": "sponsor"}
"""Roles with a property of their own. Others are the `roleName` of a `Role`."""
RELATIONS = {
    "IsPartOf": "isPartOf",
    "HasPart": "hasPart",
    "Cites": "citation",
    "IsDerivedFrom": "isBasedOn",
    "IsTranslationOf": "translationOfWork",
    "HasTranslation": "workTranslation",
    "IsIdenticalTo": "sameAs",
}
"""Relations with a property of their own. Others are a `Role` of `mentions`."""
DATES = {
    "Issued": "datePublished",
    "Created": "dateCreated",
    "Updated": "dateModified",
    "Coverage": "temporalCoverage",
}
"""Dates with a property of their own. Others are an `Event` of `subjectOf`."""
CODES = {"ISSN": "issn", "ISBN": "isbn"}
OPEN = ("http://purl.org/coar/access_right/c_abf2", "info:eu-repo/semantics/openAccess")
CLOSED = (
    "http://purl.org/coar/access_right/c_16ec",
    "http://purl.org/coar/access_right/c_14cb",
    "info:eu-repo/semantics/restrictedAccess",
    "info:eu-repo/semantics/closedAccess",
)
FREE_LICENCES = ("creativecommons.org/licenses/", "creativecommons.org/publicdomain/")
