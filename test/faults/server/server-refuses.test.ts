import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SmallDisk } from '../../support/files/small-disk.ts';
import { type PrivatePostgres, startPostgres } from '../../support/servers/private-postgres.ts';
import { unprivilegedOwner } from '../../support/servers/server-process.ts';
import { uniqueName } from '../../support/servers/services.ts';
import { until } from '../../support/time/until.ts';
import { aSceneOnServer, deliveriesUnderWay, expectAllKept, expectReported } from './scene-on-server.ts';

// Faults 64, 65, 67 and 69, against a PostgreSQL that belongs to this file, and lets everyone but its administrator in by password only. The carrier
// plays no part: both write to the ledger in the same way.

const ACCESS = `
host all leadsync 127.0.0.1/32 trust
host all all      127.0.0.1/32 scram-sha-256
`;

let folder: string;
let server: PrivatePostgres;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'hba.conf'), ACCESS, { mode: 0o644 });
  server = await startPostgres({ settings: { hba_file: join(folder, 'hba.conf') } });
});
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** Opens a scene with a user who owns the ledger and is no superuser. `administer` runs SQL about the user, whose name is `$USER` in it. */
async function asUser(leads = 20) {
  const user = uniqueName('user');
  const scene = await aSceneOnServer(server, 'in-process', { stub: { leads }, login: `${user}:let-me-in` });
  const administer = async (sql: string) => void (await scene.sql(sql.replaceAll('$USER', user)));
  await administer(`CREATE ROLE $USER LOGIN PASSWORD 'let-me-in'`);
  await administer(`CREATE SCHEMA ${scene.ledger.schema} AUTHORIZATION $USER`);
  return { scene, administer };
}

test('64. when the password is no longer valid, leadsync says so, keeps the outcomes, and continues when it is valid again', async () => {
  const { scene, administer } = await asUser();
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const answer = await deliveriesUnderWay(scene, 20);
  await administer(`ALTER ROLE $USER PASSWORD 'another'`);
  await scene.endSessions();
  answer();
  scene.stub.addLeads(20);
  await expectReported(daemon, /refuses the user or the password \(SQLSTATE 28P01\)/);
  expect((await scene.run('status')).stderr).toContain('refuses the user or the password');
  await administer(`ALTER ROLE $USER PASSWORD 'let-me-in'`);
  await expectAllKept(scene, daemon, { repeats: false });
});

test('65. when the server accepts no more connections, leadsync says so and continues when it does', async () => {
  const { scene, administer } = await asUser();
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const answer = await deliveriesUnderWay(scene, 20);
  await administer('ALTER ROLE $USER CONNECTION LIMIT 0');
  await scene.endSessions();
  answer();
  scene.stub.addLeads(20);
  await expectReported(daemon, /accepts no more connections \(SQLSTATE 53300\)/);
  await administer('ALTER ROLE $USER CONNECTION LIMIT -1');
  await expectAllKept(scene, daemon, { repeats: false });
});

test('65. with a limit of fewer connections than it would use, leadsync brings every lead to every sink', async () => {
  const { scene, administer } = await asUser(200);
  // The beats and the notices keep a connection each.
  await administer('ALTER ROLE $USER CONNECTION LIMIT 5');
  const daemon = await scene.start();
  await until('the leads are everywhere', () => scene.complete(), 60_000);
  expect(daemon.stderr).not.toContain('53300');
  await administer('ALTER ROLE $USER CONNECTION LIMIT -1'); // for the commands that look at the ledger
  await expectAllKept(scene, daemon, { repeats: false });
});

test('69. a start on the same data directory follows a stop for which the server was away, without waiting for the lease of the ledger', async () => {
  const { scene } = await asUser();
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  scene.line.unplug();
  await daemon.kill('SIGTERM');
  // The ledger still names the process, and only its lock file shows that it is dead.
  const signs = () => readdirSync(join(scene.dataDir, 'processes'));
  expect(signs()).toHaveLength(1);
  scene.line.heal();
  const next = await scene.start();
  await expectAllKept(scene, next, { repeats: false });
  expect(signs()).toEqual([]);
});

test('67. on a full disk of the server, every recorded lead is owed, leadsync says so, and continues once there is space', async (context) => {
  const at = join(folder, uniqueName('disk'));
  mkdirSync(at);
  const disk = new SmallDisk(join(at, 'space'), 32);
  onTestFinished(() => disk.close());
  if (!disk.own) context.skip('needs a file system of its own, which this machine does not permit mounting');
  const owner = unprivilegedOwner('postgres');
  const space = readlinkSync(join(at, 'space'));
  if (owner) chownSync(space, owner.uid, owner.gid);
  const { scene, administer } = await asUser();
  const name = uniqueName('space');
  await scene.sql(`CREATE TABLESPACE ${name} LOCATION '${space}'`);
  onTestFinished(async () => {
    disk.free();
    await scene.sql(`DROP SCHEMA ${scene.ledger.schema} CASCADE`);
    await scene.sql(`DROP TABLESPACE ${name}`);
  });
  await administer(`GRANT CREATE ON TABLESPACE ${name} TO $USER`);
  await administer(`ALTER ROLE $USER SET default_tablespace = ${name}`);
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const answer = await deliveriesUnderWay(scene, 20);
  disk.fill();
  answer();
  scene.stub.addLeads(2_000);
  await expectReported(daemon, /the server's disk is full \(SQLSTATE 53100\)/);
  disk.free();
  await expectAllKept(scene, daemon, { repeats: false });
});
