// Runs a program with the TypeScript SDK, decides about the calls that the server asks about, and prints what came of it.
// The first question is approved, the second declined, the third answered with other arguments.
//
// Usage: node typescript_asked.mjs FOLDER_OF_PACKAGES MODE PROGRAM URL | … MODE PROGRAM COMMAND ARGUMENT...
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, mode, program, ...target] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const answers = [
  { action: 'accept', content: { decision: 'approve' } },
  { action: 'decline' },
  { action: 'accept', content: { decision: 'edit', args: '{"n": 33}' } },
];
const transport = target[0].startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
const options = { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } };
const client = new Client({ name: 'test', version: '1' }, options);
const asked = [];
client.setRequestHandler('elicitation/create', async ({ params }) => {
  asked.push(params.message.split('\n')[0]);
  return answers[asked.length - 1];
});
await client.connect(transport);
const result = await client.callTool({ name: 'lisp_eval', arguments: { program } });
const text = result.content.map((part) => part.text ?? '').join('');
console.log(JSON.stringify({ version: client.getNegotiatedProtocolVersion(), text, asked }));
await client.close();
