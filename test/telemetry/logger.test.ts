import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { rewriteCommands } from '../../src/platform/process/typed-command.ts';
import { createLogger, type LoggerOptions } from '../../src/telemetry/logger.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import { anEvent, oneOfEach } from './an-event.ts';

function log(options: Partial<LoggerOptions> & { isTTY?: boolean } = {}) {
  let text = '';
  const { isTTY } = options;
  const stream = {
    isTTY,
    write: (chunk: string) => {
      text += chunk;
    },
  };
  const logger = createLogger({ level: 'trace', stream, ...options });
  const lines = (): Record<string, unknown>[] =>
    text
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { ...logger, text: () => text, lines };
}

test.each(oneOfEach)('$type is one line with its name, its level and a sentence', (event) => {
  const { event: write, lines } = log();
  write(event);
  const [line, ...more] = lines();
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    event: event.type,
    level: expect.stringMatching(/^(debug|info|warn|error)$/),
  });
  expect(line?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(line?.['msg']).toMatch(/^[A-Za-z].*\.$/);
  expect(line?.['msg']).not.toMatch(/undefined|NaN|\[object| {2}/);
});

test.each(oneOfEach)('$type is logged with all of its values, except the seconds of each lead', (event) => {
  const { event: write, lines } = log();
  write(event);
  const { type, ...fields } = event;
  const {
    secondsToDelivery: _,
    recorded: __,
    dead: ___,
    answers: ____,
    ...told
  } = JSON.parse(JSON.stringify(fields));
  expect(lines()[0]).toMatchObject(told);
});

test('each message is a sentence that an operator can read', () => {
  const { event: write, lines } = log();
  write(anEvent('started'));
  write(anEvent('poll-finished'));
  write(anEvent('poll-finished', { status: 'unchanged' }));
  write(anEvent('poll-failed'));
  write(anEvent('delivery-dead'));
  write(anEvent('delivery-refused', { ofErased: true }));
  write(anEvent('delivery-dead', { ofErased: true }));
  write(anEvent('ledger-failed'));
  write(anEvent('sink-recovered', { heldMs: 4_140_000 }));
  write(anEvent('leads-rejected', { reasons: ['id: It stands there twice.', 'client_name: is missing'] }));
  expect(lines().map((line) => line['msg'])).toEqual([
    'leadsync 1.2.3 has started: 1 source, 2 sinks, carrier bullmq, data in /data.',
    'Source main: 2 new and 1 changed of 3 leads, 1 rejected, in 0.8 s.',
    'Source main: the listing has not changed.',
    'Source main: the poll failed (2 in a row). The listing broke off. Nothing to do. Next attempt in 1.5 s.',
    'Sink crm: gave up lead 42 of main after 9 attempts. It answered 422. Its answer: `leadsync trace 42 --show-data`. Once the cause is fixed: `leadsync retry d1`.',
    'Sink crm refused the erasure of lead 42 of main. It answered 422.',
    'Sink crm: gave up the erasure of lead 42 of main after 9 attempts. It answered 422. Its answer is not stored, because it can name the person; ask the operator of the destination. Once the cause is fixed: `leadsync retry d1`.',
    'The ledger failed while claiming deliveries of crm. There is no room on the disk. Free some space.',
    'Sink crm works again after 1 h 9 min.',
    "Source main: rejected 1 lead that does not match the service's API description: id: It stands there twice; client_name: is missing.",
  ]);
});

test('a line about rejections ends with the number of those that it does not name, and a repeat is logged at debug', () => {
  const { event: write, lines } = log();
  write(anEvent('leads-rejected', { rejected: 12, reasons: ['a: Bad.', 'b: Bad.'], others: 7 }));
  write(anEvent('leads-rejected', { rejected: 12, repeated: true }));
  expect(lines()[0]?.['msg']).toMatch(/: a: Bad; b: Bad; and 7 more\.$/);
  expect(lines().map((line) => line['level'])).toEqual(['warn', 'debug']);
});

test('the log and its recent lines show commands in the form for this installation', () => {
  const {
    event: write,
    lines,
    recent,
  } = log({
    rewriteCommands: (text) => rewriteCommands(text, { LEADSYNC_COMMAND: 'sh -c "leadsync"' }),
  });
  write(anEvent('delivery-dead', { source: 'main', lead: '42' }));
  write(anEvent('poll-failed', { hint: 'Run `leadsync login main`.' }));
  const typed = '`sh -c "leadsync" login main`';
  expect(lines()[1]).toMatchObject({ hint: `Run ${typed}.`, msg: expect.stringContaining(typed) });
  expect(recent().map(({ message }) => message)).toEqual([
    expect.stringContaining(typed),
    expect.stringContaining('`sh -c "leadsync" trace 42 --show-data`'),
  ]);
});

test('a mirror that fails says nothing about deliveries, because its sink may be held', () => {
  const { event: write, text } = log();
  write(anEvent('mirror-failed'));
  expect(text()).not.toContain('deliver');
});

