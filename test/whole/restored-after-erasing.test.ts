import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { aScene } from '../support/scene/a-scene.ts';
import { until } from '../support/time/until.ts';

test('a ledger restored from before an erasure delivers no erased lead to any sink', async () => {
  const scene = await aScene('in-process', {
    stub: { leads: 5 },
    sinks: { warehouse: { mirror: '1s' }, drop: { enabled: false } },
  });
  const file = join(scene.dataDir, 'ledger.db');
  const [known, listedSince] = [3, 7];
  const first = await scene.start();
  const received = () => scene.receiver.received.length;
  await until('the first are delivered', () => received() >= 5);
  const ledger = new Database(file, { readonly: true });
  await ledger.backup(`${file}.backup`);
  ledger.close();
  scene.stub.addLeads(3);
  await until('the others are delivered', () => received() >= 8);
  for (const lead of [known, listedSince]) await scene.run('erase', String(lead), '--yes');
  await until('the webhook has ten requests', () => received() >= 10);
  await first.kill();

  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  copyFileSync(`${file}.backup`, file);
  scene.stub.changeLead(known);
  const before = received();
  const second = await scene.start();
  await until('the others are delivered once more', () => received() >= before + 3);
  const ofSecond = () =>
    scene.query(`SELECT FROM ${scene.schema}.polls WHERE started_at > now() - interval '2 seconds'`);
  await until('the mirror has come this far', async () => (await ofSecond()).length > 0);
  expect(second.log).toContainEqual(expect.objectContaining({ event: 'erased-again', leads: 2 }));
  const bodies = scene.receiver.received.slice(before).map(({ body }) => body.toString());
  const content = new RegExp(`"data":\\{"id":(${known}|${listedSince}),`);
  expect(bodies.filter((body) => content.test(body))).toEqual([]);
  const held = await scene.query(
    `SELECT lead_id FROM ${scene.schema}.lead_versions WHERE lead_id IN (${known}, ${listedSince}) AND raw::text LIKE '%client%'
     UNION ALL SELECT id FROM ${scene.schema}.leads WHERE id IN (${known}, ${listedSince})`,
  );
  expect(held).toEqual([]);
  const { stdout } = await scene.run('query', 'SELECT id FROM leads ORDER BY id', '--format', 'jsonl');
  expect(stdout.match(/\d+/g)).toEqual(['1', '2', '4', '5', '6', '8']);
});
