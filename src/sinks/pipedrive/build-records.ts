import type { Overwrite } from '../crm/overwrite.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type AccountField, fieldName, ownField } from './account-fields.ts';
import type { Enquiry, Values } from './enquiry.ts';
import { fitted, spread } from './fit-values.ts';
import type { Addressee } from './judge-answer.ts';
import { ENQUIRIES, type FieldOwner, KEY, type PipedriveOptions, URL_FIELD } from './options.ts';

/** Where fields are looked up. */
export interface FieldLookup {
  get(owner: FieldOwner, name: string): AccountField | undefined;
}

/** The values of a record as Pipedrive accepts them, by their names in requests. */
export interface Parts {
  readonly own: Readonly<Record<string, unknown>>;
  /** By the codes of custom fields. */
  readonly custom: Readonly<Record<string, unknown>>;
}

/** Values that fit their fields, and the names of fields that have no option for their value. */
interface Built {
  readonly parts: Parts;
  readonly noOption: readonly string[];
}

/** Looks up fields without a request to Pipedrive. The code of a custom field is a placeholder: its name in square brackets. */
export const namedFields: FieldLookup = {
  get: (owner, name) =>
    ownField(owner, name) ?? {
      name,
      code: `[${name}]`,
      label: name,
      type: 'any',
      isCustom: true,
      options: [],
    },
};

/** The object in which Pipedrive stores enquiries. */
export type RecordOwner = Exclude<PipedriveOptions['object'], 'none'>;

/** Maximum number of characters in the list of a person's enquiries, and in a person's name. */
const MAX_ENQUIRIES = 65_000;
const MAX_NAME = 255;

/** Builds the bodies of requests from mapped leads. */
export class RecordBuilder {
  readonly #fields: FieldLookup;
  readonly #to: Addressee;

  constructor(fields: FieldLookup, to: Addressee) {
    this.#fields = fields;
    this.#to = to;
  }

  /** Returns the values that an enquiry has for its person. @throws SinkUnavailable if Pipedrive lacks a field */
  personValues({ person, url, remarks }: Enquiry): Built {
    const { parts, noOption } = this.#fit('person', person, remarks);
    const custom = { ...parts.custom, ...this.#kept('person', { [URL_FIELD]: url }) };
    return { parts: { own: parts.own, custom }, noOption };
  }

  /** Returns the values of a new person with the keys of enquiries. @throws SinkUnavailable if Pipedrive lacks a field */
  newPerson({ own, custom }: Parts, email: string | undefined, enquiries: readonly Enquiry[]): Parts {
    const { name, phones, ...others } = own;
    const keys = { [KEY]: enquiries[0]?.key, [ENQUIRIES]: withKeys('', enquiries) };
    return {
      own: {
        name: nameOf(name, email, enquiries),
        ...(email === undefined ? {} : { emails: [contact(email)] }),
        ...(phones === undefined ? {} : { phones: [contact(phones)] }),
        ...others,
      },
      custom: { ...custom, ...this.#kept('person', keys) },
    };
  }

  /** Returns the values of the lead or deal of an enquiry. @throws SinkUnavailable if Pipedrive lacks a field */
  record(owner: RecordOwner, { record, key, url, remarks }: Enquiry): Built {
    const { parts, noOption } = this.#fit(owner, record, remarks);
    const { title, ...own } = parts.own;
    const hasTitle = typeof title === 'string' && title.trim() !== '';
    return {
      parts: {
        own: { title: hasTitle ? title : `Lead ${key}`.slice(0, MAX_NAME), ...own },
        custom: { ...parts.custom, ...this.#kept(owner, { [KEY]: key, [URL_FIELD]: url }) },
      },
      noOption,
    };
  }

  #fit(owner: FieldOwner, values: Values, remarks: string[]): Built {
    const own: Record<string, unknown> = {};
    const custom: Record<string, unknown> = {};
    const noOption: string[] = [];
    for (const [name, value] of values) {
      const field = this.#need(owner, name);
      const shown = `\`${fieldName(owner, field.name)}\``;
      const result = fitted(field, value);
      if ('noOption' in result) noOption.push(fieldName(owner, name));
      else if ('leftOut' in result) remarks.push(`${shown} was left out: ${result.leftOut}.`);
      else (field.isCustom ? custom : own)[field.code] = result.value;
      if ('isCut' in result) remarks.push(`${shown} was cut because it was too long.`);
    }
    return { parts: { own, custom }, noOption };
  }

  /** Returns the values of fields that leadsync writes itself, by their codes. */
  #kept(owner: FieldOwner, values: Readonly<Record<string, string | undefined>>) {
    const entries = Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[this.#need(owner, name).code, value] as const],
    );
    return Object.fromEntries(entries);
  }

  #need(owner: FieldOwner, name: string): AccountField {
    const field = this.#fields.get(owner, name);
    if (field) return field;
    const { origin, sink } = this.#to;
    throw new SinkUnavailable(`Pipedrive at ${origin} has no field \`${fieldName(owner, name)}\`.`, {
      hint: `\`leadsync setup ${sink} --yes\` creates what leadsync can create; correct \`fields\` for others, which \`leadsync fields ${sink}\` lists.`,
      unsent: true,
    });
  }
}

