import { startWebhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { openWebhook } from './open-webhook.ts';

promisesOfEverySink('webhook, one lead per request', () => start(1));
promisesOfEverySink('webhook, in batches', () => start(1000));

for (const [name, batchMax] of [
  ['webhook, one lead per request', 1],
  ['webhook, in batches', 1000],
] as const)
  promisesOfAnswers(name, { cut: () => startCut(batchMax), mixed: () => startMixed(batchMax) });

async function startAnswering(batchMax: number): Promise<Answering & { receiver: WebhookReceiver }> {
  const receiver = await startWebhookReceiver();
  return {
    receiver,
    sink: openWebhook({ url: receiver.url }, { batchMax }),
    arrived: async () => readMessages(receiver).map(({ id }) => id),
    close: () => receiver.close(),
  };
}

async function startCut(batchMax: number): Promise<Answering> {
  const answering = await startAnswering(batchMax);
  let isFirst = true;
  answering.receiver.answerAlways((_, response) => {
    if (isFirst) response.socket?.destroy();
    else response.writeHead(204).end();
    isFirst = false;
  });
  return answering;
}

async function startMixed(batchMax: number): Promise<Answering> {
  const answering = await startAnswering(batchMax);
  answering.receiver.answerAlways(
    ({ body }, response) => void response.writeHead(body.includes('"data":{"id":2,') ? 422 : 204).end(),
  );
  return answering;
}

async function start(batchMax: number): Promise<Destination> {
  const receiver = await startWebhookReceiver();
  const silent = await startWebhookReceiver();
  silent.answerAlways(() => undefined);
  return {
    open: (parts) => openWebhook({ url: receiver.url }, { batchMax, ...parts }),
    openUnavailable: () => openWebhook({ url: `http://127.0.0.1:${closedPort}/` }, { batchMax }),
    openHanging: () => openWebhook({ url: silent.url }, { batchMax }),
    arrived: async () => readMessages(receiver),
    received: async () =>
      receiver.received.map(({ method, headers, body }) => ({
        target: `${method} ${new URL(receiver.url).origin}/[secret]`,
        fields: headers as Record<string, string>,
        content: body.toString(),
      })),
    documented: (text) => text,
    documentedAnswer: (text) => text,
    close: async () => {
      await receiver.close();
      await silent.close();
    },
  };
}

/** As a receiver is told to: known ids are dropped, types that are no leads are passed by, ids are read with all their digits. */
function readMessages({ received }: WebhookReceiver): Arrived[] {
  const taken = received.filter(({ status = 204 }) => status < 300);
  const known = new Map(taken.map(({ headers, body }) => [headers['webhook-id'], body.toString()]));
  return [...known.values()].flatMap((body) => {
    const message = JSON.parse(body, exactId);
    const events: Event[] = message.type === 'lead.batch' ? message.events : [message];
    const leads = events.filter(({ type }) => ['lead.created', 'lead.updated'].includes(type));
    return leads.map(({ source, data }) => ({
      ...data,
      source,
      client_address: data.client_address?.friendly_address ?? null,
      answers: data.service_question_answers,
    }));
  });
}

interface Event {
  readonly type: string;
  readonly source: string;
  readonly data: Omit<Arrived, 'client_address'> & {
    readonly client_address: { readonly friendly_address: string } | null;
    readonly service_question_answers: Arrived['answers'];
  };
}

function exactId(key: string, value: unknown, context?: { source?: string }): unknown {
  return key === 'id' && typeof value === 'number' ? context?.source : value;
}
