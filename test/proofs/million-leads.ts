// A first sync of a million leads (about 0.9 GB) into the ledger: how long, how much memory at the most, and whether the
// process answered /livez throughout. `npm run proof:million`; `-- --help` says more. Reads /proc: Linux only.
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOrExit } from '../support/program/command-line.ts';
import { type FinishedLeadsync, startLeadsync, writeConfig } from '../support/program/leadsync.ts';
import { openRunFolder } from '../support/program/run-folder.ts';
import { type Opened, runTool } from '../support/program/tool.ts';
import { freePort, stopProcess } from '../support/servers/server-process.ts';
import { readOptions, USAGE } from './million-options.ts';

const LIMIT_MB = 300;
const { leads } = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  const folder = await opened.add(openRunFolder, (one) => one.close());
  const port = await freePort();
  await opened.add(
    () => startService(port),
    (one) => stopProcess(one, 'SIGTERM'),
  );
  return (await proveSync(folder.path, port, opened)) ? 0 : 1;
});

/** In a process of its own, as the service is: its memory must not count. */
function startService(port: number): ChildProcess {
  const program = fileURLToPath(new URL('../stub/main.ts', import.meta.url));
  const args = ['--port', String(port), '--leads', String(leads)];
  return fork(program, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}

interface Seen {
  peakMb: number;
  slowestMs: number;
  answered: number;
  failed: number;
  unanswered: number;
}

async function proveSync(folder: string, port: number, opened: Opened): Promise<boolean> {
  const { configFile, adminUrl } = await writeConfig(folder, {
    sources: {
      main: { base_url: `http://127.0.0.1:${port}`, client_id: 'demo-client', client_secret: 'demo-secret' },
    },
  });
  const startMs = performance.now();
  const onStderr = (text: string) => void process.stderr.write(text);
  const sync = await opened.add(
    () => startLeadsync(['sync', '--json', '-c', configFile], { onStderr }),
    (one) => one.kill('SIGKILL'),
  );
  let over = false;
  void sync.exited.then(() => {
    over = true;
  });
  const seen: Seen = { peakMb: 0, slowestMs: 0, answered: 0, failed: 0, unanswered: 0 };
  while (!over) {
    await probe(adminUrl, seen);
    seen.peakMb = Math.max(seen.peakMb, residentMb(sync.process.pid));
    await sleep(50);
  }
  return report(
    { ...(await sync.exited), stdout: sync.stdout, stderr: sync.stderr },
    seen,
    performance.now() - startMs,
  );
}

async function probe(adminUrl: string, seen: Seen): Promise<void> {
  const startMs = performance.now();
  try {
    await (await fetch(`${adminUrl}/livez`, { signal: AbortSignal.timeout(2_000) })).text();
    seen.answered += 1;
    seen.failed += seen.unanswered;
    seen.unanswered = 0;
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startMs);
  } catch {
    // Before leadsync listens and after it has closed, no request is answered. A miss counts only between two answers.
    if (seen.answered > 0) seen.unanswered += 1;
  }
}

/** The most memory that the process has ever held, in MB. */
function residentMb(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0; // it has ended
  }
}

function report(exit: FinishedLeadsync, seen: Seen, ms: number): boolean {
  const [source] = JSON.parse(exit.stdout || '{"sources":[]}').sources;
  const ok =
    exit.code === 0 &&
    source?.leads === leads &&
    seen.peakMb < LIMIT_MB &&
    seen.answered > 0 &&
    seen.failed === 0;
  process.stdout.write(
    `${source?.leads} leads in the ledger after ${(ms / 1000).toFixed(1)} s (${Math.round((leads / ms) * 1000)} leads/s), exit code ${exit.code}\n` +
      `memory at the most ${seen.peakMb.toFixed(0)} MB (limit ${LIMIT_MB})\n` +
      `/livez answered ${seen.answered} times, the slowest in ${seen.slowestMs.toFixed(0)} ms; missed ${seen.failed}\n` +
      `${ok ? 'as promised' : 'NOT as promised'}\n`,
  );
  return ok;
}
