// `npm run test:simulation -- --seeds N --from M`: simulated runs over many seeds. `--tell` tells each step of them.
import { parseArgs } from 'node:util';
import { explain, type Run, runSeed } from './simulate.ts';

const PROGRESS_EVERY = 100;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    /** Ends after so many that fail. */
    failures: { type: 'string', default: '3' },
    tell: { type: 'boolean', default: false },
  },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const startedMs = performance.now();
const runs: Run[] = [];
let failed = 0;

for (let seed = from; seed < from + seeds && failed < Number(values.failures); seed += 1) {
  try {
    runs.push(await runSeed(seed, values.tell ? say : undefined));
  } catch (error) {
    failed += 1;
    say(await explain(seed, error));
  }
  if ((seed - from + 1) % PROGRESS_EVERY === 0)
    process.stderr.write(`${seed - from + 1} of ${seeds} seeds\n`);
}
report();
process.exit(failed === 0 ? 0 : 1);

function report(): void {
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0);
  const slowest = Math.max(0, ...runs.map((run) => run.toRestMs));
  const seconds = (performance.now() - startedMs) / 1000;
  say(
    `seeds           ${runs.length + failed} (${from} to ${from + runs.length + failed - 1}), in ${seconds.toFixed(0)} s`,
  );
  say(`simulated time  ${(sum((run) => run.simulatedMs) / 3_600_000).toFixed(1)} h`);
  say(`leads           ${sum((run) => run.leads)}`);
  say(`attempts        ${sum((run) => run.attempts)}`);
  say(`kills           ${sum((run) => run.deaths)}`);
  say(`repeats         ${sum((run) => run.repeats)}, each with the same id and for a reason`);
  say(`to rest         ${(slowest / 1000).toFixed(0)} s at most, once everything was healed`);
  say(`promises broken ${failed}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
