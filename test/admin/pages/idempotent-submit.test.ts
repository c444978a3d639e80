import { expect, test } from 'vitest';
import { IdempotentSubmit } from '../../../src/admin/pages/parts/idempotent-submit.ts';

test('forms of one question act once and share the result; those of another question act again', async () => {
  const once = new IdempotentSubmit<number>();
  let acted = 0;
  const act = async () => ++acted;
  const first = new Map([once.field()]);
  expect(await Promise.all([once.run(first, act), once.run(first, act)])).toEqual([1, 1]);
  expect(await once.run(first, act)).toBe(1);
  expect(await once.run(new Map([once.field()]), act)).toBe(2);
});

test('a form whose action failed may be sent again', async () => {
  const once = new IdempotentSubmit<string>();
  const sent = new Map([once.field()]);
  const failing = once.run(sent, () => Promise.reject(new Error('no disk')));
  await expect(failing).rejects.toThrow('no disk');
  expect(await once.run(sent, async () => 'done')).toBe('done');
});

test('it keeps the results of the last thousand questions', async () => {
  const once = new IdempotentSubmit<string>();
  const sent = Array.from({ length: 1_001 }, () => new Map([once.field()]));
  for (const one of sent) await once.run(one, async () => 'first');
  expect(await once.run(sent[1] ?? new Map(), async () => 'again')).toBe('first');
  expect(await once.run(sent[0] ?? new Map(), async () => 'again')).toBe('again');
});
