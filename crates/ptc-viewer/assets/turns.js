// A run as people read it: turns one below the other, each with what the model wrote, what the program did and
// what came of it. Agents that are called stand inside the call.

import { h } from "./dom.js";
import { dollars, duration, exact, number, plural, size } from "./format.js";
import { drawer, requests } from "./prompt.js";
import { brief, payload, written } from "./value.js";

const NAMES = { run: "agent", turn: "turn", llm: "model", "lisp.execute": "program", pmap: "parallel calls", tool: "tool", "upstream.call": "upstream", "upstream.discover": "discovery", discover: "discovery", "mcp.call": "MCP call" };
const TYPES = { must_return: "last turn", retry: "correction" };

/** What to call a span in one line. */
export function nameOf(node) {
  switch (node.subject) {
    case "run": return node.agent ?? "agent";
    case "turn": return `Turn ${node.turn ?? "?"}`;
    case "llm": return node.model ?? "model";
    case "pmap": return `${exact(node.data.count ?? node.children.length)} in parallel`;
    case "tool": return node.tool ?? "tool";
    case "upstream.call": return `${typeof node.data.server === "string" ? `${node.data.server}/` : ""}${node.tool ?? "call"}`;
    default: return NAMES[node.subject] ?? node.subject;
  }
}

export const kindOf = (node) => ({ run: "agent", turn: "turn", llm: "model", "lisp.execute": "program", pmap: "parallel" })[node.subject] ?? "tool";
export const took = (node) => (node.end === null ? "running" : duration(node.end - node.start));
export const statusOf = (node) => (node.end === null ? "running" : node.status === "error" ? "error" : "ok");

/**
 * Draws a run: what came of it, and its story. `state` has nodes, which spans are open, and how to load values that were
 * cut.
 */
