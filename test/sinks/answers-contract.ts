import { describe, expect, test } from 'vitest';
import { mayHaveArrived, type Outcome } from '../../src/leads/outcome.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';

/** A sink and its destination, which answers in its own way. */
export interface Answering {
  readonly sink: Sink;
  /** Returns the ids of the leads that a receiver has that follows the documentation. */
  arrived(): Promise<readonly string[]>;
  close(): Promise<unknown>;
}

/** Opens a destination that answers in a certain way, for each way that a type of sink can meet. */
export interface Answers {
  /** Stores the first thing that it is sent and closes the connection without an answer. Recognises repeats, or can be asked. */
  readonly cut?: () => Promise<Answering>;
  /** Refuses lead 2, and accepts every other. */
  readonly mixed?: () => Promise<Answering>;
  /** Answers every request with success, and with nothing that such a destination would say: another program has the address. */
  readonly vague?: () => Promise<Answering>;
}

const NEVER = new AbortController().signal;
const leads = [1, 2, 3].map((id) => ({ leadId: BigInt(id), raw: aLead({ id }) }));

/** What every sink promises about the answers of its destination. Registers a test for each way of answering. */
export function promisesOfAnswers(name: string, { cut, mixed, vague }: Answers): void {
  describe(`the answers of a destination: ${name}`, () => {
    if (cut)
      test('if the answer is lost, the leads may have arrived, and a repeat does not deliver them twice', () =>
        use(cut, async ({ sink, arrived }) => {
          const [first] = await outcomesOf(sink.deliver(aBatch(leads.map((lead) => aDelivery(lead))), NEVER));
          expect(first?.kind).toBe('unavailable');
          expect(first && mayHaveArrived(first)).toBe(true);
          expect(await arrived()).toContain('1');
          const again = leads.map((lead) => aDelivery({ ...lead, mayHaveArrived: true }));
          const outcomes = await outcomesOf(sink.deliver(aBatch(again), NEVER));
          expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered']);
          expect([...(await arrived())].sort()).toEqual(['1', '2', '3']);
        }));

    if (mixed)
      test('if one lead of a batch is refused, the others are delivered, and the reason has no text of the lead', () =>
        use(mixed, async ({ sink, arrived }) => {
          const outcomes = await sink.deliver(aBatch(leads.map((lead) => aDelivery(lead))), NEVER);
          expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'refused', 'delivered']);
          expect(await arrived()).toEqual(['1', '3']);
          const reason = outcomes.map((outcome) => ('reason' in outcome ? outcome.reason : '')).join('');
          expect(reason).toMatch(/\.$/);
          expect(reason).not.toContain('Anna');
        }));

    if (vague)
      test('an answer of success that names no record does not count as success', () =>
        use(vague, async ({ sink }) => {
          const outcomes = await outcomesOf(
            sink.deliver(aBatch(leads.map((lead) => aDelivery(lead))), NEVER),
          );
          expect(outcomes.filter(({ kind }) => kind === 'delivered')).toEqual([]);
          expect(outcomes[0]?.kind).toBe('unavailable');
        }));
  });
}

async function use(
  open: () => Promise<Answering>,
  work: (opened: Answering) => Promise<void>,
): Promise<void> {
  const opened = await open();
  try {
    await work(opened);
  } finally {
    await opened.sink.close();
    await opened.close();
  }
}

/** Returns the outcomes of an attempt; if the sink throws, the outcome that stands for all leads. */
async function outcomesOf(attempt: Promise<readonly Outcome[]>): Promise<readonly Outcome[]> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof SinkUnavailable) return [error.toOutcome()];
    throw error;
  }
}
