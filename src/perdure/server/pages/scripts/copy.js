// Copies identifiers and citations.
export const say = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

export function start(holder) {
  const button = say("button", "Copy"), text = holder.textContent;
  button.type = "button";
  button.className = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  holder.after(" ", button);
}
