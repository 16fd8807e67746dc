// The approval page while what waits changes: nothing moves under the pointer, nothing that somebody writes is lost, and
// what is shown is what is sent. Prints a line for every check that held.

import assert from "node:assert/strict";
import path from "node:path";
import { createRequire } from "node:module";

const [url, packages, chromium, profile] = process.argv.slice(2);
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

let number = 0;
async function rpc(method, params, session) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...(session && { "mcp-session-id": session }) };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++number, method, params });
  return fetch(`${url}/mcp`, { method: "POST", headers, body });
}
const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
const session = (await rpc("initialize", client)).headers.get("mcp-session-id");
// Runs a program that waits with these arguments, written in PTC-Lisp; the id of its ticket.
async function park(args) {
  const program = `(tool/call {:server "crm" :tool "put" :args ${args}})`;
  const reply = await (await rpc("tools/call", { name: "lisp_eval", arguments: { program } }, session)).json();
  return reply.result.structuredContent.id;
}
async function decide(id, decision, more) {
  const body = JSON.stringify({ id, calls: [1], decision, ...more });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/approvals/decide`, { method: "POST", headers, body });
  return { status: response.status, ...(await response.json()) };
}
const card = (id) => page.locator(`.ticket[data-id="${id}"]`);
const enabled = (id) => page.waitForFunction((id) => {
  const button = document.querySelector(`.ticket[data-id="${id}"] button.approve`);
  return button && !button.disabled;
}, id);

async function check(name, run) {
  try {
    await run();
    assert.deepEqual(wrong, []);
  } catch (error) {
    console.error(`not ok: ${name}\n${error.stack}\nfaults: ${wrong.join("\n")}`);
    await context.close();
    process.exit(1);
  }
  console.log(`ok: ${name}`);
}

await check("numbers and hidden characters are shown as they are sent", async () => {
  const id = await park('{:id 9007199254740993 :amount 12345678901234567891 :one 1.0 :to "alice\u202ebob\u200b"}');
  await page.goto(`${url}/approvals`);
  await card(id).waitFor();
  const text = await card(id).locator(".args").textContent();
  for (const part of ["9007199254740993", "12345678901234567891", "1.0", "alice\\u202ebob\\u200b"]) {
    assert.ok(text.includes(part), `${part}: ${text}`);
  }
  await card(id).locator("button:has-text('Edit')").click();
  const editor = card(id).locator("textarea");
  assert.equal(await editor.inputValue(), text);
  await editor.fill(text.replace("9007199254740993", "9007199254740995"));
  await card(id).locator("button:has-text('Approve with these arguments')").click();
  await card(id).waitFor({ state: "detached" });
});

await check("a number that cannot be sent exactly is refused, and what was written stays", async () => {
  const id = await park("{:n 1}");
  await card(id).waitFor();
  await card(id).locator("button:has-text('Edit')").click();
  await card(id).locator("textarea").fill('{"n": 12345678901234567891234}');
  await card(id).locator("button:has-text('Approve with these arguments')").click();
  await page.waitForFunction(() => document.getElementById("told").textContent.includes("cannot be sent exactly"));
  assert.equal(await card(id).locator("textarea").inputValue(), '{"n": 12345678901234567891234}');
  await decide(id, "reject");
  await card(id).waitFor({ state: "detached" });
});

await check("a card that goes leaves a gap, and what is below stays where it is", async () => {
  await page.reload();
  const harmless = await park('{:name "harmless"}');
  const second = await park('{:name "DROP ALL"}');
  await card(second).waitFor();
  await enabled(second);
  const before = await card(second).boundingBox();
  const pointer = await card(harmless).locator("button.approve").first().boundingBox();
  const [x, y] = [pointer.x + pointer.width / 2, pointer.y + pointer.height / 2];
  await page.mouse.move(x, y);
  await decide(harmless, "reject");
  await card(harmless).waitFor({ state: "detached" });
  assert.deepEqual(await card(second).boundingBox(), before);
  const under = await page.evaluate(([x, y]) => document.elementFromPoint(x, y).closest("button")?.textContent ?? "nothing", [x, y]);
  assert.equal(under, "nothing");
  await page.mouse.click(x, y);
  assert.equal(await page.locator(".gap").count(), 1);
  await card(second).waitFor();
});

await check("buttons wait after a change, and new programs come below", async () => {
  const first = await page.locator(".ticket").first().getAttribute("data-id");
  await enabled(first);
  const before = await card(first).boundingBox();
  // Looked at in the page itself, in the very moment that the new card comes.
  const disabled = page.evaluate((first) => new Promise((found) => {
    new MutationObserver((_, observer) => {
      observer.disconnect();
      queueMicrotask(() => found([...document.querySelectorAll("button.decides")].every((button) => button.disabled)));
    }).observe(document.getElementById("tickets"), { childList: true });
  }), first);
  const second = await park("{:n 2}");
  assert.equal(await disabled, true);
  assert.deepEqual(await card(first).boundingBox(), before);
  await enabled(second);
  const below = await card(second).boundingBox();
  assert.ok(below.y >= before.y + before.height);
});

await check("what somebody writes is not lost when other programs come and go", async () => {
  const first = await page.locator(".ticket").first().getAttribute("data-id");
  await enabled(first);
  await card(first).locator("button:has-text('Edit')").click();
  await card(first).locator("textarea").fill('{"name": "half wri');
  const other = await park("{:n 3}");
  await card(other).waitFor();
  await decide(other, "reject");
  await card(other).waitFor({ state: "detached" });
  assert.equal(await card(first).locator("textarea").inputValue(), '{"name": "half wri');
  assert.equal(await card(first).locator("textarea").isVisible(), true);
});

await context.close();
