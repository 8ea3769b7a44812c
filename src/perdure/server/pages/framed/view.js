// Runs in the frame that shows a document, and says to the page around it what the reader points
// at: the numbers [start, stop, 1 if nothing is left out] of characters, or [tag] of an element.
const page = new URL(document.currentScript.src).origin;
const EDGE = 16;  // pixels above and below the document
const count = (text) => Array.from(text).length;

// The first character of a text, which a processing instruction before it says; or null.
function locate(text) {
  let before = 0;
  for (let node = text.previousSibling; node; node = node.previousSibling) {
    if (node.nodeType === Node.PROCESSING_INSTRUCTION_NODE) return node.data ? Number(node.data) + before : null;
    if (node.nodeType !== Node.TEXT_NODE) return null;
    before += count(node.data);
  }
  return null;
}

function readSelection(range) {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let start = Infinity, stop = -1, isWhole = 1;
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    if (!range.intersectsNode(text)) continue;
    const from = text === range.startContainer ? range.startOffset : 0;
    const to = text === range.endContainer ? range.endOffset : text.length;
    const place = from < to ? locate(text) : null;
    if (place === null) continue;
    const first = place + count(text.data.slice(0, from)), last = first + count(text.data.slice(from, to));
    if (first < stop) isWhole = 0;  // the text of a table that stands before it
    [start, stop] = [Math.min(start, first), Math.max(stop, last)];
  }
  return start < stop ? [start, stop, isWhole] : null;
}

let waiting = 0, chosen = null;

function choose(element) {
  chosen?.classList.remove("chosen");
  chosen = element;
  chosen?.classList.add("chosen");
}

// The height of the document, so that a short one leaves no empty room: two numbers, width first.
addEventListener("DOMContentLoaded", () => new ResizeObserver(() => {
  const { offsetWidth, offsetHeight } = document.body;
  parent.postMessage([offsetWidth, offsetHeight + 2 * EDGE], page);
}).observe(document.body));

document.addEventListener("selectionchange", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return;
    const found = readSelection(selection.getRangeAt(0));
    choose(null);
    if (found) parent.postMessage(found, page);
  }, 150);
});

document.addEventListener("click", (event) => {
  const element = event.target.closest("[data-tag]");
  if (!element || !getSelection().isCollapsed) return;
  choose(element);
  parent.postMessage([Number(element.dataset.tag)], page);
});
