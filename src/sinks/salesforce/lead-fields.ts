import type { DestinationField } from '../destination-parts.ts';
import type { Json } from '../http/json-answer.ts';
import { KEY, URL_FIELD } from './options.ts';

/** A field of leads, as the org describes it to the user of the app. */
export interface LeadField {
  readonly name: string;
  readonly label: string;
  /** `string`, `textarea`, `email`, `double`, `picklist` … */
  readonly type: string;
  /** Maximum number of characters in a text field; 0 for other types. */
  readonly length: number;
  readonly createable: boolean;
  readonly updateable: boolean;
  /** Whether a new lead must have a value in this field. */
  readonly isRequired: boolean;
  /** Whether the field can hold leadsync's key: it is an external id with unique, case-sensitive values. */
  readonly isKey: boolean;
  /** The values of a restricted picklist; undefined for any other field. */
  readonly options: readonly string[] | undefined;
}

/** The fields of leads that the user of the app can see. In Salesforce, field names are not case-sensitive. */
export class LeadFields {
  readonly all: readonly LeadField[];
  /** Whether the user may create and edit leads. */
  readonly mayWrite: boolean;
  /** Whether the user may delete leads. */
  readonly mayDelete: boolean;
  readonly #byName: ReadonlyMap<string, LeadField>;

  constructor(
    all: readonly LeadField[],
    { mayWrite, mayDelete }: Pick<LeadFields, 'mayWrite' | 'mayDelete'>,
  ) {
    this.all = all;
    this.mayWrite = mayWrite;
    this.mayDelete = mayDelete;
    this.#byName = new Map(all.map((field) => [field.name.toLowerCase(), field]));
  }

  get(name: string): LeadField | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  /** Whether leadsync may write the field. */
  canWrite(name: string): boolean {
    const field = this.get(name);
    return field?.createable === true && field.updateable;
  }

  /** Returns the fields, as fields of a mapping. */
  toDestinationFields(): readonly DestinationField[] {
    return this.all.map(({ name, label, type, length, isRequired, options }) => ({
      name,
      label,
      type,
      writable: this.canWrite(name) && name !== KEY && name !== URL_FIELD,
      // If the mapping has no value for a field in `ALWAYS_REQUIRED`, leadsync fills it.
      required: isRequired && !Object.hasOwn(ALWAYS_REQUIRED, name),
      maxLength: length > 0 ? length : undefined,
      options,
    }));
  }
}

/** The fields that every org requires of a lead, with the text that Salesforce's own importers write if there is no value. */
export const ALWAYS_REQUIRED: Readonly<Record<string, string>> = {
  LastName: '[not provided]',
  Company: '[not provided]',
};

/**
 * Returns the fields in an answer to `describe`; undefined if it has none
 * (https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_sobject_describe.htm).
 */
export function readFields(body: Json): LeadFields | undefined {
  const { fields, createable, updateable, deletable } = body;
  if (!Array.isArray(fields)) return undefined;
  const known = (fields as (Json | null)[]).flatMap((field) =>
    typeof field?.['name'] === 'string' ? [fieldOf(field)] : [],
  );
  if (known.length === 0) return undefined;
  return new LeadFields(known, {
    mayWrite: createable === true && updateable === true,
    mayDelete: deletable === true,
  });
}

function fieldOf(field: Json): LeadField {
  const { name, label, type, length, createable, updateable, nillable, defaultedOnCreate } = field;
  return {
    name: String(name),
    label: typeof label === 'string' ? label : String(name),
    type: String(type),
    length: typeof length === 'number' ? length : 0,
    createable: createable === true,
    updateable: updateable === true,
    isRequired: createable === true && nillable === false && defaultedOnCreate !== true,
    isKey: field['externalId'] === true && field['unique'] === true && field['caseSensitive'] === true,
    options: field['restrictedPicklist'] === true ? activeValues(field['picklistValues']) : undefined,
  };
}

function activeValues(values: unknown): readonly string[] {
  if (!Array.isArray(values)) return [];
  return values.flatMap(({ active, value }) => (active === true && typeof value === 'string' ? [value] : []));
}
