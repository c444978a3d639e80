import { readFileSync, writeFileSync } from 'node:fs';
import { configSchema } from '../src/config/config-schema.ts';
import { optionReference } from '../src/config/option-reference.ts';
import { sinkTypes } from '../src/sinks/registry.ts';
import { queryReference, storeReference } from '../src/store/reference.ts';

/** What is drawn from the option schemas and from the description of the store, by its place in the repository. */
const generated: Readonly<Record<string, string>> = {
  'config/leadsync.schema.json': `${JSON.stringify(configSchema(sinkTypes), null, 2)}\n`,
  'docs/configuration.md': optionReference(sinkTypes),
  'docs/store.md': storeReference(),
  'docs/queries.md': queryReference(),
};

function placeOf(file: string): URL {
  return new URL(`../${file}`, import.meta.url);
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(placeOf(file), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const outOfDate = Object.entries(generated).filter(([file, content]) => contentOf(file) !== content);

if (process.argv.includes('--check')) {
  for (const [file] of outOfDate) {
    process.stderr.write(`${file} is out of date: run \`npm run generate\` and commit it\n`);
  }
  if (outOfDate.length > 0) process.exitCode = 1;
} else {
  for (const [file, content] of outOfDate) {
    writeFileSync(placeOf(file), content);
    process.stderr.write(`wrote ${file}\n`);
  }
}
