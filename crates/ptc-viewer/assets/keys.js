// Keys: every page declares its own, a few work everywhere, and `?` lists them all.

import { h, fill } from "./dom.js";

let own = [];
let everywhere = [];
let waiting = "";
let timer = 0;

/** Sets the keys of a page: [{keys: "j", what: "Next", run}]. A key of two letters is typed one after the other. */
export const setKeys = (bindings) => (own = bindings);
export const setGlobal = (bindings) => (everywhere = bindings);

const typing = (node) => node instanceof HTMLElement && (node.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName));

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const dialog = document.getElementById("keys");
  if (dialog.open) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "Enter" && event.target instanceof HTMLElement && event.target.closest("a, button, summary")) return;
  const typed = waiting + event.key;
  const all = [...own, ...everywhere];
  const found = all.find((binding) => binding.keys.split(" ").includes(typed));
  clearTimeout(timer);
  waiting = "";
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (all.some((binding) => binding.keys.split(" ").some((keys) => keys.length > typed.length && keys.startsWith(typed) && event.key.length === 1))) {
    waiting = typed;
    timer = setTimeout(() => (waiting = ""), 900);
  }
});

const names = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space" };

export function showKeys() {
  const dialog = document.getElementById("keys");
  const row = ({ keys, what }) => h("tr", null, h("td", null, keys.split(" ").map((key) => h("kbd", null, names[key] ?? key))), h("td", null, what));
  const table = (title, bindings) => (bindings.length ? [h("h3", null, title), h("table", null, h("tbody", null, bindings.map(row)))] : null);
  fill(
    dialog,
    h("h2", { id: "keys-title" }, "Keys"),
    table("On this page", own),
    table("Everywhere", everywhere),
    h("form", { method: "dialog" }, h("button", { type: "submit", autofocus: true }, "Close")),
  );
  dialog.showModal();
}
