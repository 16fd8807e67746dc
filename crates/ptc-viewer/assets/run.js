// One run: its sums, the flame, the outline and the turns; it follows a run that goes on.

import * as api from "./api.js";
import { fill, h, settled } from "./dom.js";
import { flame, prefersTime } from "./flame.js";
import { agents } from "./agents.js";
import { ago, dollars, duration, exact, moment, number, size } from "./format.js";
import { outline } from "./outline.js";
import { statusOf, turns } from "./turns.js";
import { brief, payload } from "./value.js";

const WORDS = { ok: "Succeeded", error: "Failed", running: "Running" };

export async function run(file) {
  const first = await api.run(file);
  const openness = new Map();
  const state = {
    ...first, live: first.summary.status === "running", selected: null, matches: null, search: "", byTime: null,
    isOpen: (span, otherwise) => openness.get(span) ?? otherwise,
    setOpen: (span, open) => openness.set(span, open),
    load: (span, field) => api.value(state.file, span, field),
  };
  const head = h("header.run-head");
  const flames = h("section.flames", { "aria-label": "Flame" });
  const lines = h("nav.outline", { "aria-label": "Outline" });
  const story = h("div.story-box");
  const answer = h("section.ending", { "aria-label": "What came of it" });
  const tree = h("section.agents");
  const found = h("span.muted.found", { role: "status" });
  const field = h("input.search", {
    type: "search", placeholder: "Search this run …", "aria-label": "Search this run",
    oninput: settled(150, () => search(field.value)),
    onkeydown: (event) => event.key === "Enter" && (event.preventDefault(), jump(event.shiftKey ? -1 : 1)),
  });

  function drawHead() {
    const { summary } = state;
    const figure = (name, value, title) => h("div", { title }, h("dt", null, name), h("dd", null, value));
    const root = state.nodes[state.roots[0]];
    const cost = root?.data.cost_usd;
    const kept = root?.data.bytes_kept;
    fill(head,
      h("p.crumb", null, h("a", { href: "#/runs" }, "Runs"), h("span.muted", null, " / "), h("span.muted", null, state.file)),
      h("div.title", null, h("h1", null, summary.label || "run"),
        h("span.pill", { dataset: { status: summary.status } }, state.live ? "Running" : WORDS[summary.status] ?? summary.status),
        summary.reason ? h("span.reason", null, summary.reason) : null),
      summary.mission ? h("div.mission", null, typeof summary.mission === "string" && summary.mission.length < 600 ? summary.mission : mission(summary.mission)) : null,
      h("dl.sums", null,
        figure("turns", number(summary.turns)), figure("calls", number(summary.tool_calls)),
        summary.agents > 1 ? figure("agents", number(summary.agents)) : null,
        figure("tokens", number(summary.input_tokens + summary.output_tokens), `${exact(summary.input_tokens)} in, ${exact(summary.output_tokens)} out`),
        figure("fuel", number(summary.fuel), `${exact(summary.fuel)} units of work`),
        typeof kept === "number" ? figure("kept from the model", size(kept), `${exact(kept)} bytes that programs saw and no model did`) : figure("results", size(summary.bytes)),
        typeof cost === "number" ? figure("cost", dollars(cost)) : null,
        figure("time", duration(state.live ? Math.max(0, Date.now() - summary.started) : summary.duration_ms)),
        figure("started", ago(summary.started), moment(summary.started)),
        summary.model ? figure("model", summary.model) : null),
      h("p.actions", null,
        h("a", { href: `/api/runs/${encodeURIComponent(state.file)}/raw`, download: state.file }, "Download the trace"),
        h("a", { href: `#/diff/${encodeURIComponent(state.file)}` }, "Compare with another run")),
      notices());
  }

  function mission(value) {
    return typeof value === "object" && typeof value.preview === "string" ? `${value.preview}` : brief(value, 600);
  }

  function notices() {
    const { summary } = state;
    const told = [];
    if (summary.policy && summary.policy !== "full") told.push(`Payloads were traced as ${summary.policy}; use --trace-payload full to keep them whole.`);
    if (summary.lost > 0) told.push(`${exact(summary.lost)} events were dropped or left out.`);
    if (state.bad_lines > 0) told.push(`${exact(state.bad_lines)} lines of the file are no events.`);
    if (state.torn && !state.live) told.push("The last line of the file has no end.");
    if (state.cut) told.push("The file is longer than what is shown.");
    return told.length > 0 ? h("p.note.notices", null, told.join(" ")) : null;
  }

  function drawFlame() {
    const byTime = state.byTime ?? prefersTime(state.summary);
    const choice = (label, value) => h("button.chip", { type: "button", "aria-pressed": String(byTime === value), onclick: () => { state.byTime = value; drawFlame(); } }, label);
    fill(flames, h("div.flames-head", null, h("h2", null, "Flame"), h("div.chips", null, choice("Time", true), choice("Steps", false))), flame(state, byTime, choose));
  }

  function drawStory() {
    const made = turns(state);
    fill(answer, made.answer);
    fill(tree, agents(state, choose));
    fill(story, state.nodes.length > 0 ? made.story : h("div.empty", null, h("h2", null, "Nothing here yet")));
    if (state.loose.length > 0) {
      story.append(h("details.loose", null, h("summary", null, `${state.loose.length} events outside of spans`),
        state.loose.map((record) => h("div", null, h("code", null, record.event), payload(record.data ?? {})))));
    }
    mark(false);
  }

  function draw() {
    drawHead();
    drawFlame();
    fill(lines, outline(state, choose));
    drawStory();
  }

  /** The nearest span around one that has an element of its own. */
  function elementOf(index) {
    for (let at = index; at !== null && at !== undefined; at = state.nodes[at]?.parent) {
      const element = story.querySelector(`[data-span="${at}"]`);
      if (element) return element;
    }
    return null;
  }

  function mark(scroll) {
    for (const old of story.querySelectorAll(".selected")) old.classList.remove("selected");
    for (const part of document.querySelectorAll("[data-line], [data-bar]")) {
      const own = part.dataset.line ?? part.dataset.bar;
      if (Number(own) === state.selected) {
        part.setAttribute("aria-current", "true");
        if (scroll) part.scrollIntoView({ block: "nearest" });
      } else part.removeAttribute("aria-current");
    }
    if (state.selected === null) return;
    const element = elementOf(state.selected);
    element?.classList.add("selected");
    if (scroll) element?.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  /** Selects a span and opens everything around it. */
  function choose(index) {
    state.selected = index;
    const around = [];
    for (let at = index; at !== null && at !== undefined; at = state.nodes[at]?.parent) around.push(at);
    for (const at of around.reverse()) {
      const element = story.querySelector(`details[data-span="${at}"]`);
      if (element && !element.open) {
        state.setOpen(at, true);
        element.open = true;
        element.dispatchEvent(new Event("toggle"));
      }
    }
    mark(true);
  }

  function step(by, wanted) {
    const order = [...lines.querySelectorAll("[data-line]")].map((line) => Number(line.dataset.line)).filter((index) => wanted(state.nodes[index], index));
    if (order.length === 0) return;
    const at = order.indexOf(state.selected);
    const nearest = at >= 0 ? at + by : by > 0 ? order.findIndex((index) => index > (state.selected ?? -1)) : order.findLastIndex((index) => index < (state.selected ?? Infinity));
    choose(order[Math.max(0, Math.min(order.length - 1, nearest < 0 ? 0 : nearest))]);
  }

  const searched = (node) => `${node.subject} ${node.agent ?? ""} ${node.tool ?? ""} ${node.model ?? ""} ${node.id} ${JSON.stringify(node.data)}`.toLowerCase();
  function search(wanted) {
    state.search = wanted.trim().toLowerCase();
    // What a text looks like inside JSON is what is looked for.
    const inside = JSON.stringify(state.search).slice(1, -1);
    state.matches = state.search ? new Set(state.nodes.flatMap((node, index) => (searched(node).includes(inside) ? [index] : []))) : null;
    fill(found, state.matches === null ? "" : state.matches.size === 1 ? "1 span" : `${exact(state.matches.size)} spans`);
    drawFlame();
    fill(lines, outline(state, choose));
    mark(false);
  }
  const jump = (by) => state.matches !== null && step(by, (_, index) => state.matches.has(index));

  function patch(news) {
    for (const [index, node] of news.nodes) state.nodes[index] = node;
    for (const name of ["file", "summary", "roots", "loose", "bad_lines", "torn", "cut"]) state[name] = news[name];
    if (news.over) {
      state.live = false;
      stop?.();
      history.replaceState(null, "", `#/run/${encodeURIComponent(state.file)}`);
    }
    draw();
    if (state.search) search(state.search);
  }

  let stop = null;
  draw();
  if (state.live) stop = api.followRun(file, patch);
  const failed = (node) => statusOf(node) === "error";
  /** Whether a failure began here and not further inside. */
  const originates = (node) => failed(node) && !node.children.some((child) => state.nodes[child]?.subject !== "lisp.execute" && state.nodes[child] && failed(state.nodes[child]));
  const isTurn = (node) => node.subject === "turn" || node.subject === "run";
  return {
    title: first.summary.label || "run",
    close: () => stop?.(),
    keys: [
      { keys: "j ArrowDown", what: "Next turn", run: () => step(1, isTurn) },
      { keys: "k ArrowUp", what: "Turn before", run: () => step(-1, isTurn) },
      { keys: "l ArrowRight", what: "Next span", run: () => step(1, () => true) },
      { keys: "h ArrowLeft", what: "Span before", run: () => step(-1, () => true) },
      { keys: "e", what: "Next failure", run: () => step(1, originates) },
      { keys: "/", what: "Search this run", run: () => field.focus() },
      { keys: "n", what: "Next match", run: () => jump(1) },
      { keys: "N", what: "Match before", run: () => jump(-1) },
      { keys: "Escape u", what: "All runs", run: () => (location.hash = "#/runs") },
    ],
    node: h("section.page.run-page", null, head, answer, tree, flames,
      h("div.columns", null, h("aside.side", null, h("div.side-search", null, field, found), lines), story)),
  };
}
