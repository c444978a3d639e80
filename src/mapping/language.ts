import { createHmac, hash } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Cel from '@marcbachmann/cel-js';
import type { Secret } from '../platform/options/secret.ts';
import { escapeHtml } from '../platform/text/html-escape.ts';
import { didYouMean } from '../platform/text/suggest.ts';
import { limitedSplit, replaced, strictInt } from './functions/cel-replacements.ts';
import type { Effort } from './functions/effort.ts';
import { emailOf } from './functions/email-address.ts';
import { lastResult } from './functions/last-result.ts';
import { PersonName, personName } from './functions/person-name.ts';
import { isRegion, phoneOf } from './functions/phone.ts';
import { isLike, isPattern } from './functions/text-pattern.ts';
import { isDateFormat, isTimeZone, noTimeZone, zonedDate } from './functions/zoned-date.ts';
import { DeliveryValue, LeadValue, QuestionValue, type Variables } from './lead-values.ts';
import type { Lookups } from './mapping-definition.ts';

const require = createRequire(import.meta.url);
let loaded: typeof Cel | undefined;

/** Returns the package that parses, checks and evaluates CEL. Loaded on first use, because most configurations have no mapping. */
function cel(): typeof Cel {
  loaded ??= require('@marcbachmann/cel-js') as typeof Cel;
  return loaded;
}

/**
 * Limits of an expression. Even together with `Effort`, they do not bound the time of an expression that is written to be slow by joining
 * lists. A `MappingProcess` therefore evaluates the expressions that people try out.
 */
const LIMITS = {
  maxAstNodes: 500,
  maxDepth: 32,
  maxListElements: 200,
  maxMapEntries: 100,
  maxCallArguments: 8,
};

/** Number of hexadecimal digits that `hash` returns: 128 bits. */
const HASH_DIGITS = 32;

/** What the functions of one mapping need besides their arguments. */
export interface LanguageParts {
  readonly region?: string | undefined;
  readonly lookups?: Lookups | undefined;
  /** The key of `hash`; undefined if none is configured. */
  readonly clientKey?: Secret | undefined;
  /** The lead that is being mapped. */
  readonly lead: () => LeadValue;
  /** Limits the work of the functions for that lead. */
  readonly effort: Effort;
}

const TIME = 'google.protobuf.Timestamp';

/** The types and fields that expressions see. */
export const TYPES = {
  Question: { ctor: QuestionValue, fields: { question: 'string', slug: 'string', answer: 'string' } },
  Name: { ctor: PersonName, fields: { first: 'string', last: 'string', full: 'string' } },
  Lead: {
    ctor: LeadValue,
    fields: {
      key: 'string',
      id: 'int',
      source: 'string',
      service_name: 'string',
      service_slug: 'string',
      client_name: 'string',
      client_email: 'string',
      client_phone_number: 'string',
      address: 'string',
      all_details_one_liner: 'string',
      created_at: TIME,
      created_text: 'string',
      questions: 'list<Question>',
    },
  },
  Delivery: {
    ctor: DeliveryValue,
    fields: { id: 'string', event: 'string', version: 'int', replay: 'bool', first_seen_at: TIME },
  },
} as const;

/** The variables that expressions see, and their types. */
export const VARIABLES: Readonly<Record<keyof Variables, string>> = {
  lead: 'Lead',
  delivery: 'Delivery',
  answers: 'map<string, string>',
  raw: 'dyn',
};

/** A function that leadsync adds to CEL. */
interface OwnFunction {
  /** The call, as people read it: `phone(text, region)`. */
  readonly usage: string;
  /** What it returns, as a phrase. */
  readonly result: string;
  /** Signatures in CEL. A function that may find nothing returns `dyn`, because CEL's null has a type of its own. */
  readonly signatures: readonly string[];
  /** Returns the fault of a constant argument, as a phrase; undefined if none has one. `args` has undefined for arguments that are not constant. */
  readonly fault?: (args: readonly (string | undefined)[], parts: LanguageParts) => string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the signature above types the arguments
  readonly call: (parts: LanguageParts) => (...args: any[]) => unknown;
}

