import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import type { AttemptUnderWay, Sink } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { type ExecInput, openExec, ProgramFolder } from './open-exec.ts';

const NEVER = new AbortController().signal;

let folder: ProgramFolder;
beforeEach(() => {
  folder = new ProgramFolder();
});
afterEach(() => folder.remove());

/** Notes the leads of each start on a line, and stores those that it takes. `wrong` is an expression of their ids. */
const refusing = (wrong: string, end = 'process.exit(1)') => `
const leads = linesOf(readAll()).map((line) => JSON.parse(line).data.id);
fs.appendFileSync(here('starts'), leads.join(' ') + '\\n');
const wrong = (ids) => ${wrong};
if (wrong(leads)) { console.error('wrong lead of Anna'); ${end}; }
fs.appendFileSync(here('stored'), leads.map((id) => id + '\\n').join(''));
`;

function starts(): string[] {
  return readFileSync(folder.at('starts'), 'utf8').split('\n').slice(0, -1);
}

function storedOnce(): number[] {
  const ids = readFileSync(folder.at('stored'), 'utf8').split('\n').slice(0, -1).map(Number);
  expect(new Set(ids).size).toBe(ids.length);
  return ids.sort((a, b) => a - b);
}

function deliver(command: string[], count: number, more: Partial<ExecInput> = {}, under?: AttemptUnderWay) {
  return openExec({ command, ...more }).deliver(aBatch(count), NEVER, under);
}

function deliverFailing(
  command: string[],
  count: number,
  more: Partial<ExecInput> = {},
): Promise<SinkUnavailable> {
  return deliver(command, count, more).then(
    () => expect.fail('delivered'),
    (error) => error,
  );
}

const idsOf = (outcomes: readonly Outcome[], kind: Outcome['kind']) =>
  outcomes.flatMap((outcome, at) => (outcome.kind === kind ? [at + 1] : []));

describe('a program that fails', () => {
  test('for one lead of 200 gets every other one, and only that lead is refused', async () => {
    const outcomes = await deliver(folder.node('p', refusing('ids.includes(137)')), 200);
    expect(idsOf(outcomes, 'refused')).toEqual([137]);
    expect(idsOf(outcomes, 'delivered')).toHaveLength(199);
    expect(storedOnce()).toHaveLength(199);
    expect(outcomes[136]).toMatchObject({
      reason: expect.stringMatching(/^node ended with exit code 1 for this lead alone\.$/),
      answer: 'wrong lead of Anna',
    });
    expect(starts().length).toBeLessThan(30);
  });

  test('for some leads of a batch gets the others, wherever they are', async () => {
    const outcomes = await deliver(folder.node('p', refusing('ids.some((id) => id <= 3 || id === 9)')), 12);
    expect(idsOf(outcomes, 'refused')).toEqual([1, 2, 3, 9]);
    expect(storedOnce()).toEqual([4, 5, 6, 7, 8, 10, 11, 12]);
  });

  test('for every lead refuses none, and is started only a few times', async () => {
    const error = await deliverFailing(folder.node('p', refusing('true')), 1000);
    expect(error).toBeInstanceOf(SinkUnavailable);
    expect(error.message).toBe('node ended with exit code 1.');
    expect(error.hint).toContain('standard error');
    expect(mayHaveArrived(error.toOutcome())).toBe(true);
    expect(starts().map((leads) => leads.split(' ').length)).toEqual([1000, 1, 1, 1, 1, 1]);
  });

  test('for a batch of one lead refuses nothing, because nothing shows that the program works', async () => {
    const error = await deliverFailing(folder.node('p', refusing('true')), 1);
    expect(error).toBeInstanceOf(SinkUnavailable);
    expect(starts()).toEqual(['1']);
  });

  test('gets other leads alone in the next attempt, so that they are not always the bad ones', async () => {
    const sink = openExec({ command: folder.node('p', refusing('true')) });
    for (let at = 0; at < 4; at += 1) await sink.deliver(aBatch(100), NEVER).catch(() => undefined);
    const alone = starts().filter((leads) => !leads.includes(' '));
    expect(alone).toHaveLength(20);
    expect(new Set(alone).size).toBe(20);
    await sink.close();
  });

  test('with exit code 65 refuses the lead, even if it is the only one', async () => {
    const [outcome] = await deliver(folder.node('p', refusing('true', 'process.exit(65)')), 1);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('exit code 65') });
  });

  test('with exit code 75 is unavailable, and is not started for parts of the batch', async () => {
    const error = await deliverFailing(folder.node('p', refusing('true', 'process.exit(75)')), 8);
    expect(error.message).toBe('node ended with exit code 75, which means "try again later".');
    expect(starts()).toHaveLength(1);
  });

  test('by a signal is treated like one with an exit code', async () => {
    const dies = refusing('ids.includes(3)', "process.kill(process.pid, 'SIGSEGV')");
    const outcomes = await deliver(folder.node('p', dies), 8);
    expect(idsOf(outcomes, 'refused')).toEqual([3]);
    expect(outcomes[2]).toMatchObject({ reason: expect.stringContaining('exit code 139 (SIGSEGV)') });
  });

  test('in the middle of the search leaves the other leads untried', async () => {
    const later = refusing('ids.length > 1', 'process.exit(fs.existsSync(here("stored")) ? 75 : 1)');
    const outcomes = await deliver(folder.node('p', later), 20);
    expect(idsOf(outcomes, 'delivered')).toHaveLength(4);
    const others = outcomes.filter(({ kind }) => kind === 'unavailable');
    expect(others).toHaveLength(16);
    expect(others.every(mayHaveArrived)).toBe(true);
  });

  test('slowly leaves the rest to the next attempt, as leads that may have arrived', async () => {
    let left = 8;
    const under = { timeLeftMs: () => --left * 700_000, confirmLease: () => undefined };
    const outcomes = await deliver(folder.node('p', refusing('ids.includes(18)')), 40, {}, under);
    const untried = outcomes.filter(({ kind }) => kind === 'untried');
    expect(untried.length).toBeGreaterThan(0);
    expect(untried.every(mayHaveArrived)).toBe(true);
    expect(idsOf(outcomes, 'unavailable')).toEqual([]);
    expect(storedOnce()).toEqual(idsOf(outcomes, 'delivered'));
  });
});

