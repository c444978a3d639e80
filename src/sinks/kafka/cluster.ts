import {
  apiVersionsV1,
  type Connection,
  type ConnectionOptions,
  ConnectionPool,
  type MessageRecord,
  ResponseError,
} from '@platformatic/kafka';
import { hostAndPort } from '../../platform/http/address.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { withinDeadline } from '../../platform/time/deadline.ts';
import { reachServer } from '../reach-server.ts';
import { SinkUnavailable } from '../sink.ts';
import { createTopicsApis, metadataApis, produceApis, type RequestApi } from './apis.ts';
import { callFailure, codeText, isStale, judgeCode, type LoginFacts } from './judge-error.ts';
import type { BrokerAddress } from './options.ts';

/** How to reach a cluster and write to it. */
export interface ClusterSettings {
  readonly brokers: readonly BrokerAddress[];
  readonly clientId: string;
  readonly connection: Pick<ConnectionOptions, 'tls' | 'tlsServerName' | 'sasl'>;
  readonly login: LoginFacts;
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  /** How to create a topic that is missing; undefined: not at all. `partitions` -1 is the default of the brokers. */
  readonly create: { readonly partitions: number; readonly compacted: boolean } | undefined;
  readonly clock: Clock;
  /** Deadline of each call, in ms. */
  readonly timeoutMs: number;
  /** Maximum calls at the same time. */
  readonly concurrency: number;
}

/** A topic: its partitions by number, each with the broker that leads it, if there is one. */
export interface Topic {
  readonly name: string;
  readonly leaders: readonly (BrokerAddress | undefined)[];
}

/** What a broker answered about the records of one partition. */
export interface PartitionAnswer {
  readonly topic: string;
  readonly partition: number;
  /** `NONE`, or the error code. */
  readonly code: string;
  /** The offset of the first record. */
  readonly baseOffset: bigint;
}

/** How to make one call. */
export interface CallLimits {
  readonly stop: AbortSignal;
  /** Called immediately before records are sent. If it throws, nothing is sent. */
  readonly confirmLease: () => void;
}

/** How long leadsync relies on what it knows of a topic, in ms. The default of `metadata.max.age.ms` of Kafka's own clients. */
const TOPIC_AGE_MS = 300_000;
/** Wait before leadsync asks again whether a topic that it created has leaders, in ms. */
const CREATED_WAIT_MS = 100;
/** Idle time after which TCP verifies that a broker is still there, in ms. */
const KEEP_ALIVE_MS = 30_000;
/** Share of the timeout that a broker may wait for its replicas, so that its answer arrives before the deadline. */
const REPLICA_SHARE = 0.8;
/** Acknowledged by every replica in sync (`acks=all`). */
const ALL_REPLICAS = -1;
/** The bit of the right WRITE among the operations that a user may perform on a topic (KIP-430). */
const MAY_WRITE = 1 << 4;
/** The value of those operations if the broker does not report them. */
const UNREPORTED = -2_147_483_648;

const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION';

interface ApiRange {
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
}

/** What a broker says about a topic. */
interface Description {
  readonly topic: Topic;
  /** `NONE`, or the error code of the topic. */
  readonly code: string;
  readonly mayWrite: boolean;
  readonly controller: BrokerAddress | undefined;
  /** The broker that answered. */
  readonly origin: string;
}

/** The brokers of one cluster. Keeps one connection to each broker. Makes each request once: the caller decides about retries. */
export class Cluster {
  readonly #settings: ClusterSettings;
  readonly #pool: ConnectionPool;
  readonly #topics = new Map<string, { readonly topic: Topic; readonly untilMs: number }>();
  readonly #versions = new WeakMap<Connection, Promise<readonly ApiRange[]>>();

