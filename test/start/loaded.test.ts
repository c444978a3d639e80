import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { CHECKOUT, runLeadsync, writeConfig } from '../support/program/leadsync.ts';

/** Tells on standard error which packages were loaded. */
const WATCH = `
  import module from 'node:module';
  const packages = new Set();
  module.registerHooks({ load(url, context, next) {
    const found = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url);
    if (found) packages.add(found[1]);
    return next(url, context);
  } });
  process.on('exit', () => process.stderr.write('loaded ' + JSON.stringify([...packages])));`;

const OF_SINKS = [
  'undici',
  'pg',
  'mysql2',
  'hyparquet',
  'hyparquet-writer',
  'csv-parse',
  'bullmq',
  'fastify',
];

async function packagesLoadedBy(words: readonly string[]): Promise<string[]> {
  const watch = join(tempDir(), 'watch.mjs');
  writeFileSync(watch, WATCH);
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(watch)}` };
  // A bundle contains the packages in its own files, so that nothing would be seen.
  const { stderr } = await runLeadsync(words, { program: CHECKOUT, env });
  return JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? '');
}

test.each([['status'], ['deliveries'], ['config', 'show']])(
  '`%s` loads no package that only deliveries need',
  async (...words) => {
    const folder = tempDir();
    const { configFile } = await writeConfig(folder, {
      sources: { main: { base_url: 'http://127.0.0.1:9', client_id: 'a', client_secret: 'b' } },
      sinks: {
        hook: { type: 'webhook', url: 'http://127.0.0.1:9/hook' },
        warehouse: { type: 'postgres', url: 'postgresql://nobody@127.0.0.1:9/none' },
        shop: { type: 'mysql', url: 'mysql://nobody@127.0.0.1:9/none' },
        files: { type: 'csv', directory: './files' },
        lake: { type: 'parquet', directory: './lake' },
      },
    });
    const loaded = await packagesLoadedBy([...words, '-c', configFile]);
    expect(loaded).toEqual(expect.arrayContaining(['zod', 'yaml', 'commander']));
    expect(loaded.filter((name) => OF_SINKS.includes(name))).toEqual([]);
  },
);

test.each([['--help'], ['help'], ['--version']])(
  '`%s` loads no package but that of the command line',
  async (word) => {
    expect(await packagesLoadedBy([word])).toEqual(['commander']);
  },
);
