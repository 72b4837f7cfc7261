// The interface in the person's language. A language is one file, /languages/<code>.json: text by key, with
// placeholders such as {move}. Its own name and direction are under "_name" and "_direction".

import { memory } from "./dom.js";

let texts = {};
export let languages = [];
export let current = "en";

/** The text of a key, placeholders filled in; the key itself where no language has it. */
export function t(key, values = {}) {
  const text = texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? isolate(values[name]) : whole));
}

// Moves, squares and numbers run from left to right in every language; without marks a move such as d1-c1 is turned
// round between Arabic words.
function isolate(value) {
  return texts._direction === "rtl" ? `\u2068${value}\u2069` : String(value);
}

/** Whether a language has a text of this key. */
export const has = (key) => key in texts;

/** Things in a row: "a, b and c". */
export function list(items) {
  if (items.length < 2) return items.join("");
  return items.slice(0, -1).join(texts["list.separator"]) + texts["list.last"] + items.at(-1);
}

/** A number as it counts times. */
export function ordinal(number) {
  return texts[`ordinal.${number}`] ?? t("ordinal.n", { number });
}

const numbers = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

/** A number for people; digits are those of the board's edge in every language. */
export const number = (value) => numbers.format(value);

export const percent = (share) => `${Math.round(100 * share)} %`;

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

/** Chooses the language of the page: `code`, else the one chosen last, else the browser's. */
export async function choose(code) {
  if (!languages.length) languages = (await (await fetch("/api/languages")).json()).languages;
  const codes = languages.map((language) => language.code);
  const wishes = [code, memory.get("language"), ...navigator.languages.map((tag) => tag.split("-")[0]), "en"];
  current = wishes.find((wish) => codes.includes(wish));
  const [own, english] = await Promise.all(
    [current, "en"].map(async (name) => (await fetch(`/languages/${name}.json`)).json()),
  );
  texts = { ...english, ...own };
  if (code) memory.set("language", code);
  document.documentElement.lang = current;
  document.documentElement.dir = texts._direction;
  document.title = t("app.title");
}
