import type { SinkConfig } from '../../config/contract/config.ts';
import type { FormerDestination, SinkErasure } from '../../leads/person.ts';
import { countOf } from '../../platform/text/format.ts';
import type { PlaceReport } from './certificate.ts';

/** Returns the sinks that take `erased` events, by every name under which the ledger may know them. */
export function sinksWithErasedEvents(sinks: readonly SinkConfig[]): string[] {
  return sinks.filter(({ events }) => events.includes('erased')).flatMap(namesOf);
}

/** What a certificate says of a destination from which leadsync cannot delete. */
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
      what: `Owed \`lead.erased\` of ${countOf(owed, 'lead')}, which a leadsync that is running brings${once}. Run this again to see whether it did.`,
    };
  if (refused > 0)
    return {
      reached: false,
      again: false,
      what: `It refused \`lead.erased\` of ${countOf(refused, 'lead')}. Ask whoever runs it to erase them, by their ids; \`leadsync retry\` tells it once more.`,
    };
  if (told.told < had)
    return {
      reached: false,
      again: false,
      what: `${itGot(told)}, and was told of ${told.told}. Ask whoever runs it to erase them, by their ids; with \`erased\` among its \`events\` leadsync tells it.`,
    };
  return {
    reached: true,
    again: false,
    what: `Told by \`lead.erased\` of ${countOf(had, 'lead')}, and it took that. Whether it erased them is for whoever runs it to say.`,
  };
}

/** What a certificate says of a folder whose files do not contain the leads. Files that were moved away cannot be reached. */
export function folderReport(sink: SinkConfig, all: readonly SinkErasure[]): string {
  const told = all.find((one) => namesOf(sink).includes(one.sink));
  if (!told) return 'None of its files holds these leads.';
  return `${itGot(told)}, and none of the files that are there holds any. Whoever took others away may hold them.`;
}

/** What a certificate says of sinks that are no longer configured, and got the leads or may have. */
export function removedSinksReport(sinks: readonly SinkConfig[], all: readonly SinkErasure[]): PlaceReport[] {
  const configured = new Set(sinks.flatMap(namesOf));
  return all
    .filter(({ sink }) => !configured.has(sink))
    .map((told) => ({
      place: told.sink,
      type: 'not configured',
      reached: false,
      again: false,
      what: `${itGot(told)} when it was configured. Ask whoever runs it to erase them, by their ids.`,
    }));
}

/** What a certificate says of former destinations of sinks that are configured with another destination now. */
export function formerDestinationsReport(former: readonly FormerDestination[]): PlaceReport[] {
  return former.map(({ sink, place, until, had }) => ({
    place: sink,
    type: 'as it was before',
    reached: false,
    again: false,
    what: `It got ${countOf(had, 'lead')}, or may have, as ${place}, until ${until.toISOString()}. Nobody looks there any more: erase them there, by their ids, or ask whoever runs it.`,
  }));
}

/** An attempt that failed, or whose outcome is unknown, may have delivered the lead all the same. */
function itGot({ had, certain }: SinkErasure): string {
  if (certain === had) return `It got ${countOf(had, 'lead')}`;
  const leads = countOf(had, 'lead');
  return certain === 0 ? `It may have got ${leads}` : `It got, or may have got, ${leads}`;
}

/** The ledger knows a renamed sink by its former name until leadsync has run once with the new one. */
function namesOf({ name, formerly }: SinkConfig): string[] {
  return formerly === undefined ? [name] : [name, formerly];
}
