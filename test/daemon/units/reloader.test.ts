import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AuditFields } from '../../../src/audit/audit-store.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { reloadPreviewJson } from '../../../src/daemon/api/reload-preview-json.ts';
import { Reloader } from '../../../src/daemon/units/reloader.ts';
import { watchConfig } from '../../../src/daemon/watching/watch-config.ts';
import { LedgerError } from '../../../src/ledger/contract/ledger-error.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { commandInText } from '../../../src/status/problems/problem.ts';
import { staleConfig } from '../../../src/status/problems/process-problems.ts';
import { Install } from '../../cli/an-install.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Reported } from '../joints/fakes.ts';

/** A reloader whose reloads change what `next` lists. */
function aReloader() {
  const clock = new HeldClock();
  const { configFile } = new Install();
  let loads = 0;
  const load = () => {
    loads += 1;
    return loadConfig(configFile, { sinkTypes, env: {}, readFile });
  };
  const readFile = (file: string) => {
    if (next.isReadable) return readFileSync(file);
    throw Object.assign(new Error('the disk failed'), { code: 'EIO' });
  };
  const next = {
    changes: [] as string[],
    ledger: undefined as LedgerError | undefined,
    audit: undefined as Error | undefined,
    isReadable: true,
  };
  const config = load();
  const units = {
    apply: async () => {
      if (next.ledger) throw next.ledger;
      return { changes: next.changes, restart: [] };
    },
    changedOptions: () => [],
    planned: async () => {
      if (next.ledger) throw next.ledger;
      return ['sink crm is new: 7 leads listed before are owed to it'];
    },
  };
  const reported = new Reported();
  const { emit } = reported;
  const lines: AuditFields[] = [];
  const audit = {
    hint: 'Free some space.',
    write: async (fields: AuditFields) => {
      if (next.audit) throw next.audit;
      lines.push(fields);
    },
  };
  const ready = Promise.resolve();
  const stamp = () => statSync(configFile, { bigint: true }).mtimeNs.toString();
  const loadedStamp = stamp();
  return {
    clock,
    configFile,
    loads: () => loads,
    next,
    lines,
    reported,
    reloader: new Reloader(units, { load, stamp }, { clock, emit, config, loadedStamp, ready, audit }),
  };
}

test('a reload that changes nothing leaves the configuration in force since the time before', async () => {
  const { clock, next, reloader } = aReloader();
  const start = reloader.state.loadedAt;
  await clock.pass(60_000);
  expect(await reloader.reload('request')).toMatchObject({ applied: true, generation: 1, changes: [] });
  expect(reloader.state).toMatchObject({ generation: 1, loadedAt: start });
  next.changes = ['sink crm is new'];
  await reloader.reload('request');
  expect(reloader.state).toMatchObject({ generation: 2, loadedAt: clock.now() });
});

test('a preview contains the number of affected leads only if the plan was requested', async () => {
  const { reloader } = aReloader();
  expect(await reloader.preview(true)).toMatchObject({
    options: [],
    plan: ['sink crm is new: 7 leads listed before are owed to it'],
  });
  expect(await reloader.preview(false)).toMatchObject({ options: [], plan: [] });
});

test('a preview without the plan reads the configuration only after its files have changed', async () => {
  const { configFile, loads, reloader } = aReloader();
  const before = loads();
  await reloader.preview(false);
  expect(loads()).toBe(before);
  await reloader.preview(true);
  expect(loads()).toBe(before + 1);
  const yaml = readFileSync(configFile, 'utf8');
  writeFileSync(configFile, `${yaml}nonsense: 1\n`);
  utimesSync(configFile, 1, 1);
  for (let n = 0; n < 2; n += 1)
    expect(await reloader.preview(false)).toMatchObject({ faults: [expect.stringContaining('nonsense')] });
  expect(loads()).toBe(before + 2);
  expect(reloader.loadedStamp).not.toBe(statSync(configFile, { bigint: true }).mtimeNs.toString());
  await reloader.reload('request');
  expect(loads()).toBe(before + 3);
  writeFileSync(configFile, yaml);
  utimesSync(configFile, 2, 2);
  expect(await reloader.preview(false)).toMatchObject({ options: [] });
  expect(reloader.state.stale?.faults).toEqual([expect.stringContaining('nonsense')]);
});

