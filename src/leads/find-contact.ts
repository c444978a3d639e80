/** The client's contact details in a lead. A field is null if the lead has no text for it. */
export interface Contact {
  readonly name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
}

/** Minimum number of digits to search phone numbers for. Fewer digits occur in too many numbers. */
const MIN_DIGITS = 4;

/** Returns the contact in the JSON of a lead; undefined if the text is not JSON, for example because the content was removed. */
export function contactOf(raw: string): Contact | undefined {
  if (raw === '') return undefined;
  try {
    const { client_name: name, client_email: email, client_phone_number: phone } = Object(JSON.parse(raw));
    return { name: textOf(name), email: textOf(email), phone: textOf(phone) };
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/**
 * Returns a function that says whether a contact matches what a person typed: each word is part of the name or of the email address, in upper or
 * lower case and with or without accents, or the whole text is part of the phone number, in any grouping and with or without the country code.
 * Returns undefined if the text is too short to search for.
 */
export function contactMatcher(text: string): ((contact: Contact) => boolean) | undefined {
  const words = folded(text)
    .split(/\s+/)
    .filter((word) => word !== '');
  const digits = /^[\d\s()+./-]+$/.test(text) ? digitsOf(text.replaceAll('(0)', '')) : '';
  // A number may have been stored with the country code in place of its leading zero.
  const wanted = [digits, digits.replace(/^0+/, '')].filter(({ length }) => length >= MIN_DIGITS);
  if (wanted.length === 0 && words.join('').length < 2) return undefined;
  return ({ name, email, phone }) => {
    const named = folded(`${name ?? ''}\n${email ?? ''}`);
    if (words.every((word) => named.includes(word))) return true;
    const stored = [phone ?? '', (phone ?? '').replaceAll('(0)', '')].map(digitsOf);
    return wanted.some((one) => stored.some((number) => number.includes(one)));
  };
}

/** Returns the text in lower case and without accents. */
function folded(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

function digitsOf(phone: string): string {
  return phone.replaceAll(/\D/g, '');
}
