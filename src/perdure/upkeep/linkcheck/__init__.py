"""The link check: are all locations to which a registry sends readers still there?

How it works: `collecting` walks the records and writes the locations to check into `links.sqlite`
(`state`). `checker` asks the servers through `perdure.fetching`, politely (`politeness`). `verdict`
interprets an answer, pure; `report` prints the results. The server reads from `links.sqlite` which
locations are lost (`health`), and skips them.
"""

from perdure.upkeep.linkcheck.checker import LinkChecker, Politeness
from perdure.upkeep.linkcheck.state import Links, Summary
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict

__all__ = ["LinkChecker", "LinkFinding", "LinkVerdict", "Links", "Politeness", "Summary"]
