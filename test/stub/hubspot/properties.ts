import { ApiError, invalid } from './api-error.ts';
import type { ObjectName } from './object-types.ts';

/** An option of an enumeration. Records hold the internal `value`, people see the `label`. */
export interface PropertyOption {
  readonly label: string;
  readonly value: string;
}

/** A property as an account has it. */
export interface Property {
  readonly name: string;
  readonly label: string;
  readonly type: PropertyType;
  readonly fieldType: string;
  readonly groupName: string;
  readonly options: readonly PropertyOption[];
  readonly hasUniqueValue: boolean;
  readonly hubspotDefined: boolean;
  readonly readOnly: boolean;
}

/** The types of values that the stub's properties have. */
export type PropertyType = 'string' | 'number' | 'date' | 'datetime' | 'enumeration' | 'bool';

/** A group of properties. */
export interface PropertyGroup {
  readonly name: string;
  readonly label: string;
  readonly displayOrder: number;
}

/** The fields of a request to create a property. */
export type NewProperty = Pick<Property, 'name' | 'label' | 'type' | 'fieldType' | 'groupName'> &
  Partial<Pick<Property, 'options' | 'hasUniqueValue'>>;

/** Maximum number of unique properties of an object. */
const UNIQUE_PROPERTIES = 10;

const fieldTypes: Readonly<Record<PropertyType, readonly string[]>> = {
  string: ['text', 'textarea', 'file', 'html', 'phonenumber'],
  number: ['number'],
  date: ['date'],
  datetime: ['date'],
  enumeration: ['select', 'radio', 'checkbox', 'booleancheckbox'],
  bool: ['booleancheckbox'],
};

/** The properties and groups of one object, with HubSpot's rules for changing them. */
export class Properties {
  readonly #byName: Map<string, Property>;
  readonly #groups: Map<string, PropertyGroup>;
  readonly #takesUnique: boolean;
  /** Kept between changes, for every write asks for them. */
  #unique: readonly string[] | undefined;

  constructor(object: ObjectName, takesUnique: boolean) {
    this.#byName = new Map(standardProperties(object).map((property) => [property.name, property]));
    this.#groups = new Map([[groupOf(object), { name: groupOf(object), label: object, displayOrder: 0 }]]);
    this.#takesUnique = takesUnique;
  }

