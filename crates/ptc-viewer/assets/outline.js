// The outline of a run: every span in one line, indented by where it lies.

import { h } from "./dom.js";
import { kindOf, nameOf, statusOf, took } from "./turns.js";

/** Rows beyond this are not drawn. */
const MOST = 1_500;

/** Programs stand for their turn, so they get no line of their own. */
const hidden = (node) => node.subject === "lisp.execute" && node.parent !== null;

export function outline(state, choose) {
  const rows = [];
  const open = state.roots.map((index) => [index, 0]).reverse();
  let left = 0;
  while (open.length > 0) {
    const [index, level] = open.pop();
    const node = state.nodes[index];
    if (!node) continue;
    const skipped = hidden(node);
    for (const child of [...node.children].reverse()) open.push([child, skipped ? level : level + 1]);
    if (skipped) continue;
    if (rows.length >= MOST) {
      left += 1;
      continue;
    }
    const matched = state.matches === null ? null : state.matches.has(index);
    rows.push(h("button.line", {
      type: "button", dataset: { line: index, kind: kindOf(node), status: statusOf(node), match: matched },
      style: { "--level": Math.min(level, 12) }, "aria-current": state.selected === index ? "true" : null,
      onclick: () => choose(index), tabindex: -1,
    },
      h("span.tick", { dataset: { kind: kindOf(node), status: statusOf(node) } }),
      h("span.line-name", null, nameOf(node)), h("span.line-took", null, took(node))));
  }
  if (left > 0) rows.push(h("p.note", null, `${left} more spans`));
  return rows;
}
