"""The report of a deposit: one HTML page without anything from elsewhere.

How it works: the receipts are read once; the page shows totals, all reasons with their counts, and
the first rows of each status. The complete list is in the receipts beside it.

What must stay true: no text of a file or table gets into the page unescaped.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment

from perdure.upkeep.deposit.receipts import MINTED, REFUSED, SAME, SKIPPED
from perdure.upkeep.deposit.tables import bare_cell

_MOST = 500
"""Rows of each status that the page shows."""
_MOST_REASONS = 200
_TITLES = {
    REFUSED: "Refused",
    SKIPPED: "Not taken",
    SAME: "Same bytes as a document with a name",
    MINTED: "Documents",
}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Deposit of {{ directory }}</title>
<meta name="viewport" content="width=device-width">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; font-size: .875rem }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .5rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere }
td.number, th.number { text-align: right; white-space: nowrap }
code { font-size: .8125rem }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } }
</style></head><body>
<h1>Deposit of {{ directory }}</h1>
<p>{{ began }} to {{ ended }}, as <code>{{ job }}</code>.</p>
<table><tbody>
{% for name, count in totals %}<tr><th>{{ name }}</th><td class="number">{{ count }}</td></tr>
{% endfor %}</tbody></table>
{% if reasons %}<h2>Reasons</h2>
<table><thead><tr><th class="number">Files</th><th>Reason</th></tr></thead><tbody>
{% for reason, count in reasons %}<tr><td class="number">{{ count }}</td><td>{{ reason }}</td></tr>
{% endfor %}</tbody></table>{% endif %}
{% for title, count, rows in parts %}{% if rows %}<h2>{{ title }} ({{ count }})</h2>
<table><thead><tr><th>File</th><th>Name</th><th class="number">Bytes</th><th>Remark</th></tr>
</thead>
<tbody>
{% for row in rows %}<tr><td>{{ row.file }}{% if row.member %}!/{{ row.member }}{% endif %}</td>
<td><code>{{ row.identifier }}</code></td><td class="number">{{ row.size }}</td>
<td>{{ row.why }}</td></tr>
{% endfor %}</tbody></table>
{% if count > rows|length %}<p>{{ count - rows|length }} more are in receipts.csv.</p>{% endif %}
{% endif %}{% endfor %}
</body></html>
"""


def write_report(receipts: Path, target: Path, facts: dict[str, str]) -> None:
    """Write the report of a deposit. `facts`: `directory`, `job`, `began`, `ended`."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    shown: dict[str, list[dict[str, str]]] = {status: [] for status in _TITLES}
    size = names = 0
    last = ""
    with receipts.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file):
            row = {name: bare_cell(cell) for name, cell in cells.items()}
            status = row["status"]
            counts[status] += 1
            if status == MINTED:
                size += int(row["size"] or 0)
                names += row["document"] != last
                last = row["document"]
            elif status in (REFUSED, SKIPPED) and (
                row["why"] in reasons or len(reasons) < _MOST_REASONS
            ):
                reasons[row["why"]] += 1
            if status in shown and len(shown[status]) < _MOST:
                shown[status].append(row)
    totals: list[tuple[str, Any]] = [
        ("Names", names),
        ("Files under them", counts[MINTED]),
        ("Bytes", size),
        ("Files with the bytes of others", counts[SAME]),
        ("Files not taken", counts[SKIPPED]),
        ("Files refused", counts[REFUSED]),
    ]
    parts = [(title, counts[status], shown[status]) for status, title in _TITLES.items()]
    page = Environment(autoescape=True).from_string(_PAGE)
    text = page.render(**facts, totals=totals, reasons=reasons.most_common(), parts=parts)
    target.write_text(text, "utf-8")
