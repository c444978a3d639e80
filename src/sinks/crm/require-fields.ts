import { type MappedColumn, mappedText } from '../../leads/mapped-fields.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import type { DestinationField, MissingPart } from '../destination-parts.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** Verifies that a destination lacks nothing that leadsync needs there. @throws SinkUnavailable that names what is missing */
export function requireParts(missing: readonly MissingPart[], destination: string, hint: string): void {
  if (missing.length === 0) return;
  const what = missing.map((part) => part.what).join(', ');
  throw new SinkUnavailable(`${destination} lacks ${what}.`, { hint, unsent: true });
}

/**
 * Verifies that a destination has every field of a mapping, that the fields are writable, and that they accept the constants of the mapping.
 * `sink` is the name of the sink.
 * @throws SinkUnavailable that names every difference
 */
export function requireFields(
  columns: readonly MappedColumn[],
  fields: readonly DestinationField[],
  { sink, destination }: { readonly sink: string; readonly destination: string },
): void {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const differences = columns.flatMap((column) => differenceOf(column, byName) ?? []);
  if (differences.length === 0) return;
  throw new SinkUnavailable(`${destination} does not accept the mapping: ${differences.join('; ')}.`, {
    hint: `Correct the sink's \`fields\`; \`leadsync fields ${sink}\` lists the fields, and \`leadsync setup ${sink}\` creates what leadsync can create.`,
    unsent: true,
  });
}

function differenceOf(
  { name, constant }: MappedColumn,
  fields: ReadonlyMap<string, DestinationField>,
): string | undefined {
  const field = fields.get(name);
  if (!field) {
    const similar = didYouMean(name, fields.keys());
    return `there is no field \`${name}\`${similar && ` (${similar})`}`;
  }
  if (!field.writable) return `\`${name}\` is read-only`;
  if (constant === undefined || constant === null) return undefined;
  const text = mappedText(constant);
  const { options, maxLength } = field;
  if (options && options.length > 0 && !options.includes(text)) {
    const shown = options.slice(0, 10).join(', ');
    return `\`${name}\` does not accept "${text}" (it accepts ${shown}${options.length > 10 ? ' and others' : ''})`;
  }
  return maxLength !== undefined && text.length > maxLength
    ? `the value of \`${name}\` is longer than ${maxLength} characters`
    : undefined;
}