describe('a program that fails for a while', () => {
  /** Fails at the starts for which `fails`, an expression of their number, is true, and for leads that are `wrong`. */
  const failingAt = (fails: string, wrong = 'false') =>
    folder.node(
      'p',
      `
const at = fs.existsSync(here('starts')) ? linesOf(fs.readFileSync(here('starts'), 'utf8')).length + 1 : 1;
${refusing(`(${fails}) || (${wrong})`, 'process.exit(2)')}`,
    );

  test.each([2, 5])('until its start number %i gets every lead, and none is refused', async (works) => {
    const outcomes = await deliver(failingAt(`at < ${works}`), 30);
    expect(idsOf(outcomes, 'delivered')).toHaveLength(30);
    expect(storedOnce()).toHaveLength(30);
  });

  test.each([3, 6])(
    'from its start number %i refuses no lead, whatever it accepted before',
    async (breaks) => {
      const outcomes = await deliver(failingAt(`at === 1 || at >= ${breaks}`), 30);
      expect(idsOf(outcomes, 'refused')).toEqual([]);
      const waiting = outcomes.filter(({ kind }) => kind !== 'delivered');
      expect(waiting.every(mayHaveArrived)).toBe(true);
      expect(storedOnce()).toEqual(idsOf(outcomes, 'delivered'));
    },
  );

  test.each([7])('at each start of %i refuses only the bad lead', async (every) => {
    const outcomes = await deliver(failingAt(`at % ${every} === 0`, 'ids.includes(58)'), 100);
    expect(idsOf(outcomes, 'refused')).toEqual([58]);
    expect(idsOf(outcomes, 'delivered')).toHaveLength(99);
    expect(storedOnce()).toHaveLength(99);
  });
});

test('of two contents of a lead, only the one at fault is refused', async () => {
  const deliveries = [1, 2, 1, 3].map((id, at) =>
    aDelivery({ id: `d${at}`, leadId: BigInt(id), raw: JSON.stringify({ id, odd: at === 2 }) }),
  );
  for (const code of [1, 65]) {
    const command = folder.node(
      'p',
      `
const events = linesOf(readAll()).map((line) => JSON.parse(line));
if (events.some(({ data }) => data.odd)) process.exit(${code});
fs.appendFileSync(here('taken'), events.map(({ id }) => id + '\\n').join(''));
`,
    );
    const outcomes = await openExec({ command }).deliver(aBatch(deliveries), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'refused', 'delivered']);
  }
  expect(readFileSync(folder.at('taken'), 'utf8').split('\n').sort().slice(1)).toEqual([
    ...['d0', 'd0', 'd1', 'd1', 'd3', 'd3'],
  ]);
});

test('two contents of a lead stay together and in order, however the batch is divided', async () => {
  const deliveries = [1, 2, 3, 1, 4].map((id, at) =>
    aDelivery({ id: `d${at}`, leadId: BigInt(id), version: at === 3 ? 2 : 1 }),
  );
  const program = folder.node('p', refusing('ids.length > 2 || ids.includes(3)'));
  const outcomes = await openExec({ command: program }).deliver(aBatch(deliveries), NEVER);
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    ...['delivered', 'delivered', 'refused', 'delivered', 'delivered'],
  ]);
  expect(starts()).toContain('1 1');
});

