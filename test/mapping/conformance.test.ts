import { tests as suite } from '@bufbuild/cel-spec/testdata/conformance.js';
import { describe, expect, test } from 'vitest';
import { Effort } from '../../src/mapping/functions/effort.ts';
import { newEnvironment } from '../../src/mapping/language.ts';

// The official conformance cases of CEL, for the part of the language that mappings use. Another package, or another version of this one,
// has to pass them too.

/** A case of the official tests, as far as it is used here. */
interface Case {
  readonly name: string;
  readonly expr: string;
  readonly value?: CaseValue;
  readonly evalError?: unknown;
}

/** A value with one key that names its type: `{ int64Value: "3" }`. */
type CaseValue = Readonly<Record<string, unknown>>;

interface Suite {
  readonly name?: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: unknown }[];
}

/** The other sections are about protobuf messages, bytes, types as values, and extensions that leadsync does not document. */
const SECTIONS = ['string', 'logic', 'lists', 'macros', 'integer_math', 'fp_math'];

/**
 * Cases in which the package differs from the specification. Most are stricter: expressions that mix types are refused before they run.
 * None of the others matters to a mapping: an unsigned integer in a list, and the negation of the smallest integer.
 */
const DIFFERENCES: ReadonlySet<string> = new Set([
  "true ? 'cows' : 17",
  'false && 32',
  "'horses' && false",
  'true || 32',
  "'horses' || true",
  '[].all(e, e > 0)',
  "{6: 'six', 7: 'seven', 8: 'eight'}.exists_one(foo, foo % 5 == 2)",
  '[7, 8, 9][dyn(0u)]',
  'dyn(3u) in [5, 4, 3, 2, 1]',
  'dyn(3u) in [5.0, 4.0, 3.0, 2.0, 1.0]',
  'dyn(3) in [5u, 4u, 3u, 2u, 1u]',
  'dyn(3.0) in [5u, 4u, 3u, 2u, 1u]',
  '-(-9223372036854775808)',
  '(-9223372036854775808)/-1',
]);

const environment = newEnvironment({
  effort: new Effort(),
  lead: () => {
    throw new Error('no case needs a lead');
  },
});

/** Returns the cases that need neither variables nor types of protobuf. */
function casesOf(section: string): readonly Case[] {
  const walk = (one: Suite): readonly Case[] => [
    ...(one.tests ?? []).map(({ original }) => original as Case),
    ...(one.suites ?? []).flatMap(walk),
  ];
  const found = (suite as Suite).suites?.find(({ name }) => name === section);
  if (!found) throw new Error(`there is no section ${section}`);
  return walk(found).filter(
    (one) =>
      !('bindings' in one || 'typeEnv' in one || 'container' in one || 'disableMacros' in one) &&
      !/\bb['"]/.test(one.expr),
  );
}

describe.each(SECTIONS)('%s', (section) => {
  const cases = casesOf(section).filter(({ expr }) => !DIFFERENCES.has(expr));
  test.each(cases.map((one) => [`${one.name}: ${one.expr}`, one] as const))('%s', (_title, one) => {
    expect(resultOf(one)).toEqual(wantedOf(one));
  });
});

test('the listed cases exist and still differ', () => {
  const listed = SECTIONS.flatMap(casesOf).filter(({ expr }) => DIFFERENCES.has(expr));
  expect(new Set(listed.map(({ expr }) => expr))).toEqual(DIFFERENCES);
  for (const one of listed) expect(resultOf(one), one.expr).not.toEqual(wantedOf(one));
});

const FAILS = 'an error';

function resultOf({ expr }: Case): unknown {
  try {
    return plain(environment.evaluate(expr));
  } catch {
    return FAILS;
  }
}

function wantedOf(one: Case): unknown {
  return 'evalError' in one ? FAILS : valueFor(one.value ?? { boolValue: true });
}

/** Returns the JavaScript value for a value of the official tests. */
function valueFor(value: CaseValue): unknown {
  const [[type, of] = ['', undefined]] = Object.entries(value);
  switch (type) {
    case 'int64Value':
      return BigInt(of as string);
    case 'doubleValue':
      return Number(of);
    case 'nullValue':
      return null;
    case 'listValue':
      return ((of as { values?: CaseValue[] }).values ?? []).map(valueFor);
    case 'mapValue': {
      const { entries = [] } = of as { entries?: { key: CaseValue; value: CaseValue }[] };
      return Object.fromEntries(entries.map((entry) => [String(valueFor(entry.key)), valueFor(entry.value)]));
    }
    case 'uint64Value':
      return { unsigned: BigInt(of as string) };
    default:
      return of;
  }
}

/** Returns a result of the package in the form of `valueFor`. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const unsigned = value.valueOf() as unknown;
  if (typeof unsigned === 'bigint') return { unsigned };
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([key, of]) => [String(key), plain(of)]));
}
