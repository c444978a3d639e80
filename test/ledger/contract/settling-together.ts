import { describe, expect, it } from 'vitest';
import type { BatchRef } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import {
  aSink,
  changedLead,
  delivered,
  ids,
  LedgerUnderTest,
  type OpenLedger,
  refused,
  unavailable,
} from '../ledger-under-test.ts';

/** Begins the attempts of all batches of a sink. */
async function takeAll(on: LedgerUnderTest, sink: string): Promise<readonly BatchRef[]> {
  const { refs } = await on.claim(sink);
  for (const ref of refs) await on.begin(ref);
  return refs;
}

/** Settles each batch with its outcome, one after the other or all in the same turn of the event loop. */
async function settleAll(
  on: LedgerUnderTest,
  refs: readonly BatchRef[],
  outcomes: readonly Outcome[],
  together: boolean,
) {
  const settle = (ref: BatchRef, index: number) =>
    on.settle(ref, outcomes[index % outcomes.length] as Outcome);
  if (together) return Promise.all(refs.map(settle));
  const settled = [];
  for (const [index, ref] of refs.entries()) settled.push(await settle(ref, index));
  return settled;
}

/** Registers the tests of attempts that end together, which a ledger may record in one commit. */
export function settlingTogetherContract(store: () => OpenLedger): void {
  describe('attempts that end together', () => {
    const runs: Readonly<Record<string, readonly Outcome[]>> = {
      delivered: [delivered],
      refused: [refused],
      unavailable: [unavailable],
      'held and recovered': [...Array.from({ length: 7 }, () => refused), delivered, refused, refused],
      mixed: [delivered, refused, unavailable, delivered, refused],
    };

    for (const [name, outcomes] of Object.entries(runs))
      it(`are judged as if each had ended after the one before it: ${name}`, async () => {
        const seen = [];
        for (const together of [false, true]) {
          const on = await LedgerUnderTest.with(store(), 'crm', 'drop');
          await on.list(ids(1, 40));
          const refs = [...(await takeAll(on, 'crm')), ...(await takeAll(on, 'drop'))];
          const settled = await settleAll(on, refs, outcomes, together);
          const { sinks } = await on.ledger.status();
          const rows = await on.ledger.deliveries({}, { limit: 100 });
          const deliveries = rows.map(
            ({ sink, lead, state, attempts }) => `${sink} ${lead} ${state} ${attempts}`,
          );
          seen.push({ settled, sinks, deliveries: deliveries.sort() });
        }
        expect(seen[1]).toEqual(seen[0]);
      });

    it('owe the contents that changed meanwhile as if each had ended after the one before it', async () => {
      const seen = [];
      for (const together of [false, true]) {
        const on = await LedgerUnderTest.with(
          store(),
          aSink('crm', { events: ['created', 'updated'] }),
          'drop',
        );
        await on.list(ids(1, 20));
        const refs = [...(await takeAll(on, 'crm')), ...(await takeAll(on, 'drop'))];
        await on.list(ids(1, 20).map((id) => changedLead(id, 'B')));
        await settleAll(on, refs, [delivered, refused, unavailable], together);
        const owed = [...(await on.owed('crm')).sort(), ...(await on.owed('drop')).sort()];
        seen.push(owed);
      }
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[1]).toEqual(expect.arrayContaining(['1 v2 pending', '2 v1 dead', '3 v1 skipped']));
    });

    it('each is recorded once, and an outdated lease stops no other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const [first, second, third] = (await takeAll(on, 'crm')) as [BatchRef, BatchRef, BatchRef];
      const outdated = { ...second, lease: second.lease + 1 };
      const settled = await settleAll(on, [first, first, outdated, third], [delivered], true);
      expect(settled.map((one) => one?.verdicts.length)).toEqual([1, undefined, undefined, 1]);
      expect(await on.owed('crm')).toEqual(['1 v1 delivered', '2 v1 pending', '3 v1 delivered']);
    });

    it('one that cannot be recorded stops no other', async () => {
      const on = await LedgerUnderTest.with(store(), 'crm');
      await on.list([1, 2, 3]);
      const [first, second, third] = (await takeAll(on, 'crm')) as [BatchRef, BatchRef, BatchRef];
      const [one, wrong, other] = await Promise.allSettled([
        on.settle(first, delivered),
        on.settle(second, delivered, delivered), // a batch of one lead
        on.settle(third, refused),
      ]);
      expect([one.status, wrong.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await on.settle(second, delivered)).toBeDefined();
    });
  });
}
