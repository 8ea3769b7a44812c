// How citeproc-js cites: the opinion that perdure's citations are held to.
//
// How it works: each line of standard input is a JSON object {style, locale, item}: the path of a CSL
// style, a locale of CSL such as fr-FR, an item of CSL-JSON. One line of JSON answers each: the
// entry in a bibliography, as plain text. Locales are read from the directory named first on the
// command line.
//
// citeproc-js (AGPL or CPAL) belongs to nobody's dependencies: install it anywhere and say where in
// PERDURE_CITEPROC.
//
//   make .oracles/.installed
//   PERDURE_CITEPROC=.oracles node tools/citation_oracle.mjs LOCALES < requests.jsonl

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const require = createRequire(resolve(process.env.PERDURE_CITEPROC ?? ".", "package.json"));
const CSL = require("citeproc");
const [locales] = process.argv.slice(2);
const engines = new Map();

function engine(style, locale, items) {
  const key = `${style} ${locale}`;
  if (!engines.has(key)) {
    const known = new Map();
    const system = {
      retrieveLocale: (name) => readFileSync(join(locales, `locales-${name}.xml`), "utf-8"),
      retrieveItem: (id) => known.get(id),
    };
    const made = new CSL.Engine(system, readFileSync(style, "utf-8"), locale, true);
    made.setOutputFormat("text");
    engines.set(key, [made, known]);
  }
  return engines.get(key);
}

for (const line of readFileSync(0, "utf-8").split("\n").filter(Boolean)) {
  const { style, locale, item } = JSON.parse(line);
  const [made, known] = engine(style, locale);
  known.clear();
  known.set(item.id, item);
  made.updateItems([]);
  made.updateItems([item.id]);
  console.log(JSON.stringify(made.makeBibliography()[1].join("").trim()));
}
