import { Socket } from 'node:net';
import { type Redis, type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

type Emit = Parameters<SentinelConnector['connect']>[0];
type Stream = Awaited<ReturnType<SentinelConnector['connect']>>;

/**
 * The connector of ioredis that asks sentinels for the master, with three corrections:
 * - Connections to sentinels have a listener for errors. Without one, ioredis writes each error to standard error, outside the log. The daemon does
 *   not report that a sentinel is down; `leadsync check` does.
 * - A fail-over that is announced while the sentinels are being asked does not end the client. ioredis would treat it as a request to close.
 * - A round through the list of sentinels that asked none of them, because the round before stopped at the end of the list, is not a failure.
 */
export class PersistentSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const inside = this as unknown as { connectToSentinel(...args: unknown[]): Redis };
    const connect = inside.connectToSentinel.bind(this);
    inside.connectToSentinel = (...args) => connect(...args).on('error', () => undefined);
  }

  override async connect(emit: Emit): Promise<Stream> {
    let asked = false;
    const emitFailures: Emit = (type, error) => {
      if (type === 'sentinelError') asked = true;
      if (type === 'sentinelError' || asked) emit(type, error);
    };
    try {
      return await super.connect(emitFailures);
    } catch (error) {
      const isDisconnected = !this.connecting;
      if (!isDisconnected) throw error; // retries are disabled
      return this.#closedStream();
    }
  }

  /** Returns a closed stream. ioredis treats it as a lost connection: it reconnects, unless the client was closed. */
  #closedStream(): Stream {
    delete this.firstError; // it belongs to an earlier stream
    return new Socket().destroy();
  }
}
