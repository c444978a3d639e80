import { expect, test } from 'vitest';
import { ServerPair } from '../../ledger-postgres/server-pair.ts';
import { until } from '../../support/time/until.ts';
import { told } from '../telling.ts';
import { aSceneOnServer, deliveriesUnderWay, expectAllKept } from './scene-on-server.ts';

// Fault 68: the server of the ledger is one of two. The carrier plays no part: both write to the ledger in the same way.

test('68. after a fail-over that lost nothing, leadsync continues on the new primary and loses no outcome', async () => {
  const pair = await ServerPair.start();
  const scene = await aSceneOnServer(pair.standby, 'in-process', { stub: { leads: 20 } });
  scene.line.leadTo(pair.primary.port);
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const answer = await deliveriesUnderWay(scene, 20);
  await pair.stopReplication();
  await pair.primary.crash();
  answer();
  scene.stub.addLeads(20);
  await told(daemon, 'poll-failed', { code: 'ledger-away' });
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
