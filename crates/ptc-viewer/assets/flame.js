// The run as a flame: spans beside each other in the order of time, what lies inside below, what went on at the
// same time in lanes of its own. Runs that are too short to tell times apart are drawn by steps instead.

import { h } from "./dom.js";
import { duration } from "./format.js";
import { kindOf, nameOf, statusOf, took } from "./turns.js";

const ROW = 22;
/** Spans beyond this are not drawn. */
const MOST = 2_000;
/** Below this a millisecond is too coarse to tell anything. */
const SHORT_MS = 40;
/** Rows that are drawn. */
const ROWS = 60;

/** Places of spans: {index, from, to, row}, from and to between 0 and 1. */
export function layout(state, byTime) {
  const shown = state.nodes.slice(0, MOST);
  const start = Math.min(...shown.map((node) => node.start));
  const last = Math.max(...shown.map((node) => node.end ?? node.start), start + 1, state.live ? Date.now() : 0);
  const spans = byTime
    ? shown.map((node) => [node.start, node.end ?? last])
    : steps(shown, state.roots);
  const total = byTime ? last - start : Math.max(1, ...spans.map(([, to]) => to));
  const origin = byTime ? start : 0;
  const placed = [];
  const height = new Array(shown.length).fill(1);
  // Children come after their parents, so one pass from the end knows how tall everything below is.
  const lanes = new Array(shown.length);
  for (let index = shown.length - 1; index >= 0; index -= 1) {
    lanes[index] = stack(shown[index].children.filter((child) => child < shown.length), spans, height);
    height[index] = 1 + lanes[index].height;
  }
  const top = stack(state.roots.filter((root) => root < shown.length), spans, height);
  const open = top.places.map(([index, lane]) => [index, lane]);
  while (open.length > 0) {
    const [index, row] = open.pop();
    const [from, to] = spans[index];
    placed.push({ index, row, from: (from - origin) / total, to: (to - origin) / total });
    for (const [child, lane] of lanes[index].places) open.push([child, row + 1 + lane]);
  }
  placed.sort((a, b) => a.index - b.index);
  return { placed, rows: top.height, total };
}

/** Puts spans into lanes so that none cover each other. */
function stack(children, spans, height) {
  const lanes = [];
  const chosen = [];
  for (const child of children) {
    const [from, to] = spans[child];
    let lane = lanes.find((known) => known.end <= from);
    if (!lane) {
      lane = { end: 0, height: 0 };
      lanes.push(lane);
    }
    lane.end = Math.max(to, from + Number.EPSILON);
    lane.height = Math.max(lane.height, height[child]);
    chosen.push([child, lane]);
  }
  let row = 0;
  for (const lane of lanes) {
    lane.row = row;
    row += lane.height;
  }
  return { places: chosen.map(([child, lane]) => [child, lane.row]), height: row };
}

/** Widths by steps: a leaf is one step, parallel calls share theirs. */
function steps(nodes, roots) {
  const width = new Array(nodes.length).fill(1);
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const inner = nodes[index].children.filter((child) => child < nodes.length).map((child) => width[child]);
    if (inner.length > 0) width[index] = nodes[index].subject === "pmap" ? Math.max(...inner) : inner.reduce((a, b) => a + b, 0);
  }
  const spans = nodes.map(() => [0, 1]);
  const place = (index, from) => (spans[index] = [from, from + width[index]]);
  let next = 0;
  for (const root of roots) {
    if (root < nodes.length) next = place(root, next)[1];
  }
  for (let index = 0; index < nodes.length; index += 1) {
    let [at] = spans[index];
    for (const child of nodes[index].children) {
      if (child >= nodes.length) continue;
      place(child, at);
      if (nodes[index].subject !== "pmap") at += width[child];
    }
  }
  return spans;
}

export const prefersTime = (summary) => summary.duration_ms >= SHORT_MS;

export function flame(state, byTime, choose) {
  if (state.nodes.length === 0) return h("div.flame");
  const { placed, rows, total } = layout(state, byTime);
  const bars = placed.filter(({ row }) => row < ROWS).map(({ index, row, from, to }) => {
    const node = state.nodes[index];
    const matched = state.matches === null ? null : state.matches.has(index);
    return h("button.flame-bar", {
      type: "button", tabindex: -1, title: `${nameOf(node)}, ${took(node)}`,
      dataset: { bar: index, kind: kindOf(node), status: statusOf(node), match: matched },
      "aria-current": state.selected === index ? "true" : null,
      style: { left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%`, top: `${row * ROW}px` },
      onclick: () => choose(index),
    }, h("span", null, nameOf(node)));
  });
  const marks = byTime ? [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", null, duration(part * total))) : [];
  return h("div.flame-box", null,
    h("div.flame", { style: { height: `${Math.min(rows, ROWS) * ROW}px` }, role: "group", "aria-label": "Flame of spans" }, bars),
    marks.length > 0 ? h("div.flame-axis", { "aria-hidden": "true" }, marks) : null);
}
