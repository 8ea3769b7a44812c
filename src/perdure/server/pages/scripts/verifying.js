// Verifies a document: its bytes, as the server sends them now, against the digest of the page.
import { _ } from "./words.js";

const write = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

function judge(place, { status, fault, size, digest }) {
  const { size: wanted, sha512 } = place.dataset;
  if (status) return _("The server did not send the document (status %(status)s).", { status });
  if (fault) return _("The document could not be read to its end: %(fault)s", { fault });
  if (digest === sha512) return _("✓ %(size)s bytes received, with exactly this SHA-512.", { size: write(size) });
  if (size !== Number(wanted))
    return _("✗ Not the same: %(size)s bytes received instead of %(wanted)s.", { size: write(size), wanted: write(wanted) });
  return _("✗ Not the same: the SHA-512 of the bytes received is %(digest)s.", { digest });
}

export function start(place) {
  const [verify, cancel] = place.querySelectorAll("button");
  const bar = place.querySelector("progress"), told = place.querySelector("output");
  let worker = null;

  function end(text) {
    worker?.terminate();
    worker = null;
    [bar.hidden, cancel.hidden, verify.hidden] = [true, true, false];
    told.textContent = text;
  }

  verify.addEventListener("click", () => {
    worker = new Worker(place.dataset.worker);
    [bar.hidden, cancel.hidden, verify.hidden, bar.value] = [false, false, true, 0];
    told.textContent = "";
    cancel.focus();
    worker.addEventListener("error", () => end(_("This browser cannot verify it; use the command.")));
    worker.addEventListener("message", ({ data }) => {
      if (data.digest || data.status || data.fault) {
        const hadFocus = document.activeElement === cancel;
        end(judge(place, data));
        if (hadFocus) verify.focus();
      } else bar.value = data.size / (Number(place.dataset.size) || 1);
    });
    worker.postMessage(place.dataset.address);
  });
  cancel.addEventListener("click", () => { end(_("Cancelled.")); verify.focus(); });
  place.hidden = false;
}
