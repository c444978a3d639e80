import { changesOf, type Overwrite, overwriteOf } from '../crm/overwrite.ts';
import { type Enquiry, KEY, type Properties, URL_PROPERTY } from './enquiry.ts';
import type { HubSpotRecord } from './read-answer.ts';

/** The property for the lifecycle stage of a contact. */
const STAGE = 'lifecyclestage';
/** Properties in which a record may differ from an enquiry without a remark. */
const MAY_DIFFER: ReadonlySet<string> = new Set([
  KEY,
  URL_PROPERTY,
  STAGE,
  'leadsync_email_as_typed',
  'leadsync_first_seen_at',
]);

/** A person: the enquiries with the same email address, or one enquiry without an email address. */
export interface Person {
  readonly traceId: string;
  /** Oldest first. */
  readonly enquiries: readonly Enquiry[];
  /** Undefined if leadsync finds the person by the key of the lead. */
  readonly email: string | undefined;
  /** The key of the oldest enquiry, which a new contact gets. */
  readonly key: string;
  /** Whether to create the contact if HubSpot does not have it. */
  readonly isNew: boolean;
}

/** Groups enquiries by person. */
export function personsOf(enquiries: readonly Enquiry[]): readonly Person[] {
  const byPerson = Map.groupBy(enquiries, ({ email, key }) => email ?? `key ${key}`);
  return [...byPerson.values()].map((own) => {
    const key = own[0]?.key ?? '';
    return {
      traceId: `contact of ${key}`,
      enquiries: own,
      email: own[0]?.email,
      key,
      isNew: own.some(({ mayCreate, existing }) => mayCreate && existing === undefined),
    };
  });
}

/**
 * Returns the properties of a person's contact after its enquiries were written. The result is the same whether the enquiries come in one batch
 * or in several. `held` contains the contact's present properties; it is undefined if there is no contact.
 */
export function contactAfter(
  { enquiries, email }: Person,
  held: HubSpotRecord['properties'] | undefined,
  overwrite: Overwrite,
): HubSpotRecord['properties'] {
  const [first, ...others] = enquiries;
  const address: Properties = email === undefined ? {} : { email };
  let after: HubSpotRecord['properties'] = held ?? { ...address, ...first?.contact };
  for (const enquiry of held ? enquiries : others) {
    const wanted: Record<string, string> = { ...(after['email'] ? {} : address), ...enquiry.contact };
    delete wanted[KEY]; // the contact keeps the key of the lead for which it was created
    if (after[STAGE]) delete wanted[STAGE]; // it only moves forward, and people move it
    // Without a deal, a repeated lead is recognised only if the contact was created for it.
    const isRepeat = enquiry.existing !== undefined || held?.[KEY] === enquiry.key;
    const may = isRepeat ? overwriteOf(enquiry, overwrite) : overwrite;
    after = { ...after, ...changesOf(after, wanted, may) };
  }
  return after;
}

/** Returns a remark on the wanted values that a record does not have; empty if it has all of them. `record` is the kind of record: `contact`. */
export function remarkOn(
  record: string,
  wanted: Properties,
  after: HubSpotRecord['properties'],
): readonly string[] {
  const names = Object.entries(wanted)
    .filter(([name, value]) => !MAY_DIFFER.has(name) && after[name]?.trim() !== value.trim())
    .map(([name]) => `\`${name}\``);
  if (names.length === 0) return [];
  return [
    `The ${record} in HubSpot has another value in ${names.join(', ')}, which leadsync leaves as it is.`,
  ];
}
