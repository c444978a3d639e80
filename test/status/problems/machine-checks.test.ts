import { expect, test } from 'vitest';
import type { MachinesStatus } from '../../../src/ledger/contract/status-rows.ts';
import { findProblems } from '../../../src/status/problems/find-problems.ts';
import { viewSources } from '../../../src/status/status-view.ts';
import { aProcess, theMachines } from '../a-machine.ts';
import { ago, NOW, RUNNING } from '../an-observation.ts';

/** Returns the problems of machines, as `code: message next step`. */
function problemsOf(machines: MachinesStatus | undefined): string[] {
  const context = {
    now: NOW,
    ...RUNNING,
    machines,
  };
  const config = { sources: [{ name: 'main' }], sinks: [] } as unknown as Parameters<typeof viewSources>[0];
  const sources = viewSources(config, { sources: [], sinks: [], restoredAt: undefined });
  return findProblems(sources, [], context)
    .filter(({ about }) => about === null)
    .map(({ code, message, nextStep }) => `${code}: ${message} ${nextStep}`);
}

const free = (duty: string, ms: number, isWanted = false) => ({ duty, since: ago(ms), isWanted });

test('machines that share the work have no problem, and neither has a ledger that only one machine can use', () => {
  expect(problemsOf(theMachines())).toEqual([]);
  expect(problemsOf(undefined)).toEqual([]);
});

test('a duty that no process has for two leases is a problem if the configuration needs it, or a process wants it', () => {
  const lone = (one: MachinesStatus['free'][number]) => problemsOf(theMachines({ free: [one] }));
  expect(lone(free('poll:main', 20_000))).toEqual([]);
  expect(lone(free('poll:main', 20_001))).toEqual([
    expect.stringMatching(
      /^duty_free: No process does this work: polls of main, since .* `leadsync run` with these sources must run/,
    ),
  ]);
  expect(lone(free('dispatch:crm', 20_001, true))).toEqual([
    expect.stringMatching(/^duty_free: No process does this work: dispatch to crm, since .* it may be stuck/),
  ]);
  // Neither wanted nor needed: a source that was removed, and a backfill that has finished.
  expect(problemsOf(theMachines({ free: [free('poll:old', 60_000), free('backfill:crm', 60_000)] }))).toEqual(
    [],
  );
});

test('free duties are no problem of their own while nothing but a `sync` works on the ledger', () => {
  const processes = [aProcess({ role: 'sync' }), aProcess({ machine: 'b-2', isMissing: true })];
  expect(problemsOf({ processes, free: [free('poll:main', 60_000)] })).toEqual([
    expect.stringContaining('process_missing: '),
  ]);
});

test('a process that ended without stopping in order is named, with when it was last seen', () => {
  const processes = [aProcess(), aProcess({ machine: 'b-2', isMissing: true, seenAt: ago(60_000) })];
  expect(problemsOf(theMachines({ processes }))).toEqual([
    expect.stringMatching(
      /^process_missing: 1 process ended .*: `run` on b-2, last seen .*\(60 s ago\)\. The others/,
    ),
  ]);
});

test('machines with different configurations are named in groups, but not those of another version', () => {
  const of = (machine: string, version: string, config: string) =>
    aProcess({ machine, facts: { version, config, clockAheadMs: 0, reload: undefined } });
  const differ = [of('a-1', '1', 'x'), of('b-2', '1', 'y'), of('c-3', '1', 'x')];
  expect(problemsOf(theMachines({ processes: differ }))).toEqual([
    'config_differs: Not all machines have the same configuration. One is that of `run` on a-1 and `run` on c-3; another: `run` on b-2. Give all machines the same file, then `leadsync reload --all`; an option that needs a restart needs one on each machine.',
  ]);
  const upgraded = [of('a-1', '1', 'x'), of('b-2', '2', 'y'), aProcess({ machine: 'c-3', facts: undefined })];
  expect(problemsOf(theMachines({ processes: upgraded }))).toEqual([]);
});

test('a clock that is far from that of the server is named, with how far', () => {
  const of = (machine: string, clockAheadMs: number) =>
    aProcess({ machine, facts: { version: '1', config: 'x', clockAheadMs, reload: undefined } });
  const processes = [of('a-1', 86_400_000), of('b-2', -30_001), of('c-3', 30_000)];
  expect(problemsOf(theMachines({ processes }))).toEqual([
    expect.stringContaining(
      "clock_differs: The clock of a machine is far from the clock of the ledger's server: `run` on a-1 (24 h ahead), `run` on b-2 (30 s behind).",
    ),
  ]);
});
