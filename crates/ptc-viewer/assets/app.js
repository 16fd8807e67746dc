// The frame of the page: which view is shown, the theme, and keys that work everywhere.

import { diff } from "./diff.js";
import { h, fill } from "./dom.js";
import { setGlobal, setKeys, showKeys } from "./keys.js";
import { playground } from "./playground.js";
import { run } from "./run.js";
import { runs } from "./runs.js";

const view = document.getElementById("view");
let shown = null;

const routes = [
  [/^#\/runs(?:\?.*)?$/, "runs", runs],
  [/^#\/run\/([^/?]+)$/, "runs", run],
  [/^#\/diff\/([^/?]+)(?:\/([^/?]+))?$/, "runs", diff],
  [/^#\/playground$/, "playground", playground],
];

/** A page for addresses that lead nowhere. */
const nowhere = async () => ({
  title: "Not found",
  node: h("section.empty", null, h("h1", null, "There is no such page"), h("p", null, "The address ", h("code", null, location.hash), " leads nowhere."), h("p", null, h("a", { href: "#/runs" }, "All runs"))),
});

async function route() {
  shown?.close?.();
  shown = null;
  const hash = location.hash || "#/runs";
  const found = routes.map(([pattern, tab, page]) => ({ match: hash.match(pattern), tab, page })).find(({ match }) => match);
  view.dataset.wanted = hash;
  const { match, tab, page } = found ?? { match: [hash], tab: null, page: nowhere };
  for (const link of document.querySelectorAll("[data-tab]")) {
    if (link.dataset.tab === tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  setKeys([]);
  let given;
  try {
    given = match.slice(1).map((part) => part && decodeURIComponent(part));
  } catch {
    given = [];
  }
  try {
    const made = await page(...given);
    // Pages change their own address; a visitor who went on has another page.
    if (view.dataset.wanted !== hash) return made.close?.();
    shown = made;
    document.title = `${made.title} · ptc viewer`;
    setKeys(made.keys ?? []);
    fill(view, made.node);
    made.focus?.();
    scrollTo(0, 0);
  } catch (error) {
    document.title = "ptc viewer";
    fill(view, h("section.empty", null, h("h1", null, "This cannot be shown"), h("p", null, error.message), h("p", null, h("a", { href: "#/runs" }, "All runs"))));
  }
  view.dataset.ready = hash;
}

function toggleTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("ptc-theme", theme);
  } catch {
    // The theme lasts as long as the page then.
  }
}

setGlobal([
  { keys: "gr", what: "Runs", run: () => (location.hash = "#/runs") },
  { keys: "gp", what: "Playground", run: () => (location.hash = "#/playground") },
  { keys: "t", what: "Light or dark", run: toggleTheme },
  { keys: "?", what: "These keys", run: showKeys },
]);
document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("help").addEventListener("click", showKeys);
addEventListener("hashchange", route);
route();
