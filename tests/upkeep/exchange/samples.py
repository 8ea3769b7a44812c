"""Files as other systems export them, and what the specifications of these systems say of them."""

from __future__ import annotations

import io
import json
from typing import Any

from perdure.upkeep.exchange import forms
from perdure.upkeep.exchange.port import ReadingTerms, ReadRecord

DATACITE = (
    '<resource xmlns="http://datacite.org/schema/kernel-4" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://datacite.org/schema/kernel-4 '
    'http://schema.datacite.org/meta/kernel-4/metadata.xsd">'
    '<identifier identifierType="DOI">10.5072/FK2X</identifier>'
    "<creators><creator><creatorName>Mallery, John</creatorName></creator></creators>"
    "<titles><title>Names &amp; numbers</title></titles><publisher>MIT</publisher>"
    "<publicationYear>1994</publicationYear>"
    '<resourceType resourceTypeGeneral="Dataset">table</resourceType></resource>'
)

HANDLE_BATCH = """\
AUTHENTICATE SECKEY:301:0.NA/21.T14999
the password

CREATE 21.T14999/A
1 URL 86400 1110 UTF8 https://a.example/A
2 EMAIL 3600 1100 UTF8 keeper of A@a.example
100 HS_ADMIN 86400 1110 ADMIN 300:110011111110:21.T14999/ADMIN
200 HS_VLIST 86400 1110 LIST 300:21.T14999/ADMIN;301:21.T14999/B;

HOME
10.0.0.1:2641:tcp
0.NA/21.T14999

ADD 10.5072/x
7 URL 86400 1110 UTF8 https://b.example/
"""

HANDLE_JSON = json.dumps(
    [
        {
            "responseCode": 1,
            "handle": "21.T14999/A",
            "values": [
                {
                    "index": 1,
                    "type": "URL",
                    "data": {"format": "string", "value": "https://a.example/A"},
                    "ttl": 86400,
                    "timestamp": "2019-01-02T03:04:05Z",
                },
                {
                    "index": 100,
                    "type": "HS_ADMIN",
                    "data": {
                        "format": "admin",
                        "value": {
                            "handle": "21.T14999/ADMIN",
                            "index": 300,
                            "permissions": "011111110011",
                        },
                    },
                    "ttl": 60,
                    "permissions": "1100",
                    "timestamp": "2019-01-02T03:04:05Z",
                },
            ],
        }
    ]
)

ARKLET = json.dumps(
    [
        {"model": "ark.naan", "pk": 99999, "fields": {"name": "Test", "url": "https://t.example"}},
        {
            "model": "ark.ark",
            "pk": "99999/fk4abc",
            "fields": {
                "naan": 99999,
                "shoulder": "/fk4",
                "assigned_name": "abc",
                "url": "https://a.example/",
                "metadata": "",
                "commitment": "for ever",
                "created_at": "2020-01-01T00:00:00Z",
            },
        },
    ]
)

OAI = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><ListRecords><record><header/>'
    "<metadata>"
    + DATACITE.replace(' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"', "")
    + "</metadata></record></ListRecords></OAI-PMH>"
)

DATACITE_JSON = json.dumps(
    {
        "data": [
            {
                "id": "10.5072/fk2x",
                "type": "dois",
                "attributes": {
                    "doi": "10.5072/fk2x",
                    "creators": [
                        {
                            "name": "Mallery, John",
                            "nameType": "Personal",
                            "givenName": "John",
                            "familyName": "Mallery",
                            "affiliation": ["MIT"],
                            "nameIdentifiers": [],
                        }
                    ],
                    "titles": [{"title": "Names & numbers", "lang": "en"}],
                    "publisher": "MIT",
                    "publicationYear": 1994,
                    "types": {"resourceTypeGeneral": "Dataset", "ris": "DATA"},
                    "url": "https://a.example/",
                    "state": "findable",
                    "created": "2019-01-01T00:00:00.000Z",
                    "viewCount": 7,
                },
                "relationships": {"client": {"data": {"id": "mit.ai", "type": "clients"}}},
            },
            {
                "id": "10.5072/fk2y",
                "type": "dois",
                "attributes": {
                    "doi": "10.5072/fk2y",
                    "titles": [],
                    "state": "draft",
                    "url": "https://b.example/",
                },
            },
        ]
    }
)

CROSSREF = """\
<?xml version="1.0" encoding="UTF-8"?>
<doi_batch version="5.3.1" xmlns="http://www.crossref.org/schema/5.3.1"><head>
<doi_batch_id>x</doi_batch_id></head><body><journal>
<journal_metadata language="en"><full_title>Journal of Tests</full_title>
<issn media_type="print">1234-5679</issn></journal_metadata>
<journal_issue><publication_date><year>2010</year></publication_date>
<journal_volume><volume>3</volume></journal_volume><issue>2</issue></journal_issue>
<journal_article><titles><title>First</title></titles><contributors>
<person_name sequence="first" contributor_role="author"><given_name>Ann</given_name>
<surname>Lee</surname></person_name></contributors>
<publication_date media_type="print"><month>5</month><year>2010</year></publication_date>
<pages><first_page>1</first_page><last_page>9</last_page></pages>
<doi_data><doi>10.5072/art1</doi><resource>https://j.example/1</resource></doi_data>
<citation_list><citation key="1"><doi>10.1000/182</doi></citation></citation_list></journal_article>
<journal_article><titles><title>Second</title></titles>
<doi_data><doi>10.5072/art2</doi><resource>https://j.example/2</resource></doi_data>
</journal_article></journal></body></doi_batch>
"""

BIBTEX = r"""@string{jt = "Journal of Tests"}
Text outside of entries is a comment.
@article{mueller2001,
  author = {M{\"u}ller, Anna and {The Group} and Jan van der Berg},
  title = "A {DNA} \& more", journal = jt # ", Series B", year = 2001, month = sep,
  volume = {3}, pages = {1--9}, doi = {10.5072/bib1}, url = {https://x.example/a\_b}}
@misc{broken, title = {it does not end
@book{k2, title = {T}, note = {hdl:21.T14999/K2}, publisher = {P}, year = {1999}}
@book{k3, title = {No identifier}}
"""

RIS = (
    "TY  - JOUR\r\nAU  - Lee, Ann, Jr.\r\nTI  - A title\r\nthat goes on\r\nJO  - Journal\r\n"
    "PY  - 2001/05/01\r\nVL  - 3\r\nSP  - 1\r\nEP  - 9\r\nDO  - 10.5072/ris1\r\n"
    "UR  - https://x.example/1\r\nER  - \r\n\r\nTY  - BOOK\r\nTI  - nothing\r\nER  - \r\n"
)

CSL = json.dumps(
    [
        {
            "id": "x",
            "type": "article-journal",
            "title": "T",
            "DOI": "10.5072/csl1",
            "URL": "https://x.example/",
            "issued": {"date-parts": [[2001, 9]]},
            "event-place": "Bonn",
        },
        {"id": "nothing", "type": "book"},
    ]
)


def read(form: str, text: str | bytes, **terms: Any) -> list[ReadRecord]:
    """Read a file of a form."""
    data = text if isinstance(text, bytes) else text.encode()
    return list(forms.find_form(form).read(io.BytesIO(data), ReadingTerms(**terms)))


def lines(form: str, text: str | bytes, **terms: Any) -> list[dict[str, Any]]:
    """The lines that a file of a form gives, of which every record must be good."""
    found = read(form, text, **terms)
    assert [one.fault for one in found] == [None] * len(found)
    return [one.line or {} for one in found]
