import type { SinkConfig } from '../../config/contract/config.ts';
import type { FormerDestination, SinkErasure } from '../../leads/person.ts';
import type { Scrubbed } from '../../ledger/contract/ledger-upkeep.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import type { ErasedRecords } from '../../sinks/sink.ts';
import type { PlaceReport } from './certificate.ts';

/** Returns the names of the sinks that accept `erased` events, including former names under which the ledger may know them. */
export function sinksWithErasedEvents(sinks: readonly SinkConfig[]): string[] {
  return sinks.filter(({ events }) => events.includes('erased')).flatMap(namesOf);
}

/** Returns the report on the ledger. `underWay`: the number of the person's deliveries that are being attempted. */
export function ledgerReport(
  underWay: number,
  scrubbed: Scrubbed,
): Pick<PlaceReport, 'reached' | 'again' | 'what'> {
  if (underWay > 0)
    return {
      reached: false,
      again: true,
      what: `${countOf(underWay, 'delivery')} ${underWay === 1 ? 'is' : 'are'} still being attempted. Run this again when the attempt has ended.`,
    };
  if (!scrubbed)
    return {
      reached: false,
      again: true,
      what: 'Erased, but an open query keeps the content in the write-ahead log. Run this again when the query has ended.',
    };
  if (scrubbed === 'left-to-server')
    return {
      reached: true,
      again: false,
      what: "Erased. The database server's storage, log and backups may contain the content until the server reuses the space and the backups end. The ids are kept so that no poll records these leads again.",
    };
  return {
    reached: true,
    again: false,
    what: 'Erased and overwritten. The ids are kept so that no poll records these leads again.',
  };
}

/** Returns the report on a destination that leadsync cannot delete from: that it accepted `lead.erased`, or the operator's next step. */
export function destinationReport(
  sink: SinkConfig,
  all: readonly SinkErasure[],
): Pick<PlaceReport, 'reached' | 'again' | 'what'> {
  const told = all.find((one) => namesOf(sink).includes(one.sink));
  if (!told) return { reached: true, again: false, what: 'None of these leads was sent there.' };
  const { had, owed, refused, paused } = told;
  const once = !sink.enabled ? ' once the sink is enabled' : paused ? ' once the sink is resumed' : '';
  if (owed > 0)
    return {
      reached: false,
      again: true,
      what: `\`lead.erased\` is owed for ${countOf(owed, 'lead')}; a running leadsync delivers it${once}. Run this again to see whether it has.`,
    };
  if (refused > 0)
    return {
      reached: false,
      again: false,
      what: `It refused \`lead.erased\` for ${countOf(refused, 'lead')}. Ask its operator to erase them by their ids; \`leadsync retry\` sends the event again.`,
    };
  if (!sink.type.defaults.events.includes('erased'))
    return {
      reached: false,
      again: false,
      what: `${received(told)}, and leadsync cannot delete there. Delete them by hand, or ask its operator.`,
    };
  if (told.told < had)
    return {
      reached: false,
      again: false,
      what: `${received(told)}, and was notified of ${countOf(told.told, 'erasure')}. Ask its operator to erase them by their ids; with \`erased\` among its \`events\`, leadsync notifies it.`,
    };
  return {
    reached: true,
    again: false,
    what: `It accepted \`lead.erased\` for ${countOf(had, 'lead')}. Only its operator can say whether it erased them.`,
  };
}

/** Returns the report on a folder or bucket whose files do not contain the leads. leadsync cannot reach files that were moved elsewhere. */
export function folderReport(sink: SinkConfig, all: readonly SinkErasure[]): string {
  const told = all.find((one) => namesOf(sink).includes(one.sink));
  if (!told) return 'None of its files contains these leads.';
  return `${received(told)}, and none of its files contains any. Files that were moved elsewhere may contain them.`;
}

/** What an operator must do with a record that was kept. */
const BY_HAND = 'delete it or the data by hand, unless you have a reason to keep it.';

/**
 * Returns the report on a destination that people also work in. If records were kept, or if there may be records that leadsync cannot find,
 * an operator must do the rest by hand.
 */
export function recordsReport({
  deleted,
  kept,
  remark,
  unfound,
}: ErasedRecords): Pick<PlaceReport, 'reached' | 'again' | 'what' | 'kept'> {
  const counts = Object.entries(deleted).map(([object, count]) => countOf(count, object));
  const done = counts.length > 0 ? `deleted: ${counts.join(', ')}` : 'nothing was left to delete';
  const isReached = kept.length === 0 && unfound === undefined;
  const decide =
    kept.length > 0
      ? kept.length === 1
        ? `1 record was kept and may hold data about the person. Open it, and ${BY_HAND}`
        : `${countOf(kept.length, 'record')} were kept and may hold data about the person. Open each, and ${BY_HAND}`
      : undefined;
  const sentences = [
    isReached ? `It no longer contains these leads (${done}).` : `${done[0]?.toUpperCase()}${done.slice(1)}.`,
    counts.length > 0 ? remark : undefined,
    unfound,
    decide,
  ];
  return { reached: isReached, again: false, what: sentences.filter(Boolean).join(' '), kept };
}

/** Returns the reports on sinks that are no longer configured and that received the leads, or may have received them. */
export function removedSinksReport(sinks: readonly SinkConfig[], all: readonly SinkErasure[]): PlaceReport[] {
  const configured = new Set(sinks.flatMap(namesOf));
  return all
    .filter(({ sink }) => !configured.has(sink))
    .map((told) => ({
      place: told.sink,
      type: 'not configured',
      reached: false,
      again: false,
      what: `${received(told)} when it was configured. Ask its operator to erase them by their ids.`,
    }));
}

/** Returns the reports on former destinations of sinks that now have another destination. */
export function formerDestinationsReport(former: readonly FormerDestination[]): PlaceReport[] {
  return former.map(({ sink, place, until, had }) => ({
    place: sink,
    type: 'former destination',
    reached: false,
    again: false,
    what: `Until ${until.toISOString()}, the sink delivered to ${place}, which received, or may have received, ${countOf(had, 'lead')}. leadsync can no longer reach it: erase these leads there by their ids, or ask its operator to do so.`,
  }));
}

/**
 * Returns a clause that says how many leads a destination received. Leads of an attempt that failed, or whose outcome is unknown, may have
 * arrived.
 */
function received({ had, certain }: SinkErasure): string {
  if (certain === had) return `It received ${countOf(had, 'lead')}`;
  const leads = countOf(had, 'lead');
  return certain === 0 ? `It may have received ${leads}` : `It received, or may have received, ${leads}`;
}

/** Returns the names that a sink may have in the ledger, because a renamed sink keeps its former name until leadsync has run with the new name. */
function namesOf({ name, formerly }: SinkConfig): string[] {
  return formerly === undefined ? [name] : [name, formerly];
}
