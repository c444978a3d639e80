import { expect, test } from 'vitest';
import { ServerPair } from '../../ledger-postgres/server-pair.ts';
import { until } from '../../support/time/until.ts';
import { told } from '../telling.ts';
import { aSceneOnServer, deliveriesUnderWay, expectAllKept } from './scene-on-server.ts';

// Fault 68: the server of the ledger is one of two. The carrier plays no part: both write to the ledger in the same way.

const CONCURRENCY = 4;
/** Returns a row until the standby, which answers, has all 40 leads, and every outcome of the sinks other than the receiver. */
const ELSEWHERE = `SELECT 1 WHERE (SELECT count(*) FROM leads) < 40
  OR EXISTS (SELECT 1 FROM deliveries WHERE sink <> 'crm' AND state = 'pending')`;

test('68. after a fail-over that lost nothing, leadsync continues on the new primary and loses no outcome', async () => {
  const pair = await ServerPair.start();
  const sinks = { crm: { timeout: '120s', concurrency: CONCURRENCY } };
  const scene = await aSceneOnServer(pair.standby, 'in-process', { stub: { leads: 20 }, sinks });
  scene.line.leadTo(pair.primary.port);
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const before = scene.receiver.received.length;
  const answer = await deliveriesUnderWay(scene, 20);
  // The standby is asynchronous: what is committed while its replication ends would be lost. Now only polls commit.
  const isAtRest = async () =>
    scene.receiver.received.length === before + CONCURRENCY && (await scene.sql(ELSEWHERE)).length === 0;
  await until('all other deliveries are settled', isAtRest, 60_000);
  await pair.stopReplication();
  await pair.primary.crash();
  answer();
  scene.stub.addLeads(20);
  // A poll that was waiting for its commit asks for its outcome until a server answers, so it does not have to fail.
  await told(daemon, 'ledger-failed');
  await pair.failOver();
  scene.line.leadTo(pair.standby.port);
  await expectAllKept(scene, daemon, { repeats: false });
});

test('68. a former primary that comes back is not used', async () => {
  const pair = await ServerPair.start();
  const scene = await aSceneOnServer(pair.standby, 'in-process', { stub: { leads: 20 } });
  scene.line.leadTo(pair.primary.port);
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  await pair.stopReplication();
  await pair.failOver();
  scene.line.leadTo(pair.standby.port);
  scene.line.cut();
  scene.stub.addLeads(20);
  await until('the leads are everywhere', () => scene.complete(), 60_000);
  scene.line.leadTo(pair.primary.port);
  scene.line.cut();
  scene.stub.addLeads(20);
  const { reason } = await told(daemon, 'poll-failed', { code: 'ledger-standby' });
  expect(reason).toContain('is a former primary: another server has taken its place');
  scene.line.leadTo(pair.standby.port);
  await expectAllKept(scene, daemon, { repeats: false });
});
