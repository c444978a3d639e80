import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readOptions as ofChecks } from '../../checks/options.ts';
import { readOptions as ofLoad } from '../../proofs/load-options.ts';
import { readOptions as ofMillion } from '../../proofs/million-options.ts';
import { readOptions as ofRun } from '../../run-options.ts';
import { readOptions as ofSimulation } from '../../simulation/options.ts';

const ROOT = join(import.meta.dirname, '../../..');
const readers = {
  'npm test': ofRun,
  'npm run test:checks': ofChecks,
  'npm run test:simulation': ofSimulation,
  'npm run proof:load': ofLoad,
  'npm run proof:million': ofMillion,
};

test.each<[keyof typeof readers, string[], string]>([
  ['npm test', ['nosuchfile'], 'No test file in test has "nosuchfile" in its path.'],
  ['npm test', ['--in', 'test/faults', 'ledger.test', 'jpeg'], 'No test file in test/faults has "jpeg"'],
  ['npm test', ['--in', 'test/nowhere'], 'There is no test file in test/nowhere.'],
  ['npm test', ['--bogus'], "Unknown option '--bogus'"],
  ['npm run test:checks', ['--only', 'fence', '--write'], 'leave out one of them'],
  ['npm run test:checks', ['--only', 'nonesuch'], 'No safeguard has "nonesuch" in its name.'],
  ['npm run test:checks', ['--bogus'], "Unknown option '--bogus'"],
  ['npm run test:simulation', ['--seeds', 'abc'], '--seeds takes a whole number from 1 '],
  ['npm run test:simulation', ['--seeds', '0'], '--seeds takes a whole number from 1 '],
  ['npm run test:simulation', ['--failures', '0'], '--failures takes a whole number from 1 '],
  ['npm run test:simulation', ['--from=-1'], '--from takes a whole number from 0 '],
  ['npm run proof:load', ['--leads', '99'], '--leads takes a whole number from 100 '],
  ['npm run proof:load', ['--carrier', 'pigeon'], '--carrier takes in-process or bullmq, and got "pigeon".'],
  ['npm run proof:million', ['--leads', '1e6'], '--leads takes a whole number from 1 '],
  ['npm run proof:million', ['1000'], "Unexpected argument '1000'"],
])('%s %j is rejected with the reason', (tool, args, message) => {
  expect(() => readers[tool](args)).toThrow(message);
});

test('words select test files; a folder selects all its tests whatever the words are', () => {
  expect(ofRun([])).toEqual({ files: [], byTurns: true, vitest: ['--exclude=test/install/**'] });
  const own = join(ROOT, 'test/support/program/command-line.test.ts');
  expect(ofRun(['program/command-line', '-t', '^12'])).toEqual({
    files: [own],
    byTurns: false,
    vitest: ['--testNamePattern=^12'],
  });
  expect(ofRun(['./test/support/program/command-line.test.ts'])).toMatchObject({ files: [own] });
  expect(ofRun([own])).toMatchObject({ files: [own] });
  expect(ofRun(['--in', 'test/support', 'line'])).toMatchObject({ files: [own] });
  expect(() => ofRun(['--in', 'test/faults', 'command-line'])).toThrow('test/faults');
});

test.each(['run.ts', 'checks/main.ts', 'simulation/main.ts', 'proofs/load.ts', 'proofs/million-leads.ts'])(
  '%s reports wrong usage before it starts anything, with exit code 2',
  (tool) => {
    const { status, stdout, stderr } = run(tool, '--bogus');
    expect(stderr).toMatch(/^Unknown option '--bogus'[\s\S]*\n\nnpm (test|run) /);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  },
);

test('--help prints the usage of a tool to standard output', () => {
  const { status, stdout, stderr } = run('run.ts', '--help');
  expect(stdout).toMatch(/^npm test /);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

function run(tool: string, ...args: string[]) {
  return spawnSync(process.execPath, [join(ROOT, 'test', tool), ...args], { cwd: ROOT, encoding: 'utf8' });
}
