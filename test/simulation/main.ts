// `npm run test:simulation`: simulated runs over many seeds. `-- --help` explains the options.
import { setTimeout as sleep } from 'node:timers/promises';
import { readOrExit } from '../support/program/command-line.ts';
import { runTool } from '../support/program/tool.ts';
import { readOptions, USAGE } from './options.ts';
import { explain, type Run, runSeed } from './simulate.ts';

const PROGRESS_EVERY = 100;
const PATIENCE_MS = 5_000;

const { from, seeds, failures, tell } = readOrExit(readOptions, USAGE);
const startedMs = performance.now();
const runs: Run[] = [];
let failed = 0;

await runTool(async (opened) => {
  let running: Promise<void> | undefined;
  // A run removes its folders when it ends, usually within a second; the tool does not wait longer.
  const over = () => Promise.race([running, sleep(PATIENCE_MS, undefined, { ref: false })]);
  await opened.add(() => undefined, over);
  for (let seed = from; seed < from + seeds && failed < failures && !opened.stopped; seed += 1) {
    running = play(seed);
    await running;
  }
  report();
  return failed === 0 ? 0 : 1;
});
// A killed simulated process leaves the timers of its attempts behind; the tool does not wait for them.
process.exit();

async function play(seed: number): Promise<void> {
  try {
    runs.push(await runSeed(seed, tell ? say : undefined));
  } catch (error) {
    failed += 1;
    say(await explain(seed, error));
  }
  if ((seed - from + 1) % PROGRESS_EVERY === 0)
    process.stderr.write(`${seed - from + 1} of ${seeds} seeds\n`);
}

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
