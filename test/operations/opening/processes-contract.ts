import { expect, test } from 'vitest';
import type { Processes } from '../../../src/operations/opening/processes.ts';

/** What the test does with the processes of one ledger. */
interface Around {
  /** Opens the processes as another process would. */
  readonly open: () => Processes;
  /** Lets another process join. */
  readonly join: (name: string) => Promise<void>;
  /** Ends that process without an orderly stop. */
  readonly kill: (name: string) => void;
}

/** Later than the time for which a new process may be left out. */
const later = () => new Date(Date.now() + 3_600_000);

/** What `Processes` promises, whatever shows that a process is alive. */
export function processesContract(around: () => Around): void {
  test('a process that has joined is dead neither to itself nor to others', async () => {
    const { open } = around();
    const [own, other] = [open(), open()];
    const { release } = await own.join('a1');
    for (const seen of [own, other]) {
      expect(await seen.isDead('a1')).toBe(false);
      expect(await seen.dead(later())).toEqual([]);
    }
    release();
  });

  test('a process that never joined, or that has left, may be alive', async () => {
    const { open } = around();
    const { release } = await open().join('a1');
    release();
    for (const name of ['a1', 'b2']) expect(await open().isDead(name)).toBe(false);
    expect(await open().dead(later())).toEqual([]);
  });

  test('a killed process is dead until it is forgotten', async () => {
    const { open, join, kill } = around();
    const alive = await open().join('b2');
    await join('a1');
    expect(await open().isDead('a1')).toBe(false);
    kill('a1');
    expect([await open().isDead('a1'), await open().isDead('b2')]).toEqual([true, false]);
    expect(await open().dead(later())).toEqual(['a1']);
    await open().forget('a1');
    expect(await open().isDead('a1')).toBe(false);
    expect(await open().dead(later())).toEqual([]);
    alive.release();
  });
}
