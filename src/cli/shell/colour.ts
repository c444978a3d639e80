import { styleText } from 'node:util';
import type { Surroundings } from './context.ts';

const COLOURS = { good: 'green', warning: 'yellow', bad: 'red' } as const;

/** What a colour says. */
export type Tone = keyof typeof COLOURS;

/** Colours a text by what it says; without a tone, returns it unchanged. */
export type Paint = (tone: Tone | undefined, text: string) => string;

/**
 * Returns a function that colours text if standard output is a terminal with colours, which `NO_COLOR` (https://no-color.org) and `TERM=dumb`
 * deny. Otherwise, the function returns each text unchanged.
 */
export function paintFor({ stdout }: Pick<Surroundings, 'stdout'>): Paint {
  const hasColours = stdout.isTTY === true && stdout.hasColors?.() === true;
  return (tone, text) =>
    hasColours && tone !== undefined ? styleText(COLOURS[tone], text, { validateStream: false }) : text;
}
