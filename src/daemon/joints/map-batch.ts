import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import type { LeftOut, Outcome, Refused, Unavailable } from '../../leads/outcome.ts';
import type { CompiledMappings } from '../../mapping/compiled-mappings.ts';
import { columnsOf, isMapped, mapDelivery } from '../../mapping/map-delivery.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import { ExpressionTiming } from './expression-timing.ts';

/** Time after which mapping a batch gives way to other work, in ms. */
const TURN_MS = 10;
/**
 * Time that the expressions of the configuration may take for one lead before leadsync reports them as slow, in ms. The other work of the process
 * waits meanwhile.
 */
const SLOW_MS = 50;

const NO_FIELDS: ReadonlySet<string> = new Set();

/** The deliveries of a batch that go to the sink, and the outcomes of the others. */
export interface MappedBatch {
  /** The batch with the mapped deliveries to send; undefined if there are none. */
  readonly toSend: Batch | undefined;
  /** Returns one outcome for each delivery of the whole batch, in order. `ofSent` contains the outcomes of the deliveries in `toSend`. */
  outcomes(ofSent: readonly Outcome[]): readonly Outcome[];
}

/**
 * Applies the sink's mapping to each delivery of a batch. Withholds the deliveries that the mapping leaves out and those for which it
 * fails. Also withholds erased leads if the sink does not accept `erased` events, because a lead without content would make the whole batch
 * fail.
 */
export async function mapBatch(
  batch: Batch,
  { erasedRefusal: reason, standardFields = NO_FIELDS }: Pick<OpenSink, 'erasedRefusal' | 'standardFields'>,
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
    const timing = new ExpressionTiming(clock, standardFields);
    const isRefused = delivery.event === 'erased' && reason !== undefined;
    results.push(
      isRefused
        ? { kind: 'refused', reason }
        : mapDelivery(delivery, batch, mappings, (path) => timing.evaluated(path)),
    );
    if (timing.totalMs > SLOW_MS) {
      const { source, leadId } = delivery;
      const [field, durationMs] = [timing.slowest, Math.round(timing.totalMs)];
      emit({ type: 'mapping-slow', sink: batch.sink, source, lead: String(leadId), field, durationMs });
    }
    if (clock.monotonicMs() - turnMs < TURN_MS) continue;
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
