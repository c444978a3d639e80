import { AssertionError } from 'node:assert';

/** What nothing that leadsync prints may hold, stated apart from how the code does it: from and to, in hexadecimal. */
const OBEYED = [
  ...['0-9', 'b-1f', '7f-9f'], // controls but the line feed
  ...['2028-202e', '2066-2069', '200e-200f', '61c-61c', '206a-206f'], // line separators, directions
  ...['ad-ad', '34f-34f', '115f-1160', '180b-180f', '200b-200d', '2060-2065'], // what cannot be seen
  ...['3164-3164', 'fe00-fe0f', 'feff-feff', 'ffa0-ffa0', 'fff9-fffb', 'e0000-e0fff'],
].map((range) => range.split('-').map((code) => Number.parseInt(code, 16)));

/** Whether a terminal would obey something in this text, the line feed included. */
export function wouldBeObeyed(text: string): boolean {
  return text.includes('\n') || [...text].some(isObeyed);
}

function isObeyed(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return OBEYED.some(([from = 0, to = 0]) => code >= from && code <= to);
}

/** Fails when a terminal would obey anything in what was printed. `where` says what it is: `leadsync status`. */
export function expectPlain(printed: string, where: string): void {
  const characters = [...printed];
  const at = characters.findIndex(isObeyed);
  if (at === -1) return;
  const around = JSON.stringify(characters.slice(Math.max(0, at - 80), at + 40).join(''));
  const code = characters[at]?.codePointAt(0)?.toString(16);
  throw new AssertionError({ message: `${where} holds a raw U+${code}: …${around}…` });
}

/** Fails when a line of a JSON log is none of leadsync's: no JSON, or without level and message. */
export function expectLogLines(log: string): void {
  for (const line of log.split('\n').filter((line) => line !== '')) {
    const { level, msg, event } = parsed(line);
    if (typeof level !== 'string' || typeof msg !== 'string' || typeof event !== 'string')
      throw new AssertionError({ message: `this line is no event: ${JSON.stringify(line.slice(0, 200))}` });
  }
}

function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    throw new AssertionError({ message: `this line is no JSON: ${JSON.stringify(line.slice(0, 200))}` });
  }
}
