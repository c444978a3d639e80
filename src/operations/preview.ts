import type { Config, SinkConfig } from '../config/contract/config.ts';
import type { Batch, Delivery } from '../leads/delivery.ts';
import type { MappedFields } from '../leads/mapped-fields.ts';
import type { Upcoming } from '../ledger/contract/status-rows.ts';
import { isMapped, type MappedOne } from '../mapping/map-delivery.ts';
import { textOf } from '../mapping/mapping-definition.ts';
import { printMomentAndAge } from '../platform/text/human-readable.ts';
import { printable } from '../platform/text/printable.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Preview } from '../sinks/sink.ts';
import { openSink } from './opening/open-sinks.ts';

/** What a sink would send for a delivery, with the fields that its mapping produces, or the reason why it would send nothing. */
export type PreviewResult =
  | { readonly previews: readonly Preview[]; readonly fields: MappedFields | undefined }
  | { readonly withheld: string };

/** Applies the mapping of a sink to a delivery: in this process, or in another one. */
export type ApplyMapping = (
  delivery: Delivery,
  ofSink: Pick<Batch, 'mapping' | 'sink'>,
) => MappedOne | Promise<MappedOne>;

/** Returns the preview of a delivery, as a batch of one. Sends nothing. @throws the errors of `map` */
export async function preview(
  config: SinkConfig,
  delivery: Delivery,
  {
    clock,
    publicUrl,
    map,
  }: { readonly clock: Clock; readonly map: ApplyMapping } & Pick<Config, 'publicUrl'>,
): Promise<PreviewResult> {
  const ofSink = { sink: config.name, mapping: config.mapping && textOf(config.mapping) };
  const { mapped, columns } = isMapped({ ...ofSink, deliveries: [delivery] })
    ? await map(delivery, ofSink)
    : { mapped: delivery, columns: undefined };
  if (!('raw' in mapped)) return { withheld: mapped.reason };
  const sink = await openSink(config, clock, () => publicUrl);
  try {
    // There is no batch yet, so this id stands in for a real one.
    const batch = { id: 'preview', sink: config.name, createdAt: clock.now(), columns, deliveries: [mapped] };
    return { previews: sink.preview(batch), fields: mapped.fields };
  } finally {
    await sink.close();
  }
}

/** Returns the reason why a sink does not get a lead, whatever its mapping does; undefined if the sink gets the lead. */
export function notOwed({ state, reason }: Upcoming, { events, backfill }: SinkConfig): string | undefined {
  if (state === 'skipped') return reason ?? 'no reason was recorded';
  if (state !== undefined) return undefined;
  if (!events.includes('created'))
    return 'its `events` do not include `created`, and no change of this lead is owed to it';
  return backfill ? undefined : 'it was listed before the sink was added, and `backfill` is false';
}

/**
 * Returns a note if the sink is disabled, or if the delivery's state affects whether the preview will be sent; undefined otherwise. `command`
 * formats a command for the reader.
 */
export function previewNote(
  { state, reason, settledAt, delivery }: Upcoming,
  { name, enabled }: SinkConfig,
  now: Date,
  command: (words: string) => string,
  { hasActions = false } = {},
): string | undefined {
  const when = settledAt ? ` ${printMomentAndAge(settledAt, now)}` : '';
  if (!enabled) return `${name} is disabled in the configuration: nothing is sent to it.`;
  switch (state) {
    case 'delivered':
      if (delivery.event === 'erased')
        return `It was delivered${when}; no content of the lead is left to send.`;
      if (hasActions) return `It was delivered${when}, and is not sent again automatically.`;
      return `It was delivered${when}, and is not sent again automatically; ${command(`replay --sink ${name} --lead ${delivery.leadId}`)} sends it as a new delivery.`;
    case 'dead':
      return `It is dead${when && `, since${when}`}: ${printable(reason ?? 'no reason was recorded')} ${command(`retry --sink ${name} --lead ${delivery.leadId}`)} sends this.`;
    case undefined:
      return `It is not owed to ${name} yet; the next ${command('run')} or ${command('reload')} changes that.`;
    default:
      return undefined;
  }
}