test('a lead that is too large is refused without a start, and the others are sent', async () => {
  const program = folder.node('p', refusing('false'));
  const large = aDelivery({ leadId: 2n, raw: JSON.stringify({ id: 2, more: 'é'.repeat(600) }) });
  const batch = aBatch([aDelivery({ leadId: 1n }), large]);
  const outcomes = await openExec({ command: program, max_lead_size: '1kb' }).deliver(batch, NEVER);
  expect(outcomes).toEqual([
    { kind: 'delivered' },
    {
      kind: 'refused',
      reason: 'The lead has 1 kB, and `max_lead_size` is 1 kB.',
      unsent: true,
    },
  ]);
  expect(starts()).toEqual(['1']);
});

describe('a program that cannot be started', () => {
  test.each([
    [
      'that is not on the PATH',
      () => ({ command: ['no-such-program-here'] }),
      /^There is no program "no-such-program-here" on the PATH/,
      /Install it/,
    ],
    [
      'that does not exist',
      () => ({ command: ['./absent'], cwd: folder.path }),
      /absent does not exist\.$/,
      /`command`/,
    ],
    [
      'that is not executable',
      () => ({ command: [folder.file('plain', '#!/bin/sh\n', 0o644)] }),
      /plain is not executable/,
      /chmod \+x/,
    ],
    ['that is a folder', () => ({ command: [folder.path] }), /is a folder\.$/, /`command`/],
    [
      'whose folder does not exist',
      () => ({ command: ['true'], cwd: folder.at('gone') }),
      /gone, in which the program must run, does not exist/,
      /`cwd`/,
    ],
    [
      'whose folder is a file',
      () => ({ command: ['true'], cwd: folder.file('file', '') }),
      /is not a folder/,
      /`cwd`/,
    ],
  ] as const)('%s makes the sink unavailable, with the next step', async (_, options, message, hint) => {
    const sink = openExec(options() as ExecInput);
    for (const attempt of [() => sink.deliver(aBatch(2), NEVER), () => sink.check(NEVER)]) {
      const error = await attempt().then(
        () => expect.fail('no error'),
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(SinkUnavailable);
      expect(error.message).toMatch(message);
      expect(error.hint).toMatch(hint);
      expect(error.unsent).toBe(true);
    }
  });

  test('because its interpreter is missing has this reason after one start', async () => {
    const command = [folder.file('script', '#!/no/such/interpreter\n')];
    const error = await deliverFailing(command, 5);
    expect(error.message).toMatch(/^script ended with exit code 12[67], which means that a program is/);
    expect(error.hint).toContain('#!');
  });

  test('because it has only the name of a shell builtin is not run as that builtin', async () => {
    const error = await deliverFailing(['exit', '0'], 1);
    expect(error.message).toContain('no program "exit"');
  });
});

describe('a lead that the program does not accept, and that is always alone', () => {
  const batchOf = (...ids: readonly number[]) =>
    aBatch(ids.map((id) => aDelivery({ id: `d${id}`, leadId: BigInt(id) })));
  const kindOf = async (sink: Sink, ...ids: readonly number[]) => {
    const outcomes = await sink
      .deliver(batchOf(...ids), NEVER)
      .catch((error: SinkUnavailable) => [error.toOutcome()]);
    return outcomes.map(({ kind }) => kind).join(' ');
  };

  test('is refused once the program has failed for it five times, and then accepted another lead', async () => {
    const sink = openExec({ command: folder.node('p', refusing('ids.includes(7)')) });
    for (let at = 0; at < 5; at += 1) expect(await kindOf(sink, 7)).toBe('unavailable');
    expect(await kindOf(sink, 1)).toBe('delivered');
    expect(await kindOf(sink, 7)).toBe('refused');
    // A retry gets the same number of chances again.
    expect(await kindOf(sink, 7)).toBe('unavailable');
  });

  test('is not refused after fewer failures, or if the program accepts nothing else', async () => {
    const sink = openExec({ command: folder.node('p', refusing('ids.includes(7)')) });
    for (let at = 0; at < 4; at += 1) expect(await kindOf(sink, 7)).toBe('unavailable');
    expect(await kindOf(sink, 1)).toBe('delivered');
    for (let at = 0; at < 4; at += 1) expect(await kindOf(sink, 7)).toBe('unavailable');
  });

  test('is refused as well if it comes with other bad leads', async () => {
    const sink = openExec({ command: folder.node('p', refusing('ids.some((id) => id >= 7)')) });
    for (let at = 0; at < 5; at += 1) expect(await kindOf(sink, 7, 8)).toBe('unavailable');
    expect(await kindOf(sink, 1)).toBe('delivered');
    expect(await kindOf(sink, 7, 8)).toBe('refused refused');
  });
});
