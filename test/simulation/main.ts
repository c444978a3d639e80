// `npm run test:simulation -- --seeds N --from M`: runs the simulation over many seeds, and says what they came to.
import { parseArgs } from 'node:util';
import { explain, type Run, runSeed } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    tell: { type: 'boolean' },
    failures: { type: 'string', default: '3' },
  },
});
const [from, seeds] = [Number(values.from), Number(values.seeds)];
const say = (line: string) => process.stdout.write(`${line}\n`);

let failed = 0;
const started = performance.now();
const total = { attempts: 0, repeats: 0, deaths: 0, leads: 0, simulatedMs: 0, toRestMs: 0 };
for (let seed = from; seed < from + seeds; seed += 1) {
  try {
    const run = await runSeed(seed, values.tell ? say : undefined);
    for (const key of Object.keys(total) as (keyof Run)[])
      total[key] = key === 'toRestMs' ? Math.max(total[key], run[key]) : total[key] + run[key];
  } catch (error) {
    failed += 1;
    say(await explain(seed, error));
    if (failed >= Number(values.failures)) break;
  }
}
say(JSON.stringify({ ...total, failed, msPerSeed: (performance.now() - started) / seeds }));
process.exit(failed === 0 ? 0 : 1);
