// Shows the identifier of a part that was pointed at: its name, its citation, its content, a link.
import { start as offerCopy, say } from "./copy.js";
import { _ } from "./words.js";

export async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  return [answer.ok, await answer.json()];
}

export function showPart(place, found, note) {
  const name = say("code", found.identifier), open = say("a", _("Open the part"));
  open.href = found.landing;
  place.replaceChildren(say("strong", _("This part")), " ", name, " ", say("span", note), " ", open);
  offerCopy(name);
  if (found.element) {
    const content = document.createElement(found.element);
    if (found.element === "img") content.alt = _("The part as the server cuts it");
    else [content.controls, content.preload] = [true, "none"];
    content.src = found.source;
    place.append(content);
  }
  const cite = say("p", "");
  cite.className = "small";
  place.append(cite);
  const isZoomed = place.closest("form")?.querySelector(".zoomer:not([hidden])");
  if (!isZoomed) place.scrollIntoView({ block: "nearest" });  // a zoomed picture stays where it is
  fetch(found.cite, { headers: { Accept: "text/plain" } }).then(async (answer) => {
    if (!answer.ok) return;
    cite.textContent = (await answer.text()).trim();
    offerCopy(cite);
  });
}
