// Point 10: leadsync is killed while it renews its token. The service ends a refresh token as strictly as the step allows:
// before the new one is on disk, nothing can help against a service that has ended the old one with its use.
// The carrier has no part in it.
import { expect, test } from 'vitest';
import type { RefreshRotation } from '../stub/tokens.ts';
import { aScene } from '../support/a-scene.ts';
import type { RunningLeadsync } from '../support/leadsync.ts';
import { expectRecovery, runUntilKilled } from './killing.ts';

const LEADS = 20;
/** Short enough to be renewed while one looks, and long enough for the slowest start. */
const TOKEN_SECONDS = 4;

test.each([
  ['token-received', 'on-first-use'],
  ['file-write', 'on-first-use'],
  ['file-sync', 'on-first-use'],
  ['file-rename', 'on-first-use'],
  ['token-saved', 'at-once'],
] as const)(
  '10. killed at %s, it goes on with the refresh token that is on disk (which the service ends %s)',
  async (place, refreshRotation) => {
    const { scene, log } = await killedWhileRenewing(place, refreshRotation, 'refresh_token');
    expect(grantsIn(log)).not.toContain('client_credentials');
    expect(log.map(({ event }) => event)).not.toContain('token-fallback');
    // One for the first token, one that was cut off, and those of the second run: each brought a token.
    expect(scene.stub.tokenRequests).toBe(2 + grantsIn(log).length);
  },
  120_000,
);

test('10. killed before the new token is on disk, where the service ended the old one at once, it asks with its own credentials, once, and says so', async () => {
  const { log } = await killedWhileRenewing('token-received', 'at-once', 'client_credentials');
  expect(grantsIn(log).filter((grant) => grant === 'client_credentials')).toHaveLength(1);
  expect(log.filter(({ event }) => event === 'token-fallback')).toHaveLength(1);
}, 120_000);

/** No leads at first: the files that are written until the kill are the token's. */
async function killedWhileRenewing(place: string, refreshRotation: RefreshRotation, grant: string) {
  const scene = await aScene('in-process', {
    stub: { tokenLifetimeSeconds: TOKEN_SECONDS, refreshRotation },
  });
  await runUntilKilled(scene, `${place}=kill@2`);
  scene.stub.addLeads(LEADS);
  const renewed = (log: RunningLeadsync['log']) => grantsIn(log).includes(grant);
  return { scene, ...(await expectRecovery(scene, { repeats: false }, renewed)) };
}

/** How each of its tokens was got, in order. */
function grantsIn(log: RunningLeadsync['log']): unknown[] {
  return log.filter(({ event }) => event === 'token-renewed').map(({ grant }) => grant);
}
