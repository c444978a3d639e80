import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { Reloader } from '../../../src/daemon/units/reloader.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { Install } from '../../cli/an-install.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { Reported } from '../joints/fakes.ts';

/** A reloader whose reloads change what `next` lists. */
function aReloader() {
  const clock = new HeldClock();
  const { configFile } = new Install();
  const load = () => loadConfig(configFile, { sinkTypes, env: {} });
  const config = load();
  const next = { changes: [] as string[] };
  const units = {
    apply: async () => ({ ...next, restart: [] }),
    changedOptions: () => [],
    planned: async () => ['sink crm is new: 7 leads listed before are owed to it'],
  };
  const { emit } = new Reported();
  const ready = Promise.resolve();
  const stamp = () => '';
  return {
    clock,
    next,
    reloader: new Reloader(units, { load, stamp }, { clock, emit, config, loadedStamp: '', ready }),
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

test('a preview says how many leads a change concerns only if it is asked for the plan', async () => {
  const { reloader } = aReloader();
  expect(await reloader.preview(true)).toMatchObject({
    options: [],
    plan: ['sink crm is new: 7 leads listed before are owed to it'],
  });
  expect(await reloader.preview(false)).toMatchObject({ options: [], plan: [] });
});
