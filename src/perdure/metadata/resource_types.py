"""Types of resources: one table from the terms of DataCite to those of other vocabularies.

How it works: each general type of the DataCite kernel 4.7 has a row with its terms in CSL,
schema.org, BibTeX, RIS and the DCMI type vocabulary. In the other direction, the first row with a
term counts.

What must stay true: every general type of the kernel has a row (a test compares with the schema).
"""

from __future__ import annotations

from functools import cache

import msgspec

from perdure.formats.essence import strip_parameters
from perdure.model.collection import MEDIA_TYPE as COLLECTION


class ResourceType(msgspec.Struct, frozen=True):
    """One type of resource, in DataCite and five other vocabularies."""

    datacite: str
    csl: str
    schema: str
    bibtex: str
    ris: str
    dcmi: str


ROWS = tuple(
    ResourceType(*line.split())
    for line in """
  Text                  document         DigitalDocument    misc          GEN    Text
  JournalArticle        article-journal  ScholarlyArticle   article       JOUR   Text
  Book                  book             Book               book          BOOK   Text
  BookChapter           chapter          Chapter            incollection  CHAP   Text
  ConferencePaper       paper-conference ScholarlyArticle   inproceedings CPAPER Text
  ConferenceProceeding  book             Book               proceedings   CONF   Collection
  Dissertation          thesis           Thesis             phdthesis     THES   Text
  Report                report           Report             techreport    RPRT   Text
  Preprint              article          ScholarlyArticle   misc          UNPB   Text
  Poster                graphic          Poster           misc          GEN    StillImage
  Presentation          speech           PresentationDigitalDocument misc GEN  Text
  DataPaper             article-journal  ScholarlyArticle   article       JOUR   Text
  PeerReview            review           Review             misc          GEN    Text
  Journal               periodical       Periodical         misc          JFULL  Collection
  Standard              standard         CreativeWork       misc          STAND  Text
  OutputManagementPlan  document         DigitalDocument    misc          GEN    Text
  StudyRegistration     document         DigitalDocument    misc          GEN    Text
  Dataset               dataset          Dataset            misc          DATA   Dataset
  Collection            collection       Collection         misc          DATA   Collection
  Software              software         SoftwareSourceCode misc          COMP   Software
  ComputationalNotebook software         SoftwareSourceCode misc          COMP   Software
  Workflow              software         SoftwareSourceCode misc          COMP   Software
  Sound                 song             AudioObject        misc          SOUND  Sound
  Audiovisual           motion_picture   VideoObject        misc          VIDEO  MovingImage
  Image                 graphic          ImageObject        misc          FIGURE StillImage
  Model                 dataset          Dataset            misc          DATA   Dataset
  Event                 event            Event              misc          GEN    Event
  Instrument            document         CreativeWork       misc          GEN    PhysicalObject
  InteractiveResource   webpage          WebPage            misc          ELEC   InteractiveResource
  PhysicalObject        document         CreativeWork       misc          GEN    PhysicalObject
  Project               document         Project            misc          GEN    Event
  Award                 document         Grant              misc          GEN    Event
  Service               document         Service            misc          GEN    Service
  Other                 document         CreativeWork       misc          GEN    Text
    """.strip().splitlines()
)  # fmt: skip

_OF_MEDIA = {
    "image": "Image",
    "audio": "Sound",
    "video": "Audiovisual",
    "text": "Text",
    "model": "Model",
}
_OTHER_WORDS = {
    ("csl", "article-magazine"): "JournalArticle",
    ("csl", "article-newspaper"): "JournalArticle",
    ("csl", "post-weblog"): "Text",
    ("csl", "post"): "Text",
    ("csl", "webpage"): "InteractiveResource",
    ("csl", "graphic"): "Image",
    ("dcmi", "StillImage"): "Image",
    ("csl", "speech"): "Text",
    ("csl", "manuscript"): "Text",
    ("csl", "personal_communication"): "Text",
    ("csl", "broadcast"): "Audiovisual",
    ("csl", "map"): "Image",
    ("csl", "figure"): "Image",
    ("csl", "musical_score"): "Text",
    ("csl", "patent"): "Text",
    ("csl", "interview"): "Text",
    ("schema", "Article"): "JournalArticle",
    ("schema", "SoftwareApplication"): "Software",
    ("schema", "MediaObject"): "Audiovisual",
    ("schema", "Movie"): "Audiovisual",
    ("schema", "MusicRecording"): "Sound",
    ("schema", "Photograph"): "Image",
    ("schema", "Map"): "Image",
    ("schema", "PublicationIssue"): "Journal",
    ("schema", "DataCatalog"): "Collection",
    ("schema", "Course"): "InteractiveResource",
    ("dcmi", "Image"): "Image",
}


@cache
def find_resource_type(datacite: str) -> ResourceType:
    """Return the row of a general type; the row of `Other` for any other text."""
    return next((one for one in ROWS if one.datacite == datacite), ROWS[-1])


@cache
def find_type_of_word(language: str, word: str) -> str:
    """Return the general type for a term of another vocabulary; empty if there is none.

    >>> (find_type_of_word("csl", "thesis"), find_type_of_word("dcmi", "StillImage"),
    ...  find_type_of_word("ris", "?"))
    ('Dissertation', 'Image', '')
    """
    found = next((one.datacite for one in ROWS if getattr(one, language) == word), "")
    return _OTHER_WORDS.get((language, word), found)


def guess_type(media_type: str) -> str:
    """Guess the general type from a media type; empty if it suggests none."""
    essence = strip_parameters(media_type)
    if essence in ("application/pdf", "application/xhtml+xml", "application/xml"):
        return "Text"
    if essence == COLLECTION:
        return "Collection"
    return _OF_MEDIA.get(essence.partition("/")[0], "")
