// Fault 9: a lead on which leadsync dies, however often it is restarted. The receiver plays the lead's part: it kills leadsync when it
// receives the lead.
import { describe, expect, onTestFinished, test } from 'vitest';
import { type RunningLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';
import { carriersOf } from '../over-carriers.ts';
import { aSceneToKillIn } from './killing.ts';

const LEADS = 24;
const POISON = 5;

describe.each(carriersOf(9))('with the %s carrier', (carrier) => {
  test('9. a batch that kills leadsync each time is split until its one lead is known; the others arrive, and that lead waits and is reported', async () => {
    const crm = { concurrency: 1, batch: { max: 8, wait: '100ms' } };
    const scene = await aSceneToKillIn(carrier, { leads: LEADS, sinks: { crm } });
    const attempts: number[][] = [];
    let running: RunningLeadsync | undefined;
    scene.receiver.answerAlways(({ body }, res) => {
      const leads = leadsIn(body);
      if (!leads.includes(POISON)) return void res.writeHead(204).end();
      attempts.push(leads);
      running?.process.kill('SIGKILL');
    });
    const kills = await superviseUntil(
      'all but one have arrived, and it is put off',
      scene,
      async (leadsync) => {
        running = leadsync;
        return (await othersHaveArrived(scene)) && (await isPutOff(scene));
      },
    );
    expect(kills).toBeGreaterThanOrEqual(5);
    expect(attempts.at(0)).toHaveLength(8);
    expect(attempts.at(-1)).toEqual([POISON]);
    await expectToldOf(scene);

    scene.receiver.answerAlways(204);
    const daemon = await scene.start();
    await scene.run('retry', '--sink', 'crm', '--lead', String(POISON));
    await expectKept(scene, daemon, { repeats: false });
  });
});

/** Restarts leadsync whenever it has died, until it stays alive and the condition holds. Returns the number of deaths. */
async function superviseUntil(
  what: string,
  scene: Scene,
  isDone: (leadsync: RunningLeadsync) => Promise<boolean>,
): Promise<number> {
  for (let kills = 0; kills < 20; kills++) {
    const leadsync = startLeadsync(['run', '-c', scene.configFile]);
    onTestFinished(() => void leadsync.process.kill('SIGKILL'));
    const hasDied = () => leadsync.process.signalCode !== null || leadsync.process.exitCode !== null;
    await until(what, async () => hasDied() || (await isDone(leadsync)), 60_000);
    if (!hasDied()) {
      expect(await leadsync.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      return kills;
    }
    expect(await leadsync.exited).toEqual({ code: null, signal: 'SIGKILL' });
  }
  throw new Error('leadsync died 20 times, and not all others have arrived');
}

async function othersHaveArrived(scene: Scene): Promise<boolean> {
  const { crm, drop, warehouse } = await scene.held();
  const atCrm = new Set(crm.map(({ lead }) => lead));
  return atCrm.size === LEADS - 1 && [drop, warehouse].every((held) => held.length === LEADS);
}

/** Whether the ledger owes only that lead: others may have arrived without being settled, and that lead may be next. */
async function isPutOff(scene: Scene): Promise<boolean> {
  const [first, ...others] = await waitingIn(scene);
  return others.length === 0 && first?.['lead_id'] === String(POISON) && first['reason'] !== null;
}

async function waitingIn(scene: Scene): Promise<Record<string, unknown>[]> {
  const { stdout } = await scene.run('deliveries', '--json', '--state', 'pending');
  return (JSON.parse(stdout) as { deliveries: Record<string, unknown>[] }).deliveries;
}

async function expectToldOf(scene: Scene): Promise<void> {
  const status = await scene.run('status', '--json');
  const { sinks } = JSON.parse(status.stdout) as { sinks: Record<string, unknown>[] };
  const crm = sinks.find(({ sink }) => sink === 'crm');
  expect(crm).toMatchObject({ state: 'retrying', pending: 1, retrying: 1, last_error: expect.any(String) });
  expect(await waitingIn(scene)).toEqual([
    expect.objectContaining({ sink: 'crm', lead_id: String(POISON), reason: expect.any(String) }),
  ]);
}

function leadsIn(body: Buffer): number[] {
  const { events } = JSON.parse(body.toString()) as { events: { data: { id: number } }[] };
  return events.map(({ data }) => data.id);
}
