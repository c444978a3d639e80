import type { Stub } from '../stub/stub.ts';
import type { Destination } from '../support/destinations/destination.ts';
import type { SmallDisk } from '../support/files/small-disk.ts';
import type { PrivateRedis } from '../support/servers/private-redis.ts';
import type { Configuration } from './configuration.ts';
import type { Crms } from './crms/crms.ts';
import type { Database } from './lanes/postgres.ts';
import type { LedgerOnServer } from './ledgers/ledger-on-server.ts';
import type { Machine } from './machine.ts';
import type { Operator } from './operator.ts';
import type { SPLIT } from './plan.ts';
import type { WatchedDisk } from './watched-disk.ts';
import type { WatchedReceiver } from './watched-receiver.ts';
import type { WatchedStorage } from './watched-storage.ts';

/** The run's own destination, and the configuration of its sink. */
export interface ChosenDestination {
  readonly destination: Destination;
  readonly configuration: Configuration;
}

/** The parts of the world that actions affect, by the name in the report. */
export interface Parts {
  readonly service: Stub;
  /** A service with the same ids as the first and other content; undefined if there is none. */
  readonly 'other service': Stub | undefined;
  readonly receiver: WatchedReceiver;
  /** The receivers of the two sinks between which the leads are split. */
  readonly 'split receivers': Readonly<Record<(typeof SPLIT)[number], WatchedReceiver>>;
  readonly 'drop folder': SmallDisk;
  readonly bucket: WatchedStorage;
  readonly CRMs: Crms;
  readonly destination: ChosenDestination;
  readonly "ledger's disk": WatchedDisk;
  readonly postgres: Database;
  /** Undefined if deliveries run in the process. */
  readonly redis: PrivateRedis | undefined;
  /** Undefined if the ledger is a file. */
  readonly "ledger's server": LedgerOnServer | undefined;
  readonly machines: readonly Machine[];
  readonly operator: Operator;
  readonly configuration: Configuration;
}
