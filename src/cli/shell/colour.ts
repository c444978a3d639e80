import { styleText } from 'node:util';
import type { Surroundings } from './context.ts';

const COLOURS = { good: 'green', warning: 'yellow', bad: 'red' } as const;

/** The meaning of a colour. */
export type Tone = keyof typeof COLOURS;

/** Colours the text according to its tone; without a tone, returns it unchanged. */
export type Paint = (tone: Tone | undefined, text: string) => string;

/**
 * Returns a function that colours text if standard output is a terminal that supports colours, unless `NO_COLOR` (https://no-color.org) or
 * `TERM=dumb` disables them. Otherwise, the function returns text unchanged.
 */
export function paintFor({ stdout }: Pick<Surroundings, 'stdout'>): Paint {
  const hasColours = stdout.isTTY === true && stdout.hasColors?.() === true;
  return (tone, text) =>
    hasColours && tone !== undefined ? styleText(COLOURS[tone], text, { validateStream: false }) : text;
}
