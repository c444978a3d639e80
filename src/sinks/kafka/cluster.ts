import type { MessageRecord } from '@platformatic/kafka';
import { hostAndPort } from '../../platform/http/address.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type BrokerSettings, Brokers } from './brokers.ts';
import { codeText, isStale, judgeCode } from './judge-error.ts';
import type { BrokerAddress } from './options.ts';
import { produceApis } from './protocol-versions.ts';
import { type Topic, type TopicSettings, Topics } from './topics.ts';

/** How to reach a cluster and write to it. */
export interface ClusterSettings extends BrokerSettings, Omit<TopicSettings, 'createMs'> {
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
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

/** Conditions of one call. */
export interface CallLimits {
  readonly stop: AbortSignal;
  /** Called immediately before records are sent. If it throws, nothing is sent. */
  readonly confirmLease: () => void;
}

/** Share of the timeout that a broker may wait for its replicas, so that its answer arrives before the deadline. */
const REPLICA_SHARE = 0.8;
/**
 * Maximum share of the timeout that leadsync waits for the end of a pause. If a broker asks for a longer pause, its leads wait for a later
 * attempt.
 */
const MAX_PAUSE_SHARE = 0.5;
/** Acknowledged by every replica in sync (`acks=all`). */
const ALL_REPLICAS = -1;

/** One cluster. Sends each request only once; the caller decides about retries. */
export class Cluster {
  readonly #settings: ClusterSettings;
  readonly #brokers: Brokers;
  readonly #topics: Topics;
  /** End of the pause that each broker asked for, by address, in ms of the monotonic clock. */
  readonly #pausedUntil = new Map<string, number>();

  constructor(settings: ClusterSettings) {
    this.#settings = settings;
    this.#brokers = new Brokers(settings);
    const createMs = Math.ceil(settings.timeoutMs * REPLICA_SHARE);
    this.#topics = new Topics(this.#brokers, { ...settings, createMs });
  }

  /** Returns a topic. Creates it if it is missing and the settings say so. @throws SinkUnavailable */
  topic(name: string, stop: AbortSignal): Promise<Topic> {
    return this.#topics.get(name, stop);
  }

  /** Verifies that records can be written to a topic. Changes nothing. @throws SinkUnavailable */
  check(name: string, stop: AbortSignal): Promise<void> {
    return this.#topics.check(name, stop);
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
    await this.#pause(leader, stop);
    let isUnsent = true;
    try {
      const request = async () => {
        const connection = await this.#brokers.advertised(leader);
        const api = await this.#brokers.api(connection, produceApis);
        confirmLease();
        isUnsent = false;
        const replicaMs = Math.ceil(timeoutMs * REPLICA_SHARE);
        const send = () => api.async(connection, ALL_REPLICAS, replicaMs, [...records], { compression });
        const response = await this.#brokers.answer(connection, send);
        this.#notePause(leader, response);
        return answersOf(response);
      };
      return await this.#brokers.reach(stop, request, () => isUnsent);
    } catch (error) {
      this.#topics.forget(); // another broker may lead the partitions
      throw error;
    }
  }

  /** Waits until the pause that the broker last asked for is over. @throws SinkUnavailable if the pause is too long */
  async #pause(leader: BrokerAddress, stop: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#settings;
    const leftMs = (this.#pausedUntil.get(hostAndPort(leader)) ?? 0) - clock.monotonicMs();
    if (leftMs <= 0) return;
    if (leftMs <= timeoutMs * MAX_PAUSE_SHARE) return clock.sleep(leftMs, stop);
    throw new SinkUnavailable(`${hostAndPort(leader)} asked for a pause: the user has used up its quota.`, {
      hint: 'Raise `producer_byte_rate` or `request_percentage` of the user, or set `rate`.',
      retryAfterMs: leftMs,
      unsent: true,
    });
  }

  /**
   * Remembers the pause that a broker asked for. The broker reads nothing until the pause is over (KIP-219). A request sent before then would
   * exceed its deadline but be stored nevertheless, and so arrive twice.
   */
  #notePause(leader: BrokerAddress, response: boolean | ProduceResponse): void {
    if (typeof response === 'boolean' || response.throttleTimeMs <= 0) return;
    const untilMs = this.#settings.clock.monotonicMs() + response.throttleTimeMs;
    this.#pausedUntil.set(hostAndPort(leader), untilMs);
  }

  /** Judges an error code of `produce`, for the records of a partition. */
  judge(leader: BrokerAddress, { topic, partition, code }: PartitionAnswer, bytes?: number) {
    if (isStale(code)) this.#topics.forget(topic);
    return judgeCode(hostAndPort(leader), code, { topic, partition }, this.#settings.login, bytes);
  }

  /** Returns the failure for records in a partition that no broker leads. */
  withoutLeader(topic: string, partition: number): SinkUnavailable {
    return this.#topics.withoutLeader(topic, partition);
  }

  /** Closes every connection without waiting for answers. */
  close(): Promise<void> {
    return this.#brokers.close();
  }
}

interface ProduceResponse {
  readonly throttleTimeMs: number;
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
