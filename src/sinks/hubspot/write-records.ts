import type { Delivery } from '../../leads/delivery.ts';
import type { DestinationRecord } from '../../leads/outcome.ts';
import { deliveredAs } from '../crm/batch-leads.ts';
import { changesOf, type Overwrite, overwriteOf } from '../crm/overwrite.ts';
import type { CallLimits } from '../http/api-server.ts';
import { remarkOn } from './contact-values.ts';
import { type Enquiry, KEY, namesOf, PREFIXES } from './enquiry.ts';
import type { HubSpotApi, ObjectName, Written } from './hubspot-api.ts';
import type { RecordFault } from './judge-fault.ts';
import { readLinkedContacts } from './linked-contacts.ts';
import type { RecordInput } from './match-results.ts';
import type { HubSpotRecord } from './read-answer.ts';
import { isFault, outcomeOf } from './write-contacts.ts';

/** The request that creates a record. An upsert is safe to repeat, but accepts no associations. */
export const VERBS = { deals: 'upsert', leads: 'create' } as const;

/** The type of the association from a lead to its contact; a lead cannot be created without a contact. */
const LEAD_TO_CONTACT = { associationCategory: 'HUBSPOT_DEFINED', associationTypeId: 578 };

const DELETED = 'The record was deleted in HubSpot, so leadsync does not update it.';

interface Writing {
  readonly overwrite: Overwrite;
  readonly limits: CallLimits;
  /** Returns the reference to a record, for the operator. */
  readonly refOf: (record: HubSpotRecord) => DestinationRecord;
}

/** Reads the deals or leads that HubSpot already has, by the keys of the leads. @throws SinkUnavailable */
export async function readRecords(
  api: HubSpotApi,
  object: Exclude<ObjectName, 'contacts'>,
  enquiries: readonly Enquiry[],
  limits: CallLimits,
): Promise<void> {
  const properties = [KEY, ...namesOf(enquiries, 'record').filter((name) => name !== KEY)];
  const records = await api.read(
    object,
    { by: KEY, ids: enquiries.map(({ key }) => key), properties },
    limits,
  );
  const byKey = new Map(records.map((record) => [record.properties[KEY], record]));
  for (const enquiry of enquiries) enquiry.existing = byKey.get(enquiry.key);
}

/**
 * Creates or updates the deal or lead of each enquiry, links it to the contact unless people may have changed the link, and sets the outcome of
 * the enquiry. Creates a record only if HubSpot has none with the key of the lead.
 * @throws SinkUnavailable
 */
export async function writeRecords(
  api: HubSpotApi,
  object: Exclude<ObjectName, 'contacts'>,
  enquiries: readonly Enquiry[],
  { overwrite, limits, refOf }: Writing,
): Promise<void> {
  const open = enquiries.filter(({ outcome }) => outcome === undefined);
  const created = open.filter(({ existing, mayCreate }) => !existing && mayCreate);
  for (const enquiry of open)
    if (!enquiry.existing && !enquiry.mayCreate) deliver(enquiry, undefined, [DELETED]);
  const updates = open.flatMap((enquiry) => {
    const { key, existing, record } = enquiry;
    if (!existing) return [];
    const changes = changesOf(existing.properties, record, overwriteOf(enquiry, overwrite));
    if (!enquiry.mayCreate)
      enquiry.remarks.push(...remarkOn(PREFIXES[object], record, { ...existing.properties, ...changes }));
    return Object.keys(changes).length === 0
      ? []
      : [{ objectWriteTraceId: key, id: existing.id, properties: changes }];
  });
  const keyOf = ({ properties: own }: { readonly properties: HubSpotRecord['properties'] }) =>
    own[KEY] ?? undefined;
  const written = new Map<string, HubSpotRecord | RecordFault>([
    ...open.flatMap(({ key, existing }) => (existing ? [[key, existing] as const] : [])),
    ...(await api.write(object, 'update', updates, { limits, keyOf: ({ id }) => id })),
    ...(await api.write(object, VERBS[object], recordInputs(object, created), { limits, keyOf })),
  ]);
  const links = object === 'deals' ? linksOf(await unlinked(api, open, limits), written) : []; // a lead is created with its link
  const faults = await api.associate(object, links, limits);
  for (const enquiry of open.filter(({ outcome }) => outcome === undefined)) {
    const result = written.get(enquiry.key);
    if (isRecord(result)) {
      const fault = faults.get(result.id);
      if (fault === undefined) deliver(enquiry, refOf(result));
      else enquiry.outcome = outcomeOf(fault);
    } else if (isFault(result, 'gone')) deliver(enquiry, undefined, [DELETED]);
    else enquiry.outcome = outcomeOf(result);
  }
}

/** Marks an enquiry as delivered, with its remarks. */
export function deliver(
  enquiry: Enquiry,
  ref: DestinationRecord | undefined,
  remarks: readonly string[] = [],
): void {
  enquiry.outcome = deliveredAs(ref, [...enquiry.remarks, ...remarks]);
}

/** Returns the inputs that create the records of enquiries. If the contact does not exist yet, `[contact]` stands for its id. */
export function recordInputs(
  object: keyof typeof VERBS,
  enquiries: readonly Enquiry[],
): readonly RecordInput[] {
  return enquiries.map(({ key, record, contactId = '[contact]' }) =>
    object === 'deals'
      ? { objectWriteTraceId: key, id: key, idProperty: KEY, properties: record }
      : {
          objectWriteTraceId: key,
          properties: record,
          associations: [{ to: { id: contactId }, types: [LEAD_TO_CONTACT] }],
        },
  );
}

/**
 * Returns the enquiries whose deal must be linked to the contact: each new deal, and each deal that an earlier attempt may have created without
 * a link. Leaves out deals that are updated or replayed and deals that have any contact, because people may have changed the links.
 * @throws SinkUnavailable
 */
async function unlinked(
  api: HubSpotApi,
  enquiries: readonly Enquiry[],
  limits: CallLimits,
): Promise<readonly Enquiry[]> {
  const doubtful = enquiries.flatMap(({ existing, deliveries }) =>
    existing && deliveries.some(mayBeUnlinked) ? [existing.id] : [],
  );
  const linked = await readLinkedContacts(api, 'deals', doubtful, limits);
  return enquiries.filter(
    ({ existing }) => !existing || (doubtful.includes(existing.id) && !linked.has(existing.id)),
  );
}

/** Whether a delivery may follow an attempt that ended between creating the deal and linking it. */
function mayBeUnlinked({ event, replay, mayHaveArrived = false }: Delivery): boolean {
  return mayHaveArrived || (event === 'created' && !replay);
}

function linksOf(enquiries: readonly Enquiry[], written: Written) {
  return enquiries.flatMap(({ key, contactId }) => {
    const result = written.get(key);
    return contactId !== undefined && isRecord(result) ? [{ contact: contactId, record: result.id }] : [];
  });
}

function isRecord(result: HubSpotRecord | RecordFault | undefined): result is HubSpotRecord {
  return result !== undefined && !('kind' in result) && 'properties' in result;
}
