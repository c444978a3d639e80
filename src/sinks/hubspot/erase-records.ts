import type { DestinationRecord } from '../../leads/outcome.ts';
import type { CallLimits } from '../http/api-server.ts';
import type { ErasedRecords, KeptRecord } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { KEY } from './enquiry.ts';
import { type HubSpotApi, type ObjectName, objectPath } from './hubspot-api.ts';
import { readLinkedContacts } from './linked-contacts.ts';
import { readProperties } from './prepare-account.ts';
import type { HubSpotRecord } from './read-answer.ts';

/** The object in which HubSpot stores enquiries. */
export type RecordObject = Exclude<ObjectName, 'contacts'>;

/** The singular names of objects, for people to read. */
export const SINGULAR: Readonly<Record<ObjectName, string>> = {
  contacts: 'contact',
  deals: 'deal',
  leads: 'lead',
};

const RECYCLING = "HubSpot's recycling bin keeps deleted deals and leads for some time.";
const NOT_MADE = 'leadsync did not create it; its `leadsync_…` properties were emptied';
const OF_ANOTHER = 'leadsync created it for another lead, which is not erased';
const UNFOUND =
  "No contact in HubSpot has the key of one of these leads. With `object: none`, a contact that leadsync did not create has no key: look for it by the person's email address or phone number, and empty or delete it by hand.";

interface Erasing {
  readonly api: HubSpotApi;
  /** Undefined if there are only contacts. */
  readonly object: RecordObject | undefined;
  readonly limits: CallLimits;
  /** Returns the record as people find it. */
  readonly refOf: (object: ObjectName, record: HubSpotRecord) => DestinationRecord;
}

/**
 * Deletes the records with these keys; contacts permanently. Keeps contacts that were linked to a deleted record but have none of these keys. Of
 * these contacts, empties leadsync's own properties if leadsync did not create the contact. @throws SinkUnavailable
 */
export async function eraseRecords(keys: readonly string[], erasing: Erasing): Promise<ErasedRecords> {
  const { api, object, limits, refOf } = erasing;
  const own = await ownProperties(erasing);
  // Once a record is deleted, HubSpot no longer says which contact it had.
  const linked = object ? await linkedContacts(keys, object, erasing) : [];
  const strangers = linked.filter(({ properties: { [KEY]: key } }) => !key);
  await emptyProperties(strangers, own, erasing);
  const kept = linked.map((contact): KeptRecord => {
    const why = contact.properties[KEY] ? OF_ANOTHER : NOT_MADE;
    return { ...refOf('contacts', contact), why };
  });
  const deleted = await deleteRecords(keys, 'for-good', { api, object, limits });
  const isUnfound = object === undefined && Object.keys(deleted).length === 0;
  return { deleted, kept, remark: object && RECYCLING, unfound: isUnfound ? UNFOUND : undefined };
}

/**
 * Deletes the records with these keys. Returns the number of deleted records by object. After a permanent deletion, HubSpot no longer accepts the
 * email address of the contact. @throws SinkUnavailable
 */
export async function deleteRecords(
  keys: readonly string[],
  how: 'archive' | 'for-good',
  { api, object, limits }: Pick<Erasing, 'api' | 'object' | 'limits'>,
): Promise<Readonly<Record<string, number>>> {
  const deleted: Record<string, number> = {};
  for (const each of object ? [object, 'contacts' as const] : ['contacts' as const])
    for (const { id } of await withKeys(keys, each, api, limits)) {
      if (each === 'contacts' && how === 'for-good')
        await api.ask('POST', objectPath(each, 'gdpr-delete'), limits, {
          body: { objectId: id },
          isExpected: isGone,
        });
      else await api.ask('DELETE', objectPath(each, id), limits, { isExpected: isGone });
      deleted[SINGULAR[each]] = (deleted[SINGULAR[each]] ?? 0) + 1;
    }
  return deleted;
}

/**
 * Returns the names of leadsync's own contact properties, except the key property. Verifies that the key property exists, because without it
 * HubSpot answers as if no record existed. @throws SinkUnavailable if it does not exist
 */
async function ownProperties({ api, object, limits }: Erasing): Promise<readonly string[]> {
  const objects = object ? (['contacts', object] as const) : (['contacts'] as const);
  const lacking: ObjectName[] = [];
  const own: string[] = [];
  for (const each of objects) {
    const names = (await readProperties(api, each, limits)).map(({ name }) => name);
    if (!names.includes(KEY)) lacking.push(each);
    if (each === 'contacts')
      own.push(...names.filter((name) => name.startsWith('leadsync_') && name !== KEY));
  }
  if (lacking.length > 0)
    throw new SinkUnavailable(
      `HubSpot has no property \`${KEY}\` of ${lacking.join(' and ')}, by which leadsync could find the leads.`,
      {
        hint: `\`leadsync setup ${api.addressee.sink}\` shows what is missing; \`--yes\` creates it.`,
        unsent: true,
      },
    );
  return own;
}

/** Returns the contacts that are linked to records with these keys but have none of the keys themselves. */
async function linkedContacts(
  keys: readonly string[],
  object: RecordObject,
  { api, limits }: Erasing,
): Promise<readonly HubSpotRecord[]> {
  const records = await withKeys(keys, object, api, limits);
  const linked = await readLinkedContacts(
    api,
    object,
    records.map(({ id }) => id),
    limits,
  );
  const ids = new Set([...linked.values()].flat());
  const contacts = await api.read('contacts', { ids: [...ids], properties: [KEY] }, limits);
  const own = new Set(keys);
  return contacts.filter(({ properties: { [KEY]: key } }) => !key || !own.has(key));
}

async function emptyProperties(
  contacts: readonly HubSpotRecord[],
  names: readonly string[],
  { api, limits }: Erasing,
): Promise<void> {
  const properties = Object.fromEntries(names.map((name) => [name, '']));
  const inputs = contacts.map(({ id }) => ({ objectWriteTraceId: id, id, properties }));
  const written = await api.write('contacts', 'update', inputs, { limits, keyOf: ({ id }) => id });
  for (const result of written.values()) {
    if (result instanceof SinkUnavailable) throw result;
    if (!('kind' in result) || result.kind === 'gone') continue;
    throw new SinkUnavailable("HubSpot did not empty leadsync's properties of a contact.", {
      hint: 'Check whether a validation rule of the account forbids empty values.',
    });
  }
}

function withKeys(
  keys: readonly string[],
  object: ObjectName,
  api: HubSpotApi,
  limits: CallLimits,
): Promise<readonly HubSpotRecord[]> {
  return api.read(object, { by: KEY, ids: keys, properties: [KEY] }, limits);
}

/** Whether a status says that the record was deleted in the meantime. */
function isGone(status: number): boolean {
  return status === 404;
}
