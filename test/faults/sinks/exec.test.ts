import { expect } from 'vitest';
import { program } from '../../support/destinations/program.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { overCarriers } from '../over-carriers.ts';
import { deliveriesOf, mustRun, statusOf, told } from '../telling.ts';

const SOON = { schedule: ['300ms', '1s', '1s', '1s'], jitter: 0 };
/** A lead that the program of the sink `picky` does not take, and others. */
const BAD = aLead({ id: 9_000_007 });
const OTHERS = [1, 2, 3, 4, 5].map((at) => aLead({ id: 9_000_010 + at }));

overCarriers('a program in trouble, over the %s carrier', (carrier, test) => {
  test('44. killed or hanging, a program gets its leads again; a lead that it does not take holds up the others only until the next probe', async () => {
    const programs = {
      killed: await program.open(tempDir()),
      hanging: await program.open(tempDir()),
      picky: await program.open(tempDir()),
    };
    const quick = { events: ['created'], timeout: '700ms', batch: { max: 50, wait: '0s' }, retry: SOON };
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      others: Object.fromEntries(
        Object.entries(programs).map(([name, one]) => [
          name,
          { ...one, options: { ...one.options, ...quick } },
        ]),
      ),
    });
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);

    programs.killed.misbehave('stores and is killed');
    programs.hanging.misbehave('stores and ignores SIGTERM');
    programs.picky.misbehave('does not take one lead in ten');
    scene.stub.addRaw(BAD);
    for (const sink of Object.keys(programs)) await told(daemon, 'sink-held', { sink });
    // The program takes nothing, as far as leadsync can know: it has only this one lead.
    expect((await statusOf(scene)).sinks['picky']).toMatchObject({
      state: 'held',
      held_reason: expect.stringContaining('exit code 1'),
      pending: 1,
      dead: 0,
    });
    for (const text of OTHERS) scene.stub.addRaw(text);
    const at = async (sink: string) => new Set((await scene.held())[sink]?.map(({ lead }) => lead));
    await until('the others have arrived', async () => (await at('picky')).size === 15, 30_000);
    await told(daemon, 'sink-recovered', { sink: 'picky' });
    programs.killed.behave();
    programs.hanging.behave();
    const pending = () => deliveriesOf(scene, '--state', 'pending');
    await until('nothing waits any more', async () => (await pending()).length === 0, 90_000);
    const dead = await deliveriesOf(scene, '--state', 'dead');
    expect(dead.map(({ sink, lead_id }) => `${sink} ${lead_id}`)).toEqual(['picky 9000007']);
    expect(dead[0]?.reason).toContain('exit code 1');

    programs.picky.behave();
    await mustRun(scene, 'retry', '--sink', 'picky', '--state', 'dead');
    await until('the last lead has arrived', async () => (await at('picky')).size === 16, 30_000);
    await expectCalm(daemon);
    for (const one of Object.values(programs)) expect(await one.faults()).toEqual([]);
    const account = await accountOf(scene, { raw: [BAD, ...OTHERS] });
    expect(faultsOf(account, { repeats: true })).toEqual([]);
    expect(account.sinks['killed']?.repeated).toContain('main:9000007');
  });
});
