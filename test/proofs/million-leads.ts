// A first sync of a million leads (about 0.9 GB) into the ledger: how long, how much memory at the most, and whether the
// process answered /livez throughout. `npm run proof:million`, or with `-- --leads 100000`. Reads /proc: Linux only.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type FinishedLeadsync, startLeadsync, writeConfig } from '../support/leadsync.ts';
import { freePort } from '../support/server-process.ts';

const LIMIT_MB = 300;
const { values } = parseArgs({ options: { leads: { type: 'string', default: '1000000' } } });
const leads = Number(values.leads);
const folder = mkdtempSync(join(tmpdir(), 'leadsync-proof-'));
const port = await freePort();
// In a process of its own, as the service is: its memory must not count.
const stub = fork(
  fileURLToPath(new URL('../stub/main.ts', import.meta.url)),
  ['--port', String(port), '--leads', String(leads)],
  {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  },
);
try {
  process.exitCode = (await proveSync()) ? 0 : 1;
} finally {
  stub.kill();
  await once(stub, 'exit');
  rmSync(folder, { recursive: true, force: true });
}

interface Seen {
  peakMb: number;
  slowestMs: number;
  answered: number;
  failed: number;
  unanswered: number;
}

async function proveSync(): Promise<boolean> {
  const { configFile, adminUrl } = await writeConfig(folder, {
    sources: {
      main: { base_url: `http://127.0.0.1:${port}`, client_id: 'demo-client', client_secret: 'demo-secret' },
    },
  });
  const startMs = performance.now();
  const sync = startLeadsync(['sync', '--json', '-c', configFile], {
    onStderr: (text) => process.stderr.write(text),
  });
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
    // Before it listens and after it has closed nobody answers; a miss counts once it is answered again.
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
