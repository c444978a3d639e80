import { changesOf, type Overwrite } from '../crm/overwrite.ts';
import { type Json, listOf, objectOf } from '../http/json-answer.ts';
import type { AccountFields } from './account-fields.ts';
import { contact, type Parts } from './build-records.ts';
import type { Enquiry, Unheld } from './enquiry.ts';
import { comparable } from './fit-values.ts';
import { AS_TYPED } from './options.ts';

/** The types of fields that can hold what a client typed. */
const TYPED: ReadonlySet<string> = new Set(['varchar', 'varchar_auto', 'text', 'phone', 'phones', 'address']);
/** Maximum number of characters of a value in a note. */
const MAX_UNHELD = 2_000;

/** Returns those of the wanted values that must be written to a record. Never changes the fields `kept`. */
export function recordChanges(
  held: { readonly own: Json; readonly custom: Json },
  wanted: Parts,
  overwrite: Overwrite,
  kept: readonly string[] = [],
): Parts {
  const changes = (of: Json, values: Parts['own']) => {
    const texts = (all: Parts['own']) =>
      Object.fromEntries(Object.keys(values).map((name) => [name, comparable(all[name])]));
    const names = Object.keys(changesOf(texts(of), texts(values), overwrite));
    return Object.fromEntries(
      names.filter((name) => !kept.includes(name)).map((name) => [name, values[name]]),
    );
  };
  return { own: changes(held.own, wanted.own), custom: changes(held.custom, wanted.custom) };
}

/** Returns those of the wanted values that must be written to a person. Keeps the email addresses and phone numbers that the person has. */
export function personChanges(
  held: Json,
  { email, wanted, overwrite }: { email: string | undefined; wanted: Parts; overwrite: Overwrite },
): Parts {
  const { phones, ...own } = wanted.own;
  const custom = objectOf(held['custom_fields']) ?? {};
  const changes = recordChanges({ own: held, custom }, { own, custom: wanted.custom }, overwrite);
  if (overwrite === 'never') return changes;
  const contacts: Record<string, unknown> = {};
  const add = (name: 'emails' | 'phones', value: unknown, isFirst: boolean) => {
    const before = listOf(held[name]);
    if (value === undefined || holds(before, value) || (before.length > 0 && !isFirst)) return;
    contacts[name] = [contact(value), ...before.map((one) => ({ ...one, primary: false }))];
  };
  add('emails', email, false);
  add('phones', phones, overwrite === 'always');
  return { own: { ...changes.own, ...contacts }, custom: changes.custom };
}

/** Returns the values that the client typed in an enquiry but the person does not have. `person` is as stored after the write. */
export function unheldOf(
  person: Json,
  { person: values }: Pick<Enquiry, 'person'>,
  parts: Parts,
  fields: AccountFields,
): readonly Unheld[] {
  const custom = objectOf(person['custom_fields']) ?? {};
  return [...values.keys()].flatMap((name) => {
    const field = fields.get('person', name);
    if (!field || !TYPED.has(field.type)) return [];
    const { code, isCustom, label } = field;
    const value = (isCustom ? parts.custom : parts.own)[code];
    const held = (isCustom ? custom : person)[code];
    if (value === undefined) return [];
    const isHeld = code === 'phones' ? holds(listOf(held), value) : sameText(comparable(held), value);
    if (isHeld || (name === AS_TYPED && holds(listOf(person['emails']), value))) return [];
    return [{ name, label: shownLabel(label), text: comparable(value).slice(0, MAX_UNHELD).toWellFormed() }];
  });
}

/** Whether a person has this email address or phone number, in any notation. */
function holds(contacts: readonly Json[], value: unknown): boolean {
  const bare = (text: unknown) =>
    String(text)
      .toLowerCase()
      .replaceAll(/[\s()./-]/g, '');
  return contacts.some((one) => bare(one['value']) === bare(value));
}

function sameText(held: string, value: unknown): boolean {
  return held.trim().toLowerCase() === comparable(value).trim().toLowerCase();
}

function shownLabel(label: string): string {
  const bare = label.replace(/^leadsync[ _]/i, '').replaceAll('_', ' ');
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}
