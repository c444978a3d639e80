import { expect, test } from 'vitest';
import { mapBatch } from '../../../src/daemon/joints/map-batch.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { CompiledMappings } from '../../../src/mapping/compiled-mappings.ts';
import { textOf } from '../../../src/mapping/mapping-definition.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { csvFile } from '../../../src/sinks/csv/csv-file.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';

const parts = { mappings: new CompiledMappings(() => undefined), clock: systemClock, emit: () => undefined };
const delivered: Outcome = { kind: 'delivered' };
const ODD = textOf({ where: 'lead.id % 2 == 1' });

test('each lead of a batch gets its own outcome, whichever of them the sink gets', async () => {
  const fails = textOf({ where: 'int(lead.client_name) > 0' });
  const deliveries = [
    aDelivery({ leadId: 1n }),
    aDelivery({ leadId: 2n }),
    aDelivery({ leadId: 3n, event: 'erased' }),
    aDelivery({ leadId: 4n, formerMapping: null }),
    aDelivery({ leadId: 5n, formerMapping: fails }),
    aDelivery({ leadId: 6n, formerMapping: 'lost' }),
    aDelivery({ leadId: 7n }),
  ];
  const mapped = await mapBatch(
    aBatch(deliveries, { mapping: ODD }),
    { erasedRefusal: 'It does not erase.' },
    parts,
  );
  expect(mapped.toSend?.deliveries.map(({ leadId }) => leadId)).toEqual([1n, 4n, 7n]);
  const refused: Outcome = { kind: 'refused', reason: 'It says no.' };
  expect(mapped.outcomes([delivered, refused, delivered])).toMatchObject([
    { kind: 'delivered' },
    { kind: 'left-out' },
    { kind: 'refused', reason: 'It does not erase.' },
    { kind: 'refused', reason: 'It says no.' },
    { kind: 'refused', unsent: true },
    { kind: 'unavailable', unsent: true },
    { kind: 'delivered' },
  ]);
});

test('a batch is not sent if no lead of it is left', async () => {
  const mapped = await mapBatch(aBatch([aDelivery({ leadId: 2n })], { mapping: ODD }), {}, parts);
  expect(mapped.toSend).toBeUndefined();
  expect(mapped.outcomes([])).toMatchObject([{ kind: 'left-out' }]);
});

test('a batch without a mapping goes as it is', async () => {
  const batch = aBatch(2);
  expect((await mapBatch(batch, {}, parts)).toSend).toBe(batch);
});

const fieldsOf = (fields: Record<string, string>) =>
  textOf({
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, from]) => [name, { from, once: false, invalid: 'refuse' as const }]),
    ),
  });

test('an expression of the configuration that takes long for a lead is reported, with its option and without the text', async () => {
  const reported: unknown[] = [];
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 60) };
  const mapping = fieldsOf({ name: 'lead.client_name', id: 'lead.id' });
  const deliveries = [1n, 2n, 3n].map((leadId) => aDelivery({ leadId }));
  const batch = aBatch(deliveries, { mapping });
  const map = (standardFields: ReadonlySet<string>) =>
    mapBatch(
      batch,
      { standardFields },
      { ...parts, mappings, clock, emit: (event) => void reported.push(event) },
    );
  const mappings = new CompiledMappings(() => undefined);
  await map(new Set(['name', 'id']));
  expect(reported).toEqual([]);
  await map(new Set(['name']));
  expect(reported).toEqual(
    ['1', '2', '3'].map((lead) => ({
      type: 'mapping-slow',
      sink: batch.sink,
      source: 'main',
      lead,
      field: 'fields.id',
      durationMs: 60,
    })),
  );
});

test('the first lead that a mapping is applied to reports nothing, because every expression is slow once', async () => {
  const reported: unknown[] = [];
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 60) };
  const mappings = new CompiledMappings(() => undefined);
  const batch = aBatch([aDelivery({ leadId: 1n }), aDelivery({ leadId: 2n })], { mapping: ODD });
  await mapBatch(batch, {}, { mappings, clock, emit: (event) => void reported.push(event) });
  expect(reported).toMatchObject([{ type: 'mapping-slow', lead: '2', field: 'where' }]);
});

test.each([
  ['a new mapping', fieldsOf({ other: 'lead.service_slug', id: 'string(lead.id)' })],
  ['no mapping', undefined],
  [
    'a mapping under which another lead of the batch may have arrived',
    fieldsOf({ name: 'lead.client_name' }),
  ],
])(
  'a repeat has the bytes of the attempt that may have arrived, although the sink has %s by then',
  async (_, present) => {
    const [earlier, then] = [
      fieldsOf({ name: 'lead.client_name' }),
      fieldsOf({ id: 'lead.id', key: 'lead.key' }),
    ];
    const files = async (mapping: string | undefined, used: readonly (string | undefined)[]) => {
      const deliveries = used.map((text, at) => {
        // The ledger names the mapping of a delivery only if it differs from that of the batch.
        const former = text === mapping ? {} : { formerMapping: text ?? null };
        return aDelivery({ leadId: BigInt(at + 1), ...former });
      });
      const { toSend } = await mapBatch(aBatch(deliveries, { mapping }), {}, parts);
      return toSend && csvFile(toSend, { makeSafe: (cell) => cell, bom: false }).toString();
    };
    for (const used of [[then], [then, earlier], [earlier, then], [undefined, then]])
      expect(await files(present, used)).toBe(await files(then, used));
  },
);
