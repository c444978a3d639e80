/** An email address as far as spelling makes no difference to whose it is; empty where there is none. */
export function normalisedEmail(text: unknown): string {
  return String(text ?? '')
    .trim()
    .toLowerCase();
}

/** A phone number without spaces and signs, with `+` for a leading `00`; empty where there is none. */
export function normalisedPhone(text: unknown): string {
  return String(text ?? '')
    .replace(/[^\d+]/g, '')
    .replace(/^00/, '+');
}