/** Merges the values of several enquiries. If they have different values for a field, the newest wins with `always`, otherwise the oldest. */
export function merged(parts: readonly Parts[], overwrite: Overwrite): Parts {
  const ordered = overwrite === 'always' ? parts : parts.toReversed();
  const all = ordered.map(({ own, custom }) => [own, custom] as const);
  return {
    own: Object.assign({}, ...all.map(([own]) => own)),
    custom: Object.assign({}, ...all.map(([, custom]) => custom)),
  };
}

/** Returns a list of keys with the keys of the enquiries added. Drops the oldest keys if the list becomes too long. */
export function withKeys(held: string, enquiries: readonly Pick<Enquiry, 'key'>[]): string {
  const keys = new Set([...keysIn(held), ...enquiries.map(({ key }) => key)]);
  let text = [...keys].join('\n');
  while (text.length > MAX_ENQUIRIES) text = text.slice(text.indexOf('\n') + 1);
  return text;
}

/** Returns the keys in the list of a person's enquiries. */
export function keysIn(held: unknown): readonly string[] {
  return typeof held === 'string' ? held.split('\n').filter((key) => key !== '') : [];
}

/** Returns the body of a request for a lead, in which custom fields are beside Pipedrive's own. */
export function leadBody({ own, custom }: Parts): Readonly<Record<string, unknown>> {
  const flat = Object.entries(custom).map(([code, value]) => spread(code, value));
  return Object.assign({}, own, ...flat);
}

/** Returns the body of a request for a person or deal. */
export function v2Body({ own, custom }: Parts): Readonly<Record<string, unknown>> {
  return Object.keys(custom).length === 0 ? own : { ...own, custom_fields: custom };
}

/** Returns the body of the request that makes the lead or deal of an enquiry. */
export function enquiryBody(
  object: RecordOwner,
  { key }: Pick<Enquiry, 'key'>,
  parts: Parts,
  personId: unknown,
): object {
  return object === 'lead'
    ? { ...leadBody(parts), person_id: personId, origin_id: key.slice(0, MAX_NAME) }
    : { ...v2Body(parts), person_id: personId };
}

/** Returns the text of a note as HTML, with the key by which leadsync recognises it. */
export function noteContent(enquiry: Enquiry): string {
  const { key, url } = enquiry;
  const lines = escaped(noteText(enquiry)).replaceAll(/\r\n?|\n/g, '<br>');
  const source = url === undefined ? escaped(key) : `<a href="${escaped(url)}">${escaped(key)}</a>`;
  return `<p>${lines}</p><p>leadsync ${source}</p>`;
}

/** Returns the text of an enquiry's note, including the values that the person does not have; empty if there is nothing to write. */
export function noteText({ note, unheld }: Pick<Enquiry, 'note' | 'unheld'>): string {
  if (unheld.length === 0) return note;
  const lines = unheld.map(({ label, text }) => `${label}: ${text}`);
  const details = ['The person has other details than this enquiry, which came with:', ...lines].join('\n');
  return note === '' ? details : `${note}\n\n${details}`;
}

/** Returns a pattern that recognises the note of an enquiry by its content. */
export function noteMark({ key }: Pick<Enquiry, 'key'>): RegExp {
  const text = escaped(key).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`leadsync (?:<a [^>]*>)?${text}<`);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Returns an email address or phone number as the primary one of a person. */
export function contact(value: unknown): { value: unknown; primary: boolean; label: string } {
  return { value, primary: true, label: 'work' };
}

/** Returns the name of a person, which Pipedrive requires: the mapped name, else the email address or the key of the first lead. */
function nameOf(name: unknown, email: string | undefined, [first]: readonly Enquiry[]): string {
  if (typeof name === 'string' && name.trim() !== '') return name;
  return email ?? `Lead ${first?.key}`.slice(0, MAX_NAME);
}
