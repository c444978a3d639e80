// `npm run test:chaos`: the random run. `--help` explains the options.
import { randomInt } from 'node:crypto';
import { readOrExit } from '../support/program/command-line.ts';
import { runTool } from '../support/program/tool.ts';
import { installServers, missingServers } from '../support/servers/install-servers.ts';
import { type ChaosOptions, readOptions, USAGE } from './options.ts';
import { reportOf, summaryOf } from './report.ts';
import { playRun, type RunResult } from './run.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal));

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  installServers(missingServers(['redis', 'postgres', 'mariadb']));
  // A process that loads few files is up for most of a run, although it is killed often.
  const { bundledCheckout } = await import('../support/program/bundled-checkout.ts');
  process.env['LEADSYNC_TEST_PROGRAM'] ??= await bundledCheckout();
  // A signal ends the current run by itself; the tool waits for that.
  return opened.add(
    () => play(options),
    () => undefined,
  );
});

/** Plays the runs one after the other. Returns the exit code. */
async function play(options: ChaosOptions): Promise<number> {
  const { seed, runs } = options;
  const results: RunResult[] = [];
  const first = seed ?? randomInt(2 ** 31 - runs);
  try {
    for (let run = 0; run < runs; run++) results.push(await playOne(first + run, options));
  } catch (error) {
    // After a signal, the user knows why the run stopped.
    if (!stop.signal.aborted) throw error;
  }
  if (results.length > 1) process.stdout.write(`\n${summaryOf(results)}\n`);
  return results.length === runs && results.every(({ faults }) => faults.length === 0) ? 0 : 1;
}

async function playOne(seed: number, options: ChaosOptions): Promise<RunResult> {
  const { seconds, carriers, crms, ledger, machines } = options;
  const setting = { ledger, machines };
  const carrier = carriers[seed % carriers.length] ?? 'in-process';
  process.stdout.write(`seed ${seed}, ${carrier}, ${ledger}, ${seconds} s\n`);
  const say = (text: string) => void process.stderr.write(`${text}\n`);
  const result = await playRun({ seed, carrier, setting, seconds, crms, say, signal: stop.signal });
  process.stdout.write(reportOf(result));
  return result;
}
