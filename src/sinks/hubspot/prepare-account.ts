import type { MappedColumn, MappedType } from '../../leads/mapped-fields.ts';
import { curlCommand } from '../crm/curl-command.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
import type { CallLimits } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { KEY, PREFIXES, URL_PROPERTY } from './enquiry.ts';
import { type HubSpotApi, type ObjectName, VERSION } from './hubspot-api.ts';

/** The group of leadsync's properties in HubSpot. */
const GROUP = 'leadsync';

type Limits = Pick<CallLimits, 'stop' | 'confirmLease'>;

/** A property of an account. */
interface Property {
  readonly name: string;
  readonly label?: string;
  readonly type?: string;
  readonly options?: readonly { readonly value?: string }[];
  readonly hasUniqueValue?: boolean;
  readonly modificationMetadata?: { readonly readOnlyValue?: boolean };
}

/** A pipeline of an account, with its stages. */
interface Pipeline {
  readonly id?: string;
  readonly stages?: readonly { readonly id?: string }[];
}

/** The properties for the pipeline of a record and its stage there. */
const PIPELINE_PROPERTIES = {
  deals: { pipeline: 'pipeline', stage: 'dealstage' },
  leads: { pipeline: 'hs_pipeline', stage: 'hs_pipeline_stage' },
} as const;

/** The property definition that leadsync needs for each type of value (https://developers.hubspot.com/docs/api-reference/crm-properties-v3/guide). */
const KINDS: Readonly<Record<MappedType, object>> = {
  text: { type: 'string', fieldType: 'textarea' },
  json: { type: 'string', fieldType: 'textarea' },
  bigint: { type: 'number', fieldType: 'number' },
  double: { type: 'number', fieldType: 'number' },
  time: { type: 'datetime', fieldType: 'date' },
  boolean: {
    type: 'bool',
    fieldType: 'booleancheckbox',
    options: [
      { label: 'Yes', value: 'true', hidden: false },
      { label: 'No', value: 'false', hidden: false },
    ],
  },
};

/** Returns the properties of the given objects, as fields that a mapping can write. @throws SinkUnavailable */
export async function readFields(
  api: HubSpotApi,
  objects: readonly ObjectName[],
  limits: Limits,
): Promise<readonly DestinationField[]> {
  const fields: DestinationField[] = [];
  for (const object of objects) {
    const pipelines = await readPipelines(api, object, limits);
    for (const property of await readProperties(api, object, limits)) {
      const { name, label, type = 'string', modificationMetadata } = property;
      const options = pipelines.get(name) ?? property.options?.flatMap(({ value }) => value ?? []) ?? [];
      fields.push({
        name: fieldName(object, name),
        label,
        type,
        writable: modificationMetadata?.readOnlyValue !== true && name !== KEY && name !== URL_PROPERTY,
        required: false,
        options: options.length === 0 ? undefined : options,
      });
    }
  }
  return fields;
}

/**
 * Returns the ids of an object's pipelines and of their stages, by the property that accepts them. The options of these properties do not list
 * them reliably. Returns an empty map if the token may not read them. @throws SinkUnavailable
 */
async function readPipelines(
  api: HubSpotApi,
  object: ObjectName,
  limits: Limits,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (object === 'contacts') return new Map();
  const isExpected = (status: number) => status === 403 || status === 404;
  const { results } =
    (await api.ask('GET', `/crm/pipelines/${VERSION}/${object}`, limits, { isExpected })) ?? {};
  if (!Array.isArray(results)) return new Map();
  const pipelines = results as readonly Pipeline[];
  const { pipeline, stage } = PIPELINE_PROPERTIES[object];
  return new Map([
    [pipeline, idsOf(pipelines)],
    [stage, idsOf(pipelines.flatMap(({ stages }) => (Array.isArray(stages) ? stages : [])))],
  ]);
}

function idsOf(list: readonly { readonly id?: string }[]): readonly string[] {
  return list.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
}

