// Values of a trace in every form that a payload policy leaves them: whole, as a summary, as a hash, cut.

import { h, fill } from "./dom.js";
import { Word, read } from "./edn.js";
import { exact, size } from "./format.js";
import { highlight, prose } from "./highlight.js";

/** Lines and characters that are shown before somebody asks for more. */
const LINES = 14;
const CHARS = 1_600;
/** Items that are shown before somebody asks for more. */
const ITEMS = 30;
/** Columns of a table, and characters of a cell that are shown. */
const COLUMNS = 12;
const CELL = 60;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Word);
export const isSummary = (value) => isObject(value) && typeof value.sha256 === "string" && typeof value.bytes === "number";
const isCut = (value) => isObject(value) && typeof value.$cut === "string" && "beginning" in value;

/** A short text for lists. */
export function brief(value, chars = 160) {
  let text;
  if (value === undefined || value === null) return "";
  if (isSummary(value)) text = value.preview ?? `${size(value.bytes)}, not kept`;
  else if (isCut(value)) text = typeof value.beginning === "string" ? value.beginning : JSON.stringify(value.beginning);
  else text = typeof value === "string" ? value : JSON.stringify(value, (_, part) => (part instanceof Word ? part.text : part));
  text = text.replace(/\s+/g, " ").trim();
  return text.length > chars ? `${text.slice(0, chars)}…` : text;
}

/** A payload as an element. `load` gets the whole of one that was cut. */
export function payload(value, { load, label } = {}) {
  if (isSummary(value)) return summary(value, label);
  if (isCut(value)) return cut(value, load, label);
  if (typeof value === "string") return text(value, label);
  return inspector(value, label);
}

const inspector = (value, label) => h("div.inspector", { role: "group", "aria-label": label ?? "value", tabindex: 0 }, inspect(value, 0));

/** A value that stands in the trace as its text: a tree, a table or prose if it can be read, else the text. */
export function written(value, options = {}) {
  const found = typeof value === "string" ? read(value) : undefined;
  if (typeof found === "string") return h("div.prose", { role: "group", "aria-label": options.label ?? "text", tabindex: 0 }, found);
  if (found !== null && typeof found === "object" && !(found instanceof Word)) return inspector(found, options.label);
  return payload(value, options);
}

function summary(value, label) {
  const note = h(
    "p.note",
    { title: `sha256 ${value.sha256}` },
    value.preview === undefined ? "Not kept" : "Beginning",
    ` · ${size(value.bytes)} · sha256 ${value.sha256.slice(0, 10)}`,
  );
  // A preview that is the whole text needs no note.
  const whole = value.preview !== undefined && !value.preview.endsWith("…");
  return h("div.payload", null, value.preview === undefined ? null : text(value.preview, label), whole ? null : note);
}

function cut(value, load, label) {
  const box = h("div.payload");
  const beginning = typeof value.beginning === "string" ? text(value.beginning, label) : payload(value.beginning);
  const what = value.$cut === "text" ? size(value.size) : `${exact(value.size)} items`;
  const more = h("button.more", {
    type: "button",
    onclick: async () => {
      more.disabled = true;
      try {
        const whole = await load();
        fill(box, typeof whole === "string" ? text(whole, label, true) : h("div.inspector", null, inspect(whole, 0)));
      } catch (error) {
        fill(more, `Cannot be loaded: ${error.message}`);
      }
    },
  }, `Load all, ${what}`);
  return fill(box, beginning, load ? more : h("p.note", null, `Cut, ${what} in all`));
}

/** A text, clamped until somebody wants all of it. */
export function text(value, label, all = false) {
  const lines = value.split("\n");
  const long = lines.length > LINES + 4 || value.length > CHARS * 1.5;
  const inner = h("code");
  const pre = h("pre.code", { tabindex: 0, "aria-label": label ?? "text" }, inner);
  const colour = label === "reply" || label === "error" ? prose : highlight;
  const show = (whole) => fill(inner, colour(whole ? value : lines.slice(0, LINES).join("\n").slice(0, CHARS)));
  if (!long || all) {
    show(true);
    return pre;
  }
  show(false);
  pre.classList.add("clamped");
  const more = h("button.more", {
    type: "button",
    onclick: () => {
      const open = pre.classList.toggle("clamped");
      show(!open);
      fill(more, open ? label_more : "Show less");
    },
  });
  const label_more = `Show all, ${exact(lines.length)} lines, ${size(new Blob([value]).size)}`;
  fill(more, label_more);
  return h("div.payload", null, pre, more);
}

