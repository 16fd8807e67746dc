// The approval page in a real browser. Prints a line for every check that held; the first that does not ends the
// process.

import assert from "node:assert/strict";
import path from "node:path";
import { createRequire } from "node:module";

const [url, packages, chromium, profile, shots, token] = process.argv.slice(2);
const { chromium: engine } = createRequire(path.join(packages, "package.json"))("playwright-core");
const context = await engine.launchPersistentContext(profile, {
  executablePath: chromium,
  headless: true,
  viewport: { width: 1000, height: 900 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
context.setDefaultTimeout(60_000);
const page = await context.newPage();
const wrong = [];
page.on("pageerror", (error) => wrong.push(`page: ${error.message}`));
page.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));

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

await check("without the token nothing is shown", async () => {
  await page.goto(`${url}/approvals`);
  await page.waitForSelector("#door:not([hidden])");
  assert.equal(await page.locator(".ticket").count(), 0);
  await page.fill("#token", "wrong");
  await page.click("#door button");
  await page.waitForFunction(() => document.getElementById("state").textContent.includes("wrong"));
});

await check("a page that is left at the door does not lock it", async () => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.waitForTimeout(4_000);
  assert.deepEqual(asked, []);
});

await check("an address that brings the token shows what waits, and keeps no token", async () => {
  const other = await context.newPage();
  await other.goto(`${url}/approvals#${token}`);
  await other.waitForSelector(".ticket");
  assert.equal(await other.locator("#door").isVisible(), false);
  assert.equal(other.url(), `${url}/approvals`);
  await other.close();
});

await check("the call is shown whole, as text", async () => {
  await page.fill("#token", token);
  await page.click("#door button");
  await page.waitForSelector(".ticket");
  const text = await page.locator(".ticket").innerText();
  assert.match(text, /crm\/put/);
  assert.match(text, /write/);
  assert.match(text, /<img src=x onerror=alert\(1\)>/);
  assert.equal(await page.locator(".ticket img").count(), 0);
  await page.screenshot({ path: path.join(shots, "approvals.png"), fullPage: true });
});

await check("approving goes on to the next call", async () => {
  await page.click(".approve");
  await page.waitForFunction(() => document.querySelector(".args")?.textContent.includes('"n": 2'));
});

await check("rejecting gives the program the reason", async () => {
  await page.fill(".buttons input", "not two");
  await page.click(".reject");
  await page.waitForFunction(() => document.querySelector(".args")?.textContent.includes('"n": 3'));
});

await check("arguments that are no JSON are refused on the page", async () => {
  await page.click("button:has-text('Edit')");
  await page.fill("textarea", "{");
  await page.click("button:has-text('Approve with these arguments')");
  await page.waitForFunction(() => document.getElementById("told").textContent.includes("not JSON"));
});

await check("editing makes the call with other arguments, and the program ends", async () => {
  await page.fill("textarea", '{"n": 33}');
  await page.click("button:has-text('Approve with these arguments')");
  await page.waitForFunction(() => document.getElementById("state").textContent === "Nothing waits.");
  assert.match(await page.locator("#told").innerText(), /:approval_rejected 33/);
  await page.screenshot({ path: path.join(shots, "approvals-done.png"), fullPage: true });
});

if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
await context.close();
