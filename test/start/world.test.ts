import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { TIMETABLE } from '../../scripts/world/timetable.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WORLD = ['scripts/bootstrap.mjs', 'scripts/world.ts'];

/** Starts the world as `npm run world` does, in a folder of its own, because a world may be running in this checkout. */
function aWorld(...options: string[]) {
  const folder = tempDir();
  const env = { ...process.env, WORLD_DIR: folder };
  const world = spawn(process.execPath, [...WORLD, '--leads', '120', ...options], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => world.once('close', resolve));
  onTestFinished(async () => {
    world.kill('SIGINT');
    await ended;
  });
  let output = '';
  for (const stream of [world.stdout, world.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return {
    folder,
    ended,
    output: () => output,
    interrupt: () => world.kill('SIGINT'),
    /** Runs a program of the checkout in another terminal, which knows nothing of the world but its folder. */
    beside: (...args: string[]) => {
      const { LEADSYNC_COMMAND: _, ...own }: NodeJS.ProcessEnv = env;
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: ROOT,
        env: own,
        encoding: 'utf8',
      });
      return { code: status, said: `${stdout}${stderr}` };
    },
    runs: () => until('the world has begun', () => output.includes('closes every connection\n'), 120_000),
  };
}

test('everything fails by the timetable, alerts report it, and in the end each lead has arrived exactly once', async () => {
  const world = aWorld('--minutes', '3', '--speed', '20');
  const code = await world.ended;
  for (const { what } of TIMETABLE) expect(world.output()).toContain(`world    ${what}\n`);
  for (const problem of ['sink_held (outage)', 'deliveries_dead (picky)', 'leads_rejected (north)'])
    expect(world.output()).toContain(`begins: ${problem}\n`);
  expect(world.output()).toContain('Each lead arrived exactly once everywhere.');
  expect(world.output()).toMatch(/^ {2}picky +\d+ delivered, [1-9]\d* refused, lost 0, twice 0/m);
  expect(code).toBe(0);

  const told = readFileSync(join(world.folder, 'alerts.jsonl'), 'utf8').trim().split('\n');
  expect(told.map((line) => JSON.parse(line).condition)).toContain('deliveries_dead');
  expect(existsSync(join(world.folder, 'world.pid'))).toBe(false);
});

test('a second terminal reaches the world, a second world is refused, and Ctrl-C ends it with a summary', async () => {
  const world = aWorld('--speed', '60');
  await world.runs();
  const status = world.beside(
    'scripts/bootstrap.mjs',
    'bin/leadsync.js',
    'status',
    '-c',
    'config/world.yaml',
  );
  expect(status.said).toContain('outage');
  expect(status.code).toBe(0);
  const second = world.beside(...WORLD);
  expect(second.said).toBe('Another world is running in this checkout. Stop it first.\n');
  expect(second.code).toBe(1);
  world.interrupt();
  expect(await world.ended).toBe(0);
  expect(world.output()).toContain('Each lead arrived exactly once everywhere.');
});

test.each([
  [['--speed', '0'], '--speed takes a whole number from 1 to 60, and got "0".'],
  [['--fast'], "Unknown option '--fast'"],
])('wrong options are explained, with the usage: %j', (options, fault) => {
  const { status, stderr } = spawnSync(process.execPath, [...WORLD, ...options], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  expect(stderr).toContain(fault);
  expect(stderr).toContain('npm run world -- --minutes 6 --speed 10');
});
