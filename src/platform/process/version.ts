import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

/** This leadsync's version, from its package. */
export const version: string = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')).version;

/** How leadsync introduces itself to others. */
export const userAgent = `leadsync/${version}`;