/** Returns the properties that deliveries need and an account lacks. @throws SinkUnavailable */
export async function missingProperties(
  api: HubSpotApi,
  objects: readonly ObjectName[],
  { columns, limits }: { readonly columns: readonly MappedColumn[]; readonly limits: Limits },
): Promise<readonly MissingPart[]> {
  const missing: MissingPart[] = [];
  for (const object of objects) {
    const existing = new Map(
      (await readProperties(api, object, limits)).map((property) => [property.name, property]),
    );
    const key = existing.get(KEY);
    if (key && key.hasUniqueValue !== true)
      throw new SinkUnavailable(
        `The property \`${KEY}\` of ${object} in HubSpot does not have unique values.`,
        {
          hint: 'HubSpot cannot change that: delete the property, and run this command again.',
        },
      );
    const wanted = [
      { name: KEY, type: 'string', fieldType: 'text', hasUniqueValue: true },
      { name: URL_PROPERTY, type: 'string', fieldType: 'text' }, // also for a `public_url` that is set later
      ...ownColumns(columns, object),
    ];
    const lacking = wanted.filter(({ name }) => !existing.has(name));
    missing.push(...lacking.map((property, at) => partOf(api, object, property, at === 0)));
  }
  return missing;
}

/** Returns the properties of an object. @throws SinkUnavailable */
export async function readProperties(
  api: HubSpotApi,
  object: ObjectName,
  limits: Limits,
): Promise<readonly Property[]> {
  const path = `/crm/properties/${VERSION}/${object}`;
  const { results } = await api.list(path, limits);
  return (results as readonly Property[]).filter(({ name }) => typeof name === 'string');
}

/** Returns the fields of a mapping that are leadsync's own properties, such as `deal.leadsync_answers`. */
function ownColumns(columns: readonly MappedColumn[], object: ObjectName) {
  return columns.flatMap(({ name, type }) => {
    const [prefix, rest] = name.includes('.') ? name.split('.') : [undefined, name];
    const isOf = object === 'contacts' ? prefix === undefined : prefix === PREFIXES[object];
    return isOf && rest?.startsWith('leadsync_') ? [{ name: rest, ...KINDS[type] }] : [];
  });
}

/** Returns the missing part for a property. The first missing property of an object also creates the group for all of them. */
function partOf(
  api: HubSpotApi,
  object: ObjectName,
  property: { readonly name: string },
  isFirst: boolean,
): MissingPart {
  const path = `/crm/properties/${VERSION}/${object}`;
  const group = { name: GROUP, label: GROUP };
  const body = { ...property, label: labelOf(property.name), groupName: GROUP };
  const isUnique = 'hasUniqueValue' in property;
  return {
    what: `property \`${property.name}\` of ${object}${isUnique ? ' (unique values)' : ''}`,
    how: [
      ...(isFirst ? [groupCommand(api.address(`${path}/groups`), group)] : []),
      curl(api.address(path), body),
    ].join(''),
    make: async (stop) => {
      const limits = { stop, confirmLease: () => undefined };
      const isExpected = (status: number) => status === 409; // it exists already
      if (isFirst) await api.ask('POST', `${path}/groups`, limits, { body: group, isExpected });
      await api.ask('POST', path, limits, { body, isExpected });
    },
  };
}

/** Returns a request as a shell command. The shell must have the token in HUBSPOT_TOKEN. */
function curl(address: string, body: object): string {
  return curlCommand(address, 'Authorization: Bearer $HUBSPOT_TOKEN', body);
}

/** Returns the command that creates the group. The group may already exist, so a failure does not end the script. */
function groupCommand(address: string, group: object): string {
  return curl(address, group).replace('|| exit', "|| echo 'Continues without a new group.'");
}

/** Returns the label that people see: `leadsync first seen at`. */
function labelOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function fieldName(object: ObjectName, name: string): string {
  return object === 'contacts' ? name : `${PREFIXES[object]}.${name}`;
}
