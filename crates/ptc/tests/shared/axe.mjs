// What axe finds on a page: rules that it breaks, with the elements that break them.

import fs from "node:fs";
import path from "node:path";

export async function faults(page, packages) {
  const source = fs.readFileSync(path.join(packages, "node_modules/axe-core/axe.min.js"), "utf8");
  // Pages allow no scripts but their own, so it comes by the door of the debugger.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: source });
  const expression = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => `${id}: ${nodes.length}, ${nodes.slice(0, 3).map((node) => `${node.target} ${node.any[0]?.message ?? ''}`).join('; ')}`)))";
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
  return JSON.parse(result.value);
}
