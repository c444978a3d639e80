// A person is erased beside a leadsync that runs, and by a command that is killed at each of its steps: nobody brings the person back,
// and nothing of them is left where leadsync keeps something.
import { describe, expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import { carriers, type Scene } from '../support/scene/scene.ts';
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

const CREATED = PERSON.map((id) => `lead.created ${id}`);
const ERASED = PERSON.map((id) => `lead.erased ${id}`);

test.each(carriers)(
  'with the %s carrier: nothing of a person is left in any file, table, log or queue, and polls that list them bring nothing back',
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

describe('erase is killed', () => {
  test.each([
    ['in the transaction that empties the first lead', 'erasing=kill'],
    ['in the transaction that empties the second lead', 'erasing=kill@2'],
    ['when the ledger is empty and the sinks are not', 'erased=kill'],
    ['before PostgreSQL commits', 'postgres-commit=kill'],
    ['after PostgreSQL committed', 'postgres-committed=kill'],
    ['before it notes that all is done', 'scrubbed=kill'],
  ])(
    '%s: the next one goes on with it though nobody is named, and nobody is told twice',
    async (_, place) => {
      const scene = await aSceneWithAPerson('in-process');
      const first = await scene.start();
      await untilHeld(scene);
      await first.kill();
      expect(await runErase(scene, [ADDRESS], place)).toMatchObject({ signal: 'SIGKILL' });
      const daemon = await scene.start();
      await somePolls(scene);
      const { code, stderr } = await runErase(scene, []);
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' }); // the files of the csv sink
      expect(await runErase(scene, [])).toMatchObject({ code: 2 });
      await somePolls(scene);
      await expectErased(scene);
      expect(told(scene).toSorted()).toEqual([...CREATED, ...ERASED]);
      expectNoCanary(daemon.stdout + daemon.stderr, 'the log');
    },
  );
});

test('a person whose attempt was killed is erased at once, and the certificate says that they may have arrived', async () => {
  const scene = await aScene('in-process', { sinks: { crm: { events: ['created'] } } });
  scene.stub.addRaw(canaryLead(9_001));
  let asked = 0;
  scene.receiver.answerAlways(() => {
    asked += 1;
  });
  const daemon = await scene.start();
  await until('the webhook is asked', () => asked > 0);
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

describe('leadsync is frozen', () => {
  test.each([
    ['between reading the person with another content and recording it', 'listing-read=freeze'],
    ['when the webhook has that and the ledger does not know', 'accepted=freeze'],
    // The making of the schema, deliveries, and parts of the mirror: which comes when is not said.
    ['before the second commit of PostgreSQL', 'postgres-commit=freeze@2'],
    ['before the third commit of PostgreSQL', 'postgres-commit=freeze@3'],
    ['before the fourth commit of PostgreSQL', 'postgres-commit=freeze@4'],
  ])('%s, while somebody erases the person: nothing comes back when it thaws', async (_, place) => {
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
    await until('the webhook was told', () => told(scene).filter((one) => ERASED.includes(one)).length === 2);
    await frozen.kill();
    await expectErased(scene);
    for (const id of PERSON)
      expect(told(scene).findLast((one) => one.endsWith(` ${id}`))).toBe(`lead.erased ${id}`);
  });
});

/** The person's leads come with another content. */
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

/** Until leadsync has polled a few times more: what a poll brought is then everywhere that it goes. */
async function somePolls({ stub }: Scene): Promise<void> {
  const until3 = stub.listingRequests + 4;
  await until('leadsync has polled', () => stub.listingRequests >= until3, 30_000);
}