test('routine events are logged only at debug', () => {
  const { event: write, text } = log({ level: 'info' });
  write(anEvent('poll-started'));
  write(anEvent('poll-finished', { new: 0, changed: 0 }));
  write(anEvent('batch-settled', { refused: 0, unavailable: 0 }));
  expect(text()).toBe('');
  write(anEvent('poll-finished', { new: 1 }));
  expect(text()).toContain('"level":"info"');
});

test('a failed poll is a warning if waiting may help, and otherwise an error', () => {
  const { event: write, lines } = log();
  for (const code of ['credentials', 'forbidden', 'unreachable', 'server'])
    write(anEvent('poll-failed', { code }));
  expect(lines().map((line) => line['level'])).toEqual(['error', 'error', 'warn', 'warn']);
});

test('untrusted text is truncated, and can neither forge a line nor control a terminal', () => {
  const reason = `Refused.\n{"level":"error"}\r\u001b[2J\u202e\u2028${'x'.repeat(100_000)}`;
  for (const format of ['json', 'pretty'] as const) {
    const { event: write, text } = log({ format });
    write(anEvent('sink-held', { reason }));
    expect(text().trimEnd()).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
    expect(text().length).toBeLessThan(3_500);
  }
});

test('a value that the event’s table does not list is not logged', () => {
  const { event: write, text } = log();
  const careless = { ...anEvent('sink-resumed'), raw: canaryLead(1), client_email: canaryLead(2) };
  write(careless);
  expect(text()).toContain('"sink":"crm"');
  expectNoCanary(text());
});

test('a fault is logged by name, code and place, without its message', () => {
  const { fault, lines, text } = log();
  const message = `duplicate key\n    at ${canaryLead(3)} (a:1:2)\nDETAIL: ${canaryLead(4)}`;
  fault('polling main', Object.assign(new TypeError(message, { cause: canaryLead(5) }), { code: '23505' }));
  expectNoCanary(text());
  expect(lines()[0]).toMatchObject({
    level: 'error',
    event: 'fault',
    doing: 'polling main',
    error: 'TypeError',
    code: '23505',
    msg: 'Internal error while polling main; please report it.',
  });
  expect(JSON.stringify(lines()[0]?.['where'])).toContain('logger.test.ts');
});

test('a crash is logged as fatal at every level, by name and place, without its message, even on a terminal', () => {
  const error = new TypeError(`no ${canaryLead(5)}`);
  const { crash, lines } = log({ level: 'error' });
  crash(error);
  expect(lines()).toMatchObject([
    {
      level: 'fatal',
      event: 'crashed',
      error: 'TypeError',
      where: expect.arrayContaining([expect.stringMatching(/^at /)]),
    },
  ]);
  const pretty = log({ format: 'pretty' });
  pretty.crash(error);
  expect(pretty.text()).toMatch(
    /FATAL.*leadsync ends because of an internal error \(TypeError at .*logger\.test/,
  );
  expectNoCanary(JSON.stringify(lines()) + pretty.text());
});

test('a thrown value that is not an error is logged by its type', () => {
  const { fault, lines, text } = log();
  fault('polling main', canaryLead(6));
  fault('polling main', null);
  expectNoCanary(text());
  expect(lines().map((line) => line['error'])).toEqual(['string', 'object']);
});

test('without a configured format, a terminal gets sentences, and a file or pipe gets JSON', () => {
  const terminal = log({ isTTY: true });
  terminal.event(anEvent('sink-resumed'));
  expect(terminal.text()).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: Sink crm is resumed\.\n$/);
  const pipe = log({ isTTY: false });
  pipe.event(anEvent('sink-resumed'));
  expect(pipe.lines()[0]).toMatchObject({ msg: 'Sink crm is resumed.' });
});

test('a configured format applies to a terminal, too', () => {
  const { event: write, lines } = log({ isTTY: true, format: 'json' });
  write(anEvent('sink-resumed'));
  expect(lines()).toHaveLength(1);
});

test('leadsync continues if the reader of its log goes away', () => {
  const stream = new PassThrough();
  createLogger({ level: 'info', stream });
  expect(() =>
    stream.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  ).not.toThrow();
});

test('the log keeps its recent lines, newest first, without those below its level', () => {
  const { event: write, fault, recent, setLevel } = log({ level: 'info' });
  for (let n = 0; n < 600; n += 1) write(anEvent('started'));
  setLevel('warn');
  write(anEvent('started'));
  fault('testing', new TypeError('with a lead'));
  expect(recent()).toHaveLength(500 + 1); // the error is kept apart from the others
  expect(recent().slice(0, 2)).toMatchObject([
    { level: 'error', event: 'fault', message: 'Internal error while testing; please report it.' },
    { level: 'info', event: 'started', at: expect.any(Date) },
  ]);
});

test('the recent lines of the log name the source and the sink that they are about', () => {
  const { event: write, recent } = log();
  write(anEvent('sink-held'));
  write(anEvent('poll-finished'));
  expect(recent().map(({ source, sink }) => [source, sink])).toEqual([
    ['main', undefined],
    [undefined, 'crm'],
  ]);
});
