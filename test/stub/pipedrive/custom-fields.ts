import { createHash } from 'node:crypto';
import { anObject, aText, type Body, checkV2, listOf, oneOf, shape } from './parameters.ts';
import type { PipedriveSettings } from './settings.ts';
import { capped, fixedAnswers, invalidV2, notFound, Refusal } from './vendor-answer.ts';

const FIELD_TYPES = [
  'varchar',
  'varchar_auto',
  'text',
  'double',
  'monetary',
  'date',
  'daterange',
  'time',
  'timerange',
  'set',
  'enum',
  'user',
  'org',
  'people',
  'phone',
  'address',
] as const;

/** The types of custom fields. */
export type FieldType = (typeof FIELD_TYPES)[number];

/** A field of deals (and thereby of leads) or of persons, as the API answers it. */
export interface Field {
  readonly field_name: string;
  /** 40 hexadecimal characters for a custom field, a name for one of Pipedrive's own. */
  readonly field_code: string;
  readonly description: string | null;
  readonly field_type: FieldType | 'status' | 'stage' | 'int';
  readonly options: readonly { readonly id: number; readonly label: string }[] | null;
  readonly subfields: null;
  readonly is_custom_field: boolean;
  readonly is_optional_response_field: boolean;
}

/** A field to add. */
export interface FieldRequest {
  readonly field_name: string;
  readonly field_type: FieldType;
  /** Required for `enum` and `set`. */
  readonly options?: readonly { readonly label: string }[];
  readonly description?: string | null;
}

const parameters = {
  field_name: aText(255),
  field_type: oneOf(...FIELD_TYPES),
  options: listOf(shape({ label: aText(255) }, 'label')),
  description: (value: unknown) =>
    value === null || typeof value === 'string' ? undefined : 'must be a string',
  ui_visibility: anObject,
  important_fields: anObject,
  required_fields: anObject,
};

const ownFields = {
  deal: [
    own('Title', 'title', 'varchar'),
    own('Value', 'value', 'monetary'),
    own('Contact person', 'person_id', 'people'),
    own('Organization', 'org_id', 'org'),
    own('Owner', 'owner_id', 'user'),
    own('Pipeline', 'pipeline_id', 'int'),
    own('Stage', 'stage_id', 'stage'),
    own('Status', 'status', 'status'),
    own('Expected close date', 'expected_close_date', 'date'),
    own('Label', 'label_ids', 'set', ['Urgent', 'Later']),
  ],
  person: [
    own('Name', 'name', 'varchar'),
    own('Email', 'emails', 'varchar'),
    own('Phone', 'phones', 'phone'),
    own('Organization', 'org_id', 'org'),
    own('Owner', 'owner_id', 'user'),
    own('Label', 'label_ids', 'set', ['Customer', 'Partner']),
  ],
} as const satisfies Record<string, readonly Field[]>;

/** The objects that have fields of their own. */
export type FieldOwner = keyof typeof ownFields;

/** The fields of one object. Two fields may have the same name; the code of a custom field differs per account. */
export class CustomFields {
  readonly #owner: FieldOwner;
  readonly #account: string;
  readonly #settings: PipedriveSettings;
  readonly #custom = new Map<string, Field>();
  #added = 0;
  #options = 0;

  /** @param account determines the codes */
  constructor(owner: FieldOwner, account: string, settings: PipedriveSettings) {
    this.#owner = owner;
    this.#account = account;
    this.#settings = settings;
  }

  /** Returns Pipedrive's own fields, then the custom ones, oldest first. */
  all(): Field[] {
    return [...ownFields[this.#owner], ...this.#custom.values()];
  }

  custom(code: string): Field | undefined {
    return this.#custom.get(code);
  }

  /** @throws Refusal 410 if there is no such field */
  get(code: string): Field {
    const field = this.all().find(({ field_code }) => field_code === code);
    if (field === undefined) throw new Refusal({ ...notFound('The field is not found'), status: 410 });
    return field;
  }

  /** Adds what a request asks for. @throws Refusal 400, or 403 without the permission or the room */
  create(body: Body): Field {
    if (!this.#settings.mayEditFields) throw new Refusal(fixedAnswers.forbidden);
    checkV2(body, parameters, ['field_name', 'field_type']);
    const request = body as unknown as FieldRequest;
    const needsOptions = request.field_type === 'enum' || request.field_type === 'set';
    if (needsOptions && !request.options?.length) throw new Refusal(invalidV2(['options: is required']));
    if (this.#settings.customFieldsLeft <= 0) throw new Refusal(capped('custom_fields'));
    this.#settings.customFieldsLeft -= 1;
    return this.add(request);
  }

  add({ field_name, field_type, options, description = '' }: FieldRequest): Field {
    this.#added += 1;
    const field: Field = {
      ...own(field_name, this.#code(), field_type),
      description,
      options: options?.map(({ label }) => ({ id: ++this.#options, label })) ?? null,
      is_custom_field: true,
    };
    this.#custom.set(field.field_code, field);
    return field;
  }

  /** Deletes a custom field on request. @throws Refusal 403 or 410 */
  delete(code: string): Field {
    if (!this.#settings.mayEditFields) throw new Refusal(fixedAnswers.forbidden);
    const field = this.get(code);
    if (!field.is_custom_field) throw new Refusal(fixedAnswers.forbidden);
    this.remove(code);
    return field;
  }

  remove(code: string): void {
    this.#custom.delete(code);
  }

  #code(): string {
    return createHash('sha1').update(`${this.#account} ${this.#owner} ${this.#added}`).digest('hex');
  }
}

function own(name: string, code: string, type: Field['field_type'], labels?: readonly string[]): Field {
  return {
    field_name: name,
    field_code: code,
    description: '',
    field_type: type,
    options: labels?.map((label, at) => ({ id: at + 1, label })) ?? null,
    subfields: null,
    is_custom_field: false,
    is_optional_response_field: false,
  };
}
