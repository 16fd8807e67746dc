// The playground: a program, its data, and what came of it.

import * as api from "./api.js";
import { fill, h } from "./dom.js";
import { exact, size } from "./format.js";
import { highlight } from "./highlight.js";
import { payload, text } from "./value.js";

const SAMPLES = [
  {
    name: "Orders",
    data: {
      orders: [
        { id: 1, region: "north", status: "delivered", total: 120.5 },
        { id: 2, region: "south", status: "open", total: 80 },
        { id: 3, region: "north", status: "delivered", total: 42 },
        { id: 4, region: "west", status: "delivered", total: 310.25 },
        { id: 5, region: "south", status: "delivered", total: 99.9 },
      ],
    },
    program: ";; Revenue of delivered orders by region, the largest first.\n(->> data/orders\n     (filter #(= \"delivered\" (:status %)))\n     (group-by :region)\n     (map (fn [[region orders]]\n            {:region  region\n             :orders  (count orders)\n             :revenue (sum-by :total orders)}))\n     (sort-by :revenue >))",
  },
  {
    name: "Logs",
    data: {
      lines: [
        "2026-03-01T10:00:01Z INFO  start",
        "2026-03-01T10:00:07Z ERROR db: timeout after 5000 ms",
        "2026-03-01T10:00:09Z WARN  retry 1",
        "2026-03-01T10:00:15Z ERROR db: timeout after 5000 ms",
        "2026-03-01T10:00:21Z INFO  done",
      ],
    },
    program: ";; Lines per level, and the messages of errors.\n(def parsed\n  (map (fn [line]\n         (let [[_ at level message] (re-matches #\"(\\S+) (\\S+)\\s+(.*)\" line)]\n           {:at at :level level :message message}))\n       data/lines))\n\n(println \"lines:\" (count parsed))\n\n{:levels (frequencies (map :level parsed))\n :errors (distinct (map :message (filter #(= \"ERROR\" (:level %)) parsed)))}",
  },
  {
    name: "Primes",
    data: {},
    program: ";; Lazy sequences work; so do limits: try (range) in place of the take.\n(defn prime? [n]\n  (not-any? #(zero? (mod n %))\n            (take-while #(<= (* % %) n) (range 2 n))))\n\n(take 20 (filter prime? (iterate inc 2)))",
  },
];

/** A field for code: what is typed lies over the same text in colours. */
function editor(label, rows) {
  const shown = h("code");
  const under = h("pre.editor-under", { "aria-hidden": "true" }, shown);
  const field = h("textarea", { rows, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": label });
  const draw = () => fill(shown, highlight(field.value), "\n");
  field.addEventListener("input", draw);
  field.addEventListener("scroll", () => {
    under.scrollTop = field.scrollTop;
    under.scrollLeft = field.scrollLeft;
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey) {
      event.preventDefault();
      field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end");
      draw();
    }
  });
  return {
    node: h("div.editor", null, under, field),
    field,
    get text() { return field.value; },
    set text(value) { field.value = value; draw(); },
  };
}

let kept = null;

export async function playground() {
  const program = editor("Program", 16);
  const data = editor("Data", 10);
  const out = h("div.out", { role: "status", "aria-live": "polite" }, h("p.muted", null, "Run the program to see its value."));
  const go = h("button.primary", { type: "button", onclick: () => run() }, "Run", h("kbd", null, "Ctrl ↵"));
  const take = (sample) => {
    program.text = sample.program;
    data.text = JSON.stringify(sample.data, null, 2);
    fill(samples, buttons(sample.name));
  };
  const buttons = (current) => SAMPLES.map((sample) => h("button.chip", { type: "button", "aria-pressed": String(sample.name === current), onclick: () => take(sample) }, sample.name));
  const samples = h("div.chips", { role: "group", "aria-label": "Samples" });
  if (kept) {
    [program.text, data.text] = kept;
    fill(samples, buttons(null));
  } else take(SAMPLES[0]);

  const fact = (label, value) => h("span.fact", null, h("b", null, value), ` ${label}`);
  function show(answer) {
    const parts = [];
    if (answer.prints.length > 0) parts.push(h("section.part", null, h("h4", null, "Prints"), h("pre.console", { tabindex: 0 }, h("code", null, answer.prints.join("\n")))));
    if (answer.ok) {
      const failed = answer.signal === "fail";
      parts.push(h("section.part.value", { dataset: { status: failed ? "error" : "ok" } }, h("h4", null, failed ? "Failed with" : "Value"), text(answer.value, "value")));
      if (answer.json !== null && typeof answer.json === "object") parts.push(h("section.part", null, h("h4", null, "As data"), payload(answer.json)));
    } else parts.push(problem(answer.error));
    parts.push(h("div.facts", null, fact("fuel", exact(answer.fuel)), fact("live", size(answer.bytes)), fact("", `${answer.ms.toFixed(1)} ms`)));
    fill(out, parts);
  }

  function problem(error) {
    const line = error.line ? program.text.split("\n")[error.line - 1] ?? "" : null;
    return h("div.failure", null,
      h("strong", null, error.kind), h("p", null, error.message),
      line === null ? null : h("pre.code.snippet", null, h("code", null, h("span.muted", null, `${error.line} │ `), line, "\n", h("span.caret", null, `${" ".repeat(String(error.line).length + 3 + Math.max(0, error.column - 1))}^`))),
      error.hint ? h("p.hint", null, error.hint) : null);
  }

  async function run() {
    let given;
    try {
      given = data.text.trim() === "" ? {} : JSON.parse(data.text);
      if (given === null || typeof given !== "object" || Array.isArray(given)) throw new Error("write one JSON object; each field is read as data/NAME");
    } catch (error) {
      fill(out, h("div.failure", null, h("strong", null, "data"), h("p", null, error.message)));
      return;
    }
    go.disabled = true;
    try {
      show(await api.evaluate(program.text, given));
    } catch (error) {
      fill(out, h("div.failure", null, h("strong", null, "No answer"), h("p", null, error.message)));
    } finally {
      go.disabled = false;
    }
  }

  const node = h("section.page.playground", null,
    h("header.page-head", null, h("div", null, h("h1", null, "Playground"), h("p.muted.lede", null, "Programs run in the sandbox, with 50 million units of fuel, 64 MB and 5 seconds; they can reach nothing but their data.")), samples),
    h("div.bench", null,
      h("div.bench-in", null, h("h2", null, "Program"), program.node, h("h2", null, "Data"), data.node),
      h("div.bench-out", null, h("div.bench-head", null, h("h2", null, "Outcome"), go), out)));
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  return {
    title: "Playground",
    node,
    close: () => (kept = [program.text, data.text]),
    focus: () => program.field.focus({ preventScroll: true }),
    keys: [
      { keys: "i", what: "Edit the program", run: () => program.field.focus() },
      { keys: "r", what: "Run (Ctrl ↵ while editing)", run },
    ],
  };
}
