// Drives the server with the TypeScript SDK and prints what it saw as JSON.
//
// Usage: node typescript_sdk.mjs FOLDER_OF_PACKAGES MODE URL | … MODE COMMAND ARGUMENT...
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, mode, ...target] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const transport = target[0].startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
await client.connect(transport);

const text = (result) => result.content.map((part) => part.text ?? '').join('');
const call = (args, options) => client.callTool({ name: 'lisp_eval', arguments: args }, options);
const { tools } = await client.listTools();
const three = await call({ program: '(+ 1 2)' });
const context = await call({ program: '(count data/rows)', context: { rows: [1, 2] } });
const broken = await call({ program: '(+ 1' });
const reports = [];
const slow = await call({ program: '(loop [] (recur))' }, { onprogress: ({ progress }) => reports.push(progress) });
console.log(JSON.stringify({
  version: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion()?.name ?? null,
  tools: tools.map((tool) => tool.name),
  three: text(three),
  context: text(context),
  broken: broken.isError,
  slow: text(slow),
  reports: reports.length,
  growing: reports.every((report, index) => index === 0 || report > reports[index - 1]),
}));
await client.close();