  constructor(settings: ClusterSettings) {
    this.#settings = settings;
    const { timeoutMs, brokers, concurrency } = settings;
    this.#pool = new ConnectionPool(settings.clientId, {
      ...settings.connection,
      // Leaves time for the other brokers, and for the request itself.
      connectTimeout: Math.ceil(timeoutMs / (brokers.length + 1)),
      requestTimeout: timeoutMs,
      // Above the number of requests that there can be, so that none waits after its lease was confirmed.
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

  /** Returns a topic. Creates it if it is missing and the settings say so. @throws SinkUnavailable */
  async topic(name: string, stop: AbortSignal): Promise<Topic> {
    const known = this.#topics.get(name);
    if (known && known.untilMs > this.#settings.clock.monotonicMs()) return known.topic;
    const topic = await this.#reach(stop, (signal) => this.#existing(name, signal));
    const untilMs = this.#settings.clock.monotonicMs() + TOPIC_AGE_MS;
    if (topic.leaders.every((leader) => leader !== undefined)) this.#topics.set(name, { topic, untilMs });
    return topic;
  }

  /**
   * Verifies that records can be written to a topic: that it exists or can be created, that each partition has a leader that accepts a
   * connection, and that the user has the right to write, if the broker says so. Changes nothing.
   * @throws SinkUnavailable
   */
  async check(name: string, stop: AbortSignal): Promise<void> {
    const found = await this.#reach(stop, async () => {
      const described = await this.#describe(await this.#anyBroker(), name, { withRights: true });
      if (described.code === UNKNOWN_TOPIC && this.#settings.create)
        await this.#create(name, described, { validateOnly: true });
      else this.#requireTopic(described);
      return described;
    });
    const { topic, code, mayWrite, origin } = found;
    if (code === UNKNOWN_TOPIC) return;
    if (!mayWrite) throw this.#failure(origin, 'TOPIC_AUTHORIZATION_FAILED', { topic: name });
    for (const [partition, leader] of topic.leaders.entries())
      if (!leader) throw this.#failure(origin, 'LEADER_NOT_AVAILABLE', { topic: name, partition });
    await this.#reach(stop, async () => {
      await Promise.all(topic.leaders.map((leader) => leader && this.#advertised(leader, origin)));
    });
  }

  /**
   * Sends records to the broker that leads their partitions, as one request, and returns its answer for each partition.
   * @throws SinkUnavailable
   */
  async produce(
    leader: BrokerAddress,
    records: readonly MessageRecord[],
    { stop, confirmLease }: CallLimits,
  ): Promise<readonly PartitionAnswer[]> {
    const { timeoutMs, compression } = this.#settings;
    let isUnsent = true;
    try {
      const request = async () => {
        const connection = await this.#advertised(leader, this.origin);
        const api = await this.#api(connection, produceApis);
        confirmLease();
        isUnsent = false;
        const replicaMs = Math.ceil(timeoutMs * REPLICA_SHARE);
        const send = () => api.async(connection, ALL_REPLICAS, replicaMs, [...records], { compression });
        return answersOf(await this.#answer(connection, send));
      };
      return await this.#reach(stop, request, () => isUnsent);
    } catch (error) {
      this.#topics.clear(); // another broker may lead the partitions
      throw error;
    }
  }

  /** Returns what an error code of `produce` means for records. */
  judge(leader: BrokerAddress, { topic, partition, code }: PartitionAnswer, bytes?: number) {
    if (isStale(code)) this.#topics.delete(topic);
    return judgeCode(hostAndPort(leader), code, { topic, partition }, this.#settings.login, bytes);
  }

  /** Returns the failure of records for a partition that no broker leads. */
  withoutLeader(topic: string, partition: number): SinkUnavailable {
    return this.#failure(this.origin, 'LEADER_NOT_AVAILABLE', { topic, partition }).beforeSending();
  }

  /** Closes every connection without waiting for answers. */
  async close(): Promise<void> {
    // Otherwise the client would wait until what it has written is sent, which may be never.
    for (const [, connection] of this.#pool) connection.socket?.destroy();
    await this.#pool.close();
  }

  async #existing(name: string, signal: AbortSignal): Promise<Topic> {
    const described = await this.#describe(await this.#anyBroker(), name);
    if (described.code !== UNKNOWN_TOPIC || !this.#settings.create) return this.#requireTopic(described);
    await this.#create(name, described, { validateOnly: false });
    for (;;) {
      const { topic, code } = await this.#describe(await this.#anyBroker(), name);
      if (code === 'NONE' && topic.leaders.every((leader) => leader !== undefined)) return topic;
      await this.#settings.clock.sleep(CREATED_WAIT_MS, signal);
      signal.throwIfAborted();
    }
  }

  #requireTopic({ topic, code, origin }: Description): Topic {
    if (code !== 'NONE') throw this.#failure(origin, code, { topic: topic.name });
    return topic;
  }

  async #describe(connection: Connection, name: string, { withRights = false } = {}): Promise<Description> {
    const api = await this.#api(connection, metadataApis);
    const answer = await this.#answer(connection, () => api.async(connection, [name], false, withRights));
    const addresses = new Map(answer.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    const found = answer.topics.find((topic) => topic.name === name);
    const partitions = (found?.partitions ?? []).toSorted((a, b) => a.partitionIndex - b.partitionIndex);
    const rights = found?.topicAuthorizedOperations ?? UNREPORTED;
    const code =
      found && (found.errorCode !== 0 || partitions.length > 0) ? codeText(found.errorCode) : UNKNOWN_TOPIC;
    return {
      topic: { name, leaders: partitions.map(({ leaderId }) => addresses.get(leaderId)) },
      code,
      mayWrite: rights === UNREPORTED || (rights & MAY_WRITE) !== 0,
      controller: addresses.get(answer.controllerId),
      origin: originOf(connection),
    };
  }

  async #create(name: string, { controller }: Description, { validateOnly }: { validateOnly: boolean }) {
    const { create, timeoutMs } = this.#settings;
    const connection = controller ? await this.#advertised(controller, this.origin) : await this.#anyBroker();
    const api = await this.#api(connection, createTopicsApis);
    const topic = {
      name,
      numPartitions: create?.partitions ?? -1,
      replicationFactor: -1,
      assignments: [],
      configs: create?.compacted ? [{ name: 'cleanup.policy', value: 'compact' }] : [],
    };
    const answer = await this.#answer(connection, () =>
      api.async(connection, [topic], Math.ceil(timeoutMs * REPLICA_SHARE), validateOnly),
    );
    const code = codeText(answer.topics[0]?.errorCode ?? -1);
    if (code !== 'NONE' && code !== 'TOPIC_ALREADY_EXISTS')
      throw this.#failure(originOf(connection), code, { topic: name });
  }

  #failure(origin: string, code: string, place: { topic: string; partition?: number }): SinkUnavailable {
    const judged = judgeCode(origin, code, place, this.#settings.login);
    return judged instanceof SinkUnavailable ? judged : new SinkUnavailable(judged.reason, { hint: '' });
  }

  /** Returns a connection to the first of the configured brokers that accepts one. */
  async #anyBroker(): Promise<Connection> {
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

  /** Returns a connection to a broker whose address comes from the brokers themselves. */
  async #advertised(broker: BrokerAddress, origin: string): Promise<Connection> {
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

  /** Returns the newest version of a request that both leadsync and the broker know. */
  async #api<Api extends RequestApi>(connection: Connection, apis: readonly Api[]): Promise<Api> {
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
    const asked = this.#answer(connection, () => apiVersionsV1.api.async(connection, '', '')).then(
      ({ apiKeys }) => apiKeys,
    );
    this.#versions.set(connection, asked);
    asked.catch(() => this.#versions.delete(connection));
    return asked;
  }

