import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readOptions } from './options.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

test('without options, the tool plays one run of 60 s with a random seed, on the carriers in turn', () => {
  expect(readOptions([])).toEqual({
    seed: undefined,
    seconds: 60,
    runs: 1,
    carriers: ['in-process', 'bullmq'],
    crms: 2,
    ledger: 'sqlite',
    machines: 1,
  });
});

test.each([
  ['--seed', 'x', '--seed takes a whole number from 0 to 2147483647, and got "x".'],
  ['--seconds', '0', '--seconds takes a whole number from 1 to 86400, and got "0".'],
  ['--seconds', '1.5', '--seconds takes a whole number from 1 to 86400, and got "1.5".'],
  ['--runs', '', '--runs takes a whole number from 1 to 100000, and got "".'],
  ['--carrier', 'pigeon', '--carrier takes in-process or bullmq, and got "pigeon".'],
  ['--crms', '0', '--crms takes a whole number from 1 to 3, and got "0".'],
  ['--crms', '4', '--crms takes a whole number from 1 to 3, and got "4".'],
  ['--ledger', 'mysql', '--ledger takes sqlite or postgres, and got "mysql".'],
  ['--machines', '6', '--machines takes a whole number from 1 to 5, and got "6".'],
  ['--machines', '2', '--machines needs --ledger postgres.'],
  ['--sead', '1', "Unknown option '--sead'"],
])('%s %j is rejected with the accepted values', (option, value, message) => {
  expect(() => readOptions([option, value])).toThrow(message);
});

test('wrong usage is reported before anything starts, with exit code 2', () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [MAIN, '--seconds', 'long']);
  expect(stderr.toString()).toContain('--seconds takes a whole number');
  expect(stderr.toString()).toContain('npm run test:chaos');
  expect(stdout.toString()).toBe('');
  expect(status).toBe(2);
});

test('--help prints the usage to standard output', () => {
  const { status, stdout } = spawnSync(process.execPath, [MAIN, '--help']);
  expect(stdout.toString()).toContain('--seed N');
  expect(status).toBe(0);
});
