import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { auditStoreContract } from './audit-store-contract.ts';

auditStoreContract(() => {
  const folder = tempDir();
  return () => {
    const clock = new HeldClock();
    const audit = new AuditLog(folder, clock);
    onTestFinished(() => audit.close());
    return { audit, clock };
  };
});

function opened(folder = tempDir(), maxBytes?: number) {
  const log = new AuditLog(folder, new HeldClock(), maxBytes);
  onTestFinished(() => log.close());
  const lines = (file = 'audit.jsonl') =>
    readFileSync(join(folder, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { log, folder, lines };
}

test('a line is in the file when the promise resolves, with the time, for this user alone', async () => {
  const { log, folder, lines } = opened();
  await log.write({
    who: 'anna',
    via: 'token',
    address: '10.0.0.5',
    what: 'reveal',
    source: 'main',
    lead: '42',
  });
  expect(lines()).toEqual([
    {
      at: '2026-11-20T10:00:00.000Z',
      who: 'anna',
      via: 'token',
      address: '10.0.0.5',
      what: 'reveal',
      source: 'main',
      lead: '42',
    },
  ]);
  expect(statSync(join(folder, 'audit.jsonl')).mode & 0o777).toBe(0o600);
});

test('lines that come together are all there, in order', async () => {
  const { log, lines } = opened();
  await Promise.all(Array.from({ length: 200 }, (_, n) => log.write({ what: 'reveal', n })));
  expect(lines().map(({ n }) => n)).toEqual(Array.from({ length: 200 }, (_, n) => n));
});

test('a text with line breaks stays one line', async () => {
  const { log, lines } = opened();
  await log.write({ what: 'pause', reason: 'a\n{"what":"forged"}' });
  expect(lines()).toHaveLength(1);
});

test('a line that a crash has left half written spoils no other', async () => {
  const { log, folder } = opened();
  writeFileSync(join(folder, 'audit.jsonl'), '{"what":"reve');
  await log.write({ what: 'pause' });
  expect(readFileSync(join(folder, 'audit.jsonl'), 'utf8')).toMatch(/^\{"what":"reve\n\{"at".*"pause"\}\n$/);
});

test('it takes bounded room: full files are put aside, and the oldest goes', async () => {
  const { log, folder, lines } = opened(tempDir(), 100);
  for (let n = 0; n < 30; n += 1) await log.write({ what: 'reveal', n });
  expect(readdirSync(folder).sort()).toEqual(['audit.jsonl', ...[1, 2, 3, 4].map((n) => `audit.jsonl.${n}`)]);
  const kept = [4, 3, 2, 1].flatMap((n) => lines(`audit.jsonl.${n}`)).concat(lines());
  expect(kept.map(({ n }) => n)).toEqual(
    Array.from({ length: kept.length }, (_, at) => 30 - kept.length + at),
  );
});

test('another process appends beside it without rotating, and a file that is full already is put aside at the start', async () => {
  const { log, folder } = opened(tempDir(), 100);
  await log.write({ what: 'reveal', n: 0 });
  const beside = new AuditLog(folder, new HeldClock(), Number.POSITIVE_INFINITY);
  for (let n = 1; n < 5; n += 1) await beside.write({ what: 'pause', n });
  await beside.close();
  await log.write({ what: 'reveal', n: 5 });
  expect(readdirSync(folder)).toEqual(['audit.jsonl']);
  const later = opened(folder, 100);
  await later.log.write({ what: 'reveal', n: 6 });
  expect(later.lines('audit.jsonl.1').map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(later.lines().map(({ n }) => n)).toEqual([6]);
});

test('what cannot be written rejects, and the next line is written when it can', async () => {
  const { log, folder, lines } = opened(join(tempDir(), 'away'));
  await expect(log.write({ what: 'reveal' })).rejects.toMatchObject({ code: 'ENOENT' });
  mkdirSync(folder);
  await log.write({ what: 'pause' });
  expect(lines()).toMatchObject([{ what: 'pause' }]);
});
