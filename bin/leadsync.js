#!/usr/bin/env -S node --max-semi-space-size=4
// Plain JavaScript without anything recent, so that an old Node can read it and say what is wrong:
// started by Node 20, one of the packages would crash the process without a word.
// The flag is in MB: with V8's own default the garbage of a first sync takes another 100 MB.
import module from 'node:module';

// An import statement would have Node load all that hangs on them.
const require = module.createRequire(import.meta.url);
const { existsSync } = require('node:fs');
const { fileURLToPath } = require('node:url');
const wanted = 24;
const checkout = new URL('../src/main.ts', import.meta.url);
const isCheckout = existsSync(checkout);

if (Number(process.versions.node.split('.')[0]) < wanted) {
  const remedy = isCheckout
    ? 'run it as `npm run -s leadsync -- COMMAND`, which brings the right Node'
    : 'install a newer one from https://nodejs.org, or put it first on the PATH';
  process.stderr.write(
    `leadsync needs Node ${wanted} or newer, and this is Node ${process.versions.node} (${process.execPath}): ${remedy}.\n`,
  );
  process.exitCode = 1;
} else {
  // Compiling the packages is half of a start. Kept beside them, where only who could change them can change it; where
  // nothing can be written, each start compiles anew.
  const compiled = fileURLToPath(new URL('../node_modules/.cache/leadsync', import.meta.url));
  module.enableCompileCache(compiled);
  // The processes of a query, an export or an inspection inherit the cache by this variable alone.
  process.env.NODE_COMPILE_CACHE ||= compiled;
  import(isCheckout ? checkout.href : '../dist/main.js').catch((error) => {
    const reason = error.code === 'ERR_MODULE_NOT_FOUND' ? error.message : error.stack;
    const remedy = isCheckout
      ? 'Run `npm ci`, then try again.'
      : 'Its installation is not complete: install it again.';
    process.stderr.write(`leadsync could not be loaded: ${reason}\n${remedy}\n`);
    process.exitCode = 1;
  });
}
