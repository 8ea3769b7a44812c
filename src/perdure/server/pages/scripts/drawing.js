// Draws a rectangle, or a span of time, on the panes over a picture, and asks for its identifier.
import { ask, showPart } from "./pointed.js";
import { _ } from "./words.js";

const NEARLY = 1e-3; // of a unit: less than any pointer can show
const ENDS = [["left", "right"], ["top", "bottom"], ["start", "stop"]];

// Writes the ends of a stretch into two fields, outwards to whole numbers.
export function writeSpan(form, names, one, other) {
  const ends = [Math.floor(Math.min(one, other) + NEARLY), Math.ceil(Math.max(one, other) - NEARLY)];
  names.forEach((name, at) => {
    const field = form.elements.namedItem(name);
    field.value = Math.min(Math.max(ends[at], 0), Number(field.max));
  });
}

export function start(form) {
  const panes = Array.from(form.querySelectorAll(".panes svg"));
  const drawn = panes.map((pane) => pane.querySelector(".drawn"));
  const place = form.querySelector(".pointed"), field = (name) => form.elements.namedItem(name);
  const isSpan = Boolean(field("start")), across = isSpan ? ENDS[2] : ENDS[0];
  let from = null, waiting = 0, latest = 0;

  const read = (name) => { const input = field(name); return input && input.value !== "" ? Number(input.value) : null; };

  function draw() {
    const [left, right] = across.map(read);
    const [top, bottom] = isSpan ? [0, 1] : ENDS[1].map(read);
    const isWhole = [left, right, top, bottom].every((side) => side !== null) && left < right && top < bottom;
    for (const shape of drawn) {
      const sides = isWhole ? { x: left, y: top, width: right - left, height: bottom - top } : { width: 0, height: 0 };
      for (const [side, length] of Object.entries(sides)) shape.setAttribute(side, length);
    }
  }

  // The place of the pointer, in the units of the pane that is nearest to it.
  function locate(event) {
    const pane = panes.find((one) => event.clientY <= one.getBoundingClientRect().bottom) ?? panes.at(-1);
    const box = pane.getBoundingClientRect(), view = pane.viewBox.baseVal;
    const within = (at, low, size) => Math.min(Math.max((at - low) / size, 0), 1);
    return [
      view.x + within(event.clientX, box.left, box.width) * view.width,
      view.y + within(event.clientY, box.top, box.height) * view.height,
    ];
  }

  const span = (names, one, other) => writeSpan(form, names, one, other);

  function point() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const data = new FormData(form), sent = ENDS.flat().filter((name) => read(name) !== null);
      if (!form.checkValidity() || (!isSpan && sent.length < 4)) return;
      const turn = ++latest, [ok, found] = await ask(`${form.action}?${new URLSearchParams(data)}`);
      if (turn !== latest) return;
      if (!ok) return place.replaceChildren(found.detail);
      const wanted = isSpan ? across.map(read) : ["left", "top", "right", "bottom"].map(read);
      const got = found.place ?? [], isExact = isSpan && got.length !== 2 ? true : wanted.every((at, n) => at === got[n]);
      showPart(place, found, isExact ? _("✓ exactly what you drew") : _("widened to %(place)s", { place: got.join(", ") }));
    }, 150);
  }

  const surface = form.querySelector(".panes");
  surface.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.tagName === "text") return;
    event.preventDefault();
    getSelection().removeAllRanges();
    from = locate(event);
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = locate(event);
    span(across, from[0], to[0]);
    if (!isSpan) span(ENDS[1], from[1], to[1]);
    draw();
  });
  surface.addEventListener("pointerup", () => { if (from) point(); from = null; });
  surface.addEventListener("pointercancel", () => { from = null; });
  form.addEventListener("input", () => { draw(); point(); });

  // Words that are selected on a page: the rectangle around their lines.
  document.addEventListener("selectionchange", () => {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0), boxes = [];
    for (const line of form.querySelectorAll(".panes text")) {
      if (!range.intersectsNode(line)) continue;
      const first = range.startContainer.parentNode === line ? range.startOffset : 0;
      const last = range.endContainer.parentNode === line ? range.endOffset : line.getNumberOfChars();
      const { y, height } = line.getBBox();
      if (first < last) boxes.push([line.getStartPositionOfChar(first).x, line.getEndPositionOfChar(last - 1).x, y, y + height]);
    }
    if (!boxes.length) return;
    span(ENDS[0], Math.min(...boxes.map((one) => one[0])), Math.max(...boxes.map((one) => one[1])));
    span(ENDS[1], Math.min(...boxes.map((one) => one[2])), Math.max(...boxes.map((one) => one[3])));
    draw();
    point();
  });
}
