import { changesOf, type Overwrite } from '../crm/overwrite.ts';
import type { Enquiry, Values } from './enquiry.ts';
import { DESCRIPTION, heldValues } from './fit-values.ts';
import type { LeadFields } from './lead-fields.ts';
import { KEY, URL_FIELD } from './options.ts';
import type { ExistingLead } from './read-leads.ts';

/** What leadsync writes from an enquiry to the lead that a duplicate rule found. */
interface Filling {
  readonly changes: Values;
  /** What the operator should know, in sentences. */
  readonly remark: string;
}

const FOUND =
  'A duplicate rule found the person: leadsync filled the lead that the rule found, and created no other.';
/**
 * Returns the changes to the lead that a duplicate rule found for an enquiry, with a remark. Values that differ from those of the lead are added to
 * its description, once, so that the phone number of a second enquiry, for example, is not lost.
 */
export function mergeIntoMatch(
  enquiry: Enquiry,
  match: ExistingLead,
  { fields, overwrite }: { readonly fields: LeadFields; readonly overwrite: Overwrite },
): Filling {
  const held = heldValues(match.values, fields);
  const { [URL_FIELD]: url, ...values } = enquiry.values;
  // If the lead already has a key, it keeps it.
  const own = changesOf(
    held,
    { [KEY]: enquiry.key, ...(url === undefined ? {} : { [URL_FIELD]: url }) },
    'empty',
  );
  const filled = changesOf(held, values, overwrite);
  const added = KEY in own ? own : {};
  const changes = { ...filled, ...added };
  if (overwrite === 'never') return { changes, remark: remarkOnNever(Object.keys(added)) };
  const others = Object.entries(values).filter(
    ([name, value]) => !(name in filled) && held[name] !== value && fields.get(name)?.type !== 'reference',
  );
  const before = String(filled[DESCRIPTION] ?? held[DESCRIPTION] ?? '');
  const title = `leadsync ${enquiry.key}:`;
  if (others.length === 0 || before.split(/\r?\n/).includes(title)) return { changes, remark: FOUND };
  const room = fields.canWrite(DESCRIPTION) ? (fields.get(DESCRIPTION)?.length ?? 0) : 0;
  let text = before === '' ? title : `${before}\n\n${title}`;
  const [kept, lost]: [string[], string[]] = [[], []];
  for (const [name, value] of others) {
    const longer = `${text}\n${fields.get(name)?.label ?? name}: ${value}`;
    (longer.length > room ? lost : kept).push(`\`${name}\``);
    if (longer.length <= room) text = longer;
  }
  return {
    changes: kept.length === 0 ? changes : { ...changes, [DESCRIPTION]: text },
    remark: [
      FOUND,
      remarkOn(kept, `are in \`${DESCRIPTION}\``),
      remarkOn(lost, 'did not fit there, so only leadsync has them'),
    ]
      .filter(Boolean)
      .join(' '),
  };
}

/** Returns the remark for `overwrite: never`, where leadsync writes only these fields of its own to the lead. */
function remarkOnNever(names: readonly string[]): string {
  const what = names.length === 0 ? 'nothing' : `only ${names.map((name) => `\`${name}\``).join(' and ')}`;
  return `A duplicate rule found the person: with \`overwrite: never\`, leadsync wrote ${what} from the enquiry to that lead.`;
}

/** Returns a sentence about the fields in which the lead has a value other than the enquiry's. */
function remarkOn(names: readonly string[], what: string): string {
  if (names.length === 0) return '';
  return `It has other values in ${names.join(', ')}: those of this enquiry ${what}.`;
}
