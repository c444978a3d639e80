import { join } from 'node:path';

/** Whether `npm run build` built this program. False in a checkout, which runs from source. */
export const isBuilt = import.meta.filename.endsWith('.js');

/** The folder of this installation or checkout, which contains package.json. All files of a build are in `dist`. */
export const packageRoot = join(import.meta.dirname, isBuilt ? '..' : '../../..');
