import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from './support/files/temp-dir.ts';
import { builtProgram } from './support/program/built-program.ts';

/** The text of each built file, by its name. */
type Built = ReadonlyMap<string, string>;

async function build(): Promise<Built> {
  const dist = join(dirname(await builtProgram(tempDir())), '../dist');
  const names = readdirSync(dist).filter((file) => file.endsWith('.js'));
  return new Map(names.map((name) => [name, readFileSync(join(dist, name), 'utf8')]));
}

/** Returns the files that are loaded with one of them: those that it imports statically, directly or not. */
function loadedWith(name: string, built: Built, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, imported = ''] of (built.get(name) ?? '').matchAll(/^import [^"]*"\.\/([^"]+)";/gm))
    loadedWith(imported, built, found);
  return found;
}

test('`leadsync status` loads few files, without the code of sinks; nothing loads zod a second time', async () => {
  const built = await build();
  const [status = ''] = [...built.keys()].filter((name) => /^status-[\w-]{8}\.js$/.test(name));
  const loaded = [...new Set([...loadedWith('main.js', built), ...loadedWith(status, built)])];
  expect(loaded.map((name) => name.replace(/-[\w-]{8}\.js$/, ''))).toContain('core');
  expect(loaded.length).toBeLessThanOrEqual(8);
  const classOfSink = /\b\w+Sink = class\b/;
  expect([...built.values()].some((code) => classOfSink.test(code))).toBe(true);
  expect(loaded.filter((name) => classOfSink.test(built.get(name) ?? ''))).toEqual([]);
  const second = /\b(from|import\() ?"(zod|fastify-type-provider-zod)["/]/;
  expect([...built.keys()].filter((name) => second.test(built.get(name) ?? ''))).toEqual([]);
});
