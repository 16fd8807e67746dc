// The viewer in a real browser: what people see, what keys do, what hostile traces cannot do. Prints a line for
// every check that held; the first that does not ends the process.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { faults } from "../shared/axe.mjs";

const [url, packages, chromium, profile, shots, gate] = process.argv.slice(2);
const { chromium: engine } = createRequire(path.join(packages, "package.json"))("playwright-core");

const context = await engine.launchPersistentContext(profile, {
  executablePath: chromium,
  headless: true,
  viewport: { width: 1360, height: 900 },
  colorScheme: "light",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
context.setDefaultTimeout(60_000);
const page = await context.newPage();
const wrong = [];
page.on("pageerror", (error) => wrong.push(`page: ${error.message}`));
page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
const foreign = [];
page.on("request", (request) => !request.url().startsWith(url) && foreign.push(request.url()));

async function open(hash) {
  await page.goto(url + hash);
  await page.waitForSelector(`#view[data-ready="${hash}"]`);
}
async function shot(name) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((wanted) => (document.documentElement.dataset.theme = wanted), theme);
    await page.screenshot({ path: path.join(shots, `${name}-${theme}.png`), fullPage: true });
  }
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
}
async function check(name, run) {
  try {
    await run();
  } catch (error) {
    console.error(`not ok: ${name}\n${error.stack}\nfaults: ${wrong.join("\n")}`);
    await page.screenshot({ path: path.join(shots, "failed.png"), fullPage: true }).catch(() => {});
    await context.close();
    process.exit(1);
  }
  console.log(`ok: ${name}`);
}
// What a page shows comes a moment after the click: these ask again until it is there.
async function settled(read, test) {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = await read();
    if (test(found) || Date.now() > end) return found;
    await page.waitForTimeout(50);
  }
}
const holds = async (read, test) => assert.ok(test(await settled(read, test)));
const shows = async (read, pattern) => assert.match(await settled(read, (text) => pattern.test(text)), pattern);
const equals = async (read, value) => assert.equal(await settled(read, (found) => found === value), value);
const row = (label) => page.locator(".run", { hasText: label });
const visit = async (label) => {
  await open("#/runs");
  await row(label).first().click();
  await page.waitForSelector(".run-head h1");
};
const text = (selector) => page.locator(selector).innerText();

await check("the list shows every run with its figures", async () => {
  await open("#/runs");
  const failed = await row("stock-check").innerText();
  assert.match(failed, /max_turns_exceeded/);
  const report = await row("quarterly-report").innerText();
  assert.match(report, /5\s+4\s+9,414/);
  await shows(() => row("newsroom").innerText(), /Write a headline from the notes/);
  assert.equal(await row("gatekeeper").locator('.dot[data-status="running"]').count(), 1);
  await shot("runs");
});

await check("search finds what stands inside runs, and filters by status", async () => {
  await open("#/runs");
  await page.keyboard.press("/");
  await page.keyboard.type("Field Guide");
  await page.waitForFunction(() => document.querySelectorAll(".run").length === 1);
  await shows(() => text(".run"), /newsroom[\s\S]*found inside/);
  await page.locator(".search").fill("");
  await page.waitForFunction(() => document.querySelectorAll(".run").length > 3);
  await page.locator(".chip", { hasText: "Failed" }).click();
  assert.deepEqual(await page.locator(".run strong").allInnerTexts(), ["stock-check"]);
});

await check("keys walk through the list and open a run", async () => {
  await open("#/runs");
  await page.locator("h1").click();
  for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
  assert.equal(await page.locator('.run[aria-current="true"]').getAttribute("data-at"), "0");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".run-head h1");
  await page.keyboard.press("u");
  await page.waitForSelector(".runs");
  await page.keyboard.press("?");
  await shows(() => text("#keys"), /Next run/);
  await page.keyboard.press("Escape");
});

await check("a mission of five turns is a timeline of programs, calls, prints and results", async () => {
  await visit("quarterly-report");
  assert.deepEqual(await page.locator(".turn h3").allInnerTexts(), ["Turn 1", "Turn 2", "Turn 3", "Turn 4", "Turn 5"]);
  const turn = (at) => page.locator(".turn").nth(at);
  await shows(() => turn(0).innerText(), /north has 3 months/);
  assert.equal(await turn(0).locator('pre[aria-label="program"] .t-tool').first().innerText(), "tool/sales");
  await shows(() => turn(1).locator(".together").innerText(), /3 in parallel/);
  await equals(() => turn(1).locator(".together .call").count(), 3);
  await shows(() => turn(2).locator(".failure").innerText(), /unbound_var[\s\S]*row/);
  await shows(() => turn(3).locator(".facts").innerText(), /2,027 tokens[\s\S]*fuel/);
  await shows(() => turn(3).locator(".console").innerText(), /south 3080/);
  await shows(() => text(".answer"), /south/);
  const sums = await text(".sums");
  for (const part of [/turns\s+5/, /calls\s+4/, /kept from the model/, /fuel/]) assert.match(sums, part);
  await shot("five-turns");
});