test('a file that could not be read for a moment is read again although it has not changed', async () => {
  const { clock, next, reported, reloader } = aReloader();
  const stop = new AbortController();
  const watching = watchConfig(
    () => 'unchanged',
    () => (reloader.loadedStamp === '' ? '' : 'unchanged'),
    () => reloader.reload('watch'),
    clock,
    stop.signal,
  );
  const fault = expect.stringContaining('cannot be read (EIO)');
  next.isReadable = false;
  expect(await reloader.reload('request')).toMatchObject({ applied: false, faults: [fault] });
  expect(await reloader.preview(false)).toMatchObject({ faults: [fault] });
  await clock.pass(5_000);
  expect(reported.of('reload-failed')).toHaveLength(1);
  next.isReadable = true;
  expect(await reloader.preview(false)).toMatchObject({ options: [] });
  await clock.pass(2_000);
  expect(reloader.state.stale).toBeUndefined();
  expect(reported.of('reloaded')).toHaveLength(1);
  stop.abort();
  await clock.pass(2_000);
  await watching;
});

test('a preview has the options even if the ledger cannot be read', async () => {
  const { next, reloader } = aReloader();
  next.ledger = new LedgerError('busy', 'The ledger is locked.', 'Try again.');
  const preview = await reloader.preview(true);
  expect(preview).toEqual({ file: expect.any(String), options: [], plan: next.ledger });
  expect(reloadPreviewJson(preview)).toMatchObject({
    options: [],
    plan: [],
    plan_failure: 'The ledger is locked. Try again.',
    faults: [],
  });
});

test('the failure of a reload because of an unwritable ledger does not count as a fault of the file', async () => {
  const { clock, next, reloader, reported } = aReloader();
  next.ledger = new LedgerError('busy', 'The ledger is locked.', 'Try again.');
  const failure = 'The ledger is locked. Try again.';
  expect(await reloader.reload('request')).toEqual({ applied: false, generation: 1, faults: [], failure });
  const { stale } = reloader.state;
  expect(stale).toEqual({ since: clock.now(), faults: [], failure });
  expect(reported.of('reload-failed')).toMatchObject([{ faults: [], reason: failure }]);
  const { message, nextStep } = staleConfig(stale ?? { since: clock.now(), faults: [] }, {
    command: commandInText,
  });
  expect(message).toBe(
    `leadsync keeps an earlier configuration in force: the file is valid, but could not be applied: ${failure}`,
  );
  expect(nextStep).toBe('`leadsync reload` applies the file once the cause is fixed.');
  next.ledger = undefined;
  expect(await reloader.reload('request')).toMatchObject({ applied: true });
  expect(reloader.state.stale).toBeUndefined();
});

test('a reload that no client requests is recorded before it is applied, or not applied', async () => {
  const { next, lines, reloader } = aReloader();
  for (const trigger of ['SIGHUP', 'watch', 'request'] as const) await reloader.reload(trigger);
  expect(lines).toEqual([
    { who: 'leadsync', via: 'SIGHUP', what: 'reload' },
    { who: 'leadsync', via: 'watch', what: 'reload' },
  ]);
  next.changes = ['sink crm is new'];
  next.audit = Object.assign(new Error('no'), { code: 'ENOSPC' });
  expect(await reloader.reload('SIGHUP')).toEqual({
    applied: false,
    generation: 1,
    faults: [],
    failure: expect.stringContaining('the audit log cannot be written (ENOSPC). Free some space'),
  });
});

test('a reload that comes to its turn while leadsync stops applies nothing, because the ledger may be closed', async () => {
  const { reloader, reported, loads } = aReloader();
  const before = loads();
  const asked = reloader.reload('request');
  reloader.close();
  expect(await asked).toEqual({
    applied: false,
    generation: 1,
    faults: [],
    failure: 'leadsync is stopping. The next start reads the file.',
  });
  expect(loads()).toBe(before);
  expect(reported.of('reload-failed')).toEqual([]);
});
