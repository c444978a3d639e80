import { type MappedColumn, type MappedValue, mappedJson } from '../leads/mapped-fields.ts';
import { didYouMean } from '../platform/text/suggest.ts';
import type { FailurePlace, Mapped, Mapping } from './mapping.ts';
import type { MappingTest } from './options.ts';
import { sampleDelivery } from './sample-lead.ts';

/** A difference between what a test expects and what the mapping returns for its lead. */
export interface TestFailure {
  /** Index of the test. */
  readonly test: number;
  readonly name: string;
  /** The option of the test whose expectation is not met: `['gives', 'phone']`. */
  readonly path: readonly string[];
  /** What was expected and what the mapping returned, as phrases: `"3"`, `left out`. */
  readonly expected: string;
  readonly actual: string;
  /** For an unknown field: a question that suggests a similar one, or a list of the known fields. Empty for other differences. */
  readonly suggestion: string;
  /** The expression that failed, if one did. */
  readonly at?: FailurePlace | undefined;
}

/** Runs the tests of a mapping. Returns the differences; an empty array if every test passes. */
export function runTests(mapping: Mapping, tests: readonly MappingTest[]): readonly TestFailure[] {
  return tests.flatMap((test, index) =>
    differences(test, mapping.map(sampleDelivery(test.lead, test.event)), mapping.columns ?? []).map(
      (difference) => ({
        test: index,
        name: test.name,
        suggestion: '',
        ...difference,
      }),
    ),
  );
}

type Difference = Omit<TestFailure, 'test' | 'name' | 'suggestion'> &
  Partial<Pick<TestFailure, 'suggestion'>>;

function differences(
  { gives = {}, left_out: leftOut = false }: MappingTest,
  mapped: Mapped,
  columns: readonly MappedColumn[],
): Difference[] {
  if (mapped.kind === 'failed') {
    const actual = `refused: ${mapped.reason.replace(/\.$/, '')}`;
    return [{ path: [], expected: leftOut ? 'left out' : 'fields', actual, at: mapped.at }];
  }
  if (leftOut !== (mapped.kind === 'left-out')) {
    const words = (isOut: boolean) => (isOut ? 'left out' : 'not left out');
    return [{ path: leftOut ? ['left_out'] : [], expected: words(leftOut), actual: words(!leftOut) }];
  }
  if (mapped.kind === 'left-out') return [];
  const known = new Set(columns.map(({ name }) => name));
  return Object.entries(gives).flatMap(([name, expected]) => {
    const value = mapped.perLead?.has(name) ? mapped.perLead.get(name) : mapped.fields?.get(name);
    const isKnown = value !== undefined || known.has(name);
    if (isKnown && isSame(expected, value ?? null)) return [];
    const actual = value === undefined ? 'no such field' : mappedJson(value);
    const suggestion = isKnown ? '' : suggestField(name, [...known, ...(mapped.perLead?.keys() ?? [])]);
    return [{ path: ['gives', name], expected: JSON.stringify(expected), actual, suggestion }];
  });
}

function suggestField(written: string, known: readonly string[]): string {
  return didYouMean(written, known) || (known.length > 0 ? `known here: ${known.join(', ')}` : '');
}

/** Whether a YAML value and a mapped value are equal. `3` equals the whole number 3, but not the text "3". */
function isSame(expected: unknown, actual: MappedValue): boolean {
  return canonical(expected) === canonical(actual);
}

/** Returns JSON with sorted keys, in which a bigint and a number look alike. */
function canonical(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, of]) => `${JSON.stringify(key)}:${canonical(of)}`).join()}}`;
}