  get all(): readonly Property[] {
    return [...this.#byName.values()];
  }

  /** The names of the unique properties. */
  get unique(): readonly string[] {
    this.#unique ??= this.all.filter(({ hasUniqueValue }) => hasUniqueValue).map(({ name }) => name);
    return this.#unique;
  }

  get groups(): readonly PropertyGroup[] {
    return [...this.#groups.values()];
  }

  find(name: string): Property | undefined {
    return this.#byName.get(name);
  }

  findGroup(name: string): PropertyGroup | undefined {
    return this.#groups.get(name);
  }

  /** @throws ApiError 409 if the group exists */
  createGroup(group: PropertyGroup): PropertyGroup {
    if (this.#groups.has(group.name))
      throw new ApiError(409, 'CONFLICT', `A property group named '${group.name}' already exists.`, {
        context: { groupName: [group.name] },
      });
    this.#groups.set(group.name, group);
    return group;
  }

  deleteGroup(name: string): void {
    this.#groups.delete(name);
  }

  /** @throws ApiError 409 if the property exists, 400 if the account may not have it */
  create(wanted: NewProperty): Property {
    if (this.#byName.has(wanted.name))
      throw new ApiError(409, 'CONFLICT', `A property named '${wanted.name}' already exists.`, {
        context: { propertyName: [wanted.name] },
      });
    const fault = this.#faultOf(wanted);
    if (fault) throw invalid(fault, { context: { propertyName: [wanted.name] } });
    const property = {
      ...wanted,
      options: wanted.options ?? [],
      hasUniqueValue: wanted.hasUniqueValue ?? false,
      hubspotDefined: false,
      readOnly: false,
    };
    this.#byName.set(property.name, property);
    this.#unique = undefined;
    return property;
  }

  delete(name: string): void {
    this.#byName.delete(name);
    this.#unique = undefined;
  }

  #faultOf(wanted: NewProperty): string | undefined {
    const allowed = fieldTypes[wanted.type];
    if (!/^[a-z][a-z0-9_]{0,99}$/.test(wanted.name))
      return `Property name "${wanted.name}" is not valid. Names start with a letter and contain lower-case letters, digits and underscores.`;
    if (wanted.name.startsWith('hs_')) return 'Property names cannot start with "hs_".';
    if (allowed === undefined) return `Property type "${wanted.type}" is not valid.`;
    if (!allowed.includes(wanted.fieldType))
      return `Field type "${wanted.fieldType}" is not valid for type "${wanted.type}".`;
    if (!this.#groups.has(wanted.groupName)) return `Property group "${wanted.groupName}" does not exist.`;
    if (wanted.type === 'enumeration' && !wanted.options?.length)
      return 'Enumeration properties must have options.';
    return wanted.hasUniqueValue ? this.#faultOfUnique(wanted) : undefined;
  }

  #faultOfUnique({ type }: NewProperty): string | undefined {
    if (!this.#takesUnique) return 'This object does not support properties with unique values.';
    if (type !== 'string' && type !== 'number')
      return 'Only text and number properties can have unique values.';
    const own = this.all.filter(({ hasUniqueValue, hubspotDefined }) => hasUniqueValue && !hubspotDefined);
    return own.length >= UNIQUE_PROPERTIES
      ? `You have reached the limit of ${UNIQUE_PROPERTIES} unique properties for this object.`
      : undefined;
  }
}

function groupOf(object: ObjectName): string {
  return {
    contacts: 'contactinformation',
    deals: 'dealinformation',
    leads: 'leadinformation',
    notes: 'note',
  }[object];
}

type Trait = 'unique' | 'readOnly';

/** Lines of `name type fieldType [trait]`, or of an enumeration with its options. */
const standardColumns: Readonly<
  Record<ObjectName, readonly (readonly [string, PropertyType, string, ...(Trait | readonly string[])[]])[]>
> = {
  contacts: [
    ['email', 'string', 'text', 'unique'],
    ['hs_additional_emails', 'string', 'text'],
    ['firstname', 'string', 'text'],
    ['lastname', 'string', 'text'],
    ['phone', 'string', 'phonenumber'],
    ['mobilephone', 'string', 'phonenumber'],
    ['address', 'string', 'text'],
    ['city', 'string', 'text'],
    ['state', 'string', 'text'],
    ['zip', 'string', 'text'],
    ['country', 'string', 'text'],
    ['company', 'string', 'text'],
    ['website', 'string', 'text'],
    ['message', 'string', 'textarea'],
    ['numemployees', 'enumeration', 'select', ['1-5', '5-25', '25-50']],
    [
      'lifecyclestage',
      'enumeration',
      'radio',
      [
        'subscriber',
        'lead',
        'marketingqualifiedlead',
        'salesqualifiedlead',
        'opportunity',
        'customer',
        'evangelist',
        'other',
      ],
    ],
    ['hs_lead_status', 'enumeration', 'radio', ['NEW', 'OPEN', 'IN_PROGRESS', 'CONNECTED', 'UNQUALIFIED']],
    ['hubspot_owner_id', 'enumeration', 'select'],
    ['createdate', 'datetime', 'date', 'readOnly'],
    ['lastmodifieddate', 'datetime', 'date', 'readOnly'],
    ['hs_object_id', 'number', 'number', 'readOnly'],
    ['hs_email_domain', 'string', 'text', 'readOnly'],
    ['num_associated_deals', 'number', 'number', 'readOnly'],
  ],
  deals: [
    ['dealname', 'string', 'text'],
    ['amount', 'number', 'number'],
    ['closedate', 'datetime', 'date'],
    ['pipeline', 'enumeration', 'select'],
    ['dealstage', 'enumeration', 'radio'],
    ['dealtype', 'enumeration', 'radio', ['newbusiness', 'existingbusiness']],
    ['hs_priority', 'enumeration', 'select', ['low', 'medium', 'high']],
    ['description', 'string', 'textarea'],
    ['hubspot_owner_id', 'enumeration', 'select'],
    ['createdate', 'datetime', 'date', 'readOnly'],
    ['hs_lastmodifieddate', 'datetime', 'date', 'readOnly'],
    ['hs_object_id', 'number', 'number', 'readOnly'],
    ['hs_projected_amount', 'number', 'number', 'readOnly'],
  ],
  leads: [
    ['hs_lead_name', 'string', 'text'],
    ['hs_lead_label', 'enumeration', 'select', ['COLD', 'WARM', 'HOT']],
    ['hs_lead_type', 'enumeration', 'select', ['NEW_BUSINESS', 'UPSELL', 'RE_ATTEMPTING']],
    ['hs_pipeline', 'enumeration', 'select'],
    ['hs_pipeline_stage', 'enumeration', 'radio'],
    ['hubspot_owner_id', 'enumeration', 'select'],
    ['hs_createdate', 'datetime', 'date', 'readOnly'],
    ['hs_lastmodifieddate', 'datetime', 'date', 'readOnly'],
    ['hs_object_id', 'number', 'number', 'readOnly'],
  ],
  notes: [
    ['hs_note_body', 'string', 'html'],
    ['hs_timestamp', 'datetime', 'date'],
    ['hubspot_owner_id', 'enumeration', 'select'],
    ['hs_createdate', 'datetime', 'date', 'readOnly'],
    ['hs_lastmodifieddate', 'datetime', 'date', 'readOnly'],
    ['hs_object_id', 'number', 'number', 'readOnly'],
  ],
};

function standardProperties(object: ObjectName): Property[] {
  return standardColumns[object].map(([name, type, fieldType, ...rest]) => {
    const options = rest.find((part) => typeof part !== 'string') ?? [];
    return {
      name,
      label: name,
      type,
      fieldType,
      groupName: groupOf(object),
      options: options.map((value) => ({ label: value, value })),
      hasUniqueValue: rest.includes('unique'),
      hubspotDefined: true,
      readOnly: rest.includes('readOnly'),
    };
  });
}
