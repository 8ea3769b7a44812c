// Copies identifiers and citations.
import { _ } from "./words.js";

export const say = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

export function start(holder) {
  const button = say("button", _("Copy"));
  button.type = "button";
  button.className = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(holder.textContent);
    button.textContent = _("Copied");
    setTimeout(() => (button.textContent = _("Copy")), 2000);
  });
  holder.after(" ", button);
}
