// Chooses rows of a table: the first and the last one that are clicked.
import { ask, showPart } from "./pointed.js";
import { _ } from "./words.js";

export function start(form) {
  const first = form.elements.namedItem("first"), last = form.elements.namedItem("last");
  const place = form.querySelector(".pointed");
  let latest = 0;

  async function point() {
    for (const row of form.querySelectorAll("tr[data-row]")) {
      const number = Number(row.dataset.row);
      row.classList.toggle("drawn", first.value !== "" && number >= Number(first.value) && number <= Number(last.value));
    }
    if (!form.checkValidity()) return;
    const turn = ++latest, [ok, found] = await ask(`${form.action}?${new URLSearchParams(new FormData(form))}`);
    if (turn !== latest) return;
    if (!ok) return place.replaceChildren(found.detail);
    const isExact = found.place[0] === Number(first.value) && found.place[1] === Number(last.value);
    showPart(place, found, isExact ? _("✓ exactly these rows") : _("rows %(first)s to %(last)s", { first: found.place[0], last: found.place.at(-1) }));
  }

  form.addEventListener("input", point);
  form.querySelector("tbody").addEventListener("click", (event) => {
    const row = Number(event.target.closest("tr").dataset.row);
    const from = event.shiftKey && first.value !== "" ? Number(first.value) : row;
    first.value = Math.min(from, row);
    last.value = Math.max(from, row);
    point();
  });
}
