import { describe, expect, it } from 'vitest';
import { explain, runSeed } from './simulate.ts';

/** As many seeds as a suite has time for; `npm run test:simulation -- --seeds 10000` runs more. */
const SEEDS = 300;
const asked = process.env['SIMULATION_SEED'];

async function failureOf(seed: number, narrate?: (line: string) => void): Promise<string> {
  try {
    await runSeed(seed, narrate);
    return '';
  } catch (error) {
    return await explain(seed, error);
  }
}

describe('any faults in any order', () => {
  if (asked === undefined)
    it('no lead is lost, none arrives twice without a reason, and every run comes to rest', async () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) expect(await failureOf(seed)).toBe('');
    });
  else
    it(`the run of seed ${asked} keeps every promise`, async () => {
      const failure = await failureOf(Number(asked), (line) => process.stdout.write(`${line}\n`));
      expect(failure).toBe('');
    });
});
