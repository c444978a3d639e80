import { expect, onTestFinished, test } from 'vitest';
import { sampleDelivery } from '../../src/mapping/sample-lead.ts';
import { MappingProcess } from '../../src/mapping/start-mapping-process.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { until } from '../support/time/until.ts';

/** A worker whose jobs may take long, because a busy machine must not fail these tests. */
function aWorker(options: ConstructorParameters<typeof MappingProcess>[1] = {}, key?: Secret) {
  const worker = new MappingProcess(() => key, { timeoutMs: 120_000, ...options });
  onTestFinished(() => worker.close());
  return worker;
}

const toTry = (expression: string) => ({ expression, region: undefined, lookups: {} });

/** A lead with a thousand answers of 900 characters. */
const large = sampleDelivery({
  answers: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`s${at}`, 'x'.repeat(900)])),
});

const tenfold = `(${Array.from({ length: 10 }, () => 'lead.questions').join(' + ')})`;
/** Minutes of work: a hundred million texts. */
const ENDLESS = `${tenfold}.all(a, ${tenfold}.all(b, size(a.answer + b.answer) >= 0))`;
const all = 'lead.questions.map(a, a.answer).join("")';
const nine = `[${Array.from({ length: 9 }, () => all).join(' + ')}]`;
/** One text of 400 MB, for which V8 ends the whole process if a thread has too little memory for it. */
const HUGE = `${nine}.map(x, [x+x+x+x+x+x+x+x+x].map(y, y+y+y+y+y))[0][0].contains("!")`;

test('a mapping is applied, and an expression evaluated, in another process, which ends when it is idle', async () => {
  const worker = aWorker({ idleMs: 1 }, new Secret('a key of a hash'));
  const fields = { hash: { from: 'hash(lead.client_name)', once: false, invalid: 'refuse' } };
  const mapping = JSON.stringify({ fields });
  const { mapped, columns } = await worker.run('map', {
    delivery: sampleDelivery({}),
    ofSink: { sink: 'crm', mapping },
  });
  expect(columns).toEqual([{ name: 'hash', type: 'text' }]);
  expect('fields' in mapped && mapped.fields?.get('hash')).toMatch(/^[0-9a-f]{32}$/);
  const delivery = sampleDelivery({ id: 9_007_199_254_740_991 });
  expect(await worker.run('try', { delivery, expression: toTry('lead.id') })).toMatchObject({
    json: '9007199254740991',
  });
  await until('the process has ended', () => !worker.awake);
  expect(await worker.run('try', { delivery, expression: toTry('1') })).toMatchObject({ json: '1' });
});

test('an expression that takes too long is ended, and the next one is evaluated', async () => {
  const worker = aWorker({ timeoutMs: 2_000 });
  const late = worker.run('try', { delivery: large, expression: toTry(ENDLESS) });
  await expect(late).rejects.toMatchObject({
    message: 'It took longer than 2 s for this lead and was stopped.',
    isTooMuch: true,
  });
  // On a busy machine, even a short expression may take longer than that.
  await until('the next one is evaluated', () =>
    worker.run('try', { delivery: sampleDelivery({}), expression: toTry('1') }).then(
      () => true,
      () => false,
    ),
  );
});

test('an expression that takes too much memory ends neither this process nor the next expression', async () => {
  const worker = aWorker();
  await expect(worker.run('try', { delivery: large, expression: toTry(HUGE) })).rejects.toMatchObject({
    message: 'It used more than 384 MB of memory for this lead and was stopped.',
    isTooMuch: true,
  });
  const delivery = sampleDelivery({});
  expect(await worker.run('try', { delivery, expression: toTry('1') })).toMatchObject({ json: '1' });
});

test('a few expressions wait for another, and too many are refused', async () => {
  const worker = aWorker();
  const run = () => worker.run('try', { delivery: sampleDelivery({}), expression: toTry('1') });
  const results = await Promise.allSettled(Array.from({ length: 15 }, run));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(4);
  expect(refused[0]).toMatchObject({
    reason: { message: 'Too many expressions are waiting to be evaluated.', isTooMuch: false },
  });
});

test('closing ends the process and its job', async () => {
  const worker = aWorker();
  const endless = worker.run('try', { delivery: large, expression: toTry(ENDLESS) }).catch(String);
  await until('it runs', () => worker.awake);
  await worker.close();
  expect(await endless).toMatch(/MappingEnded/);
  expect(worker.awake).toBe(false);
  await expect(worker.run('try', { delivery: large, expression: toTry('1') })).rejects.toThrow('stopping');
});
