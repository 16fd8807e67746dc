// The conformance suite imports `globSync`, which Node has from version 22 on. The part of it that tests servers does
// not call it, so older versions get a stand-in.
import * as fs from 'node:fs';
import { register } from 'node:module';

if (!fs.globSync) {
  const source = `
    export * from 'node:fs';
    export { default } from 'node:fs';
    export function globSync() { throw new Error('globSync needs Node 22'); }
  `;
  const hooks = `
    const stand = ${JSON.stringify('data:text/javascript,' + encodeURIComponent(source))};
    export function resolve(specifier, context, next) {
      return specifier === 'fs' ? { url: stand, shortCircuit: true } : next(specifier, context);
    }
  `;
  register('data:text/javascript,' + encodeURIComponent(hooks));
}
