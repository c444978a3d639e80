/** A person's name in parts, as the expressions of a mapping see it. */
export class PersonName {
  readonly first: string;
  readonly last: string;
  readonly full: string;

  constructor(first: string, last: string, full: string) {
    this.first = first;
    this.last = last;
    this.full = full;
  }
}

/** Words before a last name that belong to it: de la Cruz, van der Berg, O' Brien. */
const PARTICLES = new Set(
  "de da do dos das di del della der den des du van von zu zum zur la le les el al bin ibn ben st. saint mc mac o' ter ten".split(
    ' ',
  ),
);
/** Han, Hangul and kana: names in these scripts have no blank between their parts, and the family name is first. */
const EAST_ASIAN = /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u;

/**
 * Divides a name into first and last name. `Last, First` is divided at its comma. Otherwise the last word is the last name, together with the
 * particles before it (de, van, von …), and a single word is a last name, because CRMs require a last name. Consecutive blanks become one.
 */
export function personName(text: string): PersonName {
  const full = text.trim().replace(/\s+/g, ' ');
  const comma = full.indexOf(',');
  if (comma > 0 && comma < full.length - 1)
    return new PersonName(full.slice(comma + 1).trim(), full.slice(0, comma).trim(), full);
  const words = full.split(' ');
  if (words.length === 1 || EAST_ASIAN.test(full)) return new PersonName('', full, full);
  let begin = words.length - 1;
  // The first word is never a particle of the last name: a person named "Ben Smith" has a first name.
  while (begin > 1 && PARTICLES.has((words[begin - 1] ?? '').toLowerCase())) begin -= 1;
  return new PersonName(words.slice(0, begin).join(' '), words.slice(begin).join(' '), full);
}
