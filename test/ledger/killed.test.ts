import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { faultsOf } from './ledger-check.ts';

const KILLS = 8;
const PROGRAM = fileURLToPath(new URL('./busy-process.ts', import.meta.url));

interface Said {
  listed?: number;
  delivered?: string[];
}

describe('a process that is killed (kill -9) while it records and delivers', () => {
  it('it always leaves an intact ledger that contains everything that it had confirmed', async () => {
    const file = join(tempDir(), 'ledger.db');
    let listed = 0;
    const delivered = new Set<string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      // A different number of messages each time, so that the kills hit different steps.
      const said = await runUntil(file, listed, 20 + ((kill * 37) % 60));
      for (const what of said) {
        listed = Math.max(listed, what.listed ?? 0);
        for (const id of what.delivered ?? []) delivered.add(id);
      }
      expect(faultsOf(file)).toEqual([]);
    }
    const ledger = openLedger({
      file,
      create: false,
      clock: systemClock,
      random: Math.random,
      judge: unasked,
    });
    expect((await ledger.status()).sources[0]?.leads).toBeGreaterThanOrEqual(listed);
    const rows = await ledger.deliveries({ states: ['delivered'] }, { limit: 1_000_000 });
    const known = new Set(rows.map((row) => row.delivery));
    expect([...delivered].filter((id) => !known.has(id))).toEqual([]);
    expect(delivered.size).toBeGreaterThan(KILLS);
    await ledger.close();
  });
});

/** Runs the process until it has sent this many messages, then kills it. Returns the messages. */
async function runUntil(file: string, from: number, messages: number): Promise<Said[]> {
  const child = fork(PROGRAM, [file, String(from)]);
  const said: Said[] = [];
  const exited = once(child, 'exit');
  child.on('message', (what: Said) => {
    said.push(what);
    if (said.length === messages) child.kill('SIGKILL');
  });
  const [code, signal] = await exited;
  expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
  return said;
}

function unasked(): never {
  throw new Error('nothing is settled here');
}
