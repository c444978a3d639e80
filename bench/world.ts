import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { stopProcess } from '../test/support/servers/server-process.ts';
import type { Manner } from './world/flaky-receiver.ts';

const portsSchema = z.object({ port: z.number(), receiverPort: z.number(), flakyPort: z.number() });
const arrivals = z.object({
  posts: z.number(),
  leads: z.number(),
  firstAt: z.number().optional(),
  lastAt: z.number().optional(),
});

const visits = z.object({
  requests: z.number(),
  accepted: z.number(),
  leads: z.number(),
  firstRequestAt: z.number().optional(),
  open: z.number(),
  mostOpen: z.number(),
});

/** A listing to be shown; its leads have consecutive ids. */
export interface Shown {
  readonly leads: number;
  /** The service's name; `main` when absent. */
  readonly name?: string;
  /** The first id; 1 when absent. */
  readonly first?: number;
  readonly etag?: boolean;
  /** New leads after each answer. */
  readonly growBy?: number;
  /** How long each answer is held back, in ms. */
  readonly delayMs?: number;
}

/** The service and the receivers around a leadsync, in a process of their own. */
export class World {
  readonly #url: string;
  readonly #close: () => Promise<void>;
  /** Where webhooks are taken at once. */
  readonly receiverUrl: string;
  /** Where webhooks are taken as `behave` says. */
  readonly flakyUrl: string;

  private constructor(ports: z.output<typeof portsSchema>, close: () => Promise<void>) {
    this.#url = `http://127.0.0.1:${ports.port}`;
    this.receiverUrl = `http://127.0.0.1:${ports.receiverPort}/hooks/leads`;
    this.flakyUrl = `http://127.0.0.1:${ports.flakyPort}/hooks/leads`;
    this.#close = close;
  }

  static async start(): Promise<World> {
    const child = fork(fileURLToPath(new URL('world/main.ts', import.meta.url)), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A Ctrl-C at the terminal reaches it only through us.
      detached: true,
    });
    const [message] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`the servers ended at once (${code})`))),
    ]);
    return new World(portsSchema.parse(message), () => stopProcess(child, 'SIGTERM'));
  }

  /** To be configured as `base_url`. */
  baseUrl(name = 'main'): string {
    return `${this.#url}/${name}`;
  }

  async show({
    name = 'main',
    first = 1,
    etag = false,
    growBy = 0,
    delayMs = 0,
    leads,
  }: Shown): Promise<void> {
    await this.#command('show', { name, first, leads, etag, growBy, delayMs });
  }

  /**
   * Replaces a service's oldest lead by a new one at the end of its listing. Resolves when that one has arrived at the
   * receiver, with the ms since the last byte of the first listing that had it was written.
   */
  async slide(name = 'main'): Promise<number> {
    return z.number().parse(await this.#command('slide', { name }));
  }

  /**
   * Changes every lead of a service whose id is a multiple of `every`. Resolves when the last byte of the first listing with
   * the changes was written, with that time in ms since 1970.
   */
  async change(every: number, name = 'main'): Promise<number> {
    return z.number().parse(await this.#command('change', { name, every }));
  }

  /** Has the flaky receiver answer in this manner, and forget what it has seen. */
  async behave(manner: Manner): Promise<void> {
    await this.#command('behave', manner);
  }

  /** What the flaky receiver has seen since the last `behave`. Times in ms since 1970. */
  async visits(): Promise<z.output<typeof visits>> {
    return visits.parse(await this.#command('visits', {}));
  }

  /** When the flaky receiver had accepted so many different leads, in ms since 1970; undefined while it has not. */
  async acceptedAt(leads: number): Promise<number | undefined> {
    return z
      .number()
      .nullable()
      .transform((at) => at ?? undefined)
      .parse(await this.#command('accepted', { leads }));
  }

  /** What has arrived at the receiver since the last reset. Times in ms since 1970. */
  async arrivals(): Promise<z.output<typeof arrivals>> {
    return arrivals.parse(await this.#command('arrivals', {}));
  }

  /** Forgets what has arrived. */
  async reset(): Promise<void> {
    await this.#command('reset', {});
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #command(name: string, request: unknown): Promise<unknown> {
    const response = await fetch(`${this.#url}/control/${name}`, {
      method: 'POST',
      body: JSON.stringify(request),
    });
    return response.json();
  }
}
