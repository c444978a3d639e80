import type { SinkConfig } from '../../config/contract/config.ts';
import type { FormerPlace, ToldErasure } from '../../leads/person.ts';
import { countOf } from '../../platform/text/format.ts';
import type { Reached } from './certificate.ts';

/** Sinks that are told of erased leads, by every name that the ledger may still know them under. */
export function toldOfErasures(sinks: readonly SinkConfig[]): string[] {
  return sinks.filter(({ events }) => events.includes('erased')).flatMap(namesOf);
}

/** What a certificate says of a destination that leadsync cannot take anything back from. */
export function toldPlace(
  sink: SinkConfig,
  all: readonly ToldErasure[],
): Pick<Reached, 'reached' | 'again' | 'what'> {
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

/** What a certificate says of a folder in which no file holds the leads: whoever takes the files away is out of reach. */
export function withoutFiles(sink: SinkConfig, all: readonly ToldErasure[]): string {
  const told = all.find((one) => namesOf(sink).includes(one.sink));
  if (!told) return 'None of its files holds these leads.';
  return `${itGot(told)}, and none of the files that are there holds any. Whoever took others away may hold them.`;
}

/** Sinks that got the leads, or may have, and are not in the configuration any more. */
export function formerPlaces(sinks: readonly SinkConfig[], all: readonly ToldErasure[]): Reached[] {
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

/** Where sinks brought the leads before they were configured to bring them elsewhere: nobody reaches that any more. */
export function leftPlaces(former: readonly FormerPlace[]): Reached[] {
  return former.map(({ sink, place, until, had }) => ({
    place: sink,
    type: 'as it was before',
    reached: false,
    again: false,
    what: `It got ${countOf(had, 'lead')}, or may have, as ${place}, until ${until.toISOString()}. Nobody looks there any more: erase them there, by their ids, or ask whoever runs it.`,
  }));
}

/** An attempt whose outcome nobody knows, or that failed, may have brought a lead all the same. */
function itGot({ had, certain }: ToldErasure): string {
  if (certain === had) return `It got ${countOf(had, 'lead')}`;
  const leads = countOf(had, 'lead');
  return certain === 0 ? `It may have got ${leads}` : `It got, or may have got, ${leads}`;
}

/** Until leadsync has run once with a new name, its ledger knows the sink by the one before. */
function namesOf({ name, formerly }: SinkConfig): string[] {
  return formerly === undefined ? [name] : [name, formerly];
}