await check("values are inspected: arguments, results, and long ones cut", async () => {
  await visit("quarterly-report");
  const call = page.locator(".turn").nth(0).locator(".call");
  await call.locator("summary").click();
  await shows(() => call.innerText(), /ARGUMENTS[\s\S]*north[\s\S]*RESULT[\s\S]*1200\.5/i);
  const reply = page.locator(".turn").nth(1).locator(".reply", { hasText: "Reply" });
  await reply.locator("summary").click();
  await shows(() => reply.innerText(), /so I fetch all regions at once/);
});

await check("the flame shows nesting and parallel calls, and leads to the turn", async () => {
  await visit("quarterly-report");
  // By time, a turn that took a moment has a bar of a few pixels beside one that took long.
  const wide = await page.locator(".flame-bar").evaluateAll((all) => all.filter((bar) => bar.offsetLeft + bar.offsetWidth > bar.parentElement.clientWidth + 3).length);
  assert.equal(wide, 0, "bars stay inside the flame");
  await page.locator(".chip", { hasText: "Steps" }).click();
  const bars = await page.locator(".flame-bar").evaluateAll((all) => all.map((bar) => ({ kind: bar.dataset.kind, name: bar.innerText, top: bar.offsetTop })));
  assert.equal(bars.filter((bar) => bar.kind === "turn").length, 5);
  const parallel = bars.filter((bar) => bar.name === "sales").map((bar) => bar.top);
  assert.ok(new Set(parallel).size >= 3, `lanes: ${parallel}`);
  await page.locator('.flame-bar[data-kind="turn"]').nth(3).click();
  await shows(() => text(".turn.selected h3"), /Turn 4/);
  await page.keyboard.press("k");
  await shows(() => text(".turn.selected h3"), /Turn 3/);
  await page.locator(".chip", { hasText: "Time" }).click();
  await holds(() => page.locator(".flame-bar").count(), (count) => count > 10);
});

await check("search in a run marks spans and walks through them", async () => {
  await visit("quarterly-report");
  await page.keyboard.press("/");
  await page.keyboard.type("max-key");
  await page.waitForFunction(() => document.querySelector(".found").textContent !== "");
  await shows(() => text(".found"), /span/);
  await holds(() => page.locator('.line[data-match="false"]').count(), (count) => count > 5);
  await page.keyboard.press("Enter");
  await shows(() => text(".line[aria-current]"), /Turn 5|script/);
});

await check("agents inside agents stand inside the call", async () => {
  await visit("newsroom");
  const nested = page.locator(".call .agent");
  await equals(() => nested.count(), 2);
  const inner = await nested.first().innerText();
  assert.match(inner, /researcher/);
  assert.match(inner, /tool\/search/);
  assert.match(inner, /3 hits for bees/);
  await shows(() => text(".sums"), /agents\s+3/);
  await equals(() => page.locator('.flame-bar[data-kind="agent"]').count(), 3);
  await shot("nested");
});

await check("a failed run says where and why", async () => {
  await visit("stock-check");
  await shows(() => text(".pill"), /Failed/);
  await shows(() => text(".run-head"), /max_turns_exceeded/);
  await shows(() => page.locator(".turn").first().innerText(), /warehouse: connection refused/);
  await page.keyboard.press("e");
  await holds(() => page.locator(".selected").count(), (count) => count > 0);
  await shot("failed");
});

await check("the answer comes first, and rows are a table", async () => {
  await visit("quarterly-report");
  const top = async (selector) => (await page.locator(selector).first().boundingBox()).y;
  assert.ok((await top(".ending .answer")) < (await top(".flames")));
  assert.deepEqual(await page.locator(".ending .rows thead th").allInnerTexts(), ["region", "total"]);
  assert.equal(await page.locator(".ending .rows tbody tr").count(), 3);
});

