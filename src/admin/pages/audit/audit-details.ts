import { html } from 'htm/preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { AuditRow } from '../../contract/audit.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';

type Details = AuditRow['details'];

/** A phrase that expresses some details: their names, and a function that returns the words. It is used if the first of these details is present. */
interface Phrase {
  readonly says: readonly [string, ...string[]];
  readonly of: (details: Details, what: string) => Content;
}

const PHRASES: readonly Phrase[] = [
  { says: ['rejected', 'leads', 'lead', 'source'], of: rejectedOf },
  {
    says: ['ids'],
    of: ({ ids }, what) => countOf(Number(ids), what === 'replay' ? 'selected lead' : 'selected delivery'),
  },
  { says: ['id'], of: ({ id }) => `${/^\d+$/.test(String(id)) ? 'lead' : 'delivery'} ${id}` },
  { says: ['delivery'], of: ({ delivery }) => `delivery ${delivery}` },
  { says: ['state'], of: ({ state }) => `${state} deliveries` },
  { says: ['states'], of: ({ states }) => `${String(states).replaceAll(', ', ' and ')} deliveries` },
  {
    says: ['lead', 'source'],
    of: ({ lead, source }) => `lead ${lead}${source === undefined ? '' : ` of ${source}`}`,
  },
  { says: ['version'], of: ({ version }) => `version ${version}` },
  { says: ['as'], of: ({ as }) => FORMS[String(as)] ?? `in ${as}` },
  { says: ['source'], of: ({ source }) => `source ${source}` },
  { says: ['sink'], of: ({ sink }) => `sink ${sink}` },
  { says: ['since'], of: ({ since }) => formattedText(`since ${since}`) },
  { says: ['until'], of: ({ until }) => formattedText(`until ${until}`) },
];

/** Words for the form in which a lead was shown, by the value of `as` in the audit log. */
const FORMS: Readonly<Record<string, string>> = {
  previews: 'as each sink gets it',
  expression: 'as the value of an expression',
};

/** What an action applies to whose line names no filter. */
const WITHOUT_FILTER: Readonly<Record<string, string>> = {
  retry: 'all deliveries that can be retried',
  discard: 'all dead deliveries',
};

/** Returns the details of an action in words. Details for which there are no words appear with their names. */
export function detailsInWords({ what, details: all }: AuditRow): Content {
  const { role: _, ...details } = all;
  const isFiltered = Object.keys(details).some((name) => name !== 'note');
  const said: Content[] = isFiltered ? [] : [WITHOUT_FILTER[what]].filter((phrase) => phrase !== undefined);
  for (const { says, of } of PHRASES) {
    if (details[says[0]] === undefined) continue;
    said.push(of(details, what));
    for (const name of says) delete details[name];
  }
  const others = Object.entries(details).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`);
  return [...said, ...others].flatMap((phrase, at) => [at > 0 && ', ', html`<bdi>${phrase}</bdi>`]);
}

/** Returns the rejected lead whose text was shown or, for the data of a person, the number of rejected leads in it. */
function rejectedOf({ rejected, leads, lead, source }: Details, what: string): string {
  if (what === 'reveal')
    return `text of ${lead === undefined ? `the rejected element ${rejected}` : `rejected lead ${lead}`}${source === undefined ? '' : ` of ${source}`}`;
  return `data of ${countOf(Number(leads), 'lead')} and ${countOf(Number(rejected), 'rejected lead')}`;
}
