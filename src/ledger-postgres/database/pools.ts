import { LedgerPool } from './ledger-pool.ts';
import type { Sessions } from './sessions.ts';
import { ASKING, type Settings, settingsFor, WRITING } from './settings.ts';

/** Where a ledger in PostgreSQL is, and how many connections to it this process may use. */
export interface ConnectionPlace {
  readonly url: string;
  readonly schema: string;
  /** Maximum number of connections that write. Questions have others. */
  readonly connections: number;
  /** The name that PostgreSQL shows for the connections. */
  readonly applicationName: string;
}

/** The connections of a ledger, in a pool for each purpose. */
export interface Pools {
  readonly writers: LedgerPool;
  readonly readers: LedgerPool;
  readonly askers: LedgerPool;
  /** Shows that this process is alive. */
  readonly beats: LedgerPool;
  /** Asks what became of lost transactions. */
  readonly lost: LedgerPool;
}

/** Maximum number of connections that look up what polls and deliveries need, and of those for questions, which may take long. */
const READERS = 2;
const ASKERS = 2;
const CONNECT_MS = 10_000;

/** Prepares the pools. Each connects when it is first used. */
export async function openPools(place: ConnectionPlace, sessions: Sessions): Promise<Pools> {
  const { url: address, schema, connections, applicationName } = place;
  const open = (settings: Settings, most: number) =>
    LedgerPool.open({
      address,
      connectMs: CONNECT_MS,
      applicationName,
      bigintAsNumber: true,
      connections: most,
      prepare: sessions.withSettings({ ...settingsFor(schema), ...settings }),
    });
  return {
    writers: await open(WRITING, connections),
    readers: await open(WRITING, READERS),
    askers: await open(ASKING, ASKERS),
    beats: await open(WRITING, 1),
    lost: await open(WRITING, 1),
  };
}
