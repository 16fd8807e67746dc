// The list of runs: searched by the server, filtered, sorted and paged here. What is asked for stands in the address.

import * as api from "./api.js";
import { fill, h, settled } from "./dom.js";
import { ago, dollars, duration, exact, moment, number, plural, size } from "./format.js";
import { brief } from "./value.js";

const KINDS = { agent_run: "agent", mcp_call: "MCP call", eval: "program" };
const OUTCOMES = [
  ["", "All"],
  ["running", "Running"],
  ["ok", "Succeeded"],
  ["error", "Failed"],
];
/** Runs of a page. */
const PAGE = 50;
/** Columns by which runs are sorted: name, title, and the number behind it. */
const COLUMNS = [
  ["turns", "Turns", ({ summary }) => summary.turns],
  ["calls", "Calls", ({ summary }) => summary.tool_calls],
  ["tokens", "Tokens", ({ summary }) => summary.input_tokens + summary.output_tokens],
  ["cost", "Cost", ({ summary }) => summary.cost_usd ?? -1],
  ["time", "Time", ({ summary }) => summary.duration_ms],
  ["started", "Started", ({ summary }) => summary.started],
];

const day = (ms) => new Date(ms).toLocaleDateString("en-CA");
/** What to call a run: programs of the command line have no name. */
const nameOf = ({ file, summary }) => (summary.label === "-e" ? brief(summary.mission, 60) || "-e" : summary.label || file);
/** What runs are filtered by, and how that is read from one. */
const FILTERS = {
  agent: nameOf,
  model: ({ summary }) => summary.model ?? "",
  day: ({ summary }) => day(summary.started),
};

/** What is asked for, from the address. */
function asked() {
  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const text = (name) => given.get(name) ?? "";
  const sort = text("sort") || "-started";
  return {
    q: text("q"), outcome: text("outcome"), agent: text("agent"), model: text("model"), day: text("day"),
    sort: sort.replace(/^-/, ""), down: sort.startsWith("-"), page: Math.max(1, Number(text("page")) || 1),
  };
}

function address(state) {
  const given = new URLSearchParams();
  for (const name of ["q", "outcome", "agent", "model", "day"]) if (state[name]) given.set(name, state[name]);
  const sort = `${state.down ? "-" : ""}${state.sort}`;
  if (sort !== "-started") given.set("sort", sort);
  if (state.page > 1) given.set("page", state.page);
  const text = given.toString();
  return text ? `#/runs?${text}` : "#/runs";
}

