import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../support/program/built-program.ts';

const ROOT = join(import.meta.dirname, '../..');

const built = mkdtempSync(join(tmpdir(), 'leadsync-build-'));
let program: string;

beforeAll(async () => {
  program = await builtProgram(built);
});

afterAll(() => rmSync(built, { recursive: true, force: true }));

/** `@scope/name` of `@scope/name/part`; the whole name of a module of Node. */
function packageOf(imported: string): string {
  return imported.startsWith('node:') ? imported : (/^(@[^/]+\/)?[^/]+/.exec(imported)?.[0] ?? imported);
}

function leadsync(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(process.execPath, [program, ...words], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
}

test('a build runs like a checkout, and refuses to start with LEADSYNC_FAILPOINTS', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(leadsync(['--version'])).toMatchObject({
    stderr: '',
    stdout: expect.stringContaining(version),
    status: 0,
  });
  expect(leadsync(['--version'], { LEADSYNC_FAILPOINTS: 'settled=kill' })).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(
      'LEADSYNC_FAILPOINTS is for tests and works only in a source checkout. Remove it',
    ),
  });
});

test('a build reports the commit that it was made from', () => {
  const { stdout } = leadsync(['version', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ commit: 'c0ffee', built: '2026-11-20T10:00:00Z' });
});

test('the thread of a ledger loads no schemas, which would take its memory twice', () => {
  const text = readFileSync(join(built, 'dist/ledger-thread.js'), 'utf8');
  expect(text).toContain('better-sqlite3');
  expect(text).not.toContain('zod');
});

test('a build imports only packages that an installation contains', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const imported = globSync('*.js', { cwd: join(built, 'dist') }).flatMap((file) => {
    const text = readFileSync(join(built, 'dist', file), 'utf8');
    const names = text.matchAll(
      /^(?:import|export) (?:[^'"\n]* from )?"([^".][^"]*)"|\bimport\("([^".][^"]*)"\)/gm,
    );
    return [...names].map(([, fixed, dynamic]) => packageOf(fixed ?? dynamic ?? ''));
  });
  expect(imported).toContain('better-sqlite3');
  const brought = [...Object.keys(dependencies), ...builtinModules.map((name) => `node:${name}`)];
  expect(imported.filter((name) => !brought.includes(name))).toEqual([]);
});

test('a build has no import statement for a module of Node, for which Node would load all that hangs on it', () => {
  const importing = globSync('*.js', { cwd: join(built, 'dist') }).filter((file) =>
    /^import .*from "node:/m.test(readFileSync(join(built, 'dist', file), 'utf8')),
  );
  expect(importing).toEqual([]);
});

test('every program that is started in a process or a thread of its own is in a build', () => {
  const started = globSync('**/*.ts', { cwd: join(ROOT, 'src') }).flatMap((file) => {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8');
    return [...text.matchAll(/new URL\(`\.\/([\w-]+)\$\{extname/g)].map(([, name = '']) => name);
  });
  expect(started).toContain('query-thread');
  const programs = globSync('*.js', { cwd: join(built, 'dist') }).map((file) => basename(file, '.js'));
  expect(programs).toEqual(expect.arrayContaining(['main', ...started]));
});
