import { readFileSync } from 'node:fs';

/** This leadsync's version, from its package. */
export const version: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version;

/** How leadsync introduces itself to others. */
export const userAgent = `leadsync/${version}`;
