import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { buildRecovered } from '../../../src/ledger/recovery/build-recovered.ts';
import { aUsedLedger } from './a-used-ledger.ts';

/** A step of a query plan; see https://www.sqlite.org/eqp.html */
interface Step {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** Returns the steps that read a whole table, or all rows of a source, once for each row of another table. */
function repeatedScans(plan: readonly Step[]): readonly string[] {
  const isScan = ({ detail }: Step) => /^SCAN (?!CONSTANT)|AUTOMATIC/.test(detail);
  const isJoined = (step: Step, at: number) =>
    (isScan(step) || /INDEX \S+ \(source=\?\)/.test(step.detail)) &&
    plan.slice(0, at).some((before) => before.parent === step.parent && isScan(before));
  const isAskedForEachRow = (step: Step) =>
    isScan(step) && plan.some(({ id, detail }) => id === step.parent && detail.startsWith('CORRELATED'));
  return plan.filter((step, at) => isJoined(step, at) || isAskedForEachRow(step)).map(({ detail }) => detail);
}

/** Opens a connection that collects its statements and lets SQLite explain them before it closes. */
function explaining(file: string, onPlan: (sql: string, plan: readonly Step[]) => void): Database.Database {
  const statements = new Set<string>();
  const db = new Database(file, { verbose: (sql) => void statements.add(String(sql)) });
  const close = db.close.bind(db);
  db.close = () => {
    for (const sql of [...statements].filter((one) => /^\s*(SELECT|INSERT|UPDATE|DELETE)\b/.test(one)))
      onPlan(sql, db.prepare<[], Step>(`EXPLAIN QUERY PLAN ${sql}`).all());
    return close();
  };
  return db;
}

test('no step of a recovery compares every row with every other, so that a large ledger takes minutes, not days', async () => {
  const { file, clock } = await aUsedLedger();
  const [found, explained]: [string[], string[]] = [[], []];
  const connectTo = (target: string) =>
    explaining(target, (sql, plan) => {
      explained.push(sql);
      found.push(...repeatedScans(plan).map((step) => `${step}: ${sql}`));
    });
  buildRecovered(file, `${file}.recovered`, clock.now().getTime(), connectTo);
  expect(explained).toContainEqual(expect.stringContaining('indexed_owed'));
  expect(found).toEqual([]);
});
