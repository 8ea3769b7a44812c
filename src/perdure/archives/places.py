"""The places of the web archive in a registry directory.

What must stay true: nothing else is imported, so a registry without captures is checked and copied
without the rest of this package.
"""

DIRECTORY = "captures"
INDEX = "index.sqlite"
"""In `DIRECTORY`."""
WITHHELD = "withheld.jsonl"
