// Shows the citation in the style that a reader chooses, in its place on the page.
import { _ } from "./words.js";

export function start(form) {
  const place = document.getElementById("citation"), button = form.querySelector("button");
  let latest = 0;
  button.hidden = true;
  form.addEventListener("change", async () => {
    const turn = ++latest, address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
    const answer = await fetch(address, { headers: { Accept: "text/plain" } });
    const text = await answer.text();
    if (turn === latest) place.textContent = answer.ok ? text.trim() : _("The citation is not available in this style.");
  });
}