export async function runs() {
  const state = { ...asked(), found: [], total: 0, dir: "", at: -1, chosen: [] };
  const head = h("p.muted.lede");
  const chips = h("div.chips", { role: "group", "aria-label": "Outcome" });
  const selects = h("div.selects");
  const totals = h("p.totals", { role: "status" });
  const compare = h("button.quiet.compare", { type: "button", disabled: true, onclick: () => (location.hash = `#/diff/${state.chosen.map(encodeURIComponent).join("/")}`) });
  const box = h("div.runs");
  const pages = h("nav.pages", { "aria-label": "Pages of runs" });
  const field = h("input.search", {
    type: "search", placeholder: "Search missions, models, values …", "aria-label": "Search runs", value: state.q,
    oninput: settled(180, () => look()),
    onkeydown: (event) => event.key === "Enter" && open(0),
  });

  const fits = (run, but) => Object.entries(FILTERS).every(([name, of]) => name === but || !state[name] || of(run) === state[name]);
  function visible() {
    const [, , of] = COLUMNS.find(([name]) => name === state.sort) ?? COLUMNS.at(-1);
    const shown = state.found.filter((run) => fits(run) && (!state.outcome || run.summary.status === state.outcome));
    return shown.sort((a, b) => (of(a) - of(b)) * (state.down ? -1 : 1));
  }
  const onPage = () => visible().slice((state.page - 1) * PAGE, state.page * PAGE);

  let asking = null;
  async function look() {
    const wanted = field.value.trim();
    if (wanted !== state.q) state.page = 1;
    state.q = wanted;
    asking?.abort();
    asking = new AbortController();
    try {
      const { runs: found, total, dir } = await api.runs(state.q, asking.signal);
      Object.assign(state, { found, total, dir });
      draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(head, `The list cannot be read: ${error.message}`);
    }
  }

  function change(what) {
    Object.assign(state, { page: 1, at: -1 }, what);
    draw();
  }

  function draw() {
    const all = visible();
    state.page = Math.max(1, Math.min(state.page, Math.ceil(all.length / PAGE)));
    history.replaceState(null, "", address(state));
    fill(head, state.q ? `${plural(state.found.length, "run")} of ${number(state.total)} with “${state.q}”, in ` : `${plural(state.total, "run")} in `, h("code", null, state.dir));
    const within = state.found.filter((run) => fits(run));
    const count = (outcome) => within.filter((run) => !outcome || run.summary.status === outcome).length;
    fill(chips, OUTCOMES.map(([key, label]) =>
      h("button.chip", { type: "button", "aria-pressed": String(state.outcome === key), onclick: () => change({ outcome: key }) },
        label, h("span.muted", null, number(count(key))))));
    fill(selects, Object.keys(FILTERS).map(select));
    fill(totals, sums(all));
    const shown = onPage();
    state.at = Math.min(state.at, shown.length - 1);
    fill(box, shown.length > 0 ? table(shown) : empty());
    drawPages(all.length);
    drawCompare();
  }

  function select(name) {
    const of = FILTERS[name];
    const counts = new Map();
    for (const run of state.found) if (fits(run, name) && of(run)) counts.set(of(run), (counts.get(of(run)) ?? 0) + 1);
    if (state[name] && !counts.has(state[name])) counts.set(state[name], 0);
    const options = [...counts].sort(([a], [b]) => (name === "day" ? (a < b ? 1 : -1) : a.localeCompare(b)));
    return h("label.select", null, h("span", null, name[0].toUpperCase() + name.slice(1)),
      h("select", { onchange: (event) => change({ [name]: event.target.value }) },
        h("option", { value: "" }, "any"),
        options.map(([value, found]) => h("option", { value, selected: value === state[name] }, `${value} (${found})`))));
  }

  function sums(all) {
    const sum = (of) => all.reduce((total, run) => total + of(run.summary), 0);
    const failed = all.filter((run) => run.summary.status === "error").length;
    const cost = sum((summary) => summary.cost_usd ?? 0);
    return [plural(all.length, "run"), failed > 0 ? `${number(failed)} failed` : null, plural(sum((summary) => summary.turns), "turn"), plural(sum((summary) => summary.tool_calls), "call"),
      `${number(sum((summary) => summary.input_tokens + summary.output_tokens))} tokens`, cost > 0 ? dollars(cost) : null, duration(sum((summary) => summary.duration_ms))].filter(Boolean).join(" · ");
  }

  function empty() {
    if (state.total > 0) return h("div.empty", null, h("h2", null, "Nothing found"), h("p", null, "No run fits the search and the filters."));
    return h("div.empty", null,
      h("h2", null, "No runs yet"),
      h("p", null, "Runs that are traced into this directory show up here while they go on."),
      h("pre.code", { tabindex: 0 }, h("code", null, `ptc run agent.toml --input data.json --trace ${state.dir}`)));
  }

  function header([name, title]) {
    const sorted = state.sort === name;
    return h(`th.c-${name}`, { scope: "col", "aria-sort": sorted ? (state.down ? "descending" : "ascending") : null },
      h("button.sort", { type: "button", onclick: () => change({ sort: name, down: sorted ? !state.down : true }) }, title, h("span", { "aria-hidden": "true" }, sorted ? (state.down ? " ↓" : " ↑") : "")));
  }

  const table = (shown) => h("table.run-table", null,
    h("thead", null, h("tr", null, h("th.c-run", { scope: "col" }, "Run"), COLUMNS.map(header), h("th.c-compare", { scope: "col" }, "Compare"))),
    h("tbody", null, shown.map(row)));

  function row(run, at) {
    const { file, summary, bytes, inside } = run;
    const mission = brief(summary.mission, 180);
    const name = nameOf(run);
    const go = `#/run/${encodeURIComponent(file)}`;
    const figure = (key, value) => h(`td.c-${key}.number`, null, value);
    return h("tr.run", {
      dataset: { at, status: summary.status }, "aria-current": at === state.at ? "true" : null,
      onclick: (event) => !event.target.closest("a, input, label") && !getSelection().toString() && (location.hash = go),
    },
      h("td.c-run", null,
        h("div.run-name", null,
          h("span.dot", { dataset: { status: summary.status }, role: "img", "aria-label": summary.status, title: summary.status }),
          h("a", { href: go }, h("strong", null, name)),
          h("span.kind", null, KINDS[summary.kind] ?? summary.kind),
          summary.model ? h("span.muted", null, summary.model) : null,
          summary.reason ? h("span.reason", null, summary.reason) : null,
          inside ? h("span.kind", null, "found inside") : null),
        mission && mission !== name ? h("div.run-mission", null, mission) : null),
      figure("turns", summary.turns > 0 ? number(summary.turns) : "–"),
      figure("calls", number(summary.tool_calls)),
      figure("tokens", number(summary.input_tokens + summary.output_tokens)),
      figure("cost", typeof summary.cost_usd === "number" ? dollars(summary.cost_usd) : "–"),
      figure("time", summary.status === "running" ? "running" : duration(summary.duration_ms)),
      h("td.c-started.number", { title: `${moment(summary.started)}, ${size(bytes)}` }, ago(summary.started)),
      h("td.c-compare", null, h("input", { type: "checkbox", "aria-label": `Compare ${name}`, checked: state.chosen.includes(file), onchange: () => choose(file) })));
  }

  function choose(file) {
    const chosen = state.chosen.filter((other) => other !== file);
    state.chosen = chosen.length < state.chosen.length ? chosen : [...chosen, file].slice(-2);
    for (const mark of box.querySelectorAll(".run input")) mark.checked = state.chosen.includes(onPage()[mark.closest(".run").dataset.at]?.file);
    drawCompare();
  }

  function drawCompare() {
    const left = 2 - state.chosen.length;
    compare.disabled = left > 0;
    fill(compare, left === 0 ? "Compare both runs" : left === 1 ? "Choose one more to compare" : "Choose two to compare");
  }

  function drawPages(count) {
    const last = Math.ceil(count / PAGE);
    const go = (page) => {
      state.page = page;
      state.at = -1;
      draw();
      scrollTo(0, 0);
    };
    fill(pages, last <= 1 ? null : [
      h("button.quiet", { type: "button", disabled: state.page <= 1, onclick: () => go(state.page - 1) }, "Newer"),
      h("span.muted", null, `${exact((state.page - 1) * PAGE + 1)} to ${exact(Math.min(count, state.page * PAGE))} of ${exact(count)}`),
      h("button.quiet", { type: "button", disabled: state.page >= last, onclick: () => go(state.page + 1) }, "Older")]);
    if (last > 1 && state.sort !== "started") {
      const [newer, , older] = pages.children;
      fill(newer, "Before");
      fill(older, "Next");
    }
  }

  function move(by) {
    const rows = box.querySelectorAll(".run");
    if (rows.length === 0) return;
    state.at = Math.max(0, Math.min(rows.length - 1, state.at + by));
    for (const item of rows) item.removeAttribute("aria-current");
    const item = rows[state.at];
    item.setAttribute("aria-current", "true");
    item.querySelector("a").focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
  function open(fallback = state.at) {
    const run = onPage()[state.at >= 0 ? state.at : fallback];
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
      { keys: "c", what: "Choose it to compare", run: () => state.at >= 0 && choose(onPage()[state.at].file) },
      { keys: "/", what: "Search", run: () => field.focus() },
    ],
    node: h("section.page", null,
      h("header.page-head", null, h("div", null, h("h1", null, "Runs"), head), field),
      h("div.filters", null, chips, selects), h("div.totals-line", null, totals, compare), box, pages),
  };
}
