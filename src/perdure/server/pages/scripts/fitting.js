// Gives a frame with a list of ours the height of the list. The style says how high it may become.
export function start(frame) {
  let observer = null;
  const fit = () => {
    const list = frame.contentDocument?.querySelector("body.inner");
    observer?.disconnect();
    if (!list) return;
    observer = new ResizeObserver(() => (frame.style.height = `${list.offsetHeight + 2}px`));
    observer.observe(list);
  };
  frame.addEventListener("load", fit);
  fit();
}
