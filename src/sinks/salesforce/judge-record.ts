import { type Refused, storedAnswer } from '../../leads/outcome.ts';
import type { Addressee } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { shown } from './judge-answer.ts';
import { KEY } from './options.ts';
import type { SalesforceError } from './read-answer.ts';

/** What the errors of one record mean for its lead. */
export type RecordFault =
  /**
   * Salesforce may accept the lead without some of its values. `wrong` contains the fields with an invalid email address or a number out of
   * range.
   */
  | {
      readonly kind: 'bad-values';
      readonly wrong: readonly string[];
      readonly isTooLong: boolean;
      readonly refused: Refused;
    }
  /** A duplicate rule found the person. Salesforce names the records that the rule found only in the answer to a request for a single record. */
  | { readonly kind: 'duplicate'; readonly matches: SalesforceError['matches']; readonly refused: Refused }
  | { readonly kind: 'converted' }
  /** The lead is in the recycle bin. */
  | { readonly kind: 'gone'; readonly refused: Refused }
  | Refused
  | SinkUnavailable;

const SETUP = 'setup';
const NOT_SEEN =
  'Either another request has just created the lead, or the user of the app is not permitted to see it. If so, let the user view all leads.';
const VALUE = 'Correct the value in `fields`, then run `leadsync retry`.';

/** The codes of transient faults and of faults that every lead would have, with the operator's next step. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  UNABLE_TO_LOCK_ROW: '',
  STORAGE_LIMIT_EXCEEDED: 'The storage of the org is full: delete records, or buy more.',
  INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE:
    'Salesforce is doing maintenance on the org: the leads wait.',
  REQUEST_RUNNING_TOO_LONG: 'Triggers and flows in the org take too long: set a smaller `batch.max`.',
  TERRITORY_REALIGN_IN_PROGRESS: '',
  UNKNOWN_EXCEPTION: 'See https://status.salesforce.com.',
  PROCESSING_HALTED: '',
  ALL_OR_NONE_OPERATION_ROLLED_BACK: '',
  INSUFFICIENT_ACCESS_OR_READONLY:
    'Let the user of the app read, create and edit leads, including those that other users own.',
  INVALID_FIELD_FOR_INSERT_UPDATE: SETUP,
  INVALID_FIELD: SETUP,
  INACTIVE_OWNER_OR_USER: 'Correct `OwnerId` in `fields`, or the assignment rule: the owner is not active.',
  INVALID_CROSS_REFERENCE_KEY: 'Correct the id in `fields`: Salesforce has no such record.',
  DUPLICATE_VALUE: NOT_SEEN,
  DUPLICATE_EXTERNAL_ID: `Mark the field \`${KEY}\` in Salesforce as unique, and delete the duplicates.`,
};

/** The operator's next step for codes that refuse a single lead. */
const REFUSED: Readonly<Record<string, string>> = {
  REQUIRED_FIELD_MISSING: 'Give the field a value in `fields`, then run `leadsync retry`.',
  FIELD_CUSTOM_VALIDATION_EXCEPTION: 'A validation rule of the org refuses it: change the rule, or `fields`.',
  INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST: 'Add the value to the picklist, or map to one that it has.',
  CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: 'A trigger in the org failed: its developer must fix it.',
  CANNOT_EXECUTE_FLOW_TRIGGER: 'A flow in the org failed: its developer must fix it.',
  DUPLICATES_DETECTED:
    'A duplicate rule of the org found an existing record of this person: see the option `duplicates`.',
  ENTITY_IS_DELETED: 'The lead was deleted.',
};

/** Codes of errors in triggers and flows, which can have any cause. */
const OF_TRIGGERS: ReadonlySet<string> = new Set([
  'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
  'CANNOT_EXECUTE_FLOW_TRIGGER',
]);
/** Transient faults, as a trigger's error message names them. */
const PASSING = /UNABLE_TO_LOCK_ROW|Too many SOQL queries/;
/** Codes of values that the lead can do without. */
const WRONG: ReadonlySet<string> = new Set(['INVALID_EMAIL_ADDRESS', 'NUMBER_OUTSIDE_VALID_RANGE']);
const TOO_LONG = 'STRING_TOO_LONG';

/** Judges the errors of one record. */
export function judgeRecord(errors: readonly SalesforceError[], to: Addressee): RecordFault {
  const known = { httpStatus: 200, answer: storedAnswer(JSON.stringify(errors)) };
  if (errors.length === 0) return unnamed(to, known.httpStatus);
  const lasting = errors.find(isUnavailable);
  if (lasting) {
    const hint = UNAVAILABLE[lasting.code] ?? '';
    return new SinkUnavailable(`Salesforce at ${to.origin} cannot write ${named(lasting)} now.`, {
      hint:
        hint === SETUP ? `\`leadsync setup ${to.sink}\` shows what is missing; \`--yes\` creates it.` : hint,
      ...known,
      mayHaveArrived: false,
    });
  }
  const [first] = errors as [SalesforceError];
  const what = errors.map(named).join(', ');
  const hint = REFUSED[first.code] ?? VALUE;
  const refused: Refused = {
    kind: 'refused',
    reason: `Salesforce at ${to.origin} does not accept ${what}. ${hint}`,
    ...known,
  };
  if (first.code === 'CANNOT_UPDATE_CONVERTED_LEAD') return { kind: 'converted' };
  if (first.code === 'ENTITY_IS_DELETED') return { kind: 'gone', refused };
  if (first.code === 'DUPLICATES_DETECTED') return { kind: 'duplicate', matches: first.matches, refused };
  if (errors.every(({ code }) => WRONG.has(code) || code === TOO_LONG)) {
    const wrong = errors.flatMap(({ code, fields }) => (WRONG.has(code) ? fields : []));
    return { kind: 'bad-values', wrong, isTooLong: errors.some(({ code }) => code === TOO_LONG), refused };
  }
  return refused;
}

/** Returns the failure of a record if the answer did not report what happened to it. */
export function unnamed({ origin }: Addressee, httpStatus: number): SinkUnavailable {
  return new SinkUnavailable(`Salesforce at ${origin} did not report what happened to the lead.`, {
    hint: 'leadsync looks the lead up by its key before it sends it again.',
    httpStatus,
    mayHaveArrived: true,
  });
}

function isUnavailable({ code, message, fields }: SalesforceError): boolean {
  if (OF_TRIGGERS.has(code)) return PASSING.test(message);
  // For the key field, two requests stored the lead at the same time. For another unique field, the lead's value is at fault. Only the field
  // names or the message tell the two apart.
  if (code === 'DUPLICATE_VALUE') return fields.includes(KEY) || message.includes(KEY);
  return Object.hasOwn(UNAVAILABLE, code);
}

function named({ code, fields }: SalesforceError): string {
  const names = fields.map((field) => `\`${shown(field)}\``).join(', ');
  return `${names === '' ? 'the lead' : names} (${shown(code)})`;
}
