"""How Hypothesis runs in all tests: never by the clock, and on CI always with the same examples."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("perdure", deadline=None)
settings.register_profile("perdure-ci", deadline=None, derandomize=True, database=None)
settings.load_profile("perdure-ci" if os.environ.get("CI") else "perdure")
