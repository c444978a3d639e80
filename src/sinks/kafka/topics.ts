import type { Connection } from '@platformatic/kafka';
import type { Clock } from '../../platform/time/clock.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type Brokers, originOf } from './brokers.ts';
import { codeText, judgeCode, type LoginFacts, type Place } from './judge-error.ts';
import type { BrokerAddress } from './options.ts';
import { createTopicsApis, metadataApis } from './protocol-versions.ts';

/** How to find and create topics. */
export interface TopicSettings {
  /** How to create a missing topic; undefined if leadsync must not create topics. `partitions` is -1 for the brokers' default. */
  readonly create: { readonly partitions: number; readonly compacted: boolean } | undefined;
  readonly login: LoginFacts;
  readonly clock: Clock;
  /** Maximum time that a broker may take to create a topic, in ms. */
  readonly createMs: number;
}

/** A topic: its partitions by number, each with the broker that leads it, if there is one. */
export interface Topic {
  readonly name: string;
  readonly leaders: readonly (BrokerAddress | undefined)[];
}

/** Time for which leadsync relies on what it knows about a topic, in ms: the default of `metadata.max.age.ms` in Kafka's own clients. */
const TOPIC_AGE_MS = 300_000;
/** Wait before leadsync asks again whether a topic that it created has leaders, in ms. */
const CREATED_WAIT_MS = 100;
/** The bit for the right WRITE among the operations that a user may perform on a topic (KIP-430). */
const MAY_WRITE = 1 << 4;
/** The value of those operations if the broker does not report them. */
const UNREPORTED = -2_147_483_648;

const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION';

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

/** What leadsync knows about the topics of a cluster. */
export class Topics {
  readonly #brokers: Brokers;
  readonly #settings: TopicSettings;
  readonly #known = new Map<string, { readonly topic: Topic; readonly untilMs: number }>();

  constructor(brokers: Brokers, settings: TopicSettings) {
    this.#brokers = brokers;
    this.#settings = settings;
  }

  /** Returns a topic. Creates it if it is missing and the settings say so. @throws SinkUnavailable */
  async get(name: string, stop: AbortSignal): Promise<Topic> {
    const known = this.#known.get(name);
    if (known && known.untilMs > this.#settings.clock.monotonicMs()) return known.topic;
    const topic = await this.#brokers.reach(stop, (signal) => this.#existing(name, signal));
    const untilMs = this.#settings.clock.monotonicMs() + TOPIC_AGE_MS;
    if (topic.leaders.every((leader) => leader !== undefined)) this.#known.set(name, { topic, untilMs });
    return topic;
  }

  /**
   * Verifies that records can be written to a topic: that it exists or can be created, that each partition has a leader that accepts a
   * connection, and that the user may write to it, if the broker reports the user's rights. Changes nothing.
   * @throws SinkUnavailable
   */
  async check(name: string, stop: AbortSignal): Promise<void> {
    const found = await this.#brokers.reach(stop, async () => {
      const described = await this.#describe(await this.#brokers.any(), name, { withRights: true });
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
    await this.#brokers.reach(stop, async () => {
      await Promise.all(topic.leaders.map((leader) => leader && this.#brokers.advertised(leader, origin)));
    });
  }

  /** Forgets a topic, or all topics, because another broker may now lead the partitions. */
  forget(name?: string): void {
    if (name === undefined) this.#known.clear();
    else this.#known.delete(name);
  }

  /** Returns the failure for records in a partition that no broker leads. */
  withoutLeader(topic: string, partition: number): SinkUnavailable {
    return this.#failure(this.#brokers.origin, 'LEADER_NOT_AVAILABLE', { topic, partition }).beforeSending();
  }

  async #existing(name: string, signal: AbortSignal): Promise<Topic> {
    const described = await this.#describe(await this.#brokers.any(), name);
    if (described.code !== UNKNOWN_TOPIC || !this.#settings.create) return this.#requireTopic(described);
    await this.#create(name, described, { validateOnly: false });
    for (;;) {
      const { topic, code } = await this.#describe(await this.#brokers.any(), name);
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
    const api = await this.#brokers.api(connection, metadataApis);
    const answer = await this.#brokers.answer(connection, () =>
      api.async(connection, [name], false, withRights),
    );
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
    const { create, createMs } = this.#settings;
    const connection = controller ? await this.#brokers.advertised(controller) : await this.#brokers.any();
    const api = await this.#brokers.api(connection, createTopicsApis);
    const topic = {
      name,
      numPartitions: create?.partitions ?? -1,
      replicationFactor: -1,
      assignments: [],
      configs: create?.compacted ? [{ name: 'cleanup.policy', value: 'compact' }] : [],
    };
    const answer = await this.#brokers.answer(connection, () =>
      api.async(connection, [topic], createMs, validateOnly),
    );
    const code = codeText(answer.topics[0]?.errorCode ?? -1);
    if (code !== 'NONE' && code !== 'TOPIC_ALREADY_EXISTS')
      throw this.#failure(originOf(connection), code, { topic: name });
  }

  #failure(origin: string, code: string, place: Place): SinkUnavailable {
    const judged = judgeCode(origin, code, place, this.#settings.login);
    return judged instanceof SinkUnavailable ? judged : new SinkUnavailable(judged.reason, { hint: '' });
  }
}
