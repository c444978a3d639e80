import { countOf } from '../../../platform/text/human-readable.ts';
import type { Count } from '../../contract/values.ts';

/** Returns a number of rows in words, such as `1 lead` or `at least 10,000 leads`. */
export function countText({ count, isAtLeast }: Count, noun: string): string {
  return `${isAtLeast ? 'at least ' : ''}${countOf(count, noun)}`;
}