/** Every function that is not part of CEL itself. */
export const FUNCTIONS: Readonly<Record<string, OwnFunction>> = {
  phone: {
    usage: 'phone(text) or phone(text, "AU")',
    result: 'the phone number as +61412345678; null if the text has no valid number',
    signatures: ['phone(string): dyn', 'phone(string, string): dyn'],
    fault: ([, region]) =>
      region === undefined || isRegion(region) ? undefined : `"${region}" is not a country code such as "AU"`,
    call:
      ({ region }) =>
      (text: string, country = region) =>
        phoneOf(text, country),
  },
  email: {
    usage: 'email(text)',
    result: 'the email address in lower case; null if the text is not an email address',
    signatures: ['email(string): dyn'],
    call: () => emailOf,
  },
  name: {
    usage: 'name(text).first',
    result: 'the parts of a name: .first, .last and .full',
    signatures: ['name(string): Name'],
    call: () => lastResult(personName),
  },
  answer: {
    usage: 'answer("slug")',
    result: 'the first answer with that slug; empty text if there is none',
    signatures: ['answer(string): string'],
    call: (parts) => (slug: string) => parts.lead().questions.find((one) => one.slug === slug)?.answer ?? '',
  },
  answers: {
    usage: 'answers("slug")',
    result: 'all answers with that slug, as a list',
    signatures: ['answers(string): list<string>'],
    call: (parts) => (slug: string) =>
      parts
        .lead()
        .questions.filter((one) => one.slug === slug)
        .map(({ answer }) => answer),
  },
  default: {
    usage: 'default(value, instead)',
    result: 'the value; `instead` if it is null, empty or absent',
    signatures: ['default(dyn, dyn): dyn'],
    call: () => (value: unknown, instead: unknown) => {
      const present = unwrapped(value);
      return present === null || present === '' ? instead : present;
    },
  },
  like: {
    usage: 'like(text, "pattern")',
    result: 'whether a regular expression (RE2) matches part of the text',
    signatures: ['like(string, string): bool'],
    fault: ([, pattern]) => {
      if (pattern === undefined) return 'the pattern must be constant text in double quotes';
      return isPattern(pattern) ? undefined : `"${pattern}" is not a regular expression (RE2)`;
    },
    call: () => isLike,
  },
  replace: {
    usage: 'replace(text, "old", "new")',
    result: 'the text with every "old" replaced by "new"',
    signatures: ['replace(string, string, string): string'],
    call: () => replaced,
  },
  upper: {
    usage: 'upper(text)',
    result: 'the text in upper case',
    signatures: ['upper(string): string'],
    call: () => (text: string) => text.toUpperCase(),
  },
  lower: {
    usage: 'lower(text)',
    result: 'the text in lower case',
    signatures: ['lower(string): string'],
    call: () => (text: string) => text.toLowerCase(),
  },
  html: {
    usage: 'html(text)',
    result: 'the text for HTML, with &lt; in place of <, and so on',
    signatures: ['html(string): string'],
    call: () => escapeHtml,
  },
  date: {
    usage: 'date(time, "Australia/Sydney") or date(time, "Australia/Sydney", "dd/MM/yyyy")',
    result: 'the local time in that time zone, as text',
    signatures: [`date(${TIME}, string): string`, `date(${TIME}, string, string): string`],
    fault: ([, zone, format]) => {
      if (zone !== undefined && !isTimeZone(zone)) return noTimeZone(zone);
      if (format === undefined || isDateFormat(format)) return undefined;
      return `"${format}" is not a format: it may have yyyy MM dd HH mm ss M d H MMM MMMM EEE EEEE and no other letters`;
    },
    call: () => zonedDate,
  },
  millis: {
    usage: 'millis(time)',
    result: 'milliseconds since 1970',
    signatures: [`millis(${TIME}): int`],
    call: () => (time: Date) => BigInt(time.getTime()),
  },
  hash: {
    usage: 'hash(text)',
    result: '32 characters that stand for the text and do not reveal it',
    signatures: ['hash(string): string'],
    fault: (_args, { clientKey }) =>
      clientKey
        ? undefined
        : 'needs a key: set store.client_key, because without one, the text could be found by brute force',
    call:
      ({ clientKey }) =>
      (text: string) =>
        createHmac('sha256', clientKey?.reveal() ?? '')
          .update(text)
          .digest('hex')
          .slice(0, HASH_DIGITS),
  },
  rotate: {
    usage: 'rotate(["one", "two"], lead.key)',
    result: 'one element of the list; always the same one for the same lead',
    signatures: ['rotate(list, string): dyn'],
    call: () => (list: readonly unknown[], key: string) => {
      if (list.length === 0) return null;
      const number = Number.parseInt(hash('sha256', key).slice(0, 12), 16);
      return list[number % list.length];
    },
  },
  lookup: {
    usage: 'lookup("table", key)',
    result: 'the value in a table of `lookups`; null if the table has no such key',
    signatures: ['lookup(string, string): dyn'],
    fault: ([table], { lookups = {} }) => {
      if (table === undefined || Object.hasOwn(lookups, table)) return undefined;
      const tables = Object.keys(lookups);
      const others = tables.length > 0 ? `known here: ${tables.join(', ')}` : 'the configuration has none';
      return `there is no table "${table}" in \`lookups\`; ${didYouMean(table, tables) || others}`;
    },
    call:
      ({ lookups = {} }) =>
      (table: string, key: string) => {
        const rows = Object.hasOwn(lookups, table) ? lookups[table] : undefined;
        return rows && Object.hasOwn(rows, key) ? rows[key] : null;
      },
  },
};

/** The name of the function that replaces `int` in expressions: see `strictInt`. */
export const INT = 'toInt';
/** The name of the function that replaces `split` in expressions: see `limitedSplit`. */
export const SPLIT = 'splitText';

/** Functions that evaluate an expression once for each element of a list (CEL macros). */
export const LOOPS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/** Returns an environment with the variables and functions of a mapping. */
export function newEnvironment(parts: LanguageParts): Cel.Environment {
  const environment = new (cel().Environment)({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: LIMITS,
  });
  for (const [name, { ctor, fields }] of Object.entries(TYPES))
    environment.registerType(name, { ctor, fields });
  for (const [name, type] of Object.entries(VARIABLES)) environment.registerVariable(name, type);
  for (const type of ['string', 'int', 'double'])
    environment.registerFunction(`${INT}(${type}): int`, strictInt);
  environment.registerFunction(`string.${SPLIT}(string): list<string>`, limitedSplit);
  environment.registerFunction(`string.${SPLIT}(string, int): list<string>`, limitedSplit);
  for (const { signatures, call } of Object.values(FUNCTIONS))
    for (const signature of signatures)
      environment.registerFunction(signature, limited(call(parts), parts.effort));
  return environment;
}

/** Wraps a function of up to three arguments so that its calls count as effort. Avoids rest parameters, which cost as much as a short function. */
function limited(call: (...args: readonly unknown[]) => unknown, effort: Effort) {
  return (one: unknown, two: unknown, three: unknown) => {
    effort.spend(one);
    return call(one, two, three);
  };
}

/** Returns the value of an optional, null for an empty optional, and any other value unchanged. */
export function unwrapped(value: unknown): unknown {
  if (!(value instanceof cel().Optional)) return value;
  return value.hasValue() ? value.value() : null;
}
