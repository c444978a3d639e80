import {
  apiVersionsV1,
  type Connection,
  type ConnectionOptions,
  ConnectionPool,
  ResponseError,
} from '@platformatic/kafka';
import { hostAndPort } from '../../platform/http/address.ts';
import { withinDeadline } from '../../platform/time/deadline.ts';
import { reachServer } from '../http/reach-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { callFailure, type LoginFacts } from './judge-error.ts';
import type { BrokerAddress } from './options.ts';
import type { RequestApi } from './protocol-versions.ts';

/** How to reach the brokers of a cluster. */
export interface BrokerSettings {
  readonly brokers: readonly BrokerAddress[];
  readonly clientId: string;
  readonly connection: Pick<ConnectionOptions, 'tls' | 'tlsServerName' | 'sasl'>;
  readonly login: LoginFacts;
  /** Deadline of each call, in ms. */
  readonly timeoutMs: number;
  /** Maximum number of simultaneous calls. */
  readonly concurrency: number;
}

/** Idle time after which TCP verifies that a broker is still there, in ms. */
const KEEP_ALIVE_MS = 30_000;

interface ApiRange {
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
}

/** The connections to the brokers of one cluster, one for each broker. Sends each request only once. */
export class Brokers {
  readonly #settings: BrokerSettings;
  readonly #pool: ConnectionPool;
  readonly #versions = new WeakMap<Connection, Promise<readonly ApiRange[]>>();

  constructor(settings: BrokerSettings) {
    this.#settings = settings;
    const { timeoutMs, brokers, concurrency } = settings;
    this.#pool = new ConnectionPool(settings.clientId, {
      ...settings.connection,
      // Leaves time for the other brokers, and for the request itself.
      connectTimeout: Math.ceil(timeoutMs / (brokers.length + 1)),
      // Longer than the deadline of a call. Otherwise, in a busy process, the client's timer could expire although the answer is waiting in
      // the socket.
      requestTimeout: 2 * timeoutMs,
      // More than the possible number of requests in flight, so that none waits after its lease was confirmed.
      maxInflights: concurrency + 5,
    });
    this.#pool.on('connecting', ({ connection }) => {
      // Without a listener, an error after a failed login would end the process. Each request reports its own failure.
      connection.on('error', () => undefined);
      connection.once('connect', () => connection.socket.setKeepAlive(true, KEEP_ALIVE_MS));
    });
  }

  /** The addresses in the configuration, as errors name them. */
  get origin(): string {
    return this.#settings.brokers.map(hostAndPort).join(',');
  }

  /** Closes every connection without waiting for answers. */
  async close(): Promise<void> {
    // Otherwise the client would wait until what it has written is sent, which may be never.
    for (const [, connection] of this.#pool) connection.socket?.destroy();
    await this.#pool.close();
  }

  /** Returns a connection to a configured broker: an open one if possible, otherwise the first that can be opened. @throws SinkUnavailable */
  async any(): Promise<Connection> {
    const { brokers } = this.#settings;
    const isOpen = (broker: BrokerAddress) => this.#pool.getEstablishedConnection(broker)?.isConnected();
    const failures: unknown[] = [];
    for (const broker of brokers.toSorted((a, b) => Number(isOpen(b) ?? 0) - Number(isOpen(a) ?? 0))) {
      try {
        return await this.#connect(broker);
      } catch (error) {
        failures.push(error);
      }
    }
    const [first] = failures;
    if (brokers.length === 1 || !(first instanceof SinkUnavailable)) throw first;
    throw new SinkUnavailable(`None of the ${brokers.length} brokers can be used. ${first.message}`, first);
  }

  /** Returns a connection to a broker whose address comes from the broker `origin`. @throws SinkUnavailable */
  async advertised(broker: BrokerAddress, origin = this.origin): Promise<Connection> {
    try {
      return await this.#connect(broker);
    } catch (error) {
      if (!(error instanceof SinkUnavailable)) throw error;
      if (this.#settings.brokers.some((one) => hostAndPort(one) === hostAndPort(broker))) throw error;
      const hint = `${origin} named this address: check \`advertised.listeners\` of the broker. ${error.hint}`;
      throw new SinkUnavailable(error.message, { ...error, hint, cause: error });
    }
  }

  async #connect(broker: BrokerAddress): Promise<Connection> {
    try {
      return await this.#pool.get(broker);
    } catch (error) {
      throw callFailure(hostAndPort(broker), error, this.#settings.login);
    }
  }

  /** Returns the newest version of a request that both leadsync and the broker know. @throws SinkUnavailable */
  async api<Api extends RequestApi>(connection: Connection, apis: readonly Api[]): Promise<Api> {
    const ranges = await this.#versionsOf(connection);
    const api = apis.find(({ key, version }) =>
      ranges.some((one) => one.apiKey === key && version >= one.minVersion && version <= one.maxVersion),
    );
    if (api) return api;
    throw new SinkUnavailable(`${originOf(connection)} does not support a request that leadsync needs.`, {
      hint: 'leadsync needs Kafka 0.11 or newer, and for `create` 2.4.',
    });
  }

  #versionsOf(connection: Connection): Promise<readonly ApiRange[]> {
    const known = this.#versions.get(connection);
    if (known) return known;
    const asked = this.answer(connection, () => apiVersionsV1.api.async(connection, '', '')).then(
      ({ apiKeys }) => apiKeys,
    );
    this.#versions.set(connection, asked);
    asked.catch(() => this.#versions.delete(connection));
    return asked;
  }

  /** Returns the answer to a request, even if it contains error codes. @throws SinkUnavailable, or the network error */
  async answer<Answer>(connection: Connection, request: () => Promise<Answer>): Promise<Answer> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof ResponseError) return error['response'] as Answer;
      throw callFailure(originOf(connection), error, this.#settings.login);
    }
  }

  /** Runs work within the deadline of a call. @throws SinkUnavailable, marked as unsent if `isUnsent` then returns true */
  async reach<T>(
    stop: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    isUnsent: () => boolean = () => true,
  ): Promise<T> {
    const { timeoutMs } = this.#settings;
    const server = { origin: this.origin, timeoutMs };
    try {
      return await reachServer(server, stop, () => withinDeadline(timeoutMs, stop, work));
    } catch (error) {
      throw error instanceof SinkUnavailable ? asSent(error, !isUnsent()) : error;
    }
  }
}

/**
 * Returns the failure, marked with whether any part of a lead was sent before it. If a broker answered, the failure already says whether the
 * broker may have the records.
 */
function asSent(error: SinkUnavailable, isSent: boolean): SinkUnavailable {
  return isSent
    ? new SinkUnavailable(error.message, { ...error, unsent: false, cause: error })
    : error.beforeSending();
}

/** Returns the address of the broker at the other end, as errors name it. */
export function originOf({ host = '', port = 0 }: Connection): string {
  return hostAndPort({ host, port });
}
