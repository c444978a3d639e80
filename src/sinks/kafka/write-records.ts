import { type MessageRecord, murmur2 } from '@platformatic/kafka';
import type { Delivery } from '../../leads/delivery.ts';
import {
  type Delivered,
  type DestinationRecord,
  mayHaveArrived,
  type Outcome,
  type Refused,
} from '../../leads/outcome.ts';
import { hostAndPort } from '../../platform/http/address.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { AttemptUnderWay } from '../sink.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { CallLimits, Cluster, PartitionAnswer } from './cluster.ts';
import type { BrokerAddress } from './options.ts';
import { type KafkaRecord, partsOf } from './record.ts';

/** A lead with its record and topic. */
export interface Item {
  readonly delivery: Delivery;
  readonly record: KafkaRecord;
  readonly topic: string;
}

/** Conditions under which records are written. */
export interface WriteLimits {
  readonly stop: AbortSignal;
  readonly under: AttemptUnderWay;
  /** The timestamp of the records. */
  readonly now: Date;
  /** Deadline of one request, in ms. */
  readonly timeoutMs: number;
}

/**
 * Maximum total size of the records for one partition in a request, in bytes, uncompressed. Below a topic's `max.message.bytes` (default:
 * 1,048,588), which applies to these records together.
 */
const MAX_PART_BYTES = 900_000;

/** The records for one partition, in order. */
interface Lane {
  readonly items: readonly Item[];
  write(sender: Sender): Promise<readonly Outcome[]>;
}

/**
 * Writes records and returns an outcome for each lead. Each partition is attempted on its own, in order, so that a failure of one does not
 * affect the others; records that are ready for one broker at the same time go in one request.
 * @throws SinkUnavailable if no record was written and none was refused
 */
export async function writeRecords(
  cluster: Cluster,
  items: readonly Item[],
  limits: WriteLimits,
): Promise<ReadonlyMap<Delivery, Outcome>> {
  const ofTopics = [...Map.groupBy(items, ({ topic }) => topic)];
  const lanes = (
    await Promise.all(ofTopics.map(([topic, of]) => lanesOf(cluster, topic, of, limits)))
  ).flat();
  const sender = new Sender(cluster, limits);
  const written = await Promise.all(lanes.map((lane) => writtenOrFailure(lane, sender)));
  const failures = written.filter((result) => result instanceof SinkUnavailable);
  // An error that a sink throws is the outcome of every lead. So if some leads may have arrived, this throws a failure that says so.
  if (failures.length === lanes.length)
    throw failures.find((failure) => mayHaveArrived(failure.toOutcome())) ?? failures[0];
  const outcomes = new Map<Delivery, Outcome>();
  for (const [lane, { items: ofLane }] of lanes.entries()) {
    const result = written[lane];
    for (const [at, { delivery }] of ofLane.entries()) {
      const outcome = result instanceof SinkUnavailable ? result.toOutcome() : result?.[at];
      if (outcome) outcomes.set(delivery, outcome);
    }
  }
  return outcomes;
}

async function writtenOrFailure(lane: Lane, sender: Sender): Promise<readonly Outcome[] | SinkUnavailable> {
  try {
    return await lane.write(sender);
  } catch (error) {
    if (error instanceof SinkUnavailable) return error;
    throw error;
  }
}

async function lanesOf(
  cluster: Cluster,
  topic: string,
  items: readonly Item[],
  limits: WriteLimits,
): Promise<readonly Lane[]> {
  try {
    const { leaders } = await cluster.topic(topic, limits.stop);
    const ofPartitions = Map.groupBy(items, ({ record }) => partitionOf(record.key, leaders.length));
    return [...ofPartitions].map(([partition, of]) => ({
      items: of,
      write: (sender) => writeLane(sender, { leader: leaders[partition], topic, partition }, of, limits),
    }));
  } catch (error) {
    return [{ items, write: () => Promise.reject(error) }];
  }
}

/** Returns the partition for a key, chosen as Kafka's own clients do (org.apache.kafka.clients.producer.internals.BuiltInPartitioner). */
function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fff_ffff) % count;
}

/** A partition, and the broker that leads it, if there is one. */
interface Target {
  readonly leader: BrokerAddress | undefined;
  readonly topic: string;
  readonly partition: number;
}

