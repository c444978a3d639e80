const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CHECK = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';

/** Returns the 18-character id of the `number`th record of an object. */
export function recordId(keyPrefix: string, number: number): string {
  let rest = number;
  let digits = '';
  while (rest > 0) {
    digits = DIGITS.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return withChecksum(`${keyPrefix}5g${digits.padStart(10, '0')}`);
}

/** Returns the 18-character form of an id of 15 or 18 characters; undefined if the text is no id. */
export function longId(text: string): string | undefined {
  if (!/^[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?$/.test(text)) return undefined;
  return withChecksum(text.slice(0, 15));
}

/** Adds three characters that say which of the others are capitals: 18-character ids differ without regard to case. */
function withChecksum(id: string): string {
  let checksum = '';
  for (let block = 0; block < 15; block += 5) {
    let capitals = 0;
    for (let place = 0; place < 5; place += 1) {
      const character = id.charAt(block + place);
      if (character >= 'A' && character <= 'Z') capitals += 1 << place;
    }
    checksum += CHECK.charAt(capitals);
  }
  return id + checksum;
}
