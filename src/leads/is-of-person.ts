import { isSamePhone, normalisedEmail, normalisedPhone } from './client.ts';
import type { Subject } from './person.ts';

/** Whether a lead's JSON, as received, is of that person. One that was set aside may be anything, or not JSON at all: then all that it says is searched. */
export function isOfPerson(raw: string, subject: Subject): boolean {
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

/** Amid other words a number is known by its digits, however they are set apart, with `+` or `00` before them. */
function mentionsPhone(one: unknown, contact: string): boolean {
  if (typeof one !== 'string') return false;
  const wanted = normalisedPhone(contact);
  const texts = [/[\s()./\u2010-\u2015-]/g, /\(0\)|[\s()./\u2010-\u2015-]/g].map((apart) =>
    one.replaceAll(apart, ''),
  );
  return texts.some((text) => text.includes(wanted) || text.includes(wanted.replace(/^\+/, '00')));
}

/** JSON's numbers have neither a plus nor zeros before them. */
function isPhoneAsNumber(one: unknown, contact: string): boolean {
  return typeof one === 'number' && String(one) === normalisedPhone(contact).replace(/^[+0]+/, '');
}

/** Whether something holds for a text or number in a value, however deep it lies: a lead may be set aside for being too deep. */
function anyOf(value: unknown, holds: (one: unknown) => boolean): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'object' && one !== null) for (const part of Object.values(one)) left.push(part);
    else if (holds(one)) return true;
  }
  return false;
}

/** What is not JSON, such as one that was cut off, is one text; escapes in it are read all the same. */
function parsedOf(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw.replaceAll(/\\u([\da-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}
