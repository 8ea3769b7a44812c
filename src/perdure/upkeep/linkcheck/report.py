"""The report of a run, as text, JSON or a page of HTML.

What must stay true: texts from other servers are escaped; the page needs no script and no other
file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from jinja2 import Environment

from perdure.upkeep.linkcheck.state import Summary
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict

Found = Iterable[tuple[str, LinkFinding]]
_WORDS = {
    LinkVerdict.OK: "ok",
    LinkVerdict.MOVED: "moved permanently: 'perdure relocate' updates them",
    LinkVerdict.DEAD: "dead",
    LinkVerdict.SOFT_404: "dead, although answered with 200",
    LinkVerdict.DRIFT: "content is not what was bound",
    LinkVerdict.UNREACHABLE: "unreachable",
    LinkVerdict.REFUSED: "must not be asked",
}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Link check</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ccc;
  vertical-align: top; overflow-wrap: anywhere }
</style></head><body>
<h1>Link check</h1>
<p>{{ summary.checked }} locations{% if summary.what %} of {{ summary.what }}{% endif %},
begun {{ summary.began }},
{% if summary.ended %}ended {{ summary.ended }}{% else %}not ended{% endif %}.</p>
<table><caption>Verdicts</caption><tbody>
{% for verdict, words in words.items() %}
<tr><th scope="row">{{ verdict }}</th>
<td>{{ summary.verdicts[verdict] }}</td><td>{{ words }}</td></tr>
{% endfor %}
</tbody></table>
<h2>What needs attention</h2>
<table><thead><tr><th scope="col">Verdict</th><th scope="col">Location</th>
<th scope="col">Identifier</th>
<th scope="col">Why</th><th scope="col">Checked</th></tr></thead><tbody>
{% for identifier, one in found %}
<tr><td>{{ one.verdict }}</td>
<td>{{ one.uri }}{% if one.moved_to %}<br>now {{ one.moved_to }}{% endif %}</td>
<td>{{ identifier }}</td><td>{{ one.reason }}</td><td>{{ one.checked }}</td></tr>
{% endfor %}
</tbody></table>
</body></html>
"""


def write_text(summary: Summary, found: Found) -> Iterator[str]:
    """Yield a line for each location with a problem, then the numbers."""
    for identifier, one in found:
        onward = f" -> {one.moved_to}" if one.moved_to else ""
        yield f"{one.verdict:<11} {one.uri}{onward}  {identifier}  {one.reason}".rstrip()
    for verdict, words in _WORDS.items():
        if number := summary.verdicts[verdict]:
            yield f"{number:>11,} {words}"
    yield f"{summary.checked:>11,} checked"


def write_json(summary: Summary, found: Found) -> Iterator[str]:
    """Yield a line for each location with a problem, then one with the numbers."""
    for identifier, one in found:
        yield json.dumps(
            {
                "identifier": identifier,
                "uri": one.uri,
                "verdict": one.verdict,
                "status": one.status,
                "reason": one.reason,
                "moved_to": one.moved_to,
                "checked": one.checked,
                "sha512": one.sha512,
                "size": one.size,
                "failures": one.failures,
            }
        )
    yield json.dumps(
        {
            "run": summary.run,
            "what": summary.what,
            "began": summary.began,
            "ended": summary.ended,
            "checked": summary.checked,
            "verdicts": summary.verdicts,
        }
    )


def write_html(summary: Summary, found: Found) -> Iterator[str]:
    """Yield the lines of a page."""
    template = Environment(autoescape=True, trim_blocks=True).from_string(_PAGE)
    words = {one.value: said for one, said in _WORDS.items()}
    rest = ""
    for piece in template.generate(summary=summary, found=found, words=words):
        *lines, rest = "".join((rest, piece)).split("\n")  # escaped already
        yield from lines
    yield rest


FORMS: dict[str, Callable[[Summary, Found], Iterator[str]]] = {
    "text": write_text,
    "json": write_json,
    "html": write_html,
}
