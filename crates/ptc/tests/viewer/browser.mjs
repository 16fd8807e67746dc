// The viewer in a real browser: what people see, what keys do, what hostile traces cannot do. Prints a line for
// every check that held; the first that does not ends the process.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

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
  assert.match(report, /turns\s+5\s+calls\s+4\s+tokens\s+9,414/);
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
  const reply = page.locator(".turn").nth(1).locator(".reply");
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

await check("a program of eval is shown like a turn", async () => {
  await visit("-e");
  await shows(() => text(".story"), /\(tool\/echo \{\}\)/);
});

await check("hostile traces stay text", async () => {
  await visit("img src");
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
