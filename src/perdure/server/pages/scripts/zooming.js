// Zooms a picture with OpenSeadragon, which is loaded only then, and draws rectangles on it.
import { writeSpan } from "./drawing.js";

function loadViewer(address, integrity) {
  if (window.OpenSeadragon) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: address, integrity });
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

async function openPicture(place, address, name) {
  const information = await (await fetch(address)).json();
  information.id = new URL(address, location).href.replace(/\/info\.json$/, "");  // our own origin
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const viewer = window.OpenSeadragon({
    element: place, tileSources: information, showNavigationControl: false, maxZoomPixelRatio: 8,
    gestureSettingsMouse: { clickToZoom: false }, ...(still ? { animationTime: 0 } : {}),
  });
  viewer.canvas.setAttribute("role", "application");
  viewer.canvas.setAttribute("aria-label", name);
  return viewer;
}

// Rectangles are drawn while the button is pressed; else the pointer moves the picture.
function offerDrawing(viewer, button, form) {
  const { Point, Rect } = window.OpenSeadragon, fields = form.elements;
  const shape = Object.assign(document.createElement("div"), { className: "drawn" });
  let from = null;

  function locate(event) {
    const box = viewer.canvas.getBoundingClientRect();
    const point = new Point(event.clientX - box.left, event.clientY - box.top);
    return viewer.viewport.viewerElementToImageCoordinates(point);
  }

  function draw() {
    const [left, top, right, bottom] = ["left", "top", "right", "bottom"].map((side) => fields.namedItem(side).valueAsNumber);
    viewer.removeOverlay(shape);
    if (!(left < right && top < bottom)) return;
    const box = viewer.viewport.imageToViewportRectangle(new Rect(left, top, right - left, bottom - top));
    viewer.addOverlay({ element: shape, location: box });
  }

  button.addEventListener("click", () => {
    const isDrawing = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", isDrawing);
    viewer.setMouseNavEnabled(!isDrawing);
  });
  viewer.canvas.addEventListener("pointerdown", (event) => {
    if (button.getAttribute("aria-pressed") === "true" && !event.button) from = locate(event);
  });
  viewer.canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = locate(event);
    writeSpan(form, ["left", "right"], from.x, to.x);
    writeSpan(form, ["top", "bottom"], from.y, to.y);
    draw();
  });
  window.addEventListener("pointerup", () => {
    if (from) form.dispatchEvent(new Event("input"));
    from = null;
  });
  form.addEventListener("input", draw);
  viewer.addHandler("open", draw);
}

export function start(button) {
  const form = button.form, picture = form.querySelector(".picture"), zoomer = form.querySelector(".zoomer");
  const [nearer, further, drawing, close] = zoomer.querySelectorAll("button");
  let viewer = null;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await loadViewer(button.dataset.viewer, button.dataset.integrity);
    [picture.hidden, button.hidden, zoomer.hidden] = [true, true, false];
    if (viewer) return;
    viewer = await openPicture(zoomer.querySelector(".view"), button.dataset.information, picture.querySelector("img").alt);
    offerDrawing(viewer, drawing, form);
    nearer.addEventListener("click", () => viewer.viewport.zoomBy(1.5));
    further.addEventListener("click", () => viewer.viewport.zoomBy(1 / 1.5));
    close.addEventListener("click", () => {
      [picture.hidden, button.hidden, zoomer.hidden] = [false, false, true];
      button.focus();
    });
  });
}
