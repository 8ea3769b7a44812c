// Turns a selection in the text of a page into an identifier of exactly that passage.
import { ask, showPart } from "./pointed.js";
import { _ } from "./words.js";

// The server counts code points, with a line break as one; so does the text of the page.
function measure(text, node, offset) {
  const range = document.createRange();
  range.selectNodeContents(text);
  range.setEnd(node, offset);
  return Array.from(range.toString()).length;
}

function readSelection(text) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const chosen = selection.getRangeAt(0), whole = document.createRange();
  if (!chosen.intersectsNode(text)) return null;
  whole.selectNodeContents(text);
  const before = chosen.compareBoundaryPoints(Range.START_TO_START, whole) < 0;
  const behind = chosen.compareBoundaryPoints(Range.END_TO_END, whole) > 0;
  const all = before || behind ? measure(text, text, text.childNodes.length) : 0;
  const start = before ? 0 : measure(text, chosen.startContainer, chosen.startOffset);
  const stop = behind ? all : measure(text, chosen.endContainer, chosen.endOffset);
  return start < stop ? [start, stop] : null;
}

function compare(found, chosen) {
  if (found.text === chosen) return _("✓ exactly what you selected");
  return found.isWhole ? _("widened to: “%(text)s”", { text: found.text }) : "";
}

export function start(text) {
  const place = document.getElementById("pointed"), base = Number(text.dataset.start);
  let waiting = 0, latest = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const range = readSelection(text);
      if (!range) return;
      const chosen = Array.from(text.textContent).slice(...range).join(""), turn = ++latest;
      const address = text.dataset.point + range.map((at) => at + base);
      const [ok, found] = await ask(address);
      if (turn !== latest) return;
      if (ok) showPart(place, found, compare(found, chosen));
      else place.replaceChildren(found.detail);
    }, 150);
  });
}
