import { type ReadRecord, startKafkaBroker } from '../../support/servers/kafka-broker.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { type KafkaStub, startKafkaStub } from './kafka-stub.ts';
import { openKafka } from './open-kafka.ts';

promisesOfEverySink('kafka', start);

promisesOfAnswers('kafka', {
  cut: () => startAnswering((stub) => stub.answerProduce('cut')),
  mixed: () =>
    startAnswering((stub) => {
      const refuse = (_: string, __: number, records: readonly { key: string }[]) =>
        records.some(({ key }) => key === 'main:2') ? 'INVALID_RECORD' : undefined;
      stub.topics.set('leads', { partitions: 1 });
      stub.answerProduce(...Array.from({ length: 9 }, () => refuse));
    }),
  vague: () => startAnswering((stub) => stub.answerProduce('vague', 'vague', 'vague')),
});

async function startAnswering(prepare: (stub: KafkaStub) => void): Promise<Answering> {
  const stub = await startKafkaStub();
  prepare(stub);
  return {
    sink: openKafka({ brokers: stub.address }),
    arrived: async () => readAsConsumer(stub.stored).map(({ id }) => id),
    close: async () => {
      await stub.close();
      if (stub.faults.length > 0) throw new Error(stub.faults.join('; '));
    },
  };
}

async function start(): Promise<Destination> {
  const broker = await startKafkaBroker();
  const silent = await startKafkaStub();
  silent.answerProduce('silent');
  const brokers = broker.address;
  return {
    open: (parts) => openKafka({ brokers }, parts),
    openUnavailable: () => openKafka({ brokers: `127.0.0.1:${closedPort}` }),
    openHanging: () => openKafka({ brokers: silent.address }),
    arrived: async () => inOrder(readAsConsumer((await broker.records('leads')).map(asStored))),
    received: async () =>
      (await broker.records('leads'))
        .toSorted((a, b) => Number(a.key?.split(':')[1]) - Number(b.key?.split(':')[1]))
        .map(({ key, payload, headers }) => ({
          target: `record for topic leads at ${brokers}`,
          fields: { key, ...headers },
          ...(payload !== null && { content: payload }),
        })),
    documented: (text) => text,
    documentedAnswer: (text) => text,
    close: async () => {
      await broker.close();
      await silent.close();
    },
  };
}

interface Stored {
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

function asStored({ payload, headers }: ReadRecord): Stored {
  return { value: payload, headers };
}

/** As a consumer is told to: known ids are dropped, types that are no leads are passed by, ids are read with all their digits. */
function readAsConsumer(records: readonly Stored[]): Arrived[] {
  const isLead = ({ headers }: Stored) => ['lead.created', 'lead.updated'].includes(headers['type'] ?? '');
  const known = new Map(records.filter(isLead).map((record) => [record.headers['webhook-id'], record]));
  return [...known.values()].map(({ value }) => {
    const { source, data } = JSON.parse(value ?? '', exactId);
    return {
      ...data,
      source,
      client_address: data.client_address?.friendly_address ?? null,
      answers: data.service_question_answers,
    };
  });
}

function exactId(key: string, value: unknown, context?: { source?: string }): unknown {
  return key === 'id' && typeof value === 'number' ? context?.source : value;
}

/** Records of different keys have no order: this one is by id and source. */
function inOrder(leads: readonly Arrived[]): Arrived[] {
  return leads.toSorted((a, b) => Number(BigInt(a.id) - BigInt(b.id)) || (a.source < b.source ? -1 : 1));
}
