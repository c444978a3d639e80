// Fault 10: leadsync is killed while it refreshes its token. The service ends a refresh token as strictly as the step allows: before the
// new token is on disk, nothing helps against a service that ended the old one with its use. When asked to stop, leadsync has the time to
// receive the new one. The carrier plays no part.
import { expect, test } from 'vitest';
import type { RefreshRotation } from '../../stub/tokens.ts';
import type { RunningLeadsync } from '../../support/program/leadsync.ts';
import { logIn } from '../../support/program/log-in.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { SceneOptions } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { logged, told } from '../telling.ts';
import { expectRecovery, runUntilKilled } from './killing.ts';

const LEADS = 20;
/** Short enough to expire during a test, and long enough for the slowest start. */
const TOKEN_SECONDS = 4;

test.each([
  ['token-received', 'on-first-use'],
  ['file-write', 'on-first-use'],
  ['file-sync', 'on-first-use'],
  ['file-rename', 'on-first-use'],
  ['token-saved', 'at-once'],
] as const)(
  '10. killed at %s, leadsync continues with the refresh token on disk (rotation %s)',
  async (place, refreshRotation) => {
    const { scene, log } = await killedWhileRenewing(place, refreshRotation, 'refresh_token');
    expect(grantsIn(log)).not.toContain('client_credentials');
    expect(log.map(({ event }) => event)).not.toContain('token-fallback');
    // One request for the first token, one that was cut off, and those of the second run, each of which succeeded.
    expect(scene.stub.tokenRequests).toBe(2 + grantsIn(log).length);
  },
);

test('10. killed before the new token is on disk, after the service ended the old one, leadsync uses its client credentials once and says so', async () => {
  const { log } = await killedWhileRenewing('token-received', 'at-once', 'client_credentials');
  expect(grantsIn(log).filter((grant) => grant === 'client_credentials')).toHaveLength(1);
  expect(log.filter(({ event }) => event === 'token-fallback')).toHaveLength(1);
});

test('10. asked to stop during a refresh, leadsync stores the answer, and the login still works after a restart', async () => {
  const { scene, daemon, answer } = await renewingLogin();
  daemon.process.kill('SIGTERM');
  await told(daemon, 'stopping');
  answer();
  expect(await daemon.exited).toEqual({ code: 0, signal: null });
  scene.stub.addLeads(LEADS);
  const next = await scene.start();
  await until('the new leads are everywhere', () => scene.complete(), 60_000);
  expect(logged(next, 'poll-failed')).toEqual([]);
  expect(new Set(scene.stub.grants.slice(1))).toEqual(new Set(['refresh_token']));
  expect(await next.kill()).toEqual({ code: 0, signal: null });
});

test('10. asked a second time to stop during a refresh, leadsync exits immediately', async () => {
  const { daemon } = await renewingLogin();
  daemon.process.kill('SIGTERM');
  await told(daemon, 'stopping');
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 143, signal: null });
});

test('10. asked to stop during a refresh, leadsync waits no longer than stop.grace', async () => {
  const { daemon } = await renewingLogin({ stop: { grace: '500ms' } });
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(logged(daemon, 'stopped')).toMatchObject([{ level: 'info' }]);
});

/** Starts a daemon that waits for the answer to a refresh, which ended the refresh token on disk. `answer` releases it. */
async function renewingLogin(config: SceneOptions['config'] = {}) {
  const scene = await aScene('in-process', {
    stub: { leads: LEADS, personal: true, tokenLifetimeSeconds: TOKEN_SECONDS, refreshRotation: 'at-once' },
    config,
  });
  await logIn(scene.configFile);
  const answered = Promise.withResolvers<void>();
  scene.stub.misbehave({ token: 'answer-slow', until: answered.promise, times: 1 });
  const daemon = await scene.start();
  await until('it renews', () => scene.stub.grants.at(-1) === 'refresh_token', 60_000);
  return { scene, daemon, answer: answered.resolve };
}

/** Shows no leads at first, so that only token files are written until the kill. */
async function killedWhileRenewing(place: string, refreshRotation: RefreshRotation, grant: string) {
  const scene = await aScene('in-process', {
    stub: { tokenLifetimeSeconds: TOKEN_SECONDS, refreshRotation },
  });
  await runUntilKilled(scene, `${place}=kill@2`);
  scene.stub.addLeads(LEADS);
  const renewed = (log: RunningLeadsync['log']) => grantsIn(log).includes(grant);
  return { scene, ...(await expectRecovery(scene, { repeats: false }, renewed)) };
}

/** Returns the grant of each token, in order. */
function grantsIn(log: RunningLeadsync['log']): unknown[] {
  return log.filter(({ event }) => event === 'token-renewed').map(({ grant }) => grant);
}
