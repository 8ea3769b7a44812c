// Names what a reader points at in a document that a frame shows. The frame says only numbers: a
// tag; a width and a height; the ends of a selection, and whether nothing is left out of it.
import { ask, showPart } from "./pointed.js";
import { _ } from "./words.js";

const isNumber = (value) => Number.isSafeInteger(value) && value >= 0;

function describe(numbers, found) {
  if (numbers.length === 1)
    return found.selector.startsWith("char=") ? _("✓ exactly this element, which does not end with a tag") : _("✓ exactly this element");
  const [start, stop, isWhole] = numbers, place = found.place || [];
  if (isWhole && place[0] === start && place[1] === stop) return _("✓ exactly what you selected");
  return found.isWhole ? _("widened to: “%(text)s”", { text: found.text }) : _("widened");
}

export function start(frame) {
  const place = document.getElementById("pointed");
  let latest = 0;
  window.addEventListener("message", async ({ source, data }) => {
    if (source !== frame.contentWindow || !Array.isArray(data) || !data.every(isNumber)) return;
    if (data.length === 2) frame.style.height = `${data[1]}px`;
    if (data.length !== 1 && data.length !== 3) return;
    const asked = data.length === 1 ? `tag=${data[0]}` : `${data[0]},${data[1]}`;
    const turn = ++latest, [ok, found] = await ask(frame.dataset.point + asked);
    if (turn !== latest) return;
    if (ok) showPart(place, found, describe(data, found));
    else place.replaceChildren(found.detail);
  });
}
