"""Quotations that nothing declares: equal passages of several documents, found by fingerprints.

How it works: `words` folds a text into words, `fingerprints` chooses a few of them so that equal
passages have equal ones, and extends what they point to. Both are pure. `passage_index` keeps the
fingerprints of all held texts and follows the changes; `finding` looks a text up in it, and
compares what it finds.
"""

from pathlib import Path

FILE = Path("followers", "quotations.sqlite")
"""The index of passages. The module that reads it needs numpy."""
