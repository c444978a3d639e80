import { expect, it } from 'vitest';
import { BEAT_MS, DUTIES, LEASE_MS, NETWORK_MS, Several } from './several.ts';

/** As many seeds as a suite has time for. */
const SEEDS = 20;
const MINUTE = 60_000;
/** For how long a run has faults, in ms. */
const FAULTS_MS = 20 * MINUTE;

/** Does something to the machines of a run, or to the clock of their server. */
function fault(on: Several): void {
  const { chance, alive } = on;
  const machine = alive[chance.below(alive.length)];
  const later = (ms: number, act: () => void) => void on.clock.sleep(ms).then(act);
  const kind = chance.below(8);
  if (!machine || alive.length < 2 || kind === 0) on.start();
  else if (kind === 1) machine.life.die();
  else if (kind === 2) machine.stop();
  else if (kind === 3) {
    on.freeze(machine);
  } else if (kind === 7)
    machine.life.arm({
      kind: 'freeze',
      place: chance.oneIn(2) ? 'attempt' : 'crossing',
      after: chance.below(3),
    });
  else if (kind === 6) on.table.setAhead(chance.between(-60, 60) * MINUTE);
  else {
    on.cut(machine, kind === 4 ? 'lost' : 'late');
    later(chance.below(4 * LEASE_MS), () => on.mend(machine));
  }
}

/** Runs machines with faults, and then without. Returns how much was recorded. */
async function run(seed: number) {
  const on = new Several(seed);
  try {
    for (let starts = 0; starts < 3; starts += 1) on.start();
    while (on.clock.passedMs < FAULTS_MS) {
      fault(on);
      // A machine that starts while the server's clock is set ahead cannot know that: the others have to beat once.
      await on.pass(2 * LEASE_MS + on.chance.below(2 * LEASE_MS));
    }
    for (const machine of on.alive) {
      on.mend(machine);
      machine.life.disarm();
      machine.life.thaw();
    }
    on.start();
    await on.pass(2 * LEASE_MS + 2 * NETWORK_MS);
    for (const duty of DUTIES) expect([duty, on.trusting(duty).length]).toEqual([duty, 1]);
    return { recorded: on.recorded, moves: on.table.moves, sent: on.sent, reclaimed: on.reclaimed };
  } finally {
    on.close();
  }
}

it('no two machines trust a duty, record for a source or attempt a batch, and every duty is held again, whatever fails', async () => {
  let [recorded, moves, sent, reclaimed] = [0, 0, 0, 0];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const done = await run(seed).catch((error) => {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    });
    recorded += done.recorded;
    moves += done.moves;
    sent += done.sent;
    reclaimed += done.reclaimed;
  }
  expect(recorded).toBeGreaterThan(5_000);
  expect(moves).toBeGreaterThan(0);
  expect(sent).toBeGreaterThan(5_000);
  expect(reclaimed).toBeGreaterThan(50);
});

it.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'the duties of a machine that is killed are held again within a lease and a beat, with seed %i',
  async (seed) => {
    const on = new Several(seed);
    const machines = [on.start(), on.start(), on.start()];
    await on.pass(MINUTE + on.chance.below(LEASE_MS));
    const killed = on.chance.shuffled(machines)[0];
    const duties = DUTIES.filter((duty) => killed?.trusts(duty));
    killed?.life.die();
    await on.pass(LEASE_MS + BEAT_MS * 1.02 + 3 * NETWORK_MS);
    for (const duty of duties) expect([duty, on.trusting(duty).length]).toEqual([duty, 1]);
    on.close();
  },
);

it.each(Array.from({ length: 10 }, (_, seed) => seed))(
  'the duties of a machine that stops in order are held again within a beat, with seed %i',
  async (seed) => {
    const on = new Several(seed);
    const machines = [on.start(), on.start(), on.start()];
    await on.pass(MINUTE + on.chance.below(LEASE_MS));
    on.chance.shuffled(machines)[0]?.stop();
    await on.pass(1.02 * BEAT_MS + 6 * NETWORK_MS);
    for (const duty of DUTIES) expect([duty, on.trusting(duty).length]).toEqual([duty, 1]);
    on.close();
  },
);

it('a machine that comes gets its share after ten minutes, and nothing moves from then on', async () => {
  const on = new Several(3);
  on.start();
  await on.pass(MINUTE);
  const other = on.start();
  await on.pass(8 * MINUTE);
  expect(on.table.moves).toBe(0);
  await on.pass(2 * MINUTE);
  const { moves } = on.table;
  expect(moves).toBeGreaterThan(0);
  expect(DUTIES.filter((duty) => other.trusts(duty))).toHaveLength(moves);
  await on.pass(60 * MINUTE);
  expect(on.table.moves).toBe(moves);
  on.close();
});

it('the duties of a machine that dies while the clock of the server is set back are held again within two leases', async () => {
  const on = new Several(5);
  const machines = [on.start(), on.start(), on.start()];
  await on.pass(MINUTE);
  const killed = machines.find((machine) => machine.trusts('poll:main'));
  killed?.life.die();
  on.table.setAhead(-60 * MINUTE);
  await on.pass(2 * LEASE_MS);
  for (const duty of DUTIES) expect([duty, on.trusting(duty).length]).toEqual([duty, 1]);
  on.close();
});
