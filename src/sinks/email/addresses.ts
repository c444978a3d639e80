import type { MappedValue } from '../../leads/mapped-fields.ts';

/** Maximum number of characters in an address (RFC 5321, section 4.5.3.1). */
const MAX_ADDRESS = 254;
/** Maximum number of recipients of an email. */
const MAX_RECIPIENTS = 50;

/** An address without a name, comments or quotes. May contain letters of any script (RFC 6531). */
const ADDRESS = /^[^\s@,;:<>()[\]\\"\p{C}]+@[^\s@,;:<>()[\]\\"\p{C}]+$/u;

/** Whether the text is an email address without a name. */
export function isAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS && ADDRESS.test(text);
}

/**
 * Parses one or more addresses from a text, or from a list of texts. Returns undefined if there are none or too many, or if any part is not
 * an address.
 */
export function readAddresses(value: MappedValue | undefined): readonly string[] | undefined {
  const texts = Array.isArray(value) ? value : [value];
  const addresses = texts.flatMap((text) => (typeof text === 'string' ? text.split(/[\s,;]+/) : [text]));
  const given = [...new Set(addresses.filter((one) => one !== ''))];
  const areAddresses = given.every((one): one is string => typeof one === 'string' && isAddress(one));
  return areAddresses && given.length > 0 && given.length <= MAX_RECIPIENTS ? given : undefined;
}
