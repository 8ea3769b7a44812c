// Runs in a worker: computes the SHA-512 of what the server sends, piece by piece, so that a large
// document needs no more memory than a small one. hash-wasm is beside it.
importScripts("hash-wasm.js");

const STEP = 1 << 20; // bytes between two reports

addEventListener("message", async ({ data: address }) => {
  try {
    const hasher = await hashwasm.createSHA512();
    const answer = await fetch(address, { headers: { Accept: "*/*" }, cache: "no-store" });
    if (!answer.ok) return postMessage({ status: answer.status });
    let size = 0, reported = 0;
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      hasher.update(value);
      size += value.length;
      if (size - reported < STEP) continue;
      postMessage({ size });
      reported = size;
    }
    postMessage({ size, digest: hasher.digest("hex") });
  } catch (error) {
    postMessage({ fault: String(error.message ?? error) });
  }
});
