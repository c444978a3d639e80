// A million leads taken away as Parquet by the command itself, as a file and by days: how fast beside a bare copy of the ledger's file, and how much memory
// at the most. `npm run proof:export`; `-- --help` says more. Reads /proc: Linux only.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOrExit } from '../support/program/command-line.ts';
import { NODE_FLAGS, writeConfig } from '../support/program/leadsync.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { runTool } from '../support/program/tool.ts';
import { fillLedger, openForFilling } from './filled-ledger.ts';
import { readOptions } from './million-options.ts';

const LIMIT_MB = 300;

const USAGE = `npm run proof:export [-- [--leads N]]

A million leads (about 1 GB, listed in some minutes) taken away as Parquet, as a file and by days
that come in any order: how fast beside a bare copy of the ledger's file, and whether it takes less than ${LIMIT_MB} MB of memory. Linux only.

  --leads N   so many (1000000)
  --help      this text

Exit code 0: as promised; 1: not; 2: wrong usage.
`;

const { leads } = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const data = join(folder.path, 'data');
  const file = join(data, 'ledger.db');
  mkdirSync(data);
  const ledger = openForFilling(file);
  await fillLedger(ledger, leads, {});
  await ledger.close();
  const copyMs = await timed(() => copy(file, join(folder.path, 'copy.db')));
  say(`a bare copy of the file (${mb(statSync(file).size)} MB): ${leadsPerSecond(copyMs)} leads/s`);
  const { configFile } = await writeConfig(folder.path, {
    sources: { main: { base_url: 'http://127.0.0.1:9', client_id: 'a', client_secret: 'b' } },
    sinks: { drop: { type: 'csv', directory: './drop' } },
  });
  const asFile = await takenAway('as a file', configFile, [join(folder.path, 'leads.parquet')]);
  const days = ['--partition', 'day', join(folder.path, 'days')];
  const byDays = await takenAway('by days', configFile, days);
  const ok = Math.max(asFile, byDays) < LIMIT_MB;
  say(ok ? 'as promised' : 'NOT as promised');
  return ok ? 0 : 1;
});

async function copy(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const copied = await open(to, 'r');
  await copied.sync();
  await copied.close();
}

/** Gives the most memory that the command had, in MB. */
async function takenAway(how: string, configFile: string, args: readonly string[]): Promise<number> {
  let peakMb = 0;
  const ms = await timed(async () => {
    peakMb = await peakOfExport(['export', '-c', configFile, ...args]);
  });
  say(`leadsync export ${how}: ${leadsPerSecond(ms)} leads/s, its start included`);
  say(`at most ${peakMb} MB of memory (limit ${LIMIT_MB} MB)`);
  return peakMb;
}

async function peakOfExport(args: readonly string[]): Promise<number> {
  const program = fileURLToPath(new URL('../../bin/leadsync.js', import.meta.url));
  const child = fork(program, args, {
    execArgv: [...NODE_FLAGS],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  let peakMb = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakMb = Math.max(peakMb, peakOf(child));
    await Promise.race([ended, sleep(100)]);
  }
  if (child.exitCode !== 0) throw new Error(`leadsync export ended with ${child.exitCode}`);
  return peakMb;
}

function peakOf({ pid }: ChildProcess): number {
  try {
    const [, kb = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.ceil(Number(kb) / 1024);
  } catch {
    return 0; // it has ended
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function leadsPerSecond(ms: number): number {
  return Math.round((leads / ms) * 1000);
}

function mb(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
