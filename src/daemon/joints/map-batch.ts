import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { LeftOut, Outcome, Refused, Unavailable } from '../../leads/outcome.ts';
import type { CompiledMappings } from '../../mapping/compiled-mappings.ts';
import { columnsOf, isMapped, mapDelivery } from '../../mapping/map-delivery.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';

/** Time after which mapping a batch gives way to other work, in ms. */
const TURN_MS = 10;
/** Time that a mapping may take for one lead before leadsync reports it, in ms. Other work of the process waits for it. */
const SLOW_MS = 50;

/** The deliveries of a batch that go to the sink, and the outcomes of the others. */
export interface MappedBatch {
  /** The batch with the deliveries to send, mapped; undefined if there is none. */
  readonly toSend: Batch | undefined;
  /** Returns one outcome for each delivery of the whole batch, in order, from those of `toSend`. */
  outcomes(ofSent: readonly Outcome[]): readonly Outcome[];
}

/**
 * Applies the mapping of its sink to each delivery of a batch. Withholds the deliveries that the mapping leaves out, those for which it
 * fails, and erased leads from a sink that does not take `erased` events: a lead without content would fail the whole batch.
 */
export async function mapBatch(
  batch: Batch,
  { erasedRefusal: reason }: Pick<OpenSink, 'erasedRefusal'>,
  {
    mappings,
    clock,
    emit,
  }: { readonly mappings: CompiledMappings; readonly clock: Clock; readonly emit: Emit },
): Promise<MappedBatch> {
  if (!isMapped(batch) && batch.deliveries.every(({ event }) => event !== 'erased'))
    return { toSend: batch, outcomes: (ofSent) => ofSent };
  const results: (Delivery | Refused | Unavailable | LeftOut)[] = [];
  let turnMs = clock.monotonicMs();
  for (const delivery of batch.deliveries) {
    const startMs = clock.monotonicMs();
    const isRefused = delivery.event === 'erased' && reason !== undefined;
    results.push(isRefused ? { kind: 'refused', reason } : mapDelivery(delivery, batch, mappings));
    const endMs = clock.monotonicMs();
    if (endMs - startMs > SLOW_MS) {
      const { source, leadId } = delivery;
      const durationMs = Math.round(endMs - startMs);
      emit({ type: 'mapping-slow', sink: batch.sink, source, lead: String(leadId), durationMs });
    }
    if (endMs - turnMs < TURN_MS) continue;
    await nextTurn();
    turnMs = clock.monotonicMs();
  }
  const deliveries = results.filter((result) => 'raw' in result);
  return {
    toSend:
      deliveries.length > 0
        ? { ...batch, columns: columnsOf(deliveries, batch, mappings), deliveries }
        : undefined,
    outcomes: (ofSent) => {
      const sent = ofSent[Symbol.iterator]();
      return results.map((result) => ('raw' in result ? (sent.next().value as Outcome) : result));
    },
  };
}
