import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load-config.ts';
import { OpenSinks } from '../../src/operations/opening/open-sinks.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { pigeons, SOURCE } from '../config/reading.ts';
import { type Files, readFiles } from '../support/import-scan.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const STATIC_VALUE = /^import (?!type )[^'"`;]*?['"](\.[^'"\n]+)['"]/gm;

/** Returns the files that are loaded with a file: those that it imports statically, directly or not. */
function loadedWith(file: string, files: Files, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, specifier = ''] of (files.get(file) ?? '').matchAll(STATIC_VALUE))
    loadedWith(posix.join(posix.dirname(file), specifier), files, found);
  return found;
}

test.each(sinkTypes.map(({ type }) => type))(
  'a command that opens no sink does not load that of %s',
  (type) => {
    const file = `src/sinks/${type}/${type}.ts`;
    expect(readFileSync(`${root}${file}`, 'utf8')).toMatch(
      /^export class \w+Sink (?:implements|extends) \w*Sink /m,
    );
    const loaded = loadedWith('src/cli/shell/context.ts', readFiles(root, 'src'));
    expect(loaded).toContain(`src/sinks/${type}/${type}-type.ts`);
    expect(loaded).not.toContain(file);
  },
);

test('a configuration builds the options of the types that it names, and of no other', () => {
  const [pigeon] = pigeons;
  if (!pigeon) throw new Error('there is no pigeon');
  const named = { ...pigeon, type: 'named' };
  const unnamed = Object.defineProperty({ ...pigeon, type: 'unnamed' }, 'options', {
    get: () => expect.fail('built the options of a type that the configuration does not name'),
  });
  const text = `${SOURCE}sinks:\n  birds: { type: named, loft: ./loft }\n`;
  const { sinks } = parseConfig(text, '/etc/leadsync/leadsync.yaml', {
    sinkTypes: [unnamed, named],
    env: {},
  });
  expect(sinks).toMatchObject([{ name: 'birds', type: { type: 'named' } }]);
});

test.each(sinkTypes.map((type) => [type.type, type] as const))(
  'the options of %s are built when they are first needed, and only then',
  (_, type) => {
    expect(Object.getOwnPropertyDescriptor(type, 'options')?.get).toBeDefined();
    expect(type.options).toBe(type.options);
  },
);

test('a sink opens only once its code is loaded', async () => {
  const text = `${SOURCE}sinks:\n  drop: { type: csv, directory: ./drop }\n`;
  const { sinks } = parseConfig(text, '/etc/leadsync/leadsync.yaml', { sinkTypes, env: {} });
  const [drop] = sinks;
  if (!drop) throw new Error('there is no sink');
  const openSinks = new OpenSinks(systemClock, () => undefined);
  expect(() => openSinks.open(drop)).toThrow('The code of csv sinks is not loaded.');
  await openSinks.load(sinks);
  const { sink } = openSinks.open(drop);
  expect(sink).toHaveProperty('deliver');
  await openSinks.close();
});
