import { freePort, isFree } from '../../test/support/servers/server-process.ts';

/** Returns the given port where it is free, else another one that is. */
export async function portLike(wanted: number): Promise<number> {
  return (await isFree(wanted)) ? wanted : freePort();
}