export function turns(state) {
  const { nodes } = state;
  const at = (index) => nodes[index];
  const below = (node, subject) => node.children.map(at).filter((child) => child?.subject === subject);
  const index = new Map(nodes.map((node, place) => [node, place]));
  const place = (node) => index.get(node);
  const value = (node, field, label, draw = payload) => draw(node.data[field], { label, load: () => state.load(place(node), field) });
  const asks = requests(nodes);
  const request = drawer(state.load);
  const section = (title, ...content) => h("section.part", null, h("h4", null, title), content);
  const fact = (label, shown, title) => h("span.fact", { title }, h("b", null, shown), ` ${label}`);

  function facts(node, program) {
    const tokens = (node.input_tokens ?? 0) + (node.output_tokens ?? 0);
    const fuel = node.data.fuel ?? program?.data.fuel;
    const cost = node.data.cost_usd ?? below(node, "llm").find((asked) => typeof asked.data.cost_usd === "number")?.data.cost_usd;
    return h("div.facts", null,
      typeof cost === "number" ? h("span.fact", { title: "cost of the model" }, dollars(cost)) : null,
      tokens > 0 ? fact("tokens", number(tokens), `${exact(node.input_tokens ?? 0)} in, ${exact(node.output_tokens ?? 0)} out`) : null,
      typeof fuel === "number" ? fact("fuel", number(fuel), `${exact(fuel)} units of work`) : null,
      h("span.fact", null, took(node)));
  }

  function failure(node) {
    const { reason, error, hint } = node.data;
    if (reason === undefined && error === undefined) return null;
    return h("div.failure", null,
      typeof reason === "string" ? h("strong", null, reason) : null,
      error === undefined ? null : payload(error, { label: "error", load: () => state.load(place(node), "error") }),
      snippet(node),
      typeof hint === "string" ? h("p.hint", null, hint) : null);
  }

  /** The line of the program in which something went wrong, with its place. */
  function snippet(node) {
    const { line, column } = node.data;
    const program = node.data.program ?? at(node.parent)?.data.program;
    if (typeof line !== "number" || typeof column !== "number") return null;
    const source = typeof program === "string" ? program.split("\n")[line - 1] : undefined;
    if (source === undefined) return h("p.muted", null, `at ${line}:${column}`);
    const margin = `${line} │ `;
    return h("pre.code.snippet", { tabindex: 0, "aria-label": `at ${line}:${column}` },
      h("code", null, h("span.muted", null, margin), source, "\n", h("span.caret", null, `${" ".repeat(margin.length + Math.max(0, column - 1))}^`)));
  }

  /** When a call was made and how long it took, as a bar within the time of what is around it. */
  function bar(node, around) {
    const from = around.start;
    const whole = Math.max(1, (around.end ?? Date.now()) - from);
    const [start, end] = [node.start - from, (node.end ?? Date.now()) - from].map((ms) => Math.max(0, Math.min(1, ms / whole)));
    return h("span.waterfall", { title: `after ${duration(Math.max(0, node.start - from))}, for ${took(node)}` },
      h("i", { dataset: { status: statusOf(node) }, style: { left: `${start * 100}%`, width: `${(end - start) * 100}%` } }));
  }

  function call(node, around) {
    const status = statusOf(node);
    const inner = below(node, "run");
    const open = state.isOpen(place(node), inner.length > 0 || (status === "error" && node.depth < 8));
    const gave = status === "error" ? brief(node.data.error ?? node.data.reason, 120) : brief(node.data.result, 120);
    const body = h("div.call-body");
    const fill = () => {
      if (body.childElementCount > 0) return;
      if (node.data.args !== undefined) body.append(section("Arguments", value(node, "args", "arguments")));
      if (status === "error") body.append(failure(node) ?? "");
      // An agent inside the call tells its answer itself.
      if (node.data.result !== undefined && inner.length === 0) body.append(section("Result", value(node, "result", "result", written)));
      for (const run of inner) body.append(agent(run));
      body.append(h("p.note", null, [
        node.data.exposure_layer === "native" ? "called by the model" : null,
        node.data.cached === true ? "from the cache" : null,
        typeof node.data.result_bytes === "number" ? `${exact(node.data.result_bytes)} bytes` : null,
        `span ${node.id}`].filter(Boolean).join(" · ")));
    };
    const details = h("details.call", { open, dataset: { span: place(node), status } },
      h("summary", null,
        h("span.dot", { dataset: { status } }),
        h("code.call-name", null, nameOf(node)),
        h("code.call-args", null, brief(node.data.args, 120)),
        h("span.call-gave", null, status === "running" ? "…" : gave),
        bar(node, around),
        h("span.call-figures", null,
          node.data.cached === true ? h("span.kind", null, "cached") : null,
          inner.length > 0 ? h("span.kind", null, "agent") : null,
          typeof node.data.result_bytes === "number" ? h("span", null, size(node.data.result_bytes)) : null, h("span", null, took(node)))),
      body);
    details.addEventListener("toggle", () => {
      state.setOpen(place(node), details.open);
      if (details.open) fill();
    });
    if (open) fill();
    return details;
  }

  /** Calls inside a span, in order; those that were made together in one frame. */
  function calls(node) {
    const made = node.children.map(at).filter((child) => child && (kindOf(child) === "tool" || child.subject === "pmap"));
    return made.map((child) => child.subject === "pmap"
      ? h("div.together", { dataset: { span: place(child) } },
        h("div.together-head", null, h("span", null, `${exact(child.data.count ?? child.children.length)} in parallel`), h("span.muted", null, took(child))),
        child.children.map(at).filter(Boolean).map((one) => call(one, node)))
      : call(child, node));
  }

  function prints(node) {
    const lines = node.data.prints;
    if (!Array.isArray(lines) || lines.length === 0) return lines !== undefined && !Array.isArray(lines) ? section("Prints", value(node, "prints", "prints")) : null;
    return section("Prints", h("pre.console", { tabindex: 0, "aria-label": "prints" }, h("code", null, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"))));
  }

  /** What the model was sent, folded. */
  function prompt(turn) {
    const [asked] = below(turn, "llm");
    const made = asked && asks.get(place(asked));
    if (!made) return null;
    const { messages } = asked.data;
    const details = h("details.reply", null, h("summary", null, h("span", null, "Sent to the model"),
      h("span.muted", null, [typeof messages === "number" ? plural(messages, "message") : null, asked.input_tokens ? `${exact(asked.input_tokens)} tokens` : null, made.before.length > 0 ? `${exact(made.sent.length)} new` : null].filter(Boolean).join(" · "))));
    details.addEventListener("toggle", () => details.open && details.childElementCount === 1 && details.append(request(made)));
    return details;
  }

  function model(turn) {
    const [asked] = below(turn, "llm");
    if (!asked) return null;
    if (asked.end === null) return h("p.note.waiting", null, `Waiting for ${asked.model ?? "the model"} …`);
    if (asked.status === "error") return section("Model", failure(asked));
    // A reply is worth a look of its own unless it is just the program.
    const reply = asked.data.response;
    if (reply === undefined) return null;
    const details = h("details.reply", { open: state.isOpen(place(asked), turn.data.program === undefined && turn.end === null), dataset: { span: place(asked) } },
      h("summary", null, h("span", null, "Reply"), h("span.muted", null, [asked.model, asked.output_tokens ? `${exact(asked.output_tokens)} tokens` : null, took(asked)].filter(Boolean).join(" · "))),
      value(asked, "response", "reply"));
    details.addEventListener("toggle", () => state.setOpen(place(asked), details.open));
    return details;
  }

  function turn(node) {
    const [program] = below(node, "lisp.execute");
    const programs = below(node, "lisp.execute");
    const made = [...calls(node), ...programs.flatMap(calls)];
    const failed = statusOf(node) === "error";
    // What the last turn gave is the answer of the run, which is told once.
    const answers = node.data.result_preview !== undefined && JSON.stringify(node.data.result_preview) === JSON.stringify(at(node.parent)?.data.return);
    return h("article.turn", { dataset: { span: place(node), status: statusOf(node) }, "aria-label": nameOf(node), tabindex: -1 },
      h("header.turn-head", null,
        h("span.dot", { dataset: { status: statusOf(node) } }),
        h("h3", null, nameOf(node)),
        TYPES[node.data.type] ? h("span.kind", null, TYPES[node.data.type]) : null,
        facts(node, program)),
      prompt(node),
      model(node),
      node.data.program === undefined || node.data.program === null ? null : section("Program", value(node, "program", "program")),
      made.length > 0 ? section("Calls", h("div.calls", null, made)) : null,
      prints(node),
      programs.map((one) => (one.status === "error" ? failure(one) : null)),
      node.data.result_preview === undefined || answers || (failed && program?.status === "error") ? null : section(failed ? "Feedback" : "Result", value(node, "result_preview", "result", written)),
      node.data.raw_response === undefined ? null : section("Reply", value(node, "raw_response", "reply")));
  }

  function agent(node) {
    const status = statusOf(node);
    return h("section.agent", { dataset: { span: place(node), status } },
      h("header.agent-head", null,
        h("span.dot", { dataset: { status } }), h("h3", null, nameOf(node)), h("span.kind", null, "agent"),
        node.model ? h("span.muted", null, node.model) : null, facts(node)),
      node.data.mission === undefined ? null : h("p.mission", null, brief(node.data.mission, 400)),
      inside(node), ending(node));
  }

  function ending(node, top = false) {
    if (node.end === null) return null;
    if (statusOf(node) === "error") return failure(node);
    return node.data.return === undefined ? null : h("div.answer", null, h("section.part", null, h(top ? "h2.label" : "h4", null, "Answer"), value(node, "return", "answer", written)));
  }

  const inside = (node) => h("div.turns", null, below(node, "turn").map(turn));

  /** A span that is no agent's: a program, a request. */
  function plain(node) {
    const inner = node.children.map(at).filter((child) => child && !["tool", "parallel"].includes(kindOf(child)));
    const made = calls(node);
    return h("article.turn", { dataset: { span: place(node), status: statusOf(node) }, "aria-label": nameOf(node), tabindex: -1 },
      h("header.turn-head", null, h("span.dot", { dataset: { status: statusOf(node) } }), h("h3", null, nameOf(node)), facts(node)),
      ["program", "query", "args", "context"].map((field) => (node.data[field] === undefined ? null : section(field === "program" ? "Program" : field, value(node, field, field)))),
      made.length > 0 ? section("Calls", h("div.calls", null, made)) : null,
      prints(node), failure(node),
      ["result", "return"].map((field) => (node.data[field] === undefined ? null : section("Result", value(node, field, "result", written)))),
      inner.map(any));
  }

  const any = (node) => (node.subject === "run" ? agent(node) : node.subject === "turn" ? turn(node) : plain(node));

  const roots = state.roots.map(at).filter(Boolean);
  const [first] = roots;
  const isAgent = first?.subject === "run";
  return {
    // The first thing that people want to know.
    answer: isAgent ? ending(first, true) : null,
    story: h("div.story", null, roots.map((root, nth) => (isAgent && nth === 0 ? h("div", { dataset: { span: place(root) } }, inside(root)) : any(root)))),
  };
}
