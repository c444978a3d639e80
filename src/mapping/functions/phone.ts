import { createRequire } from 'node:module';
import type * as PhoneNumbers from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';

const require = createRequire(import.meta.url);
/** Loaded on first use: its metadata takes 10 ms to load. */
let loaded: typeof PhoneNumbers | undefined;

function phoneNumbers(): typeof PhoneNumbers {
  loaded ??= require('libphonenumber-js/max') as typeof PhoneNumbers;
  return loaded;
}

/** Whether the text is the ISO 3166-1 code, in capitals, of a country that has phone numbers: `AU`. */
export function isRegion(text: string): boolean {
  return phoneNumbers().isSupportedCountry(text);
}

/**
 * Returns the one valid phone number in the text, in E.164 form (`+61412345678`); null if the text has none, or more than one. `region` is the
 * country of a number without a country code.
 */
export function phoneOf(text: string, region: string | undefined): string | null {
  // Not every country dials 00 before a country code, but people write it everywhere.
  const written = text.trim().replace(/^00(?=[1-9])/, '+');
  const country = region as CountryCode | undefined;
  const found = phoneNumbers().parsePhoneNumberFromString(
    written,
    country && { defaultCountry: country, extract: true },
  );
  return found?.isValid() ? found.number : null;
}
