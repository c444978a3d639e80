import { isSamePhone, normalisedEmail, normalisedPhone } from './contact.ts';
import type { Subject } from './person.ts';

/**
 * Whether the JSON of a lead, as received, is about a person. If the field for the email address or phone number is not a string, searches
 * all text: a rejected lead may be any JSON, or no JSON.
 */
export function matchesPerson(raw: string, subject: Subject): boolean {
  if (subject.kind === 'lead' || raw === '') return false;
  const parsed = parsedOf(raw);
  const { client_email: email, client_phone_number: phone } = Object(parsed);
  if (subject.kind === 'email')
    return typeof email === 'string'
      ? normalisedEmail(email) === normalisedEmail(subject.contact)
      : anyOf(parsed, (one) => mentionsEmail(one, subject.contact));
  if (typeof phone === 'string') return isSamePhone(phone, subject.contact);
  return (
    anyOf(parsed, (one) => mentionsPhone(one, subject.contact)) ||
    anyOf(phone, (one) => isPhoneAsNumber(one, subject.contact))
  );
}

function mentionsEmail(one: unknown, contact: string): boolean {
  return typeof one === 'string' && one.toLowerCase().includes(normalisedEmail(contact));
}

/** Whether the text contains the phone number, with any grouping of the digits and with `+` or `00` in front. */
function mentionsPhone(one: unknown, contact: string): boolean {
  if (typeof one !== 'string') return false;
  const wanted = normalisedPhone(contact);
  const texts = [/[\s()./\u2010-\u2015-]/g, /\(0\)|[\s()./\u2010-\u2015-]/g].map((apart) =>
    one.replaceAll(apart, ''),
  );
  return texts.some((text) => text.includes(wanted) || text.includes(wanted.replace(/^\+/, '00')));
}

/** Whether a JSON number is the phone number. A JSON number has neither a plus sign nor leading zeros. */
function isPhoneAsNumber(one: unknown, contact: string): boolean {
  return typeof one === 'number' && String(one) === normalisedPhone(contact).replace(/^[+0]+/, '');
}

/** Whether any text or number in a value satisfies `holds`. Not recursive, because a rejected lead may be nested too deeply. */
function anyOf(value: unknown, holds: (one: unknown) => boolean): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'object' && one !== null) for (const part of Object.values(one)) left.push(part);
    else if (holds(one)) return true;
  }
  return false;
}

/** Returns the parsed JSON. If the text is not JSON, for example because the lead was truncated, returns the text with its `\u` escapes decoded. */
function parsedOf(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw.replaceAll(/\\u([\da-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}
