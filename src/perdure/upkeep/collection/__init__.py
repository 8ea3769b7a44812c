"""Collections at work: read and written in four forms, made, checked, compared and extracted.

What a collection is, as a value and as a document, is in `perdure.model.collection`; how a server
answers for one, in `perdure.server.resource.members`. Here is what needs the registry and its web
archive:

    forms, turtle     text, CSV, JSON and Turtle, in and out
    making            new collections and new versions of them
    status, checking  what became of each member: here, in an archive, elsewhere
    digests           … and whether its bytes are those that were promised
    reports, drift    what a check found, and what changed since another one
    companions        what was recorded with a capture
    extracting        members into a WARC file; packaging   … and into a WACZ package
    runs, resuming    through all members, so that a long run can be stopped and taken up again
"""
