// The texts of scripts in the language of the page. English is the text itself.
const { lang } = document.documentElement;
const words = lang === "en" ? {} : (await import(`./words-${lang}.js`)).default;

export const _ = (text, values = {}) =>
  (words[text] ?? text).replace(/%\((\w+)\)s/g, (_all, name) => values[name]);
