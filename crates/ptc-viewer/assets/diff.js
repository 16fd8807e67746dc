// Two runs beside each other: what they used, what they answered, and their turns with what differs.

import * as api from "./api.js";
import { fill, h } from "./dom.js";
import { ago, dollars, duration, exact } from "./format.js";
import { brief, isSummary } from "./value.js";

/** Lines beyond these are not compared. */
const LINES = 600;
const FIGURES = [
  ["Turns", (summary) => summary.turns, exact],
  ["Calls", (summary) => summary.tool_calls, exact],
  ["Tokens read", (summary) => summary.input_tokens, exact],
  ["Tokens written", (summary) => summary.output_tokens, exact],
  ["Cost", (summary) => summary.cost_usd, dollars],
  ["Fuel", (summary) => summary.fuel, exact],
  ["Time", (summary) => summary.duration_ms, duration],
];

/** A value of a trace as lines. */
function lines(value) {
  if (value === undefined || value === null) return [];
  const whole = isSummary(value) ? value.preview ?? "" : typeof value.beginning === "string" ? value.beginning : value;
  const text = (typeof whole === "string" ? whole : JSON.stringify(whole, null, 2)).trim();
  if (text === "") return [];
  // Values are one long line: broken where maps begin, their parts can be compared.
  return text.replace(/(?<=[\]}]) (?=[[{])/g, "\n").split("\n").slice(0, LINES);
}

/** The longest sequence of lines that both have decides what differs. */
export function compared(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const out = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push(["same", a[i++], j++]);
    else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) out.push(["del", a[i++]]);
    else out.push(["ins", b[j++]]);
  }
  return out;
}

const MARKS = { same: "  ", del: "- ", ins: "+ " };

function difference(title, before, after, heading = "h3") {
  const parts = compared(lines(before), lines(after));
  if (parts.length === 0) return null;
  const same = parts.every(([kind]) => kind === "same");
  const shown = h("pre.code.diff", { tabindex: 0, "aria-label": title }, h("code", null, parts.map(([kind, line]) => h(`span.${kind}`, null, `${MARKS[kind]}${line}\n`))));
  return h("section.part", null, h(heading, null, title), same ? h("details.reply", null, h("summary", null, h("span", null, "The same in both")), shown) : shown);
}

const turnsOf = (run) => {
  const root = run.nodes[run.roots[0]];
  return (root?.children ?? []).map((index) => run.nodes[index]).filter((node) => node?.subject === "turn");
};
/** What a run ended with, and what its program was if it had no turns. */
const endOf = (run) => {
  const data = run.nodes[run.roots[0]]?.data ?? {};
  return data.return ?? data.result ?? data.error;
};

function figures(first, second) {
  const row = ([name, of, show]) => {
    const [a, b] = [of(first.summary), of(second.summary)];
    if (typeof a !== "number" && typeof b !== "number") return null;
    const change = a > 0 && typeof b === "number" ? Math.round((b / a - 1) * 100) : null;
    const cell = (value) => h("td.number", null, typeof value === "number" ? show(value) : "–");
    return h("tr", null, h("th", { scope: "row" }, name), cell(a), cell(b), h("td.number", null, a === b ? "same" : change === null ? "" : `${change > 0 ? "+" : ""}${change} %`));
  };
  const title = (run, mark) => h("th", { scope: "col" }, h("a", { href: `#/run/${encodeURIComponent(run.file)}` }, `${mark} ${run.summary.label || run.file}`), h("div.muted", null, [run.summary.model, ago(run.summary.started)].filter(Boolean).join(" · ")));
  return h("div.table-box", { tabindex: 0, role: "group", "aria-label": "Figures" },
    h("table.rows", null, h("thead", null, h("tr", null, h("td"), title(first, "−"), title(second, "+"), h("th", { scope: "col" }, "change"))), h("tbody", null, FIGURES.map(row))));
}

/** Runs to choose the second one from, those like the first before others. */
async function choices(file) {
  const [{ runs }, first] = await Promise.all([api.runs(""), api.run(file)]);
  const like = (run) => run.summary.label === first.summary.label;
  const others = runs.filter((run) => run.file !== file).sort((a, b) => like(b) - like(a) || b.summary.started - a.summary.started);
  return h("section.page", null,
    h("h1", null, `Compare ${first.summary.label || file} with`),
    others.length === 0 ? h("p.muted.lede", null, "There is no other run.") : h("ul.choices", null, others.slice(0, 100).map((run) =>
      h("li", null, h("a", { href: `#/diff/${encodeURIComponent(file)}/${encodeURIComponent(run.file)}` }, run.summary.label || run.file),
        h("span.muted", null, ` ${[run.summary.model, run.summary.status, ago(run.summary.started), brief(run.summary.mission, 80)].filter(Boolean).join(" · ")}`)))));
}

export async function diff(file, other) {
  const keys = [{ keys: "Escape u", what: "All runs", run: () => (location.hash = "#/runs") }];
  if (!other) return { title: "Compare", node: await choices(file), keys };
  const [first, second] = await Promise.all([api.run(file), api.run(other)]);
  const [a, b] = [turnsOf(first), turnsOf(second)];
  const count = Math.max(a.length, b.length);
  const story = h("div.turns");
  const data = (run) => run.nodes[run.roots[0]]?.data ?? {};
  fill(story,
    difference("Mission", data(first).mission, data(second).mission, "h2"),
    difference("Program", data(first).program, data(second).program, "h2"),
    difference("Answer", endOf(first), endOf(second), "h2"),
    Array.from({ length: count }, (_, at) => h("article.turn", { "aria-label": `Turn ${at + 1}` }, h("h2", null, `Turn ${at + 1}`, a[at] && b[at] ? null : h("span.muted", null, a[at] ? " only in the first" : " only in the second")),
      difference("Program", a[at]?.data.program, b[at]?.data.program),
      difference("Prints", a[at]?.data.prints?.join?.("\n"), b[at]?.data.prints?.join?.("\n")),
      difference("Result", a[at]?.data.result_preview, b[at]?.data.result_preview))));
  return {
    title: "Compare", keys,
    node: h("section.page", null, h("p.crumb", null, h("a", { href: "#/runs" }, "Runs"), h("span.muted", null, " / compare")), h("h1", null, "Two runs"), figures(first, second), story),
  };
}
