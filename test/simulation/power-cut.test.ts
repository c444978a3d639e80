import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { CsvSink } from '../../src/sinks/csv/csv.ts';
import { FolderDrop } from '../../src/sinks/drop/folder-drop.ts';
import type { Token } from '../../src/source/auth/token.ts';
import { TokenStore } from '../../src/source/auth/token-store.ts';
import { aBatch } from '../support/scene/a-delivery.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { Chance } from './chance.ts';
import { Life, type Trap } from './life.ts';
import { SimulatedDisk } from './outside/disk.ts';

const clock = new HeldClock();
const batch = aBatch(2);
/** The batch in an attempt after one that never ended. */
const again = { ...batch, deliveries: batch.deliveries.map((one) => ({ ...one, mayHaveArrived: true })) };
const FOLDER = '/mnt/drop';
/** More steps than any of these operations takes. */
const MOST_STEPS = 60;
/** Number of power cuts at each step, because what a power cut leaves is random. */
const CUTS = 8;

/** Runs `work` in a process that dies after this many steps. Returns whether it finished before. */
async function endsAfter(steps: number, work: (life: Life) => Promise<unknown>): Promise<boolean> {
  const life = new Life('a process', () => life.die());
  const trap: Trap = { kind: 'kill', place: 'attempt', after: steps };
  life.arm(trap);
  let isDone = false;
  void work(life).then(() => {
    isDone = true;
  });
  for (let turns = 0; turns < 3; turns += 1) await turn();
  return isDone;
}

function deliver(disk: SimulatedDisk, ofAttempt = batch) {
  return (life: Life) => {
    const parts = { clock, timeoutMs: 600_000 };
    const sink = new CsvSink(
      { formulas: 'keep', bom: false },
      new FolderDrop(FOLDER, parts, disk.filesOf(life)),
    );
    return sink.deliver(ofAttempt, new AbortController().signal);
  };
}

/** Returns what a reader of the folder sees. */
function visible(disk: SimulatedDisk): [string, string][] {
  return [...disk.filesIn(FOLDER)]
    .filter(([name]) => !name.startsWith('.'))
    .map(([name, content]) => [name, content.toString()]);
}

async function wholeFile(): Promise<[string, string][]> {
  const disk = newDisk(0);
  await endsAfter(MOST_STEPS, deliver(disk));
  return visible(disk);
}

function newDisk(seed: number): SimulatedDisk {
  return new SimulatedDisk(new Chance(seed, 'disk'), () => clock.now());
}

describe('a power cut while a CSV file is written', () => {
  it('after a power cut at any step, the file is complete or absent, and the next attempt leaves exactly one', async () => {
    const whole = await wholeFile();
    expect(whole).toHaveLength(1);
    let finished = 0;
    for (let run = 0; run < MOST_STEPS * CUTS; run += 1) {
      const disk = newDisk(run);
      const isDone = await endsAfter(Math.floor(run / CUTS), deliver(disk));
      disk.cutPower();
      // A reader finds all rows or none, and all of them once the attempt has reported success.
      expect(isDone ? [whole] : [[], whole]).toContainEqual(visible(disk));
      await endsAfter(MOST_STEPS, deliver(disk, again));
      disk.cutPower();
      expect(visible(disk)).toEqual(whole);
      finished += Number(isDone);
    }
    expect(finished).toBeGreaterThan(CUTS);
    expect(finished).toBeLessThan(MOST_STEPS * (CUTS - 1));
  });

  it('after a kill at any step, the file that the next attempt finds survives a later power cut', async () => {
    const whole = await wholeFile();
    for (let run = 0; run < MOST_STEPS * CUTS; run += 1) {
      const disk = newDisk(run);
      await endsAfter(Math.floor(run / CUTS), deliver(disk));
      const isDone = await endsAfter(MOST_STEPS, deliver(disk, again));
      disk.cutPower();
      expect([isDone, visible(disk)]).toEqual([true, whole]);
    }
  });
});

describe('a power cut while a token is stored', () => {
  const account = { baseUrl: 'https://leads.test', clientId: 'me', scope: undefined, grant: undefined };

  function aToken(name: string): Token {
    const receivedAt = new Date('2026-11-20T10:00:00.000Z');
    return {
      accessToken: name,
      refreshToken: `${name}-refresh`,
      origin: 'client_credentials',
      receivedAt,
      expiresAt: undefined,
    };
  }

  function fileOn(disk: SimulatedDisk, life: Life): TokenStore {
    return new TokenStore({
      name: 'main',
      account,
      documents: new DocumentFolder(disk.filesOf(life), '/data/tokens'),
      key: undefined,
    });
  }

  async function keep(file: TokenStore, name: string): Promise<void> {
    await file.prepare();
    await file.write(aToken(name));
  }

  it('after a power cut at any step, the old or the new token is there, and a stored token survives', async () => {
    let finished = 0;
    for (let run = 0; run < MOST_STEPS * CUTS; run += 1) {
      const disk = newDisk(run);
      await endsAfter(MOST_STEPS, (life) => keep(fileOn(disk, life), 'old'));
      const isDone = await endsAfter(Math.floor(run / CUTS), (life) => keep(fileOn(disk, life), 'new'));
      disk.cutPower();
      const stored = await fileOn(disk, new Life('the next', () => undefined)).read();
      const kept = stored.kind === 'token' ? stored.token.accessToken : stored.kind;
      expect(isDone ? ['new'] : ['old', 'new']).toContain(kept);
      finished += Number(isDone);
    }
    expect(finished).toBeGreaterThan(CUTS);
    expect(finished).toBeLessThan(MOST_STEPS * (CUTS - 1));
  });
});
