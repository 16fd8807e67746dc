// The list of runs.

import * as api from "./api.js";
import { fill, h, settled } from "./dom.js";
import { ago, duration, moment, number, plural, size } from "./format.js";
import { brief } from "./value.js";

const KINDS = { agent_run: "agent", mcp_call: "MCP call", eval: "program" };
const FILTERS = [
  ["all", "All"],
  ["running", "Running"],
  ["ok", "Succeeded"],
  ["error", "Failed"],
];

export async function runs(search = "") {
  const state = { search, filter: "all", found: [], total: 0, dir: "", at: -1 };
  const table = h("div.runs", { role: "list", "aria-label": "Runs" });
  const head = h("p.muted.lede");
  const chips = h("div.chips", { role: "group", "aria-label": "Status" });
  const field = h("input.search", {
    type: "search", placeholder: "Search missions, models, values …", "aria-label": "Search runs", value: search,
    oninput: settled(180, () => look()),
    onkeydown: (event) => event.key === "Enter" && open(0),
  });

  const visible = () => state.found.filter((run) => state.filter === "all" || run.summary.status === state.filter);
  let asking = null;
  async function look() {
    state.search = field.value.trim();
    history.replaceState(null, "", state.search ? `#/runs?q=${encodeURIComponent(state.search)}` : "#/runs");
    asking?.abort();
    asking = new AbortController();
    try {
      const { runs: found, total, dir } = await api.runs(state.search, asking.signal);
      Object.assign(state, { found, total, dir });
      draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(head, `The list cannot be read: ${error.message}`);
    }
  }

  function draw() {
    const shown = visible();
    state.at = Math.min(state.at, shown.length - 1);
    const count = (status) => state.found.filter((run) => status === "all" || run.summary.status === status).length;
    fill(head, state.search ? `${plural(state.found.length, "run")} of ${number(state.total)} with “${state.search}”, in ` : `${plural(state.total, "run")} in `, h("code", null, state.dir));
    fill(chips, FILTERS.map(([key, label]) =>
      h("button.chip", { type: "button", "aria-pressed": String(state.filter === key), onclick: () => { state.filter = key; draw(); } },
        label, h("span.muted", null, number(count(key))))));
    fill(table, shown.length ? shown.map(row) : empty());
  }

  function empty() {
    if (state.total > 0) return h("div.empty", null, h("h2", null, "Nothing found"), h("p", null, "No run fits the search and the filter."));
    return h("div.empty", null,
      h("h2", null, "No runs yet"),
      h("p", null, "Runs that are traced into this directory show up here while they go on."),
      h("pre.code", null, h("code", null, `ptc run agent.toml --input data.json --trace ${state.dir}`)));
  }

  function row({ file, summary, bytes, inside }, at) {
    const running = summary.status === "running";
    const mission = brief(summary.mission, 180);
    return h("a.run", {
      href: `#/run/${encodeURIComponent(file)}`, role: "listitem", dataset: { at, status: summary.status },
      "aria-current": at === state.at ? "true" : null,
    },
      h("span.dot", { dataset: { status: summary.status }, title: summary.status }),
      h("div.run-what", null,
        h("div.run-name", null, h("strong", null, summary.label || file),
          h("span.kind", null, KINDS[summary.kind] ?? summary.kind),
          summary.model ? h("span.muted", null, summary.model) : null,
          summary.reason ? h("span.reason", null, summary.reason) : null,
          inside ? h("span.kind", null, "found inside") : null),
        mission ? h("div.run-mission", null, mission) : null),
      h("dl.figures", null,
        figure("turns", number(summary.turns), summary.turns > 0),
        figure("calls", number(summary.tool_calls)),
        figure("tokens", number(summary.input_tokens + summary.output_tokens)),
        figure("fuel", number(summary.fuel))),
      h("div.run-when", null,
        h("span", null, running ? "running" : duration(summary.duration_ms)),
        h("span.muted", { title: `${moment(summary.started)}, ${size(bytes)}` }, ago(summary.started))));
  }

  const figure = (name, value, show = true) => h("div", null, h("dt", null, name), h("dd", null, show ? value : "–"));

  function move(by) {
    const shown = visible();
    if (shown.length === 0) return;
    state.at = Math.max(0, Math.min(shown.length - 1, state.at + by));
    for (const item of table.children) item.removeAttribute("aria-current");
    const item = table.children[state.at];
    item.setAttribute("aria-current", "true");
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
  function open(fallback = state.at) {
    const run = visible()[state.at >= 0 ? state.at : fallback];
    if (run) location.hash = `#/run/${encodeURIComponent(run.file)}`;
  }

  await look();
  const close = api.followRuns(() => look());
  return {
    title: "Runs",
    close,
    keys: [
      { keys: "j ArrowDown", what: "Next run", run: () => move(1) },
      { keys: "k ArrowUp", what: "Run before", run: () => move(-1) },
      { keys: "Enter o", what: "Open the run", run: () => open() },
      { keys: "/", what: "Search", run: () => field.focus() },
    ],
    node: h("section.page", null, h("header.page-head", null, h("div", null, h("h1", null, "Runs"), head), field), chips, table),
  };
}
