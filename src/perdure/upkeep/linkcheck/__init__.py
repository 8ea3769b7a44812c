"""Are the places still there? The check of all locations that a registry sends readers to.

How it works: `collecting` walks the records and writes what is to be checked into `links.sqlite`
(`state`); `checker` asks the servers, politely (`politeness`), by way of `perdure.fetching`;
`verdict` says what an answer means, pure; `report` tells it. What is dead, the server reads from
`links.sqlite` (`health`), and skips it.
"""

from perdure.upkeep.linkcheck.checker import Checker, Politeness
from perdure.upkeep.linkcheck.state import Links, Summary
from perdure.upkeep.linkcheck.verdict import Finding, Verdict

__all__ = ["Checker", "Finding", "Links", "Politeness", "Summary", "Verdict"]