async function writeLane(
  sender: Sender,
  target: Target,
  items: readonly Item[],
  { under, timeoutMs }: WriteLimits,
): Promise<readonly Outcome[]> {
  const refs = new Map<Item, DestinationRecord>();
  const attempt = (part: readonly Item[]) => sender.send(target, part, refs);
  const outcomes = await attemptParts(partsOf(items, MAX_PART_BYTES), attempt, {
    // The sender confirms the lease itself, once for each request.
    under: { timeLeftMs: () => under.timeLeftMs(), confirmLease: () => undefined },
    partMs: timeoutMs,
  });
  return outcomes.map((outcome, index) => {
    const ref = items[index] && refs.get(items[index]);
    return outcome.kind === 'delivered' ? { kind: 'delivered', ref } : outcome;
  });
}

/** Records for a partition that wait for the next request to its leader. */
interface Waiting {
  readonly target: Target;
  readonly items: readonly Item[];
  readonly refs: Map<Item, DestinationRecord>;
  settle(outcome: Delivered | Refused | Promise<never>): void;
}

/** Sends records to the brokers of one attempt. Records for several partitions of a broker that are ready at the same time go in one request. */
class Sender {
  readonly #cluster: Cluster;
  readonly #limits: CallLimits;
  readonly #timestamp: bigint;
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(cluster: Cluster, { stop, under, now }: WriteLimits) {
    this.#cluster = cluster;
    this.#limits = { stop, confirmLease: () => under.confirmLease() };
    this.#timestamp = BigInt(now.getTime());
  }

  /** Sends records and returns what became of them. Adds the location of each stored record to `refs`. @throws SinkUnavailable */
  send(
    target: Target,
    items: readonly Item[],
    refs: Map<Item, DestinationRecord>,
  ): Promise<Delivered | Refused> {
    const { leader, topic, partition } = target;
    if (!leader) return Promise.reject(this.#cluster.withoutLeader(topic, partition));
    const { promise, resolve } = Promise.withResolvers<Delivered | Refused>();
    const waiting = { target, items, refs, settle: resolve };
    const key = hostAndPort(leader);
    const others = this.#waiting.get(key);
    if (others) others.push(waiting);
    else {
      this.#waiting.set(key, [waiting]);
      setImmediate(() => void this.#flush(key, leader));
    }
    return promise;
  }

  async #flush(key: string, leader: BrokerAddress): Promise<void> {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    try {
      const records = waiting.flatMap(({ target, items }) =>
        items.map(({ record }) => this.#messageOf(target, record)),
      );
      const answers = await this.#cluster.produce(leader, records, this.#limits);
      for (const one of waiting) {
        const { topic, partition } = one.target;
        const answer = answers.find((of) => of.topic === topic && of.partition === partition);
        try {
          one.settle(this.#outcomeOf(leader, one, answer));
        } catch (error) {
          one.settle(Promise.reject(error));
        }
      }
    } catch (error) {
      for (const { settle } of waiting) settle(Promise.reject(error));
    }
  }

  #outcomeOf(
    leader: BrokerAddress,
    { target: { topic, partition }, items, refs }: Waiting,
    answer: PartitionAnswer | undefined,
  ): Delivered | Refused {
    if (answer === undefined)
      throw new SinkUnavailable(
        `${hostAndPort(leader)} did not report what happened to the records for topic ${topic}, partition ${partition}.`,
        { hint: 'Check whether a proxy answers in place of Kafka.', mayHaveArrived: true },
      );
    if (answer.code === 'NONE') {
      for (const [index, item] of items.entries()) {
        const offset = answer.baseOffset + BigInt(index);
        if (answer.baseOffset >= 0n)
          refs.set(item, { object: 'record', id: `${topic}/${partition}/${offset}` });
      }
      return { kind: 'delivered' };
    }
    const bytes = items.length === 1 ? items[0]?.record.bytes : undefined;
    const judged = this.#cluster.judge(leader, answer, bytes);
    if (judged instanceof SinkUnavailable) throw judged;
    return judged;
  }

  #messageOf({ topic, partition }: Target, { key, value, headers }: KafkaRecord): MessageRecord {
    return {
      topic,
      partition,
      key,
      value: value as Buffer, // the client writes null as a tombstone, although its type does not say so
      headers: new Map([...headers].map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
      timestamp: this.#timestamp,
    };
  }
}