await check("what the model was sent is shown, with what is new", async () => {
  await visit("quarterly-report");
  const sent = (at) => page.locator(".turn").nth(at).locator(":scope > .reply", { hasText: "Sent to the model" });
  await sent(0).locator("> summary").click();
  await shows(() => sent(0).innerText(), /Rules \(system prompt\)[\s\S]*From the host[\s\S]*Report the sales of the quarter/);
  await sent(0).locator("summary", { hasText: "Rules" }).click();
  await shows(() => sent(0).innerText(), /PTC-Lisp/);
  await sent(1).locator("> summary").click();
  await shows(() => sent(1).innerText(), /as before[\s\S]*1 message as before/);
  await equals(() => sent(1).locator(".message").count(), 2);
  await shows(() => sent(1).innerText(), /From the model[\s\S]*From the host/);
});

await check("a program that failed shows its line", async () => {
  await visit("quarterly-report");
  const failure = page.locator(".turn").nth(2).locator(".failure");
  await shows(() => failure.locator(".snippet").innerText(), /6 │[\s\S]*growth row[\s\S]*\^/);
});

await check("calls have their place in time, and agents are a tree", async () => {
  await visit("newsroom");
  assert.deepEqual(await page.locator(".agent-tree strong").allInnerTexts(), ["newsroom", "researcher", "researcher"]);
  assert.equal(await page.locator(".agent-tree .agent-tree .agent-line").count(), 2);
  await holds(() => page.locator(".waterfall i").count(), (count) => count >= 2);
  await page.locator(".agent-line").nth(2).click();
  await holds(() => page.locator(".agent.selected").count(), (count) => count === 1);
});

await check("many runs are filtered, sorted, summed up and paged, and the address keeps it", async () => {
  await open("#/runs");
  await shows(() => text(".totals"), /127 runs · 1 failed · .*tokens/);
  await equals(() => page.locator(".run").count(), 50);
  await page.locator(".pages button", { hasText: "Older" }).click();
  await shows(() => text(".pages"), /51 to 100 of 127/);
  await page.locator("th button", { hasText: "Tokens" }).click();
  await shows(() => page.locator(".run").first().innerText(), /quarterly-report/);
  await page.locator("th button", { hasText: "Tokens" }).click();
  assert.doesNotMatch(await page.locator(".run").first().innerText(), /quarterly-report/);
  await page.locator("label", { hasText: "Agent" }).locator("select").selectOption("newsroom");
  await equals(() => page.locator(".run").count(), 1);
  await page.locator("label", { hasText: "Agent" }).locator("select").selectOption("old");
  await page.locator("label", { hasText: "Day" }).locator("select").selectOption({ index: 1 });
  await shows(() => text(".totals"), /120 runs/);
  assert.match(page.url(), /agent=old&day=\d{4}-\d\d-\d\d&sort=tokens/);
  await page.reload();
  await shows(() => text(".totals"), /120 runs/);
});

await check("two runs are compared", async () => {
  await open("#/runs");
  for (const label of ["orders", "quarterly-report"]) await row(label).first().locator("input").check();
  await page.locator(".compare", { hasText: "Compare both runs" }).click();
  await page.waitForSelector("h1:has-text('Two runs')");
  await shows(() => text(".rows"), /Turns[\s\S]*Tokens read/);
  await holds(() => page.locator(".diff .ins").count(), (count) => count > 3);
  await visit("orders");
  await page.locator("a", { hasText: "Compare with another run" }).click();
  await page.locator(".choices a", { hasText: "quarterly-report" }).click();
  await page.waitForSelector("h1:has-text('Two runs')");
});

await check("a trace can be taken along", async () => {
  await visit("quarterly-report");
  const link = await page.locator("a[download]").getAttribute("href");
  const answer = await fetch(new URL(link, url));
  assert.equal(answer.status, 200);
  const events = (await answer.text()).trim().split("\n").map((line) => JSON.parse(line).event);
  assert.deepEqual([events[0], events.at(-1)], ["trace.start", "trace.stop"]);
});

await check("an address that leads nowhere says so", async () => {
  await open("#/foo");
  await shows(() => text("#view"), /There is no such page/);
});

await check("what is typed in the playground lies over the same text", async () => {
  await open("#/playground");
  const looks = (selector) => page.locator(selector).first().evaluate((node) => {
    const { fontFamily, fontSize, lineHeight, letterSpacing, paddingTop, paddingLeft } = getComputedStyle(node);
    return { fontFamily, fontSize, lineHeight, letterSpacing, paddingTop, paddingLeft };
  });
  assert.deepEqual(await looks(".editor textarea"), await looks(".editor-under"));
  const code = await page.locator(".editor-under code").first().evaluate((node) => getComputedStyle(node).fontSize);
  assert.equal(code, (await looks(".editor textarea")).fontSize);
});

