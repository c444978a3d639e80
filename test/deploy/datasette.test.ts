import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { queries } from '../../src/catalog/catalog.ts';
import { filled, ledgerValue, VALUES, withoutAges } from '../catalog/eventful-store.ts';
import { oddLeads } from '../catalog/odd-leads.ts';
import { attemptDue, Install } from '../cli/an-install.ts';
import { delivered, refused } from '../ledger/ledger-under-test.ts';

interface Canned {
  readonly title: string;
  readonly description: string;
  readonly sql: string;
}

const folder = join(import.meta.dirname, '../../deploy/datasette');
const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'));
const config = read('datasette.yaml');
const canned: Readonly<Record<string, Canned>> = config.databases.ledger.queries;
const described: Readonly<Record<string, { columns: Readonly<Record<string, string>> }>> =
  read('metadata.yaml').databases.ledger.tables;

/** A ledger in which something happened, and a copy of it as README.md makes one. */
async function twoFiles(): Promise<readonly Database.Database[]> {
  const install = new Install();
  const ledger = await install.recorded(oddLeads());
  await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '1' ? refused : delivered));
  const copy = join(install.folder, 'ledger.db');
  const { code } = await install.run(['export', '--format', 'sqlite', '--all', copy]);
  expect(code).toBe(0);
  return [join(install.folder, 'data', 'ledger.db'), copy].map((file) => {
    const db = new Database(file, { readonly: true });
    onTestFinished(() => void db.close());
    return db;
  });
}

/** As Datasette asks: whatever stands in a field is a text. */
function asked(db: Database.Database, { sql }: Canned, values: Readonly<Record<string, string>>) {
  return db.prepare<[typeof values], Record<string, unknown>>(sql).safeIntegers().all(values);
}

describe('deploy/datasette', () => {
  test('names only tables, views and columns that the ledger and a copy of it have', async () => {
    for (const db of await twoFiles())
      for (const [name, { columns }] of Object.entries(described)) {
        const there = db.prepare(`SELECT * FROM ${name}`).columns();
        expect(there.map((column) => column.name)).toEqual(expect.arrayContaining(Object.keys(columns)));
      }
  });

  test('has the documented queries, with texts for values', async () => {
    expect(Object.keys(canned)).toEqual(queries.map(({ name }) => name));
    const values = { ...VALUES, at: '2026-12-01T00:00:00.000Z' };
    for (const db of await twoFiles())
      for (const query of queries) {
        const known = db
          .prepare<[], Record<string, unknown>>(filled(query, values, ledgerValue))
          .safeIntegers()
          .all();
        // Of these nothing has happened here.
        if (!['repeat-clients', 'quiet-hours'].includes(query.name))
          expect(known, query.name).not.toEqual([]);
        expect(withoutAges(asked(db, canned[query.name] as Canned, values)), query.name).toEqual(
          withoutAges(known),
        );
      }
  });

  test('uses the default for an empty field', async () => {
    const [db] = await twoFiles();
    const reachability = canned['reachability'] as Canned;
    const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
    expect(asked(db as Database.Database, reachability, { since: '' })).toEqual(
      asked(db as Database.Database, reachability, { since }),
    );
    expect(reachability.description).toContain('empty: 30 days ago');
  });

  test('finds the deliveries of a lead in a copy without reading them all', async () => {
    const [, copy] = await twoFiles();
    const plan = (copy as Database.Database)
      .prepare(`EXPLAIN QUERY PLAN ${canned['missing']?.sql}`)
      .all({ since: '' })
      .map((step) => (step as { detail: string }).detail);
    expect(plan.filter((step) => step.startsWith('SCAN d'))).toEqual([]);
    expect(plan.join('\n')).toContain('deliveries_by_lead');
  });

  test('admits only the user with the link, and lets no user write', () => {
    expect(config.allow).toEqual({ id: 'root' });
    const { permissions } = config.databases.ledger;
    for (const action of ['insert-row', 'update-row', 'delete-row', 'execute-write-sql'])
      expect(permissions[action], action).toBe(false);
    for (const action of ['create-table', 'alter-table', 'drop-table'])
      expect(permissions[action], action).toBe(false);
  });
});
