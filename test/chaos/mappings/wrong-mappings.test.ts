import { afterEach, expect, test, vi } from 'vitest';
import { underEachId } from '../ledgers/ledger-record.ts';
import type { WatchedRequest } from '../watched-receiver.ts';
import { type Arrival, arrivedByWebhook } from './arrival.ts';
import { type Form, valuesOf } from './form.ts';
import { InForce } from './in-force.ts';
import { type Known, wrongMappings } from './wrong-mappings.ts';
import { leftOutLate, wronglyLeftOut } from './wrong-split.ts';

const LEAD = { id: 5, service_slug: 'plumbing', all_details_one_liner: 'A tap' };
const ID = 'even:main:5:1:abcdef01';
const EVEN: Form = { sink: 'even', number: 13, parity: 0 };
const ODD: Form = { sink: 'even', number: 23, parity: 1 };
const NEXT: Form = { sink: 'even', number: 33, parity: 1 };
const PLAIN: Form = { sink: 'even', number: 43, plain: true };

afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns a record of mappings that followed one another: each is written and in force at its time. */
function mappingsAt(...times: readonly (readonly [atMs: number, form: Form])[]): InForce {
  const inForce = new InForce();
  for (const [atMs, form] of times) {
    vi.spyOn(performance, 'now').mockReturnValue(atMs);
    inForce.written([form]);
    inForce.reported(form.sink, form.number);
  }
  return inForce;
}

function known(inForce: InForce, more: Partial<Known> = {}): Known {
  return {
    inForce,
    boundMs: new Map(),
    slow: new Map(),
    frozen: [],
    textsOf: () => [JSON.stringify(LEAD)],
    ...more,
  };
}

/** Returns a lead that arrived under a mapping; without one, as received. */
function arrival(atMs: number, form: Form | undefined, more: Partial<Arrival> = {}): Arrival {
  const [delivery, event, source] = [ID, 'created', 'main'];
  const values = form && valuesOf(form, { lead: LEAD, delivery, event, source });
  const base = {
    sink: 'even',
    source,
    lead: '5',
    delivery,
    event,
    owedMs: 0,
    atMs,
    sentMs: atMs,
  } as const;
  return { ...base, values, whole: JSON.stringify(values ?? LEAD), ...more };
}

test('a lead in the form of the mapping in force is right, and so is one as received while there is no mapping', () => {
  const changes = known(mappingsAt([0, ODD], [50_000, PLAIN]));
  expect(wrongMappings([arrival(40_000, ODD)], changes)).toEqual([]);
  expect(wrongMappings([arrival(60_000, undefined)], changes)).toEqual([]);
});

test.each([
  ['as received although there was a mapping', 40_000, undefined, 'arrived as received'],
  ['in the form of a mapping that came later', 40_000, NEXT, 'since its attempt began only 23 was in force'],
  ['in the form of an earlier mapping', 60_000, ODD, 'since its attempt began only 33 was in force'],
  ['that its mapping leaves out', 1_000, EVEN, 'which mapping 13 leaves out'],
])('a lead is wrong %s', (_, atMs, form, fault) => {
  const changes = known(mappingsAt([0, EVEN], [2_000, ODD], [50_000, NEXT]));
  expect(wrongMappings([arrival(atMs, form)], changes)).toEqual([expect.stringContaining(fault)]);
});

test('an earlier mapping is right if the process stood still, or if an earlier attempt may have arrived', () => {
  const inForce = mappingsAt([0, ODD], [50_000, NEXT]);
  const late = [arrival(60_000, ODD)];
  expect(wrongMappings(late, known(inForce, { frozen: [{ fromMs: 49_000, toMs: 59_000 }] }))).toEqual([]);
  expect(wrongMappings(late, known(inForce, { boundMs: new Map([[ID, 49_500]]) }))).toEqual([]);
  expect(wrongMappings(late, known(inForce, { boundMs: new Map([[ID, 61_000]]) }))).toHaveLength(1);
});

test.each([
  ['another value', { made: 'by odd 24 of main:5' }, 'made'],
  ['a field too much', { first_name: 'Ana' }, 'first_name'],
])('%s than the mapping gives is reported', (_, wrong, field) => {
  const right = arrival(40_000, ODD);
  const faults = wrongMappings(
    [{ ...right, values: { ...right.values, ...wrong } }],
    known(mappingsAt([0, ODD])),
  );
  expect(faults).toEqual([expect.stringContaining(`gives: ${field}`)]);
});

