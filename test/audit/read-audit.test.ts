import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AuditLog } from '../../src/audit/audit-log.ts';
import type { AuditFilter } from '../../src/audit/audit-store.ts';
import { countAudit, readAudit } from '../../src/audit/read-audit.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';

function aLog(maxBytes?: number) {
  const [folder, clock] = [tempDir(), new HeldClock()];
  const log = new AuditLog(folder, clock, maxBytes);
  onTestFinished(() => log.close());
  return { folder, clock, log };
}

/** Every line, by pages of `limit`, with the number of pages. */
async function allOf(folder: string, filter: AuditFilter = {}, limit = 3) {
  const lines = [];
  let pages = 0;
  for (let after: string | undefined; ; ) {
    const page = await readAudit(folder, filter, { limit, after });
    if (page === undefined) throw new Error('the cursor is not known');
    pages += 1;
    lines.push(...page.rows);
    if (page.next === null) return { lines, pages };
    after = page.next;
  }
}

test('lines come newest first, each once, over the pages and the rotated files', async () => {
  const { folder, log } = aLog(150);
  for (let n = 0; n < 8; n += 1) await log.write({ who: 'anna', via: 'cli', what: 'pause', n });
  const { lines, pages } = await allOf(folder);
  expect(lines.map(({ details }) => details)).toEqual([7, 6, 5, 4, 3, 2, 1, 0].map((n) => ({ n })));
  expect(new Set(lines.map(({ id }) => id)).size).toBe(8);
  expect(pages).toBe(3);
});

test('a cursor stays valid while lines are added and the file is rotated, until its file goes', async () => {
  const { folder, log } = aLog(150);
  for (let n = 0; n < 3; n += 1) await log.write({ what: 'pause', n });
  const first = await readAudit(folder, {}, { limit: 1 });
  for (let n = 3; n < 9; n += 1) await log.write({ what: 'pause', n });
  const second = await readAudit(folder, {}, { limit: 9, after: first?.next ?? '' });
  expect(second?.rows.map(({ details }) => details['n'])).toEqual([1, 0]);
  for (const after of ['1.0', 'x', `${first?.next}9999`, '']) {
    expect(await readAudit(folder, {}, { limit: 1, after })).toBeUndefined();
  }
});

test('a filter matches the person, the action and the time', async () => {
  const { folder, clock, log } = aLog();
  for (const [who, what] of [
    ['anna', 'pause'],
    ['bob', 'pause'],
    ['anna', 'resume'],
  ] as const) {
    await log.write({ who, via: 'token', what, sink: 'crm' });
    clock.jump(60_000);
  }
  const found = async (filter: AuditFilter) =>
    (await allOf(folder, filter)).lines.map(({ who, what }) => `${who} ${what}`);
  expect(await found({ who: 'anna' })).toEqual(['anna resume', 'anna pause']);
  expect(await found({ what: 'pause' })).toEqual(['bob pause', 'anna pause']);
  expect(await found({ who: 'bob', what: 'resume' })).toEqual([]);
  const minute = new Date('2026-11-20T10:01:00Z');
  expect(await found({ since: minute })).toEqual(['anna resume', 'bob pause']);
  expect(await found({ until: minute })).toEqual(['anna pause']);
});

test('a page reads at most 1 MB, so that a filter without a match is answered in steps', async () => {
  const { folder } = aLog();
  const line = `${JSON.stringify({ at: '2026-11-20T10:00:00.000Z', who: 'anna', via: 'cli', what: 'pause' })}\n`;
  writeFileSync(join(folder, 'audit.jsonl'), line.replace('anna', 'bob') + line.repeat(40_000));
  const first = await readAudit(folder, { who: 'bob' }, { limit: 10 });
  expect(first).toMatchObject({ rows: [], next: expect.any(String) });
  const { lines, pages } = await allOf(folder, { who: 'bob' }, 10);
  expect(lines).toHaveLength(1);
  expect(pages).toBeGreaterThan(2);
});

test('what is not a line is left out, and lines of earlier versions have the person admin', async () => {
  const { folder } = aLog();
  const at = '2026-11-20T10:00:00.000Z';
  const lines = [
    JSON.stringify({ at, who: 'session', address: '10.0.0.7', what: 'pause', sink: 'é€𝄞' }),
    '{"what":"reve',
    '[]',
    '"text"',
    'null',
    JSON.stringify({ at: 'yesterday', what: 'pause' }),
    JSON.stringify({ at, what: 'token refused', address: '10.0.0.9' }),
  ];
  appendFileSync(join(folder, 'audit.jsonl'), `\n${lines.join('\n')}`); // without a line break at the end
  expect((await allOf(folder)).lines).toMatchObject([
    { who: undefined, via: undefined, what: 'token refused', address: '10.0.0.9', details: {} },
    { who: 'admin', via: 'session', what: 'pause', address: '10.0.0.7', details: { sink: 'é€𝄞' } },
  ]);
});

test('there may be no log yet', async () => {
  expect(await readAudit(tempDir(), {}, { limit: 5 })).toEqual({ rows: [], next: null });
});

test('a count covers the rotated files and the filter, and says when it stopped', async () => {
  const { folder, log } = aLog(150);
  for (let n = 0; n < 8; n += 1) await log.write({ who: n % 2 ? 'anna' : 'bob', what: 'pause', n });
  expect(await countAudit(folder, {}, 100)).toEqual({ count: 8, isAtLeast: false });
  expect(await countAudit(folder, { who: 'anna' }, 100)).toEqual({ count: 4, isAtLeast: false });
  expect(await countAudit(folder, {}, 8)).toEqual({ count: 8, isAtLeast: true });
  expect(await log.count({ who: 'nobody' }, 1)).toEqual({ count: 0, isAtLeast: false });
});

test('a count that few lines match reads a limited part of the file', async () => {
  const { folder, log } = aLog();
  await log.write({ who: 'anna', what: 'pause' });
  const line = `${JSON.stringify({ at: '2026-11-20T10:00:00.000Z', who: 'bob', what: 'pause' })}\n`;
  appendFileSync(join(folder, 'audit.jsonl'), line.repeat(40_000));
  expect(await countAudit(folder, { who: 'anna' }, 100)).toEqual({ count: 0, isAtLeast: true });
});
