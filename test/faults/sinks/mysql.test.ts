import { expect, onTestFinished } from 'vitest';
import { openMysql } from '../../support/destinations/mysql.ts';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { overCarriers } from '../over-carriers.ts';
import { deliveriesOf } from '../telling.ts';

const SOON = { schedule: ['300ms', '1s', '1s', '1s'], jitter: 0 };
const EVENTS = ['created', 'updated'];

overCarriers('MySQL in trouble, over the %s carrier', (carrier, test) => {
  test('42. killed during a transaction, cut off after COMMIT and with other settings afterwards, MySQL has every lead once', async () => {
    const mysql = await openMysql();
    onTestFinished(() => mysql.close());
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      others: { mysql: { ...mysql, options: { ...mysql.options, retry: SOON } } },
      sinks: { crm: { events: EVENTS }, drop: { events: EVENTS, batch: { max: 100, wait: '200ms' } } },
    });
    await mysql.setUp(scene);
    const daemon = await scene.start();
    // Another process writes the same rows, if the carrier has one.
    const worker = carrier === 'bullmq' ? startLeadsync(['worker', '-c', scene.configFile]) : undefined;
    onTestFinished(() => void worker?.process.kill('SIGKILL'));
    await until('the first leads are everywhere', () => scene.complete(), 60_000);

    await mysql.misbehave('has its rows locked');
    scene.stub.addLeads(30);
    for (const id of [1, 2, 3]) scene.stub.changeLead(id);
    const writing =
      "SELECT id FROM information_schema.processlist WHERE db = 'chaos' AND info LIKE 'INSERT INTO%leads%'";
    await until('a transaction is under way', async () => (await mysql.query(writing)).length > 0, 30_000);
    await mysql.misbehave('is killed');
    await mysql.behave();
    await until('the leads are everywhere', () => scene.complete(), 60_000);

    await mysql.query("SET GLOBAL sql_mode = '', character_set_server = latin1, autocommit = 0");
    await mysql.misbehave('commits and breaks the connection');
    const answers = Array.from({ length: 1_000 }, (_, at) => ({
      question: `Question ${at}?`,
      slug: `q${at}`,
      answer: `漢😀 ${at}`,
    }));
    const long = aLead({ id: 9_000_001, client_name: '漢😀', service_question_answers: answers });
    scene.stub.addRaw(long);
    scene.stub.addLeads(30);
    const arrived = async () => (await scene.held())['mysql']?.some(({ lead }) => lead === '9000001');
    await until('MySQL has a lead, and leadsync cannot know', arrived, 30_000);
    await mysql.behave();
    const pending = () => deliveriesOf(scene, '--state', 'pending');
    const isServed = () => scene.stub.served.ids().length === 70;
    await until('nothing waits', async () => isServed() && (await pending()).length === 0, 60_000);
    await expectCalm(daemon);
    expect(await mysql.faults()).toEqual([]);
    expect(faultsOf(await accountOf(scene, { raw: [long] }), { repeats: false })).toEqual([]);
  });
});
