import { readTime } from '../../leads/content-facts.ts';

/** An offset of 16 hours or more: no zone has one, ISO 8601 allows it, and PostgreSQL refuses it. */
const FAR_OFFSET = /[T ].*[+-](1[6-9]|2\d)(:?\d\d)?$/i;

/** An ISO 8601 date-time as PostgreSQL takes it. It has no year 0, which programs write for "unknown" in zones east of Greenwich: that is 1 BC. */
export function timestamp(text: string): string {
  const ms = FAR_OFFSET.test(text) ? readTime(text) : null;
  const near = ms === null ? text : new Date(ms).toISOString();
  return near.startsWith('0000-') ? `0001-${near.slice(5)} BC` : near;
}
