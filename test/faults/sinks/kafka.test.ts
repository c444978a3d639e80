import { expect, onTestFinished } from 'vitest';
import { kafka as type } from '../../support/destinations/kafka.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { overCarriers } from '../over-carriers.ts';
import { mustRun } from '../telling.ts';

const SOON = { schedule: ['300ms', '1s', '1s', '1s'], jitter: 0 };

overCarriers('Kafka in trouble, over the %s carrier', (carrier, test) => {
  test('43. after a broker was stopped, frozen and cut off, a consumer that drops repeated ids has every lead once, in order', async () => {
    const kafka = await type.open(tempDir());
    onTestFinished(() => kafka.close());
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      others: { kafka: { ...kafka, options: { ...kafka.options, timeout: '1s', retry: SOON } } },
      sinks: { crm: { events: ['created', 'updated'] }, drop: { batch: { max: 100, wait: '200ms' } } },
    });
    const daemon = await scene.start();
    const arrived = async () => {
      const { at, newest } = await lastAt();
      return newest.every((lead) => at.has(lead));
    };
    const lastAt = async () => {
      const held = (await scene.held())['kafka'] ?? [];
      const ids = scene.stub.served.ids();
      return {
        at: new Set(held.map(({ lead, version }) => `${lead}:${version}`)),
        newest: ids.map((id) => `${id}:${scene.stub.served.newest(id)}`),
      };
    };
    // Not the failures of pending deliveries: the next attempt, soon after, may succeed.
    const failures = async () => {
      const sql =
        "SELECT coalesce(sum(times), 0) FROM attempts WHERE sink = 'kafka' AND outcome = 'unavailable'";
      return Number((await mustRun(scene, 'query', sql, '--format', 'csv')).split('\r\n')[1]);
    };
    await until('the first leads have arrived', arrived, 60_000);
    for (const trouble of ['is stopped', 'is frozen', 'stores records and breaks the connection']) {
      await kafka.misbehave(trouble);
      const [shown, before] = [scene.stub.shown, await failures()];
      scene.stub.addLeads(20);
      for (const id of [1, 2, 3]) scene.stub.changeLead(id);
      await until(
        `an attempt fails because the broker ${trouble}`,
        async () => (await failures()) > before,
        30_000,
      );
      await kafka.behave();
      const served = () => scene.stub.served.ids().length === shown + 20;
      await until('the leads have arrived', async () => served() && arrived(), 60_000);
    }
    await expectCalm(daemon);
    expect(await kafka.faults()).toEqual([]);
    const account = await accountOf(scene);
    expect(account.sinks['kafka']?.repeated).not.toEqual([]);
    expect(faultsOf(account, { repeats: true, at: ['kafka'] })).toEqual([]);
  });
});
