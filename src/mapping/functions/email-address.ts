const EMAIL = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/;
/** Maximum number of characters in an email address (RFC 5321, section 4.5.3.1). */
const EMAIL_MAX = 254;

/** Returns the email address in lower case; null if the text is not an email address. */
export function emailOf(text: string): string | null {
  const address = text.trim().toLowerCase();
  return address.length <= EMAIL_MAX && EMAIL.test(address) ? address : null;
}