  /** Returns the answer to a request, also if it contains error codes. */
  async #answer<Answer>(connection: Connection, request: () => Promise<Answer>): Promise<Answer> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof ResponseError) return error['response'] as Answer;
      throw callFailure(originOf(connection), error, this.#settings.login);
    }
  }

  /** @throws SinkUnavailable, marked as unsent if `isUnsent` then says so */
  async #reach<T>(
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

/** Returns the failure, with whether a part of a lead was sent before. A broker's own answer says itself what it has. */
function asSent(error: SinkUnavailable, isSent: boolean): SinkUnavailable {
  return isSent
    ? new SinkUnavailable(error.message, { ...error, unsent: false, cause: error })
    : error.beforeSending();
}

function originOf({ host = '', port = 0 }: Connection): string {
  return hostAndPort({ host, port });
}

interface ProduceResponse {
  readonly responses: readonly {
    readonly name: string;
    readonly partitionResponses: readonly {
      readonly index: number;
      readonly errorCode: number;
      readonly baseOffset: bigint;
    }[];
  }[];
}

function answersOf(response: boolean | ProduceResponse): readonly PartitionAnswer[] {
  if (typeof response === 'boolean') return [];
  return response.responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map(({ index, errorCode, baseOffset }) => ({
      topic: name,
      partition: index,
      code: codeText(errorCode),
      baseOffset,
    })),
  );
}
