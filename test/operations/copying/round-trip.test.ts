import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Installation } from './copies.ts';

/** Copies the ledger of an installation to PostgreSQL and back. Returns what it had before and has after, by table. */
async function roundTrip(installation: Installation) {
  const before = installation.contents();
  await installation.copy('sqlite');
  expect(installation.contents()).toEqual(before);
  installation.removeFile();
  await installation.copy('postgres');
  return { before, after: installation.contents() };
}

test('a ledger that was copied to PostgreSQL and back is equal in every table', async () => {
  const installation = await Installation.eventful();
  // A ledger removes sums that are older than a week by its clock, which is the server's.
  const slot = Math.floor(Date.now() / 600_000) * 600_000;
  installation.sql(
    `UPDATE _sink_activity SET from_at = from_at + ${slot} - (SELECT max(from_at) FROM _sink_activity)`,
  );
  const { before, after } = await roundTrip(installation);
  for (const [name, rows] of Object.entries(before)) expect(after[name], name).toEqual(rows);
  expect(Object.keys(after)).toEqual(Object.keys(before));
});

test('a server that has numbered further than its rows makes no version count as owed before it is recorded', async () => {
  const installation = await Installation.eventful();
  await installation.copy('sqlite');
  await installation.admin.query(
    `UPDATE ${installation.schema}._sinks SET owed_through = owed_through + 1000`,
  );
  installation.removeFile();
  await installation.copy('postgres');
  const db = new Database(installation.file);
  const ahead = db.prepare(
    'SELECT count(*) FROM _sinks WHERE owed_through > (SELECT max(version_no) FROM _versions)',
  );
  expect(ahead.pluck().get()).toBe(0);
  db.close();
});

const aText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('\\N', '\\.', '\t\\t\r\n', "'", '"', '\u{10FFFF}', '-', '1:a', 'ü'.repeat(3_000_000)),
);
const aNumber = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test('any text and any number survive, from megabytes to the smallest integer and times before 1970', async () => {
  const one = fc.record({ raw: aText, error: fc.option(aText), at: aNumber, id: aNumber });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(one, { minLength: 1, maxLength: 30, selector: ({ id }) => id }),
      async (rows) => {
        const installation = await Installation.eventful();
        const db = new Database(installation.file);
        const version = db.prepare(
          `INSERT INTO _versions (source, id, version, poll_id, valid_from, first_seen_at, hash, raw, readable)
         VALUES ('hostile', ?, 1, 1, ?, ?, 'h', ?, ?)`,
        );
        const poll = db.prepare(
          `INSERT INTO polls (source, started_at, status, bytes, error) VALUES ('hostile', '1931-02-03T04:05:06.789Z', 'failed', ?, ?)`,
        );
        for (const { raw, error, at, id } of rows) {
          const [text, more] = [raw, error].map(
            (value) => value?.replaceAll('\0', '').toWellFormed() ?? null,
          );
          version.run(id, at, at, text, more);
          poll.run(at, more);
        }
        db.close();
        const { before, after } = await roundTrip(installation);
        expect(after['_versions']).toEqual(before['_versions']);
        expect(after['polls']).toEqual(before['polls']);
      },
    ),
    { numRuns: 4 },
  );
}, 300_000);

test('NUL and lone surrogates, which a server cannot store, become U+FFFD', async () => {
  const installation = await Installation.eventful();
  const db = new Database(installation.file);
  db.prepare("UPDATE polls SET error = 'a' || char(0) || 'b' WHERE poll_id = 1").run();
  db.close();
  await installation.copy('sqlite');
  const { rows } = await installation.admin.query(
    `SELECT error FROM ${installation.schema}._polls WHERE poll_id = 1`,
  );
  expect(rows).toEqual([{ error: 'a\ufffdb' }]);
});
