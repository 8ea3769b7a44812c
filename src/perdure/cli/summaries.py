"""The first sentence of the help of each command, for `perdure --help`.

How it works: to load all commands takes longer than everything else that `perdure --help` does. So
the list of commands is written from here.

What must stay true: each is the first sentence of the command's own help.
"""

SUMMARIES = {
    "init": "Make a registry in DIRECTORY, or add series and prefixes to an existing one.",
    "serve": "Serve the registry over HTTP until interrupted.",
    "handle-server": (
        "Answer the native protocol of the Handle System, so that prefixes can be referred here."
    ),
    "doctor": (
        "Test how proxies change identifiers on their way to the resolver at URL, and how to "
        "fix it."
    ),
    "token": "Tokens that let programs write over HTTP.",
    "mint": "Make a new identifier and print it.",
    "commit": "Add bytes to IDENTIFIER as its next version, and print its full name.",
    "correct": "Correct the charset, media type or language of bytes, and print their full name.",
    "bind": "Bind IDENTIFIER to each URL: a reader can find what it names there.",
    "break": "Remove the binding of IDENTIFIER to URL.",
    "alias": "Record that IDENTIFIER and OTHER name the same resource.",
    "withdraw": "Stop serving the bytes of IDENTIFIER, forever.",
    "erase": "Overwrite the bytes of IDENTIFIER with zeros, where this registry keeps them.",
    "proposals": (
        "List the withdrawals and erasures that one person has proposed and no second person "
        "has confirmed yet."
    ),
    "refuse": "Refuse the withdrawal that is proposed for IDENTIFIER.",
    "restrict": "Set a rule that says who may read SUBJECT.",
    "restrictions": (
        "List the rules that say who may read what: all, or those about SUBJECT and its parts."
    ),
    "import-restrictions": (
        "Set the rules in FILE, one JSON object a line, as `perdure restrictions --json` prints "
        "them."
    ),
    "close": "Declare that no further names are given under past days of a series.",
    "get": "Write the bytes that IDENTIFIER names to stdout, and check them on the way.",
    "resolve": "Show what IDENTIFIER leads to.",
    "list": (
        "List the identifiers that match PATTERN or are in an interval, in order (PDIs: of time)."
    ),
    "search": (
        "Find documents that contain all WORDS, the newest first, and the parts that contain them."
    ),
    "describe": "Describe IDENTIFIER: versions, locations, metadata, tombstone.",
    "history": "Show the history of IDENTIFIER: each revision, when, by whom, before and after.",
    "diff": "Print the lines that differ in two versions of IDENTIFIER, as 'diff -u' does.",
    "cite": "Write IDENTIFIER as an entry of a reference list, with its actionable form.",
    "cites": "List what IDENTIFIER refers to.",
    "cited-by": "List the documents held here that refer to IDENTIFIER, the newest first.",
    "citations": "Give citations to other services, and take those that they report.",
    "quotes": "Find passages that several documents have in common, declared or not.",
    "index": "Bring the counts of names and the indexes that searches use up to date.",
    "metadata": "Metadata of identifiers in other formats: DataCite, Dublin Core, JSON-LD …",
    "part": "Write the part SPEC of FILE to stdout, without a registry.",
    "parts": "List what you can address in FILE: characters, tags, pixels, pages, seconds.",
    "verify-part": "Check whether FILE is exactly the part that IDENTIFIER names.",
    "prepare": "Build the indexes for parts of all documents in the registry, or those of PATTERN.",
    "text": "Print the plain text of what IDENTIFIER names, as UTF-8.",
    "template": (
        "Show the location of the part that IDENTIFIER ends in, by the templates of the registry."
    ),
    "statement": "Print the statement about IDENTIFIER that another program can sign.",
    "allowed-signer": (
        "Print the line by which a list of allowed signers trusts a key of PRINCIPAL."
    ),
    "sign": "Sign the document that IDENTIFIER names, and store the signature.",
    "attach-signature": "Store a signature of IDENTIFIER that another program made.",
    "export-signatures": (
        "Write the signatures of the names of PATTERN, with all that is needed to verify them, "
        "as ZIP."
    ),
    "compose": "Fill the parts that FILE cites into it, and mint the result.",
    "provenance": (
        "List the pieces of the composite IDENTIFIER, each with its source, verdict and digest."
    ),
    "manifest": "Print the IIIF manifest of IDENTIFIER, for viewers such as Mirador.",
    "assert": "Assert something about each TARGET, and print the identifier of the assertion.",
    "conjoin": "Mint an identifier for several parts together, and print it.",
    "assertions": (
        "List the assertions about IDENTIFIER, about its versions, formats and parts, about "
        "what it is a part of, and about intervals and patterns that it belongs to."
    ),
    "retract": "Retract the assertion IDENTIFIER by a further assertion, which gives REASON.",
    "sparql": "Answer QUERY, in SPARQL, about the assertions of the registry.",
    "nanopub": "Exchange assertions as nanopublications, in TriG.",
    "delegate": (
        "Say that another resolver answers for NAMES, and print the identifier of the delegation."
    ),
    "undelegate": "End DELEGATION from a day on, and print the identifier of the revocation.",
    "delegations": "List the delegations to other resolvers, or those that may be about NAMES.",
    "status": (
        "Show what the registry holds, when it was last backed up and verified, and what is amiss."
    ),
    "verify": (
        "Read all bytes of the registry again, or those of PATTERN, and compare their digests."
    ),
    "rebuild": "Rebuild the registry file from the segments, if it is damaged or lost.",
    "backup": "Copy the registry to TARGET while it is in use.",
    "move": "Move the registry to another store of records, or of bytes, or both.",
    "promote": (
        "Make a copy of a registry the registry: a restored backup, or a directory that was moved."
    ),
    "hand-over": "Hand NAMES over to a successor, with their records, documents and history.",
    "take-over": "Take over the names that another registry hands over to this one.",
    "mirror": "Follow another registry, and serve what it has under the same names.",
    "webhooks": (
        "Notify other servers of changes: each message is an HTTP request, signed and repeated."
    ),
    "changes": "List the changes of the registry in order, each with its number.",
    "head": "Print the last change as one line of JSON, to keep out of reach of the registry.",
    "counts": "Count the new names and the changes in each series on each day.",
    "collection": (
        "Collections: corpora and other lists of identifiers, held and versioned as one thing."
    ),
    "check-links": (
        "Check whether every location still exists and still has the content that was bound."
    ),
    "relocate": "Move all locations that begin with a prefix, or are at a host, to another.",
    "discover": "Find the resolvers of IDENTIFIER, and show each step.",
    "dns": "Print the lines of a zone file that lead from SERIES to its resolver.",
    "urlify": "Write each IDENTIFIER as an address that a browser can follow.",
    "deurlify": "Write the identifier that each URL is the address of.",
    "archive": "Archive files (WARC, ARC, WACZ): add them, find captures in them, check them.",
    "pwid": "References to material in web archives (PWID): make, check, resolve them.",
    "harvest": (
        "Take the records of the repository at URL, by OAI-PMH; or the links of a sitemap there."
    ),
    "deposit": "Mint the files in DIR, and in all directories below it, as documents.",
    "import": (
        "Import the identifiers in FILE (- for stdin), in the format of docs/reference/jsonl.md."
    ),
    "export": (
        "Write the registry as JSON Lines: all identifiers, or those that match PATTERN "
        "(hdl:1839/*)."
    ),
    "update": (
        "Change many known identifiers by FILE: a table (CSV), or a file of any form of `import`."
    ),
    "dedupe": (
        "Read identifiers and URLs, one per line, and print each resource once (- for stdin)."
    ),
    "version": "Print the version of perdure and of the packages that it uses.",
    "completion": "Print a script that completes commands and options in SHELL.",
}
"""By the names of the commands, in the order of the help."""