await check("every page fits a phone, and axe finds nothing, light and dark", async () => {
  const runs = (await (await fetch(new URL("/api/runs", url))).json()).runs;
  const file = (label) => encodeURIComponent(runs.find((run) => run.summary.label === label).file);
  const hashes = ["#/runs", "#/playground", "#/foo", `#/diff/${file("orders")}/${file("quarterly-report")}`, `#/diff/${file("orders")}`,
    ...["quarterly-report", "newsroom", "stock-check", "orders"].map((label) => `#/run/${file(label)}`)];
  for (const [width, theme] of [[420, "dark"], [1400, "light"]]) {
    await page.setViewportSize({ width, height: 900 });
    for (const hash of hashes) {
      await open(hash);
      await page.evaluate((wanted) => (document.documentElement.dataset.theme = wanted), theme);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${hash} is ${wide} wide at ${width}`);
      assert.deepEqual(await faults(page, packages), [], `${hash} ${width} ${theme}`);
      await page.screenshot({ path: path.join(shots, `all-${hashes.indexOf(hash)}-${width}.png`) });
    }
  }
  await page.setViewportSize({ width: 1360, height: 900 });
  await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
});

await check("a program of eval is shown like a turn", async () => {
  await visit("(tool/echo {})");
  await shows(() => text(".story"), /\(tool\/echo \{\}\)/);
});

await check("hostile traces stay text", async () => {
  // Its clock says 1970, so it is the last of many.
  await open("#/runs?q=img%20src");
  await row("img src").first().click();
  await page.waitForSelector(".run-head h1");
  await page.keyboard.press("l");
  await shows(() => text(".run-head h1"), /<img src=x onerror=alert\(1\)>/);
  await shows(() => text(".story"), /<script>alert\(2\)<\/script>/);
  await equals(() => page.locator("main img, main script, main iframe, main a[href^='javascript']").count(), 0);
  assert.equal(await page.evaluate(() => window.injected), undefined);
  const long = page.locator(".more", { hasText: "Load all" }).first();
  await long.click();
  await page.waitForFunction(() => document.querySelector(".story").innerText.includes("the very end"));
});

await check("a run that goes on is followed to its end", async () => {
  await visit("gatekeeper");
  await shows(() => text(".pill"), /Running/);
  await page.waitForFunction(() => document.querySelector(".story").innerText.includes("gate"));
  await equals(() => page.locator(".turn").count(), 1);
  await shot("live");
  fs.writeFileSync(gate, "");
  await page.waitForFunction(() => document.querySelector(".pill").textContent === "Succeeded");
  await equals(() => page.locator(".turn").count(), 2);
  await shows(() => text(".answer"), /through the gate/);
  assert.match(page.url(), /-ok\.jsonl$/);
});

await check("the playground evaluates against sample data, within limits", async () => {
  await open("#/playground");
  await page.locator(".primary").click();
  await page.waitForSelector(".out .value");
  await shows(() => text(".out .value"), /west/);
  await shot("playground");
  const program = page.locator('textarea[aria-label="Program"]');
  await program.fill('(println "<b>hi</b>")\n(reduce + data/xs)');
  await page.locator('textarea[aria-label="Data"]').fill('{"xs": [1, 2, 39]}');
  await program.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".out .value")?.innerText.includes("42"));
  await shows(() => text(".out"), /<b>hi<\/b>/);
  await program.fill("(count (range))");
  await program.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".out .failure strong")?.innerText.match(/fuel|memory|timeout/));
  await program.fill("(let [a 1]\n  (+ a bb))");
  await program.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".out .caret") !== null);
  await shows(() => text(".out .failure"), /unbound_var[\s\S]*2 │/);
  await shot("playground-error");
});

await check("dark and light follow the system and the key", async () => {
  const other = await context.newPage();
  await other.emulateMedia({ colorScheme: "dark" });
  await other.goto(`${url}#/runs`);
  await other.waitForSelector(".run");
  const theme = () => other.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  assert.deepEqual(await theme(), ["dark", "rgb(22, 24, 27)"]);
  await other.keyboard.press("t");
  assert.deepEqual(await theme(), ["light", "rgb(250, 249, 246)"]);
  await other.reload();
  await other.waitForSelector(".run");
  assert.equal((await theme())[0], "light", "the choice is kept");
  await other.close();
});

await check("nothing went wrong on the page, and nothing was asked of anybody else", async () => {
  assert.deepEqual(wrong, []);
  assert.deepEqual(foreign, []);
});
await context.close();
