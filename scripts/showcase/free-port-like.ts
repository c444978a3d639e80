import { freePort, isFree } from '../../test/support/servers/server-process.ts';

/** Returns the given port if it is free, otherwise another free one. */
export async function freePortLike(port: number): Promise<number> {
  return (await isFree(port)) ? port : freePort();
}

/** Returns the port of an address. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}
