// A person is erased beside a running leadsync, and by a command that is killed at each of its steps. Nothing brings the person back, and
// no trace remains where leadsync keeps data.
import { describe, expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import {
  ADDRESS,
  aSceneWithAPerson,
  everythingKept,
  expectErased,
  PERSON,
  runErase,
  told,
  untilHeld,
} from './erasing.ts';
import { isFrozen } from './is-frozen.ts';
import { carriersOf } from './over-carriers.ts';

const CREATED = PERSON.map((id) => `lead.created ${id}`);
const ERASED = PERSON.map((id) => `lead.erased ${id}`);

test.each(carriersOf(1))(
  'with the %s carrier: no trace of a person remains in any file, table, log or queue, and polls that list the person bring nothing back',
  async (carrier) => {
    const scene = await aSceneWithAPerson(carrier);
    const daemon = await scene.start();
    await untilHeld(scene);
    const before = [...(await everythingKept(scene))].filter(([, text]) => text.includes('k9canary7q'));
    expect(before.map(([place]) => place.replace(/.*\//, ''))).toEqual(
      expect.arrayContaining([
        'leads in PostgreSQL',
        'lead_versions in PostgreSQL',
        'rejected_leads in PostgreSQL',
      ]),
    );
    const { stdout, stderr } = await runErase(scene, [ADDRESS, '--json']);
    expectNoCanary(stdout + stderr, 'what erase prints');
    const { places } = JSON.parse(stdout) as { places: { place: string; reached: boolean }[] };
    expect(places.filter(({ reached }) => !reached).map(({ place }) => place)).toEqual(['drop']);
    expect(told(scene).toSorted()).toEqual([...CREATED, ...ERASED]);
    await expectErased(scene);
    nameAnew(scene);
    await somePolls(scene);
    expect(told(scene)).toHaveLength(4);
    expectNoCanary(daemon.stdout + daemon.stderr, 'the log');
    await daemon.kill();
    await expectErased(scene);
  },
);

describe('a killed erase', () => {
  test.each([
    ['in the transaction that erases the first lead', 'erasing=kill'],
    ['in the transaction that erases the second lead', 'erasing=kill@2'],
    ['after the ledger was erased and before the sinks are', 'erased=kill'],
    ['before PostgreSQL commits', 'postgres-commit=kill'],
    ['after PostgreSQL committed', 'postgres-committed=kill'],
    ['before it records that everything is done', 'scrubbed=kill'],
  ])(
    '%s: the next erase continues without naming the person, and the webhook is notified once',
    async (_, place) => {
      const scene = await aSceneWithAPerson('in-process');
      const first = await scene.start();
      await untilHeld(scene);
      await first.kill();
      expect(await runErase(scene, [ADDRESS], place)).toMatchObject({ signal: 'SIGKILL' });
      const daemon = await scene.start();
      await somePolls(scene);
      const { code, stderr } = await runErase(scene, []);
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' }); // 1 because of the files of the csv sink
      expect(await runErase(scene, [])).toMatchObject({ code: 2 });
      await somePolls(scene);
      await expectErased(scene);
      expect(told(scene).toSorted()).toEqual([...CREATED, ...ERASED]);
      expectNoCanary(daemon.stdout + daemon.stderr, 'the log');
    },
  );
});

test('a person with a killed attempt is erased immediately, and the report says that the lead may have arrived', async () => {
  const scene = await aScene('in-process', { sinks: { crm: { events: ['created'] } } });
  scene.stub.addRaw(canaryLead(9_001));
  let asked = 0;
  scene.receiver.answerAlways(() => {
    asked += 1;
  });
  const daemon = await scene.start();
  await until('the webhook gets a request', () => asked > 0);
  await daemon.kill('SIGKILL');
  const startMs = performance.now();
  const { stdout } = await runErase(scene, [ADDRESS, '--json']);
  expect(performance.now() - startMs).toBeLessThan(30_000); // the lease lasts a minute
  const { places } = JSON.parse(stdout) as { places: { place: string; reached: boolean; what: string }[] };
  expect(places.find(({ place }) => place === 'crm')).toMatchObject({
    reached: false,
    what: expect.stringMatching(/^It may have received 1 lead, and was notified of 0 erasures\./),
  });
});

describe('a frozen leadsync', () => {
  test.each([
    ['between reading the other content and recording it', 'listing-read=freeze'],
    ['after the webhook accepted it and before the ledger knows', 'accepted=freeze'],
    // Creating the schema, deliveries, and parts of the mirror commit in no fixed order.
    ['before the second commit of PostgreSQL', 'postgres-commit=freeze@2'],
    ['before the third commit of PostgreSQL', 'postgres-commit=freeze@3'],
    ['before the fourth commit of PostgreSQL', 'postgres-commit=freeze@4'],
  ])('%s, while a command erases the person: nothing comes back when leadsync resumes', async (_, place) => {
    const scene = await aSceneWithAPerson('in-process', {
      sinks: { crm: { events: ['created', 'updated', 'erased'] } },
    });
    const first = await scene.start();
    await untilHeld(scene);
    await first.kill();
    nameAnew(scene);
    const frozen = startLeadsync(['run', '-c', scene.configFile], { env: { LEADSYNC_FAILPOINTS: place } });
    onTestFinished(() => void frozen.kill('SIGKILL'));
    await until('leadsync is frozen', () => isFrozen(frozen), 30_000);
    const erasing = runErase(scene, [ADDRESS, '--json']);
    await until('the ledger is empty of the person', () => isEmptied(scene), 30_000);
    frozen.process.kill('SIGCONT');
    const { stdout } = await erasing;
    expect(JSON.parse(stdout).places).toMatchObject([{ place: 'ledger', reached: true }, {}, {}, {}]);
    await somePolls(scene);
    await until(
      'the webhook is notified of both erasures',
      () => told(scene).filter((one) => ERASED.includes(one)).length === 2,
    );
    await frozen.kill();
    await expectErased(scene);
    for (const id of PERSON)
      expect(told(scene).findLast((one) => one.endsWith(` ${id}`))).toBe(`lead.erased ${id}`);
  });
});

/** Makes the service list the person's leads with other content. */
function nameAnew({ stub }: Scene): void {
  for (const id of PERSON) {
    stub.removeRaw(canaryLead(id));
    stub.addRaw(canaryLead(id).replace('k9canary7q client_name', 'k9canary7q another name'));
  }
}

async function isEmptied(scene: Scene): Promise<boolean> {
  const sql = "SELECT count(*) AS n FROM lead_versions WHERE raw LIKE '%k9canary7q%'";
  const { stdout } = await scene.run('query', sql, '--format', 'jsonl');
  return (JSON.parse(stdout) as { n: number }).n === 0;
}

/** Waits for a few more polls; by then everything that a poll read is wherever it goes. */
async function somePolls({ stub }: Scene): Promise<void> {
  const until3 = stub.listingRequests + 4;
  await until('leadsync has polled', () => stub.listingRequests >= until3, 30_000);
}
