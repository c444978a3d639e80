import { expect, test } from 'vitest';
import { LazyResource } from '../../src/platform/process/lazy-resource.ts';

function counted() {
  const seen = { opened: 0, ended: [] as number[] };
  const pool = new LazyResource(async () => {
    seen.opened += 1;
    return seen.opened;
  });
  const close = () =>
    pool.close(async (opened) => {
      seen.ended.push(opened);
    });
  return { seen, pool, close };
}

test('is opened when it is first needed, once for all who need it at the same time', async () => {
  const { seen, pool } = counted();
  expect(seen.opened).toBe(0);
  expect(await Promise.all([pool.get(), pool.get()])).toEqual([1, 1]);
  expect(await pool.get()).toBe(1);
});

test('is opened again when that failed before', async () => {
  let tries = 0;
  const pool = new LazyResource(async () => {
    tries += 1;
    if (tries === 1) throw new Error('not there');
    return tries;
  });
  await expect(pool.get()).rejects.toThrow('not there');
  expect(await pool.get()).toBe(2);
});

test('is ended by `close`, which does not open it if it was never opened, and neither does a later use', async () => {
  const used = counted();
  await used.pool.get();
  await used.close();
  expect(used.seen.ended).toEqual([1]);
  const unused = counted();
  await unused.close();
  await expect(unused.pool.get()).rejects.toThrow('closed before it was opened');
  expect(unused.seen).toEqual({ opened: 0, ended: [] });
});
