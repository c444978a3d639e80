import type { MappedColumn, MappedType } from '../../leads/mapped-fields.ts';
import type { CallLimits } from '../api-server.ts';
import type { DestinationField, MissingPart } from '../destination.ts';
import { SinkUnavailable } from '../sink.ts';
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

/** What leadsync needs of the property for a type of values (https://developers.hubspot.com/docs/api-reference/crm-properties-v3/guide). */
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

/** Returns the properties of the objects of an account, as fields of a mapping. @throws SinkUnavailable */
export async function readFields(
  api: HubSpotApi,
  objects: readonly ObjectName[],
  limits: Limits,
): Promise<readonly DestinationField[]> {
  const fields: DestinationField[] = [];
  for (const object of objects)
    for (const property of await readProperties(api, object, limits)) {
      const { name, label, type = 'string', options = [], modificationMetadata } = property;
      fields.push({
        name: fieldName(object, name),
        label,
        type,
        writable: modificationMetadata?.readOnlyValue !== true && name !== KEY && name !== URL_PROPERTY,
        required: false,
        options: options.length === 0 ? undefined : options.flatMap(({ value }) => value ?? []),
      });
    }
  return fields;
}

/** Returns the properties that deliveries need and an account lacks. @throws SinkUnavailable */
export async function missingProperties(
  api: HubSpotApi,
  objects: readonly ObjectName[],
  {
    columns,
    hasPages,
    limits,
  }: { readonly columns: readonly MappedColumn[]; readonly hasPages: boolean; readonly limits: Limits },
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
          hint: 'HubSpot cannot change that: delete the property, or rename it, and run this command again.',
        },
      );
    const wanted = [
      { name: KEY, type: 'string', fieldType: 'text', hasUniqueValue: true },
      ...(hasPages ? [{ name: URL_PROPERTY, type: 'string', fieldType: 'text' }] : []),
      ...ownColumns(columns, object),
    ];
    const lacking = wanted.filter(({ name }) => !existing.has(name));
    missing.push(...lacking.map((property) => partOf(api, object, property)));
  }
  return missing;
}

/** Returns the properties of an object. @throws SinkUnavailable */
async function readProperties(
  api: HubSpotApi,
  object: ObjectName,
  limits: Limits,
): Promise<readonly Property[]> {
  const path = `/crm/properties/${VERSION}/${object}`;
  const { results } = (await api.ask('GET', path, limits)) ?? {};
  return Array.isArray(results) ? (results as Property[]).filter(({ name }) => typeof name === 'string') : [];
}

/** Returns the fields of a mapping that are properties of leadsync's own, such as `deal.leadsync_answers`. */
function ownColumns(columns: readonly MappedColumn[], object: ObjectName) {
  return columns.flatMap(({ name, type }) => {
    const [prefix, rest] = name.includes('.') ? name.split('.') : [undefined, name];
    const isOf = object === 'contacts' ? prefix === undefined : prefix === PREFIXES[object];
    return isOf && rest?.startsWith('leadsync_') ? [{ name: rest, ...KINDS[type] }] : [];
  });
}

function partOf(api: HubSpotApi, object: ObjectName, property: { readonly name: string }): MissingPart {
  const path = `/crm/properties/${VERSION}/${object}`;
  const group = { name: GROUP, label: GROUP };
  const body = { ...property, label: labelOf(property.name), groupName: GROUP };
  const isUnique = 'hasUniqueValue' in property;
  return {
    what: `property \`${property.name}\` of ${object}${isUnique ? ' (unique values)' : ''}`,
    how: [
      `POST ${api.address(`${path}/groups`)}\n${JSON.stringify(group)}\n`,
      `POST ${api.address(path)}\n${JSON.stringify(body)}\n\n`,
    ].join(''),
    make: async (stop) => {
      const limits = { stop, confirmLease: () => undefined };
      const isExpected = (status: number) => status === 409; // it exists already
      await api.ask('POST', `${path}/groups`, limits, { body: group, isExpected });
      await api.ask('POST', path, limits, { body, isExpected });
    },
  };
}

/** Returns what people see: `leadsync first seen at`. */
function labelOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function fieldName(object: ObjectName, name: string): string {
  return object === 'contacts' ? name : `${PREFIXES[object]}.${name}`;
}
