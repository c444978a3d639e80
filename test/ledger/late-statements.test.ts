import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { compilingLate } from '../../src/ledger/database/late-statements.ts';

test('a statement is compiled once, when it is first executed, with the settings it was given', () => {
  const db = new Database(':memory:');
  db.exec('CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (1), (2)');
  const prepare = vi.spyOn(db, 'prepare');
  const late = compilingLate(db);
  const numbers = late.prepare('SELECT number FROM numbers WHERE number <= ?').pluck().safeIntegers();
  const rows = late.prepare('SELECT number, -number AS negative FROM numbers').raw();
  const insert = late.prepare('INSERT INTO numbers VALUES (?)');
  expect(prepare).not.toHaveBeenCalled();
  expect(numbers.all(1)).toEqual([1n]);
  expect(numbers.get(0)).toBeUndefined();
  expect([...rows.iterate()]).toEqual([
    [1, -1],
    [2, -2],
  ]);
  expect(rows.columns().map(({ name }) => name)).toEqual(['number', 'negative']);
  expect(insert.run(3)).toMatchObject({ changes: 1 });
  expect(prepare).toHaveBeenCalledTimes(3);
});

test('a statement that is not valid is an error when it is executed', () => {
  const late = compilingLate(new Database(':memory:'));
  const statement = late.prepare('SELECT number FROM numbers');
  expect(() => statement.get()).toThrow('no such table: numbers');
});
