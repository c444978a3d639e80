import type { Delivery } from '../../leads/delivery.ts';
import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { Outcome } from '../../leads/outcome.ts';
import { type BatchLead, leadsOf } from '../crm/batch-leads.ts';
import type { SinkParts } from '../sink-type.ts';
import { NOTE, type PipedriveOptions } from './options.ts';

/** The non-empty values of a mapping, by field. */
export type Values = ReadonlyMap<string, MappedValue>;

/** A value of an enquiry that was not written to the person, because the person has another value in that field. */
export interface Unheld {
  /** The name of the field in `fields`. */
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

/** A lead of a batch, and what has become of it so far. */
export interface Enquiry extends BatchLead {
  /**
   * Whether the record may already exist: the lead is only updated, an earlier attempt ended without an answer, or an operator requested a
   * replay.
   */
  readonly mayExist: boolean;
  /** The values for the person, without the email address. */
  readonly person: Values;
  /** The values of the lead or deal. */
  readonly record: Values;
  /** The text of the note that the mapping makes; empty if there is none. */
  readonly note: string;
  /** The address of the lead's page. */
  readonly url: string | undefined;
  /** The values that the person does not have. The note contains them too. */
  unheld: readonly Unheld[];
  /** Remarks for the operator, such as which values were not written. */
  readonly remarks: string[];
  /** Id of the lead or deal, or with `object: none` of the person, once Pipedrive certainly has it. */
  recordId: string | undefined;
  noteId: string | undefined;
  /** Set as soon as it is certain. */
  outcome: Outcome | undefined;
}

/** A person: the enquiries of a batch with the same email address, or one enquiry without an email address. */
export interface Person {
  readonly enquiries: readonly Enquiry[];
  /** The email address in lower case; undefined if there is none that Pipedrive accepts. */
  email: string | undefined;
  id: string | undefined;
  /** Whether this attempt created the person. */
  isMade: boolean;
}

/** Maximum number of characters in an email address that Pipedrive accepts. */
const MAX_EMAIL = 255;

/** Returns the persons of a batch with their enquiries. */
export function personsOf(
  deliveries: readonly Delivery[],
  object: PipedriveOptions['object'],
  { leadUrl }: Pick<SinkParts, 'leadUrl'>,
): readonly Person[] {
  const prefix = object === 'none' ? undefined : `${object}.`;
  const enquiries = leadsOf(deliveries).map((lead) => {
    const { newest } = lead;
    const own = valuesOf(newest, (name) => (name.includes('.') ? undefined : name));
    const record = valuesOf(newest, (name) => {
      if (!name.includes('.')) return undefined;
      return prefix !== undefined && name.startsWith(prefix) ? name.slice(prefix.length) : name;
    });
    const note = mappedText((prefix === undefined ? own : record).get(NOTE));
    const email = mappedText(own.get('email')).trim().toLowerCase();
    for (const name of ['email', NOTE]) own.delete(name);
    record.delete(NOTE);
    const enquiry: Enquiry = {
      ...lead,
      mayExist:
        !lead.mayCreate || lead.deliveries.some(({ mayHaveArrived, replay }) => mayHaveArrived || replay),
      person: own,
      record,
      note: note.toWellFormed(),
      url: leadUrl(newest),
      unheld: [],
      remarks: email.length > MAX_EMAIL ? ['The email address is too long for Pipedrive.'] : [],
      recordId: undefined,
      noteId: undefined,
      outcome: undefined,
    };
    return { enquiry, email: email === '' || email.length > MAX_EMAIL ? undefined : email };
  });
  const byPerson = Map.groupBy(enquiries, ({ enquiry, email }) => email ?? `key ${enquiry.key}`);
  return [...byPerson.values()].map((own) => ({
    enquiries: own.map(({ enquiry }) => enquiry),
    email: own[0]?.email,
    id: undefined,
    isMade: false,
  }));
}

/** Returns the non-empty values of a delivery, by the names that `nameOf` returns. Leaves out fields for which it returns none. */
function valuesOf(
  { fields }: Delivery,
  nameOf: (field: string) => string | undefined,
): Map<string, MappedValue> {
  const values = new Map<string, MappedValue>();
  for (const [field, value] of fields ?? []) {
    const name = nameOf(field);
    if (name !== undefined && mappedText(value) !== '' && !(Array.isArray(value) && value.length === 0))
      values.set(name, value);
  }
  return values;
}
