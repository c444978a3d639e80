import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

const require = createRequire(import.meta.url);
let loaded: typeof Re2 | undefined;

/** Maximum number of compiled patterns to keep. */
const KEPT = 100;
const compiled = new Map<string, Re2.RE2JS>();

/** Returns a compiled RE2 pattern. @throws an error of re2js if the syntax is wrong */
function patternOf(text: string): Re2.RE2JS {
  let pattern = compiled.get(text);
  if (!pattern) {
    loaded ??= require('re2js') as typeof Re2;
    pattern = loaded.RE2JS.compile(text);
    if (compiled.size >= KEPT) compiled.clear();
    compiled.set(text, pattern);
  }
  return pattern;
}

/** Whether the text is a valid RE2 pattern. */
export function isPattern(text: string): boolean {
  try {
    patternOf(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a pattern (RE2 syntax) matches part of the text. Takes time linear in the length of the text. */
export function isLike(text: string, pattern: string): boolean {
  return patternOf(pattern).matcher(text).find();
}
