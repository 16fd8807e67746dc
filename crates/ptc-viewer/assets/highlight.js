// PTC-Lisp and JSON in colours: a small tokenizer that never fails and knows nothing of meaning.

import { h } from "./dom.js";

const TOKEN =
  /(;[^\n]*)|("(?:\\[\s\S]|[^"\\])*"?)|(:[^\s()[\]{}"',;]+)|([-+]?\d[\d_]*(?:[./]\d+)?(?:[eE][-+]?\d+)?[MN]?(?![^\s()[\]{}"',;]))|(\\[^\s()[\]{}]+|\\.)|([()[\]{}])|([^\s()[\]{}"',;:\\]+)/g;

const FORMS = new Set(
  ("def defn defn- defonce let let* letfn fn fn* if if-not if-let if-some when when-not when-let when-some cond condp case " +
    "do doseq dotimes for loop recur while try catch finally throw quote -> ->> as-> some-> some->> cond-> cond->> " +
    "and or not return fail pmap pcalls comment")
    .split(" "),
);
const CONSTANTS = new Set(["nil", "true", "false", "null"]);
/** Longer texts stay plain: colours are not worth waiting for. */
const MOST = 30_000;

/** The text as a fragment of coloured pieces. */
export function highlight(text) {
  const fragment = document.createDocumentFragment();
  let at = 0;
  let depth = 0;
  let head = false;
  const plain = (end) => {
    if (end > at) fragment.append(text.slice(at, end));
    at = end;
  };
  for (const match of text.slice(0, MOST).matchAll(TOKEN)) {
    plain(match.index);
    const piece = match[0];
    const [, comment, string, keyword, numeral, char, bracket, symbol] = match;
    let kind = null;
    if (comment) kind = "comment";
    else if (string) kind = "string";
    else if (keyword) kind = "keyword";
    else if (numeral) kind = "number";
    else if (char) kind = "string";
    else if (bracket) {
      const closes = ")]}".includes(bracket);
      if (closes) depth = Math.max(0, depth - 1);
      kind = `bracket${depth % 3}`;
      if (!closes) depth += 1;
    } else if (symbol) {
      if (symbol.startsWith("tool/")) kind = "tool";
      else if (symbol.startsWith("data/") || symbol.startsWith("ctx/")) kind = "data";
      else if (CONSTANTS.has(symbol)) kind = "number";
      else if (FORMS.has(symbol)) kind = "form";
      else if (head) kind = "call";
    }
    head = bracket === "(";
    fragment.append(kind ? h(`span.t-${kind}`, null, piece) : piece);
    at = match.index + piece.length;
  }
  plain(text.length);
  return fragment;
}

/** A text with programs in fences: only those are coloured. */
export function prose(text) {
  const fragment = document.createDocumentFragment();
  text.split(/(```[a-z]*\n[\s\S]*?(?:```|$))/).forEach((part, at) => fragment.append(at % 2 === 1 ? highlight(part) : part));
  return fragment;
}

/** A block of code. */
export const code = (text, label) => h("pre.code", { tabindex: 0, "aria-label": label ?? "code" }, h("code", null, highlight(text)));
