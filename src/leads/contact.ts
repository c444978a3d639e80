/** An email address as far as spelling makes no difference to whose it is; empty where there is none. */
export function normalisedEmail(text: unknown): string {
  return String(text ?? '')
    .trim()
    .toLowerCase();
}

/** Whether two spellings are one phone number: also where one has the `(0)` that is not dialled from abroad. */
export function isSamePhone(one: unknown, other: unknown): boolean {
  return (
    normalisedPhone(one) === normalisedPhone(other) ||
    normalisedPhone(withoutTrunk(one)) === normalisedPhone(withoutTrunk(other))
  );
}

function withoutTrunk(text: unknown): string {
  return String(text ?? '').replace(/^(\s*(?:\+|00)[\d\s.-]*)\(0\)/, '$1');
}

/** A phone number without spaces and signs, with `+` for a leading `00`; empty where there is none. */
export function normalisedPhone(text: unknown): string {
  return String(text ?? '')
    .replace(/[^\d+]/g, '')
    .replace(/^00/, '+');
}
