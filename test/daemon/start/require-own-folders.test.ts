import { expect, it } from 'vitest';
import { requireOwnFolders } from '../../../src/daemon/start/require-own-folders.ts';
import { HeldClock } from '../../support/time/held-clock.ts';

/** Another process with a folder, as this one sees it. */
function aScene({ machine = 'there', folders = ['drop'] } = {}) {
  const clock = new HeldClock();
  const seen = { beats: 0, isDead: false };
  const life = { machine, role: 'worker', sinks: [], folders, wants: [], reluctant: [] };
  const others = {
    get all() {
      return [{ ...life, holder: 'other', seenMsAgo: 0, lastBeat: String(seen.beats) }];
    },
    isDead: () => seen.isDead,
  };
  const required = requireOwnFolders(['drop'], others, 'here', clock);
  return { clock, seen, required };
}

it('a sink whose folder is on one machine is refused on another one, once the process there shows that it lives', async () => {
  const { clock, seen, required } = aScene();
  const refused = expect(required).rejects.toMatchObject({
    code: 'held',
    message: expect.stringContaining('The sink drop writes into a folder, and leadsync worker on there'),
  });
  await clock.pass(2_000);
  seen.beats += 1;
  await clock.pass(1_000);
  await refused;
});

it('the sink of a process that was killed is accepted once it counts as dead', async () => {
  const { clock, seen, required } = aScene();
  await clock.pass(9_000);
  seen.isDead = true;
  await clock.pass(1_000);
  await required;
});

it.each([{ machine: 'here' }, { folders: ['other'] }])(
  'a process of the same machine, or with another folder, does not matter: %j',
  async (other) => {
    await aScene(other).required;
  },
);
