/** Returns an email address in lower case, without surrounding whitespace; empty if there is none. */
export function normalisedEmail(text: unknown): string {
  return String(text ?? '')
    .trim()
    .toLowerCase();
}

/** Whether two spellings mean the same phone number. Ignores the trunk prefix `(0)`, which is not dialled from abroad. */
export function isSamePhone(one: unknown, other: unknown): boolean {
  return (
    normalisedPhone(one) === normalisedPhone(other) ||
    normalisedPhone(withoutTrunk(one)) === normalisedPhone(withoutTrunk(other))
  );
}

function withoutTrunk(text: unknown): string {
  return String(text ?? '').replace(/^(\s*(?:\+|00)[\d\s.-]*)\(0\)/, '$1');
}

/** Returns the digits of a phone number and its plus sign, with `+` in place of a leading `00`. Empty if there are none. */
export function normalisedPhone(text: unknown): string {
  return String(text ?? '')
    .replace(/[^\d+]/g, '')
    .replace(/^00/, '+');
}
