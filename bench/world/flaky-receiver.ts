import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { now } from './now.ts';

/** How the receiver answers. */
export interface Manner {
  /** Share of requests, in percent, that are answered with 503: 0 none, 100 all. */
  readonly failPercent: number;
  /** Decides, with the lead's id and the number of its attempt, which requests fail. */
  readonly seed: number;
  /** Bounds of the time that each answer takes, in ms. */
  readonly delayMs: readonly [number, number];
}

/** What a receiver has seen since its manner was set. Times in ms since 1970. */
export interface Visits {
  readonly requests: number;
  /** Requests answered with 204. */
  readonly accepted: number;
  /** Different leads among them. */
  readonly leads: number;
  readonly firstRequestAt: number | undefined;
  /** Requests that are being answered at this moment. */
  readonly open: number;
  /** The most requests that were open at once. */
  readonly mostOpen: number;
}

const event = z.object({ data: z.object({ id: z.number() }) });

/**
 * A webhook receiver that takes its time and answers a share of the requests with 503. Whether a request fails follows from
 * the seed, the lead and the number of the attempt, so every sender meets the same failures in whatever order it sends.
 */
export class FlakyReceiver {
  readonly #server: Server = createServer((req, res) => void this.#serve(req, res));
  readonly #onLead: (id: number, at: number) => void;
  #manner: Manner = { failPercent: 0, seed: 1, delayMs: [0, 0] };
  readonly #attempts = new Map<number, number>();
  /** When each lead was first accepted, in order. */
  readonly #acceptedAt = new Map<number, number>();
  #requests = 0;
  #accepted = 0;
  #firstRequestAt: number | undefined;
  #open = 0;
  #mostOpen = 0;

  constructor(onLead: (id: number, at: number) => void) {
    this.#onLead = onLead;
  }

  /** Begins to listen on loopback and returns the port. */
  async listen(): Promise<number> {
    this.#server.keepAliveTimeout = 600_000;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Answers in this manner from now on, and forgets what it has seen. */
  behave(manner: Manner): void {
    this.#manner = manner;
    this.#attempts.clear();
    this.#acceptedAt.clear();
    this.#requests = 0;
    this.#accepted = 0;
    this.#firstRequestAt = undefined;
    this.#mostOpen = this.#open;
  }

  get visits(): Visits {
    return {
      requests: this.#requests,
      accepted: this.#accepted,
      leads: this.#acceptedAt.size,
      firstRequestAt: this.#firstRequestAt,
      open: this.#open,
      mostOpen: this.#mostOpen,
    };
  }

  /** Returns when it had accepted so many different leads, in ms since 1970; undefined while it has not. */
  acceptedAt(leads: number): number | undefined {
    return [...this.#acceptedAt.values()][leads - 1];
  }

  /** Ends it, and every connection with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const manner = this.#manner;
    this.#firstRequestAt ??= now();
    this.#requests += 1;
    this.#open += 1;
    this.#mostOpen = Math.max(this.#mostOpen, this.#open);
    // A sender that goes away ends its request as well.
    res.once('close', () => {
      this.#open -= 1;
    });
    try {
      const { id } = event.parse(await json(req)).data;
      const attempt = (this.#attempts.get(id) ?? 0) + 1;
      this.#attempts.set(id, attempt);
      const [leastMs, mostMs] = manner.delayMs;
      await sleep(leastMs + (mostMs - leastMs) * chance(manner.seed, id, -attempt));
      const fails = chance(manner.seed, id, attempt) * 100 < manner.failPercent;
      if (!fails) this.#accept(id);
      res.writeHead(fails ? 503 : 204).end();
    } catch {
      res.destroy();
    }
  }

  #accept(id: number): void {
    const at = now();
    this.#accepted += 1;
    if (!this.#acceptedAt.has(id)) this.#acceptedAt.set(id, at);
    this.#onLead(id, at);
  }
}

/** Returns a number from 0 to 1 that follows from three others and looks random. */
function chance(...from: readonly [seed: number, id: number, attempt: number]): number {
  return createHash('sha256').update(from.join()).digest().readUInt32BE() / 2 ** 32;
}
