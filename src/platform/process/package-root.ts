import { join } from 'node:path';

/** Whether this is what `npm run build` made; false in a checkout, which runs as it is. */
export const isBuilt = import.meta.filename.endsWith('.js');

/** The folder of this installation or checkout: package.json is in it. All of a build lies side by side in `dist`. */
export const packageRoot = join(import.meta.dirname, isBuilt ? '..' : '../../..');