test('a field with `once` belongs to the first delivery alone, and a table keeps it', () => {
  const changes = known(mappingsAt([0, ODD]));
  const updated = valuesOf(ODD, { lead: LEAD, delivery: ID, event: 'updated', source: 'main' });
  const again = { event: 'updated', values: { ...updated, first: 'even 23' } };
  expect(wrongMappings([arrival(40_000, ODD, again)], changes)).toEqual([
    expect.stringContaining('gives: first'),
  ]);
  const kept = { first: 'even 13' };
  const row = { event: 'updated', kept, values: { ...kept, ...updated } };
  expect(wrongMappings([arrival(40_000, ODD, row)], changes)).toEqual([]);
  const emptied = arrival(40_000, ODD, { ...row, values: updated });
  expect(wrongMappings([emptied], changes)).toHaveLength(1);
});

test('a delivery must not come in another form under the same id', () => {
  const changes = known(mappingsAt([0, ODD], [50_000, NEXT]));
  const [first, again] = [arrival(40_000, ODD), arrival(60_000, NEXT)];
  expect(wrongMappings([first, again], changes)).toEqual([
    expect.stringContaining('arrived again with another content'),
  ]);
  const delivery = `${ID}:m1`;
  const renamed = { ...again, delivery, values: { ...again.values, delivery } };
  expect(wrongMappings([first, renamed], changes)).toEqual([]);
});

test('what counts is when a lead was sent, not when a busy receiver noticed it', () => {
  const changes = known(mappingsAt([0, ODD], [50_000, NEXT]));
  expect(wrongMappings([arrival(60_000, ODD, { sentMs: 51_000 })], changes)).toEqual([]);
});

test('a lead may have the mapping of the time when its attempt began, however long the attempt took', () => {
  const inForce = mappingsAt([0, ODD], [50_000, NEXT]);
  const late = [arrival(60_000, ODD)];
  const took = (fromMs: number, toMs: number) => ({ slow: new Map([[ID, [{ fromMs, toMs }]]]) });
  expect(wrongMappings(late, known(inForce))).toHaveLength(1);
  expect(wrongMappings(late, known(inForce, took(49_000, 61_000)))).toEqual([]);
  expect(wrongMappings(late, known(inForce, took(49_000, 59_000)))).toHaveLength(1);
});

test('what the ledger says of a delivery holds for each id that the delivery has had', () => {
  expect(underEachId({ delivery: ID })).toEqual([{ delivery: ID }]);
  expect(underEachId({ delivery: `${ID}:m2` })).toEqual([
    { delivery: ID },
    { delivery: `${ID}:m1` },
    { delivery: `${ID}:m2` },
  ]);
});

test('a lead is left out wrongly while every mapping takes it', () => {
  const changes = known(mappingsAt([0, EVEN], [50_000, ODD]));
  const leftOut = { sink: 'even', source: 'main', lead: '5', delivery: ID, owedMs: 0 } as const;
  expect(wronglyLeftOut([{ ...leftOut, atMs: 40_000, sentMs: 40_000 }], changes)).toEqual([]);
  const late = { ...leftOut, atMs: 60_000, sentMs: 60_000 };
  expect(wronglyLeftOut([late], changes)).toHaveLength(1);
  expect(leftOutLate([late], [arrival(40_000, ODD)])).toHaveLength(1);
  expect(leftOutLate([{ ...late, delivery: `${ID}:m1` }], [arrival(40_000, ODD)])).toEqual([]);
});

test.each(['9007199254740993', '9223372036854775807'])('the id %s is judged digit by digit', (id) => {
  const text = (digits: string) =>
    `{"id":${digits},"service_slug":"plumbing","all_details_one_liner":"A tap"}`;
  const delivery = `even:main:${id}:1:abcdef01`;
  const arrived = (digits: string) => {
    const lead = { id: digits, service_slug: 'plumbing', all_details_one_liner: 'A tap' };
    const values = JSON.stringify(valuesOf(ODD, { lead, delivery, event: 'created', source: 'main' }));
    const body = `{"type":"lead.created","timestamp":"2026-11-20T10:00:00Z","source":"main","data":${values.replace(`"id":"${digits}"`, `"id":${digits}`)}}`;
    const request = {
      method: 'POST',
      path: '/',
      headers: { 'webhook-id': delivery },
      body: Buffer.from(body),
    };
    return arrivedByWebhook('even', [{ request, atMs: 40_000, sentMs: 40_000 } as unknown as WatchedRequest]);
  };
  const listed = known(mappingsAt([0, ODD]), { textsOf: () => [text(id)] });
  const [right, wrong] = [arrived(id), arrived(`${id.slice(0, -1)}1`)];
  expect(right[0]?.lead).toBe(id);
  expect(wrongMappings(right, listed)).toEqual([]);
  expect(wrongMappings(wrong, listed)).toEqual([expect.stringContaining('has other values')]);
});
