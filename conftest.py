"""How Hypothesis runs in all tests: without a clock, and with the same examples everywhere.

`make test` derives its examples from the tests themselves, so that the same commit gives the same
result on every machine. `make search` loads the other profile: new examples in each run, many more
of them, and a database in `.hypothesis/` from which a failure is repeated first.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("perdure", deadline=None, derandomize=True, database=None)
settings.register_profile("perdure-search", deadline=None, max_examples=2000)
settings.load_profile("perdure")
