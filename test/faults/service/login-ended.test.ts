// Faults 10 and 39 after a person logged in: the listing is that person's, and the client itself lists nothing. Whatever ends the login,
// leadsync says so and asks for another login. It never reads as a different user. The carrier plays no part.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StubOptions } from '../../stub/stub.ts';
import type { Daemon } from '../../support/program/leadsync.ts';
import { logIn } from '../../support/program/log-in.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { runUntilKilled } from '../killed/killing.ts';
import { logged, statusOf, told } from '../telling.ts';

const LEADS = 20;
const MORE = 7;

test('39. after the service revokes a login, leadsync stops polling until an operator logs in again, across restarts', async () => {
  const scene = await aPersonsScene();
  let daemon = await scene.start();
  await until('the leads are everywhere', () => scene.complete(), 60_000);
  scene.stub.revoke('all');
  scene.stub.addLeads(MORE);
  await expectRefusedOnce(scene, daemon);
  daemon = await scene.start();
  await expectLoginNeeded(scene, daemon);
  expect(await daemon.kill()).toEqual({ code: 0, signal: null });
  daemon = await scene.start();
  await expectLoginNeeded(scene, daemon);
  await expectLoginHelps(scene, daemon);
});

test('10. after a kill loses the rotated refresh token of a login, leadsync stops polling until an operator logs in again', async () => {
  const scene = await aPersonsScene({ tokenLifetimeSeconds: 4, refreshRotation: 'at-once' });
  await runUntilKilled(scene, 'token-received=kill', ['crm', 'drop', 'warehouse']);
  scene.stub.addLeads(MORE);
  await expectRefusedOnce(scene, await scene.start());
  const daemon = await scene.start();
  await expectLoginNeeded(scene, daemon);
  await daemon.kill();
  await expectLoginHelps(scene);
});

/** Opens a scene whose source has a login. */
async function aPersonsScene(stub: StubOptions = {}): Promise<Scene> {
  const scene = await aScene('in-process', { stub: { leads: LEADS, personal: true, ...stub } });
  await logIn(scene.configFile);
  return scene;
}

/** Ends the daemon and dates the refusal on disk far enough back for the second try. */
async function expectRefusedOnce(scene: Scene, daemon: Daemon): Promise<void> {
  const failed = () => daemon.log.find(({ event }) => event === 'poll-failed');
  const failure = await until('a poll fails', failed, 60_000);
  expect(failure).toMatchObject({ code: 'login-refused', level: 'warn' });
  expect(Number(failure['retryInMs'])).toBeGreaterThan(60_000);
  await daemon.kill();
  const path = join(scene.dataDir, 'tokens', 'main.json');
  const token = JSON.parse(readFileSync(path, 'utf8'));
  expect(token).toMatchObject({ refresh_token: expect.any(String), refused_at: expect.any(String) });
  writeFileSync(path, JSON.stringify({ ...token, refused_at: '2026-01-01T00:00:00.000Z' }));
}

async function expectLoginNeeded(scene: Scene, daemon: Daemon): Promise<void> {
  const failed = () => daemon.log.find(({ event }) => event === 'poll-failed');
  const failure = await until('a poll fails', failed, 60_000);
  expect(failure).toMatchObject({ code: 'login-needed', level: 'error' });
  expect(failure['hint']).toContain('`leadsync login main`');
  expect(
    daemon.log.filter(({ event, grant }) => event === 'token-fallback' || grant === 'client_credentials'),
  ).toEqual([]);
  // A refused source leaves the process able to do all of its own work.
  expect((await fetch(`${daemon.adminUrl}/readyz`)).status).toBe(200);
  expect((await statusOf(scene)).sources['main']).toMatchObject({ last_poll: { status: 'failed' } });
  const overview = await scene.run('status');
  expect(overview.stdout + overview.stderr).toContain('login main');
  const checked = await scene.run('check');
  expect(checked.code).toBe(69);
  expect(checked.stdout).toMatch(/FAILED {2}source main: .*`leadsync login main`/);
}

/** Logs in; a running daemon is not notified of it. */
async function expectLoginHelps(scene: Scene, running?: Daemon): Promise<void> {
  await logIn(scene.configFile);
  const daemon = running ?? (await scene.start());
  if (running) await expectNoWait(running);
  await until('the new leads are everywhere', () => scene.complete(), 60_000);
  expect((await statusOf(scene)).sources['main']).toMatchObject({ leads: LEADS + MORE });
  expect(await daemon.kill()).toEqual({ code: 0, signal: null });
}

/** Expects the poll after the login to come before the scheduled retry. */
async function expectNoWait(daemon: Daemon): Promise<void> {
  const finished = await told(daemon, 'poll-finished');
  const failed = logged(daemon, 'poll-failed').at(-1);
  const waitedMs = Date.parse(String(finished['time'])) - Date.parse(String(failed?.['time']));
  expect(waitedMs).toBeLessThan(Number(failed?.['retryInMs']));
}
