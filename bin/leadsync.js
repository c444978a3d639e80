#!/usr/bin/env -S node --max-semi-space-size=8
// Plain JavaScript without recent features, so that an old Node can run it and print what is wrong:
// under Node 20, one of the packages would crash the process without a message.
// The flag is in MB. With V8's default, the garbage of a first sync takes another 100 MB.
import module from 'node:module';

// require loads less code than import statements for these modules would.
const require = module.createRequire(import.meta.url);
const { existsSync } = require('node:fs');
const { fileURLToPath } = require('node:url');
const v8 = require('node:v8');
const wanted = 24;
const checkout = new URL('../src/main.ts', import.meta.url);
const isCheckout = existsSync(checkout);

if (Number(process.versions.node.split('.')[0]) < wanted) {
  const remedy = isCheckout
    ? 'run it as `npm run -s leadsync -- COMMAND`, which installs the right Node'
    : 'install a newer one from https://nodejs.org, or put it first in PATH';
  process.stderr.write(
    `leadsync needs Node ${wanted} or newer, and this is Node ${process.versions.node} (${process.execPath}): ${remedy}.\n`,
  );
  process.exitCode = 1;
} else {
  // Half of the start-up time is compilation. The cache is next to the packages, so that only users who may change them may
  // change it. If it cannot be written, each start compiles again.
  const compiled = fileURLToPath(new URL('../node_modules/.cache/leadsync', import.meta.url));
  module.enableCompileCache(compiled);
  // Child processes (query, export, recovery) inherit the cache only through this variable.
  process.env.NODE_COMPILE_CACHE ||= compiled;
  // V8 reads this flag after each full collection: the heap may then triple before the next one. By default it may grow fourfold on a
  // machine with much memory. A V8 without this flag prints a warning and continues.
  v8.setFlagsFromString('--heap-growing-percent=200');
  import(isCheckout ? checkout.href : '../dist/main.js').catch((error) => {
    const reason = error.code === 'ERR_MODULE_NOT_FOUND' ? error.message : error.stack;
    const remedy = isCheckout
      ? 'Run `npm ci`, then try again.'
      : 'The installation is incomplete: install leadsync again.';
    process.stderr.write(`leadsync could not be loaded: ${reason}\n${remedy}\n`);
    process.exitCode = 1;
  });
}
