"""Work on collections: read and written in four forms, made, checked, compared and extracted.

`perdure.model.collection` defines a collection, as a value and as a document.
`perdure.server.resource.members` answers requests for one. The modules here need the registry and
its web archive:

    forms, turtle     text, CSV, JSON and Turtle, in and out
    making            new collections and new versions of them
    status, checking  the state of each member: here, in an archive, elsewhere
    digests           … and whether its bytes are those that were promised
    reports, drift    the findings of a check, and the changes since another check
    companions        records that belong to a capture
    extracting        members into a WARC file; packaging   … and into a WACZ package
    runs, resuming    through all members, so that a long run can be stopped and resumed
"""
