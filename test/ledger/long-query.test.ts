import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aListedLead } from '../support/scene/a-lead.ts';
import { delivered, ids, LedgerUnderTest } from './ledger-under-test.ts';
import { SqliteFile } from './sqlite-store.ts';

const MB = 1024 * 1024;

describe('a query of another process that never ends', () => {
  it('it blocks no process: it sees its snapshot, and leadsync records and delivers beside it', async () => {
    const { disk, on, rows } = await withQuery();
    expect(rows()).toBe(10);
    await on.list(ids(1, 400));
    await on.attemptAll('crm', delivered, { max: 400 });
    expect(rows()).toBe(10);
    expect((await on.ledger.status()).sinks[0]).toMatchObject({ pending: 0, delivered: 400 });
    expect(disk.other((db) => db.prepare('SELECT count(*) FROM leads').pluck().get())).toBe(400);
  });

  it('it is reported by the size of the write-ahead log that it retains, which grows until it ends and then shrinks', async () => {
    const { disk, on, end } = await withQuery();
    const held: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await listLarge(on, round);
      held.push((await on.ledger.checkpointLog()).pinnedBytes);
    }
    expect(held[0]).toBeGreaterThan(5 * MB);
    expect(held).toEqual([...held].sort((a, b) => a - b));
    expect(statSync(`${disk.file}-wal`).size).toBeGreaterThan(16 * MB);
    end();
    expect((await on.ledger.checkpointLog()).pinnedBytes).toBe(0);
    await on.list([1]);
    expect(statSync(`${disk.file}-wal`).size).toBeLessThanOrEqual(16 * MB);
  });

  it('if it ends unnoticed, writing alone shrinks the write-ahead log again', async () => {
    const { disk, on, end } = await withQuery();
    for (let round = 0; round < 3; round += 1) await listLarge(on, round);
    end();
    await on.list([1]);
    await on.list([1, 2]);
    expect(statSync(`${disk.file}-wal`).size).toBeLessThanOrEqual(16 * MB);
    expect((await on.ledger.checkpointLog()).pinnedBytes).toBe(0);
  });
});

/** Opens a ledger of ten leads, and another process that is reading it. */
async function withQuery() {
  const disk = new SqliteFile();
  const on = await LedgerUnderTest.with(disk.open, 'crm');
  await on.list(ids(1, 10));
  const reader = new Database(disk.file, { readonly: true });
  onTestFinished(() => void reader.close());
  reader.exec('BEGIN');
  const sql = reader.prepare('SELECT count(*) FROM leads').pluck();
  sql.get();
  return { disk, on, rows: () => sql.get(), end: () => reader.exec('COMMIT') };
}

/** Lists 8 MB of leads, in chunks as a listing brings them. */
async function listLarge(on: LedgerUnderTest, round: number): Promise<void> {
  const poll = await on.ledger.startPoll('main');
  for (let chunk = 0; chunk < 8; chunk += 1) {
    const from = 1_000_000 + round * 1_000 + chunk * 100;
    await on.ledger.record(
      poll,
      ids(from, from + 99).map((id) => aListedLead({ id, note: 'x'.repeat(10_000) })),
    );
  }
  await on.ledger.finishPoll(poll, { status: 'partial', httpStatus: 200, error: 'cut' });
}
