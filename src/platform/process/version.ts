import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

/** The version of leadsync, from package.json. */
export const version: string = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')).version;

/** The User-Agent header of leadsync's requests. */
export const userAgent = `leadsync/${version}`;
