/**
 * Returns a lead's JSON with its id as a string: `9007199254740993` becomes `"9007199254740993"`. Every other number keeps its digits. The
 * result has no unnecessary blanks and escapes, and of a repeated key the last value.
 */
export function withTextId(raw: string): string {
  const lead = JSON.parse(raw, (_, value, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? rawJson(context.source) : value,
  );
  return JSON.stringify({ ...lead, id: String(lead.id.rawJSON) });
}

/** `JSON.rawJSON`, which the types of TypeScript do not know yet (https://github.com/tc39/proposal-json-parse-with-source). */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): { readonly rawJSON: string } };