/** The columns of rows, if the items of a list are rows: maps that share most of their keys. */
function columnsOf(items) {
  if (items.length < 2 || !items.every((item) => isObject(item) && !isSummary(item) && !isCut(item))) return null;
  const counts = new Map();
  for (const item of items) for (const key of Object.keys(item)) counts.set(key, (counts.get(key) ?? 0) + 1);
  const shared = [...counts.values()].filter((count) => count * 2 >= items.length).length;
  return counts.size > 0 && counts.size <= COLUMNS && shared * 2 >= counts.size ? [...counts.keys()] : null;
}

/** Rows as a table. Cells that hold more than a word open below their row. */
function table(items, columns, depth) {
  const cell = (value) => {
    if (value === undefined) return h("td.muted", null, "–");
    if (typeof value === "number") return h("td.number", null, leaf(value));
    const short = value === null || typeof value !== "object" || value instanceof Word;
    const plain = typeof value === "string" ? value.length <= CELL && !value.includes("\n") : short;
    return h("td", null, plain ? (typeof value === "string" ? value : leaf(value)) : h("details.cell", null, h("summary", null, brief(value, CELL)), inspect(value, depth + 1)));
  };
  const body = h("tbody");
  let shown = 0;
  const more = h("button.more", { type: "button", onclick: () => show() });
  const show = () => {
    const end = Math.min(items.length, shown + ITEMS);
    for (const item of items.slice(shown, end)) body.append(h("tr", null, columns.map((column) => cell(item[column]))));
    shown = end;
    more.hidden = shown >= items.length;
    fill(more, `Show more, ${exact(items.length - shown)} left`);
  };
  show();
  return h("div.table-box", { tabindex: 0, role: "group", "aria-label": `${exact(items.length)} rows` },
    h("table.rows", null, h("thead", null, h("tr", null, columns.map((column) => h(items.every((item) => typeof (item[column] ?? 0) === "number") ? "th.number" : "th", { scope: "col" }, column)))), body), more);
}

/** A tree of a JSON value. */
function inspect(value, depth) {
  if (isSummary(value) || isCut(value)) return payload(value);
  const columns = Array.isArray(value) ? columnsOf(value) : null;
  if (columns) return table(value, columns, depth);
  if (Array.isArray(value)) return branch(value.map((item, at) => [String(at), item]), `[ ${exact(value.length)} ]`, depth);
  if (isObject(value)) return branch(Object.entries(value), `{ ${exact(Object.keys(value).length)} }`, depth);
  return leaf(value);
}

function leaf(value) {
  if (value instanceof Word) return h(value.text.startsWith(":") ? "span.t-keyword" : "span.t-number", null, value.text);
  if (typeof value === "string") {
    if (value.length > 200 || value.includes("\n")) return text(value);
    return h("span.t-string", null, JSON.stringify(value));
  }
  return h("span.t-number", null, String(value));
}

function branch(entries, label, depth) {
  if (entries.length === 0) return h("span.muted", null, label.startsWith("[") ? "[]" : "{}");
  const list = h("ul.branch");
  let shown = 0;
  const more = h("button.more", { type: "button", onclick: () => show() });
  const show = () => {
    const end = Math.min(entries.length, shown + ITEMS);
    for (const [key, item] of entries.slice(shown, end)) {
      list.append(h("li", null, h("span.key", null, key), inspect(item, depth + 1)));
    }
    shown = end;
    more.hidden = shown >= entries.length;
    fill(more, `Show more, ${exact(entries.length - shown)} left`);
  };
  const node = h("details.tree", { open: depth < 2 && entries.length <= ITEMS }, h("summary", null, label), list, more);
  node.addEventListener("toggle", () => node.open && shown === 0 && show());
  if (node.open) show();
  return node;
}
