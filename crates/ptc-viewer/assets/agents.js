// The agents of a run as a tree: who called whom, and what each used.

import { h } from "./dom.js";
import { dollars, number, plural } from "./format.js";
import { nameOf, statusOf, took } from "./turns.js";

/** The agents right below a span, however many spans are in between. */
function inside(state, index) {
  const found = [];
  const open = [...state.nodes[index].children].reverse();
  while (open.length > 0) {
    const at = open.pop();
    const node = state.nodes[at];
    if (!node) continue;
    if (node.subject === "run") found.push(at);
    else open.push(...[...node.children].reverse());
  }
  return found;
}

function line(state, index, choose) {
  const node = state.nodes[index];
  const tokens = (node.input_tokens ?? 0) + (node.output_tokens ?? 0);
  const turns = node.children.filter((child) => state.nodes[child]?.subject === "turn").length;
  const facts = [plural(turns, "turn"), tokens > 0 ? `${number(tokens)} tokens` : null, typeof node.data.cost_usd === "number" ? dollars(node.data.cost_usd) : null, took(node)];
  return h("button.agent-line", { type: "button", onclick: () => choose(index) },
    h("span.dot", { dataset: { status: statusOf(node) } }), h("strong", null, nameOf(node)),
    h("span.muted", null, facts.filter(Boolean).join(" · ")));
}

function branch(state, indices, choose) {
  return h("ul.agent-tree", null, indices.map((index) => {
    const below = inside(state, index);
    return h("li", null, line(state, index, choose), below.length > 0 ? branch(state, below, choose) : null);
  }));
}

/** Nothing for an agent that works alone. */
export function agents(state, choose) {
  const roots = state.roots.filter((root) => state.nodes[root]?.subject === "run");
  const several = state.nodes.filter((node) => node?.subject === "run").length > 1;
  return several ? [h("h2", null, "Agents"), branch(state, roots, choose)] : null;
}
