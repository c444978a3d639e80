import type { Stub } from '../stub/stub.ts';
import type { SmallDisk } from '../support/files/small-disk.ts';
import type { PrivateRedis } from '../support/servers/private-redis.ts';
import type { Database } from './lanes/postgres.ts';
import type { Operator } from './operator.ts';
import type { Process } from './process.ts';
import type { WatchedDisk } from './watched-disk.ts';
import type { WatchedReceiver } from './watched-receiver.ts';

/** What things are done to, by the name under which they are told. */
export interface Parts {
  readonly service: Stub;
  /** One whose leads have the ids of the first one's, and say something else; undefined where there is none. */
  readonly 'other service': Stub | undefined;
  readonly receiver: WatchedReceiver;
  readonly 'drop folder': SmallDisk;
  readonly "ledger's disk": WatchedDisk;
  readonly postgres: Database;
  /** Undefined where deliveries run in the process. */
  readonly redis: PrivateRedis | undefined;
  readonly daemon: Process;
  readonly worker: Process;
  readonly operator: Operator;
}
