// Shows the frame that a slider chooses.
export function start(form) {
  const slider = form.elements.namedItem("at"), shown = form.querySelector("output");
  slider.addEventListener("input", () => (shown.value = slider.value));
  slider.addEventListener("change", () => form.requestSubmit());
}
