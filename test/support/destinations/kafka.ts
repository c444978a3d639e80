import { type KafkaStub, type ProduceAnswer, startKafkaStub } from '../../sinks/kafka/kafka-stub.ts';
import type { StubRecord } from '../../sinks/kafka/read-batch.ts';
import { type Held, versionIn } from '../scene/scene.ts';
import type { Destination, DestinationType } from './destination.ts';

const TOPIC = 'leads';
const PARTITIONS = 3;

/** Gives this answer to every second request, so that a sink that works now and then is not held at once. */
const answers = (answer: ProduceAnswer) => (stub: KafkaStub) => {
  let requests = 0;
  stub.answerAlways(() => (++requests % 2 === 1 ? answer : 'store'));
};
const says = (code: string) => answers(() => code);
const hasTopic = (more: object) => (stub: KafkaStub) =>
  stub.topics.set(TOPIC, { partitions: PARTITIONS, ...more });

/** What the broker can do wrong, in words. */
const TROUBLES: Readonly<Record<string, (stub: KafkaStub) => unknown>> = {
  'is stopped': (stub) => stub.stop(),
  'is frozen': (stub) => stub.freeze(),
  'stores records and breaks the connection': answers('cut'),
  'says nothing': answers('silent'),
  'stores records and names no partition': answers('vague'),
  'stores records and names all partitions but one': answers('half'),
  'stores records and says REQUEST_TIMED_OUT': answers({ storedBut: 'REQUEST_TIMED_OUT' }),
  'stores records and says NOT_ENOUGH_REPLICAS_AFTER_APPEND': answers({
    storedBut: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  }),
  'says that another broker leads': says('NOT_LEADER_OR_FOLLOWER'),
  'says NOT_ENOUGH_REPLICAS': says('NOT_ENOUGH_REPLICAS'),
  'says KAFKA_STORAGE_ERROR for one partition': answers((_, partition) =>
    partition === 1 ? 'KAFKA_STORAGE_ERROR' : undefined,
  ),
  'has no leader for a partition': hasTopic({ leaderless: [2] }),
  'does not know the topic': hasTopic({ code: 'UNKNOWN_TOPIC_OR_PARTITION' }),
  'asks for pauses': (stub) => {
    stub.throttleMs = 700;
  },
};

/** A broker with a topic of a few partitions, whose records stay when it stops. */
export const kafka: DestinationType = {
  troubles: Object.keys(TROUBLES),
  fields: (number) => ({ text: 'lead.all_details_one_liner', form: { value: number } }),
  open: openKafka,
};

async function openKafka(): Promise<Destination> {
  const stub = await startKafkaStub();
  hasTopic({})(stub);
  return {
    options: {
      type: 'kafka',
      brokers: stub.address,
      topic: TOPIC,
      events: ['created', 'updated'],
      batch: { max: 50, wait: '0s' },
      timeout: '3s',
    },
    misbehave: (trouble) => TROUBLES[trouble]?.(stub),
    behave: () => behave(stub),
    held: async () => stub.stored.map(heldAs),
    faults: async () => [...stub.faults, ...changedRepeats(stub.stored)],
    close: () => stub.close(),
  };
}

async function behave(stub: KafkaStub): Promise<void> {
  stub.answerAlways();
  stub.throttleMs = 0;
  hasTopic({})(stub);
  stub.thaw();
  await stub.start();
}

function heldAs({ key, value, headers }: StubRecord): Held {
  const [source = '', lead = ''] = key.split(':');
  const text = value ?? '';
  const [, raw] = /"data":(.*),"source":"[^"]*","replay":(?:true|false)\}$/s.exec(text) ?? [];
  const isMapped = raw !== undefined && /,"form":\d+\}$/.test(raw);
  return {
    source,
    lead,
    version: versionIn(text),
    under: headers['webhook-id'] ?? '',
    ...(raw === undefined || isMapped ? {} : { raw }),
  };
}

/**
 * Returns the records that a consumer could not recognise as repeats, in words: one id with several contents, keys or partitions, or with
 * another event of the same lead in between.
 */
function changedRepeats(records: readonly StubRecord[]): string[] {
  const first = new Map<string, string>();
  const lastOfLead = new Map<string, string>();
  return records.flatMap(({ key, partition, value, headers }) => {
    const id = headers['webhook-id'] ?? '';
    const content = `${key} ${partition} ${value}`;
    const known = first.get(id);
    const isBetween = known !== undefined && lastOfLead.get(key) !== id;
    first.set(id, known ?? content);
    lastOfLead.set(key, id);
    return [
      ...(known === undefined || known === content ? [] : [`the id ${id} has several records`]),
      ...(isBetween ? [`the record ${id} came again after another one of its lead`] : []),
    ];
  });
}
