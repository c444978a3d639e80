/**
 * Returns a lead's JSON with its id as a string: `9007199254740993` becomes `"9007199254740993"`. Every other number keeps its digits. The
 * result has no unnecessary blanks or escapes, and only the last value of a repeated key.
 */
export function withTextId(raw: string): string {
  const lead = JSON.parse(raw, (_, value, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? rawJson(context.source) : value,
  );
  return JSON.stringify({ ...lead, id: String(lead.id.rawJSON) });
}

/** `JSON.rawJSON`, which TypeScript's types do not include yet (https://github.com/tc39/proposal-json-parse-with-source). */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): { readonly rawJSON: string } };
