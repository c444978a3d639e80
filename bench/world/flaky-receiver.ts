import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { now } from './now.ts';

/** The behaviour of the receiver. */
export interface Behaviour {
  /** Percentage of requests that are answered with 503. */
  readonly failPercent: number;
  /** Determines which requests fail, together with the id of the lead and the number of the attempt. */
  readonly seed: number;
  /** Minimum and maximum delay of an answer. */
  readonly delayMs: readonly [number, number];
}

/** The counts of the receiver since its behaviour was set. Times are in ms since 1970. */
export interface Visits {
  readonly requests: number;
  /** Requests answered with 204. */
  readonly accepted: number;
  /** Different leads among the accepted requests. */
  readonly leads: number;
  readonly firstRequestAt: number | undefined;
  /** Requests without an answer yet. */
  readonly open: number;
  /** Maximum of concurrent open requests. */
  readonly mostOpen: number;
}

const event = z.object({ data: z.object({ id: z.number() }) });

/**
 * A webhook receiver that delays its answers and answers some requests with 503. The seed, the lead and the number of the attempt
 * determine whether a request fails, so every sender gets the same failures, whatever its order.
 */
export class FlakyReceiver {
  readonly #server: Server = createServer((req, res) => void this.#serve(req, res));
  readonly #onLead: (id: number, at: number) => void;
  #behaviour: Behaviour = { failPercent: 0, seed: 1, delayMs: [0, 0] };
  readonly #attempts = new Map<number, number>();
  /** The time when each lead was first accepted, in order. */
  readonly #acceptedAt = new Map<number, number>();
  #requests = 0;
  #accepted = 0;
  #firstRequestAt: number | undefined;
  #open = 0;
  #mostOpen = 0;

  constructor(onLead: (id: number, at: number) => void) {
    this.#onLead = onLead;
  }

  /** Listens on loopback and returns the port. */
  async listen(): Promise<number> {
    this.#server.keepAliveTimeout = 600_000;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sets the behaviour and resets the counts. */
  behave(behaviour: Behaviour): void {
    this.#behaviour = behaviour;
    this.#attempts.clear();
    this.#acceptedAt.clear();
    this.#requests = 0;
    this.#accepted = 0;
    this.#firstRequestAt = undefined;
    this.#mostOpen = this.#open;
  }

  /** The counts since the last `behave`. */
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

  /** Returns when the receiver had accepted that number of different leads, in ms since 1970; undefined until then. */
  acceptedAt(leads: number): number | undefined {
    return [...this.#acceptedAt.values()][leads - 1];
  }

  /** Closes the server and every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const behaviour = this.#behaviour;
    this.#firstRequestAt ??= now();
    this.#requests += 1;
    this.#open += 1;
    this.#mostOpen = Math.max(this.#mostOpen, this.#open);
    // Also emitted if the sender closes the connection.
    res.once('close', () => {
      this.#open -= 1;
    });
    try {
      const { id } = event.parse(await json(req)).data;
      const attempt = (this.#attempts.get(id) ?? 0) + 1;
      this.#attempts.set(id, attempt);
      const [leastMs, mostMs] = behaviour.delayMs;
      await sleep(leastMs + (mostMs - leastMs) * chance(behaviour.seed, id, -attempt));
      const fails = chance(behaviour.seed, id, attempt) * 100 < behaviour.failPercent;
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

/** Returns a pseudo-random number from 0 to 1 that its arguments determine. */
function chance(...from: readonly [seed: number, id: number, attempt: number]): number {
  return createHash('sha256').update(from.join()).digest().readUInt32BE() / 2 ** 32;
}
