// What models were sent. A trace tells the first request of an agent whole and then what changed; here requests are put
// together again, and shown with what is new in each.

import { h } from "./dom.js";
import { exact, plural, size } from "./format.js";
import { prose } from "./highlight.js";
import { payload } from "./value.js";

const ROLES = { user: "From the host", assistant: "From the model", tool: "From a tool", system: "System" };

/**
 * Every request to a model by the place of its span. Parts remember the span that told them, from which they are loaded if
 * they are long.
 */
export function requests(nodes) {
  const made = new Map();
  const last = new Map();
  nodes.forEach((node, place) => {
    if (node?.subject !== "llm" || !Array.isArray(node.data.sent)) return;
    const agent = nodes[node.parent]?.parent ?? null;
    const old = last.get(agent) ?? { system: null, tools: null, messages: [] };
    const part = (field, known) => (node.data[field] === undefined ? known : { value: node.data[field], place, field });
    const before = old.messages.slice(0, typeof node.data.kept === "number" ? node.data.kept : 0);
    const sent = node.data.sent.map((message, at) => ({ message, place, at }));
    const now = { system: part("system", old.system), tools: part("tools", old.tools), messages: [...before, ...sent] };
    last.set(agent, now);
    made.set(place, { ...now, place, before, sent, first: !old.system && old.messages.length === 0, lost: old.messages.length - before.length });
  });
  return made;
}

const bytes = (value) => size(typeof value?.$cut === "string" ? value.size : new Blob([typeof value === "string" ? value : JSON.stringify(value)]).size);
const words = (text, label) => h("pre.code", { tabindex: 0, "aria-label": label }, h("code", null, prose(text)));

/** Draws requests; `load` gets the whole of a field of a span. */
export function drawer(load) {
  function message({ message: one, place, at }) {
    const content = one?.content ?? "";
    return h("div.message", { dataset: { role: one?.role ?? "" } },
      h("p.message-head", null, ROLES[one?.role] ?? one?.role ?? "message", h("span.muted", null, ` ${bytes(content)}`)),
      content === "" ? null : typeof content === "string" ? words(content, "message") : payload(content, { label: "reply", load: async () => (await load(place, "sent"))[at].content }),
      Array.isArray(one?.tool_calls) ? payload(one.tool_calls, { label: "calls" }) : null);
  }

  /** A part that is made when somebody opens it. */
  function folded(title, note, make) {
    const details = h("details.reply", null, h("summary", null, h("span", null, title), h("span.muted", null, note)));
    details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(make()));
    return details;
  }

  function part(title, { value, place, field }, request) {
    const news = request.first ? null : place === request.place ? "changed" : "as before";
    const show = () => (typeof value === "string" ? words(value, title) : payload(value, { label: "reply", load: () => load(place, field) }));
    return folded(title, [bytes(value), news].filter(Boolean).join(" · "), show);
  }

  const list = (messages) => h("div.messages", null, messages.map(message));
  return (request) => h("div.messages", null,
    request.system ? part("Rules (system prompt)", request.system, request) : null,
    request.tools ? part("Tools", request.tools, request) : null,
    request.before.length > 0 ? folded(`${plural(request.before.length, "message")} as before`, bytes(request.before), () => list(request.before)) : null,
    request.lost > 0 ? h("p.note", null, `${exact(request.lost)} earlier messages are no longer sent.`) : null,
    request.sent.map(message));
}
