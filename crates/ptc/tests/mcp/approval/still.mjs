// The approval page while what waits changes: nothing moves under the pointer, nothing that somebody writes is lost, and
// what is shown is what is sent. Prints a line for every check that held.

import assert from "node:assert/strict";
import path from "node:path";
import { createRequire } from "node:module";
import { faults } from "../../shared/axe.mjs";

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
// Runs a program that waits; the id of its ticket.
async function run(program) {
  const reply = await (await rpc("tools/call", { name: "lisp_eval", arguments: { program } }, session)).json();
  return reply.result.structuredContent.id;
}
// One that waits with these arguments, written in PTC-Lisp.
const park = (args) => run(`(tool/call {:server "crm" :tool "put" :args ${args}})`);
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

async function check(name, held) {
  try {
    await held();
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

await check("who asks, for which program, with what effect and for how long is told in words", async () => {
  await page.reload();
  const id = await park('{:n 4}');
  await card(id).waitFor();
  const about = await card(id).locator(".about").innerText();
  assert.match(about, /test 1 over HTTP/);
  assert.match(about, /asked less than a minute ago/);
  assert.match(about, /\d+ (minutes|hours) left/);
  assert.match(await card(id).locator(".effect").innerText(), /write/);
  assert.match(await card(id).locator(".program > summary").innerText(), /The program: \(tool\/call/);
  assert.doesNotMatch(await card(id).innerText(), /\d{4}-\d\d-\d\dT/);
});

await check("the tab tells how many wait, and the page has an icon", async () => {
  const waiting = await page.locator(".ticket").count();
  assert.equal(await page.title(), `(${waiting}) Approvals`);
  for (const icon of ["icon.svg", "icon-waiting.svg"]) assert.equal((await fetch(`${url}/approvals/${icon}`)).status, 200);
  assert.equal(await page.locator("#icon").getAttribute("href"), "/approvals/icon-waiting.svg");
});

await check("what somebody changed is shown beside what was asked for, and moves nothing", async () => {
  const id = await page.locator(".ticket").last().getAttribute("data-id");
  await enabled(id);
  await card(id).locator("button:has-text('Edit')").click();
  const send = card(id).locator("button:has-text('Approve with these arguments')");
  const before = await send.boundingBox();
  assert.match(await card(id).locator(".diff").innerText(), /Nothing is changed yet/);
  await card(id).locator("textarea").fill('{\n  "n": 44,\n  "more": true\n}');
  assert.deepEqual(await card(id).locator(".diff del").allInnerTexts(), ['  "n": 4']);
  assert.deepEqual(await card(id).locator(".diff ins").allInnerTexts(), ['  "n": 44,', '  "more": true']);
  assert.deepEqual(await send.boundingBox(), before);
});

await check("several calls at once are asked about again with their sum, and can all be rejected", async () => {
  const both = (items) => `(pmap (fn [n] (tool/call {:server "crm" :tool "put" :args {:n n}})) ${items})`;
  const id = await run(both("[71 72 73]"));
  await card(id).waitFor();
  const dialog = page.locator("#sure");
  await card(id).locator("button:has-text('Reject all')").click();
  assert.match(await dialog.innerText(), /Reject 3 calls\?[\s\S]*3 × crm\/put[\s\S]*3 calls, 3 of them change something/);
  await dialog.locator("button:has-text('Back')").click();
  assert.equal(await card(id).locator(".call").count(), 3);
  await card(id).locator("button:has-text('Reject all')").click();
  await dialog.locator("input").fill("not these");
  await dialog.locator("button:has-text('Reject all 3')").click();
  await card(id).waitFor({ state: "detached" });
  assert.match(await page.locator("#told").innerText(), /Rejected[\s\S]*not these/);
  const second = await run(both("[81 82]"));
  await card(second).waitFor();
  await card(second).locator("button:has-text('Approve all')").click();
  await dialog.locator("button:has-text('Approve all 2')").click();
  await card(second).waitFor({ state: "detached" });
});

await check("a phone shows it without scrolling sideways, and long arguments are folded", async () => {
  const id = await run(`(tool/call {:server "crm" :tool "put" :args {:rows (vec (range 40)) :text "${"long ".repeat(80)}"}})`);
  await page.setViewportSize({ width: 420, height: 900 });
  await card(id).waitFor();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 420);
  const folded = await card(id).locator(".args").boundingBox();
  await card(id).locator(".more").click();
  const open = await card(id).locator(".args").boundingBox();
  assert.ok(open.height > folded.height, `${open.height} ${folded.height}`);
});

for (const scheme of ["light", "dark"]) {
  await check(`people who do not see well can use it, ${scheme}`, async () => {
    await page.emulateMedia({ colorScheme: scheme });
    await enabled(await page.locator(".ticket").last().getAttribute("data-id"));
    assert.deepEqual(await faults(page, packages), []);
  });
}

await context.close();
