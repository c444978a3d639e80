import { changesOf, type Overwrite, overwriteOf } from '../crm/overwrite.ts';
import { type Enquiry, KEY, type Properties, URL_PROPERTY } from './enquiry.ts';
import type { HubSpotRecord } from './read-answer.ts';

/** The property that tells how far a contact has come. */
const STAGE = 'lifecyclestage';
/** Properties in which a record may differ from an enquiry without a remark. */
const MAY_DIFFER: ReadonlySet<string> = new Set([
  KEY,
  URL_PROPERTY,
  STAGE,
  'leadsync_email_as_typed',
  'leadsync_first_seen_at',
]);

/** A person: the enquiries with the same email address, or one enquiry without any. */
export interface Person {
  readonly traceId: string;
  /** Oldest first. */
  readonly enquiries: readonly Enquiry[];
  /** Undefined if the person is found by the key of the lead. */
  readonly email: string | undefined;
  /** The key of the oldest enquiry, which a new contact gets. */
  readonly key: string;
  /** Whether a contact that HubSpot does not have is to be made. */
  readonly isNew: boolean;
}

/** Returns the persons of enquiries. */
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
 * Returns the properties that the contact of a person has after its enquiries, whether these come in one batch or in several. `held` are those
 * that it has before; undefined if there is no contact.
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
    delete wanted[KEY]; // the key is that of the lead that made the contact
    if (after[STAGE]) delete wanted[STAGE]; // moves forward only, and people move it
    // Without a deal, a lead that comes again is recognised only if it made the contact.
    const isRepeat = enquiry.existing !== undefined || held?.[KEY] === enquiry.key;
    const may = isRepeat ? overwriteOf(enquiry, overwrite) : overwrite;
    after = { ...after, ...changesOf(after, wanted, may) };
  }
  return after;
}

/** Returns a remark on the wanted values that a record does not have; empty if it has them all. `record` is its name: `contact`. */
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
