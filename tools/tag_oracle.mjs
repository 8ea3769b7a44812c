// Where parse5 sees tags: an independent opinion on the offsets that perdure gives.
//
// How it works: each file named on the command line (or, for `-`, each line of standard input, a
// JSON string of Latin-1 characters) is read as Latin-1, so that an offset in characters is one in
// bytes. One line of JSON answers each:
//
//   tags      [[start, stop], …] by the rule of `elt`: parse5's own tokenizer, told after which start
//             tags text follows (script, style, textarea, title) and that CDATA sections exist
//   elements  [[start of start tag, start of end tag or null], …] by parse5's tree builder
//   names     {start of start tag: value of the attribute name}
//
// parse5 belongs to nobody's dependencies: install it anywhere and say where in PERDURE_PARSE5.
//
//   make .oracles/.installed
//   PERDURE_PARSE5=.oracles node tools/tag_oracle.mjs page.html

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const place = resolve(process.env.PERDURE_PARSE5 ?? ".", "node_modules/parse5/dist/index.js");
const { Tokenizer, TokenizerMode, parse } = await import(pathToFileURL(place));

const MODES = {
  script: TokenizerMode.SCRIPT_DATA,
  style: TokenizerMode.RAWTEXT,
  textarea: TokenizerMode.RCDATA,
  title: TokenizerMode.RCDATA,
};

function tags(text) {
  const found = [];
  const add = (token) => found.push([token.location.startOffset, token.location.endOffset]);
  const ignore = () => {};
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag(token) {
        add(token);
        if (token.tagName in MODES) {
          tokenizer.state = MODES[token.tagName];
          tokenizer.lastStartTagName = token.tagName;
        }
      },
      onEndTag: add,
      onComment: ignore,
      onDoctype: ignore,
      onEof: ignore,
      onCharacter: ignore,
      onNullCharacter: ignore,
      onWhitespaceCharacter: ignore,
    },
  );
  tokenizer.inForeignNode = true;
  tokenizer.write(text, true);
  return found;
}

function elements(text) {
  const found = new Map();
  const names = {};
  const waiting = [parse(text, { sourceCodeLocationInfo: true, scriptingEnabled: false })];
  while (waiting.length > 0) {
    const node = waiting.pop();
    const start = node.sourceCodeLocation?.startTag;
    if (start) {
      const end = node.sourceCodeLocation.endTag?.startOffset ?? null;
      found.set(start.startOffset, found.get(start.startOffset) ?? end);
      const name = node.attrs.find((one) => one.name === "name");
      if (name) names[start.startOffset] = name.value;
    }
    waiting.push(...(node.childNodes ?? []));
    if (node.content) waiting.push(node.content);
  }
  return { elements: [...found].sort(([a], [b]) => a - b), names };
}

function answer(text) {
  console.log(JSON.stringify({ tags: tags(text), ...elements(text) }));
}

for (const name of process.argv.slice(2)) {
  if (name === "-") {
    const lines = readFileSync(0, "utf-8").split("\n");
    lines.filter((line) => line !== "").forEach((line) => answer(JSON.parse(line)));
  } else {
    answer(readFileSync(name, "latin1"));
  }
}
