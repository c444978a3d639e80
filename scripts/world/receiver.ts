import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ReceivedRequest, startWebhookReceiver } from '../../test/support/servers/webhook-receiver.ts';
import { signedEvent } from '../showcase/signed-event.ts';
import { count, type Tally } from '../showcase/tally.ts';

/** How a receiver answers a request for a lead. */
export interface Behaviour {
  /** Minimum and maximum time before the answer. */
  readonly delayMs?: readonly [number, number];
  /** Returns the status of the answer, or `cut` to close the connection without one. */
  answer(lead: number): number | 'cut';
}

/** Accepts every lead at once. */
export const well: Behaviour = { answer: () => 204 };
/** Closes every connection, as a proxy does whose server is gone. */
export const down: Behaviour = { answer: () => 'cut' };
/** Accepts every lead after 1 to 3 seconds. */
export const slow: Behaviour = { delayMs: [1_000, 3_000], answer: () => 204 };
/** Refuses the same 1 lead in 25 each time. */
export const picky: Behaviour = { answer: (lead) => (lead % 25 === 7 ? 422 : 204) };
/** Answers 1 request in 5 with 503. */
export const flaky: Behaviour = {
  delayMs: [20, 120],
  answer: () => (Math.random() < 0.2 ? 503 : 204),
};

const REFUSAL = '{"error":"client_phone_number is not a valid phone number"}';

const lead = z.looseObject({ id: z.number(), created_at: z.string() });
type Lead = z.output<typeof lead>;
const event = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('lead.created'), data: lead }),
  z.looseObject({ type: z.enum(['lead.test', 'lead.erased']) }),
]);

/** A webhook receiver that verifies each signature and counts what it accepts. */
export class Receiver {
  behaviour: Behaviour;
  /** Accepted requests of each lead. */
  readonly tally: Tally = new Map();
  /** Leads that the receiver has refused with 422. */
  readonly refused = new Set<number>();
  /** Requests without a valid signature. */
  unsigned = 0;
  readonly #secret: string;
  readonly #isNew: (lead: number) => boolean;
  /** The age at arrival of each lead that was created while the world ran, in ms. */
  readonly #agesMs: number[] = [];
  /** When the last lead that was listed from the start has arrived, in ms of the process. */
  #lastOldAtMs: number | undefined;

  private constructor(secret: string, behaviour: Behaviour, isNew: (lead: number) => boolean) {
    this.#secret = secret;
    this.#isNew = isNew;
    this.behaviour = behaviour;
  }

  /** Starts a receiver on a free port; `isNew` says whether a lead was created while the world ran. Returns it with its address and a function that closes it. */
  static async start(
    secret: string,
    behaviour: Behaviour,
    isNew: (lead: number) => boolean,
  ): Promise<{ readonly receiver: Receiver; readonly url: string; close(): Promise<void> }> {
    const receiver = new Receiver(secret, behaviour, isNew);
    const server = await startWebhookReceiver({ kept: 0 });
    server.answerAlways((request, res) => receiver.#answer(request, res));
    return { receiver, url: server.url, close: () => server.close() };
  }

  /** Returns the time within which this share of the new leads arrived, in ms from their creation; undefined without new leads. */
  newLeadsWithinMs(share: number): number | undefined {
    const sorted = this.#agesMs.toSorted((one, other) => one - other);
    return sorted[Math.ceil(share * sorted.length) - 1];
  }

  /** When the last lead that was listed from the start has arrived, in ms of the process; undefined if none has. */
  get lastOldAtMs(): number | undefined {
    return this.#lastOldAtMs;
  }

  async #answer(request: ReceivedRequest, res: ServerResponse): Promise<void> {
    const read = this.#read(request);
    if (read === undefined) {
      this.unsigned += 1;
      return void res.writeHead(401).end();
    }
    if (read.type !== 'lead.created') return void res.writeHead(204).end();
    const { delayMs, answer } = this.behaviour;
    if (delayMs) await sleep(delayMs[0] + (delayMs[1] - delayMs[0]) * Math.random());
    const { id } = read.data;
    const status = answer(id);
    if (status === 'cut' || res.destroyed) return void res.destroy();
    if (status === 422) this.refused.add(id);
    if (status === 204) this.#accept(read.data);
    res.writeHead(status, { 'content-type': 'application/json' }).end(status === 422 ? REFUSAL : '');
  }

  #accept({ id, created_at }: Lead): void {
    count(this.tally, id);
    if (this.tally.get(id) !== 1) return;
    if (this.#isNew(id)) this.#agesMs.push(Date.now() - Date.parse(created_at));
    else this.#lastOldAtMs = performance.now();
  }

  #read(request: ReceivedRequest): z.output<typeof event> | undefined {
    try {
      return event.parse(signedEvent(this.#secret, request));
    } catch {
      // Not from leadsync, or not what its documentation describes.
      return undefined;
    }
  }
}
